"""What was read out of the code objects of a build."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

# at run time, too: files are read by the types of the fields
from ckprof.model.device_kernel import DeviceKernel
from ckprof.model.gemm_work import Estimate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectedKernel:
    """One instance's kernel.

    Several device functions may belong to it, such as one for each tail of the main loop: the launcher
    chooses one of them for each problem.
    """

    name: str
    #: content key of the instance
    key: str
    variants: tuple[DeviceKernel, ...]
    #: bounds for the problem that was asked about, with the variant that needs the most
    estimate: Estimate | None = None
    #: what the compiler warned about, each once; also of the code around the kernel
    warnings: tuple[str, ...] = ()

    @property
    def worst(self) -> DeviceKernel:
        """The variant with the least occupancy, and of these the one with the most registers and code."""
        return min(
            self.variants,
            key=lambda v: (v.occupancy.waves_per_simd, -v.scratch_bytes, -v.vgprs, -v.code_bytes),
        )

    def most(self, field: str) -> int:
        """Return the largest value of a numeric field among all variants."""
        return max(int(getattr(variant, field)) for variant in self.variants)


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection:
    """All kernels of a build."""

    target: str
    arch: str
    api_level: str
    compiler: str
    kernels: tuple[InspectedKernel, ...]
    #: the problem that estimates are about, empty if none was given
    problem: str = ""
    #: kernels whose device functions could not be distinguished from others
    unattributed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A figure of a kernel that differs between two builds."""

    name: str
    field: str
    before: int
    after: int
    #: it spills where it did not, or fewer waves fit
    worse: bool


#: figures that two builds are compared by
COMPARED = (
    "vgprs",
    "agprs",
    "sgprs",
    "vgpr_spills",
    "sgpr_spills",
    "scratch_bytes",
    "lds_bytes",
    "code_bytes",
)
#: more of these is what a build must not bring
_SPILLS = ("vgpr_spills", "sgpr_spills", "scratch_bytes")


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two builds, kernel by kernel."""

    before: Inspection
    after: Inspection
    changes: tuple[Change, ...]
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]

    @property
    def worse(self) -> tuple[Change, ...]:
        """New spills and lost occupancy."""
        return tuple(change for change in self.changes if change.worse)


def compare(before: Inspection, after: Inspection) -> Comparison:
    """Compare two builds by the names of their kernels."""
    old = {kernel.name: kernel for kernel in before.kernels}
    new = {kernel.name: kernel for kernel in after.kernels}
    changes = [change for name in old if name in new for change in _changes(old[name], new[name])]
    return Comparison(
        before=before,
        after=after,
        changes=tuple(changes),
        only_before=tuple(name for name in old if name not in new),
        only_after=tuple(name for name in new if name not in old),
    )


def _changes(before: InspectedKernel, after: InspectedKernel) -> Sequence[Change]:
    figures: Mapping[str, tuple[int, int]] = {
        "occupancy": (
            before.worst.occupancy.waves_per_simd,
            after.worst.occupancy.waves_per_simd,
        ),
        **{field: (before.most(field), after.most(field)) for field in COMPARED},
    }
    return [
        Change(
            name=before.name,
            field=field,
            before=old,
            after=new,
            worse=new < old if field == "occupancy" else field in _SPILLS and new > old,
        )
        for field, (old, new) in figures.items()
        if old != new
    ]
