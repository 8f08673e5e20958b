"""How a kernel of a code object is launched: arguments by role, grid, block and LDS as formulas.

Names of sizes are those of the operation, see :mod:`ckprof_plugins.code_objects.sizes`. What the compiler has
written into the code object's metadata is held against the description: sizes, order, kinds of arguments.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError
from ckprof_plugins.code_objects.formula import formula

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from typing import Any

    from ckprof_plugins.code_objects.sizes import Sizes

#: type of a scalar -> of C++, bytes, and the least and largest value
SCALARS: Final[Mapping[str, tuple[str, int, int, int]]] = {
    **{f"i{8 * n}": (f"int{8 * n}_t", n, -(2 ** (8 * n - 1)), 2 ** (8 * n - 1) - 1) for n in (1, 2, 4, 8)},
    # formulas are computed with 63 bits and a sign
    **{f"u{8 * n}": (f"uint{8 * n}_t", n, 0, min(2 ** (8 * n) - 1, 2**63 - 1)) for n in (1, 2, 4, 8)},
    "f32": ("float", 4, -(2**24), 2**24),
    "f64": ("double", 8, -(2**53), 2**53),
}
#: role of memory that the launcher lends the kernel
WORKSPACE: Final = "workspace"
_POINTER_BYTES: Final = 8
_BY_VALUE: Final = "by_value"
_BUFFER: Final = "global_buffer"


@dataclass(frozen=True)
class Pointer:
    """The address of a tensor of the operation, or of the workspace."""

    role: str
    #: bytes from its begin on, a formula
    offset: str | int = 0


@dataclass(frozen=True)
class Scalar:
    """A number."""

    #: of :data:`SCALARS`
    kind: str
    value: str | int


@dataclass(frozen=True)
class Struct:
    """A structure that is passed by value: scalars and pointers at given offsets, the rest zeros."""

    bytes: int
    #: offset -> what lies there
    members: tuple[tuple[int, Scalar | Pointer], ...]


@dataclass(frozen=True)
class Condition:
    """What the kernel does not support unless it holds."""

    #: stable id, e.g. ``channels``
    id: str
    #: a formula
    holds: str
    #: a few words for reports, which get the values of the sizes in the formula besides
    text: str


@dataclass(frozen=True)
class Cleared:
    """Memory that is zero when the kernel begins, e.g. because it adds to it."""

    role: str
    #: a formula
    bytes: str | int


@dataclass(frozen=True, kw_only=True)
class LaunchDescription:
    """Everything that a launch needs besides the code object and the tensors."""

    #: name of the kernel in the code object
    kernel: str
    #: in the order of the kernel's parameters
    arguments: tuple[Pointer | Scalar | Struct, ...]
    #: formulas; workgroups along x, y, z
    grid: tuple[str | int, ...]
    #: formulas; work-items of a workgroup along x, y, z
    block: tuple[str | int, ...]
    #: formula; bytes of LDS besides those that the code object says
    dynamic_lds: str | int = 0
    #: formula; bytes of memory with unspecified content
    workspace: str | int = 0
    conditions: tuple[Condition, ...] = ()
    #: set to zero before each launch, as a part of what is timed
    cleared: tuple[Cleared, ...] = ()

    def formulas(self) -> Iterator[tuple[str, str | int]]:
        """Yield where each of them stands, and what it is."""
        for axis, one in zip("xyz", self.grid, strict=False):
            yield f"grid along {axis}", one
        for axis, one in zip("xyz", self.block, strict=False):
            yield f"block along {axis}", one
        yield from (("dynamic_lds", self.dynamic_lds), ("workspace", self.workspace))
        yield from ((f"cleared {one.role}", one.bytes) for one in self.cleared)
        yield from ((f"condition {one.id!r}", one.holds) for one in self.conditions)
        for number, argument in enumerate(self.arguments, 1):
            members = [one for _, one in argument.members] if isinstance(argument, Struct) else [argument]
            for member in members:
                yield f"argument {number}", member.value if isinstance(member, Scalar) else member.offset

    def splits(self, names: Collection[str]) -> bool:
        """Say whether the number of splits of a reduction changes anything."""
        return any("split_k" in formula(text, names).used for _, text in self.formulas())


@dataclass(frozen=True)
class Placed:
    """A scalar or pointer where it lies in the kernel's block of arguments."""

    offset: int
    value: Scalar | Pointer
    #: for messages
    name: str


@dataclass(frozen=True)
class Checked:
    """A description that fits a code object."""

    description: LaunchDescription
    placed: tuple[Placed, ...]
    #: of the block of arguments, as far as the program gives them
    argument_bytes: int


