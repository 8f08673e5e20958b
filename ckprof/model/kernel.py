"""A kernel as measurements, stores and reports name it, and kernels that a target makes or runs alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Final, TypeAlias

from ckprof.model.types import ComputeType, DataType, SplitSum, TypeSet

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence


#: digits of the content key that are appended to a name that is already taken
KEY_DIGITS: Final = 8


#: a part of a name: how much it tells, which field of the instance it shows, and its text
NamePart: TypeAlias = tuple[int, str, str]

#: parts that tell as much stay where several names are shortened together
KEPT: Final = 8


class KernelName(str):
    """A kernel's name that knows its parts, so that it can be shortened by what these tell.

    :param parts: in the order of the name, joined by underscores; those that tell least are omitted first.
        Without them, the name is one part.
    """

    parts: tuple[NamePart, ...]

    def __new__(cls, text: str, parts: tuple[NamePart, ...] = ()) -> KernelName:
        name = super().__new__(cls, text)
        name.parts = parts or ((KEPT, "", text),)
        return name

    def splitting(self, splits: int) -> KernelName:
        """Return the name with the number of splits, where that is not 1."""
        suffix = f" (split-K {splits})"
        return self if splits == 1 else KernelName(f"{self}{suffix}", (*self.parts, (KEPT, "splits", suffix)))


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelRef:
    """What readers want to know of a kernel; imported records leave out what they do not know."""

    #: content key of the instance; empty where only its measurement has it
    key: str = ""
    #: kernel name
    name: str
    #: CK Builder's text
    instance_string: str = ""
    #: id of the pipeline plugin
    pipeline: str = ""
    #: type of the operands
    dtype: DataType | None = None
    #: name of the layout, e.g. ``nhwgc``
    layout: str = ""
    #: ``file:line`` of the list it came from; empty where that is not known
    source: str = ""
    #: identity fields of the instance as plain JSON values
    fields: Mapping[str, object] = field(default_factory=dict)
    #: those of the name; empty where only the whole is known
    parts: tuple[NamePart, ...] = ()

    @property
    def shown(self) -> KernelName:
        """The name with its parts."""
        return KernelName(self.name, self.parts)

    def lasting_name(self, splits: int = 1) -> str:
        """Return a name that does not depend on which other kernels there are.

        :param splits: parts of the reduction, which are in the name where there are several.
        """
        digits = self.key[:KEY_DIGITS]
        words = [self.name.removesuffix(f"_{digits}"), digits] if digits else [self.name]
        return " ".join([*words, f"(split-K {splits})"] if splits != 1 else words)


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectedKernel(KernelRef):
    """A kernel that was selected from a list, with what it takes to measure it.

    It is plain data, so that messages to workers can hold it.
    """

    dtype: DataType
    #: number of spatial dimensions, 0 for operations that have none
    ndim: int
    #: types of all tensors and of the sums
    types: TypeSet
    #: how parts of a split reduction are added up
    split_sum: SplitSum = SplitSum.RESULT_TYPE
    #: what its launcher does around it, and whether that is part of the time
    preparation: tuple[str, bool] = ("", True)
    #: position among the selected instances, from 0: what ``--instance`` takes
    index: int = -1
    #: record id in its catalog
    id: int = -1
    #: digest of its object; empty if it did not compile; ``None`` before it is built, which any earlier
    #: object of the instance matches
    object_digest: str | None = None

    @property
    def compute_type(self) -> ComputeType | None:
        """What the operands are rounded to before they are multiplied; ``None`` for nothing."""
        return self.types.compute_type

    @property
    def ref(self) -> KernelRef:
        """What a store keeps of it."""
        return KernelRef(**{item.name: getattr(self, item.name) for item in fields(KernelRef)})


@dataclass(frozen=True, slots=True, kw_only=True)
class SameKernels:
    """Instances whose differences have no meaning where they run: times of theirs differ by noise alone."""

    #: positions among the selected instances
    instances: tuple[int, ...]
    #: fields in which they differ
    fields: tuple[str, ...]
    #: why these have no meaning
    reasons: tuple[str, ...]

    def describe(self) -> str:
        """Return one sentence."""
        numbers = ", ".join(map(str, self.instances))
        return (
            f"instances {numbers} are the same kernel here: they differ only in {', '.join(self.fields)} "
            f"({'; '.join(self.reasons)})"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Substitution:
    """A kernel that computes a problem in place of those of some instances: their times tie."""

    problem_index: int
    #: a few words that name it, e.g. ``a kernel for groups of one channel``
    kernel: str
    #: positions among the selected instances
    instances: tuple[int, ...]

    def describe(self, instances: Collection[int]) -> str:
        """Return one sentence.

        :param instances: those that it is about.
        """
        named = [index for index in self.instances if index in instances]
        subject = f"instance {named[0]}" if len(named) == 1 else f"instances {_runs(named)}"
        return (
            f"{subject}: this problem is computed by {self.kernel} here, whatever the fields of instances are"
        )


def _runs(indices: Sequence[int]) -> str:
    """Return e.g. ``0-3, 7`` for increasing numbers."""
    runs: list[tuple[int, int]] = []
    for index in indices:
        if runs and index == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], index)
        else:
            runs.append((index, index))
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)