def check(
    description: LaunchDescription, records: Sequence[Mapping[str, Any]], sizes: Sizes, where: str
) -> Checked:
    """Hold a description against the metadata of a code object.

    :param records: of the metadata, one per kernel.
    :param sizes: of the operation.
    :param where: the code object, for messages.
    :raises InputError: a formula, a role or a type is wrong, there is no such kernel, or its arguments are
        others.
    """
    for axis, one in (("grid", description.grid), ("block", description.block)):
        if isinstance(one, str) or not 1 <= len(one) <= 3:
            found = "is a text" if isinstance(one, str) else f"has {len(one)} formulas"
            raise InputError(f"{where}: {axis} {found}, expected a tuple of 1 to 3 formulas")
    for number, argument in enumerate(description.arguments, 1):
        if not isinstance(argument, (Pointer, Scalar, Struct)):
            raise InputError(
                f"{where}: argument {number} is {argument!r}, expected Pointer, Scalar or Struct"
            )
    for place, text in description.formulas():
        try:
            formula(text, sizes.names)
        except InputError as exc:
            raise InputError(f"{where}: {place}: {exc.message}") from None
    for cleared in description.cleared:
        _check_role(cleared.role, sizes, where)
    kernels = {str(one[".name"]): one for one in records}
    record = kernels.get(description.kernel)
    if record is None:
        known = ", ".join(kernels) or "no kernel"
        raise InputError(f"{where}: there is no kernel {description.kernel!r} in it; it has {known}")
    _check_block(description, record, sizes, where)
    given = [one for one in record.get(".args", ()) if not str(one[".value_kind"]).startswith("hidden_")]
    if len(given) != len(description.arguments):
        own = ", ".join(
            f"{one.get('.name', number)} ({one['.value_kind']}, {one['.size']} bytes)"
            for number, one in enumerate(given, 1)
        )
        raise InputError(
            f"{where}: kernel {description.kernel} takes {len(given)} arguments, its description has "
            f"{len(description.arguments)}; those of the code are {own or 'none'}"
        )
    placed: list[Placed] = []
    end = 0
    for number, (argument, metadata) in enumerate(zip(description.arguments, given, strict=True), 1):
        placed += _placed(argument, metadata, sizes, f"{where}: argument {number} of {description.kernel}")
        end = int(metadata[".offset"]) + int(metadata[".size"])
    return Checked(description, tuple(placed), end)


def _check_role(role: str, sizes: Sizes, where: str) -> None:
    roles = (*sizes.roles, WORKSPACE)
    if role not in roles:
        raise InputError(f"{where}: there is no tensor {role!r}, expected one of {', '.join(roles)}")


def _check_block(description: LaunchDescription, record: Mapping[str, Any], sizes: Sizes, where: str) -> None:
    lengths = [formula(text, sizes.names) for text in description.block]
    if any(one.used for one in lengths):
        return  # the launch will tell
    block = [one.value({}) for one in lengths] + [1] * (3 - len(lengths))
    items, most = block[0] * block[1] * block[2], int(record.get(".max_flat_workgroup_size", 1024))
    required = [int(one) for one in record.get(".reqd_workgroup_size", ())]
    if required and block != required:
        raise InputError(
            f"{where}: a block of {block}; kernel {description.kernel} was compiled for {required}"
        )
    if not 1 <= items <= most:
        raise InputError(
            f"{where}: a block of {items} work-items; kernel {description.kernel} takes 1 to {most}"
        )


def _placed(
    argument: Pointer | Scalar | Struct, metadata: Mapping[str, Any], sizes: Sizes, name: str
) -> Iterator[Placed]:
    offset, size, kind = int(metadata[".offset"]), int(metadata[".size"]), str(metadata[".value_kind"])
    if isinstance(argument, Pointer):
        # a pointer may be handed over as a number
        if size != _POINTER_BYTES or kind not in (_BUFFER, _BY_VALUE):
            raise InputError(
                f"{name} is a pointer in its description, and {kind} of {size} bytes in its code"
            )
    elif kind != _BY_VALUE:
        raise InputError(f"{name} is a value in its description, and {kind} in its code")
    if not isinstance(argument, Struct):
        if (own := _bytes(argument, sizes, name)) != size:
            raise InputError(f"{name} has {own} bytes in its description, and {size} in its code")
        yield Placed(offset, argument, name)
        return
    if argument.bytes != size:
        raise InputError(f"{name} has {argument.bytes} bytes in its description, and {size} in its code")
    taken = 0
    for at, member in sorted(argument.members, key=lambda one: one[0]):
        within = f"{name}, offset {at}"
        if at < taken or at + _bytes(member, sizes, within) > size:
            raise InputError(f"{within}: it overlaps what is before it, or ends behind the structure")
        taken = at + _bytes(member, sizes, within)
        yield Placed(offset + at, member, within)


def _bytes(value: Scalar | Pointer, sizes: Sizes, name: str) -> int:
    if isinstance(value, Pointer):
        _check_role(value.role, sizes, name)
        return _POINTER_BYTES
    if value.kind not in SCALARS:
        raise InputError(f"{name}: there is no type {value.kind!r}, expected one of {', '.join(SCALARS)}")
    return SCALARS[value.kind][1]
