"""Instances of the family, what is valid, and how they are called."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from ckprof.kernels.jinja import render
from ckprof.model.instance import Instance
from ckprof.model.requirement import UnmetRequirement
from ckprof.model.strings.rendering import render as render_string
from ckprof.plugin.protocols import KernelSource
from ckprof_naive_gather.record import STRINGS

if TYPE_CHECKING:
    from ckprof.model.catalog import Catalog
    from ckprof_plugins.directions._convolution.problem import ConvProblem

#: Channels of one step are kept in registers.
MAX_CHANNELS_PER_STEP = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class NaiveGatherInstance(Instance):
    """One configuration."""

    pipeline: ClassVar[str] = "naive_gather"

    #: output positions that a block computes
    rows: int
    #: input channels that are added up before the filter moves on
    channels: int


class NaiveGatherPipeline:
    """The family as ckprof sees it."""

    id = NaiveGatherInstance.pipeline
    label = "gathers every input element where it lies; an example"
    directions = frozenset({"fwd"})

    def make_instance(self, catalog: Catalog, direction: str, record: Any) -> NaiveGatherInstance:
        """Return the instance of a record."""
        return NaiveGatherInstance(
            id=record.id,
            direction=direction,
            ndim=catalog.ndim,
            layout=catalog.layout,
            dtype=catalog.dtype,
            rows=record.rows,
            channels=record.channels,
        )

    def kernel_name(self, instance: Any) -> str:
        """Return the kernel's name."""
        return f"naive_gather_fwd_{instance.dtype.value}_{instance.rows}x{instance.channels}"

    def instance_string(self, instance: Any) -> str:
        """Return the text that the list has for the instance."""
        return render_string(
            STRINGS,
            {
                "input_type": instance.dtype.value,
                "rows": instance.rows,
                "channels": instance.channels,
            },
        )

    def unmet_requirements(self, instance: Any, arch: str, api_level: str) -> list[UnmetRequirement]:
        """Return the rules that an instance breaks."""
        if 1 <= instance.channels <= MAX_CHANNELS_PER_STEP and instance.rows >= 1:
            return []
        return [
            UnmetRequirement(
                rule="naive-gather-size",
                message=f"{instance.rows} rows and {instance.channels} channels per step: "
                f"expected at least 1 row and 1 to {MAX_CHANNELS_PER_STEP} channels",
            )
        ]

    def default_problem(self, instance: Any, usual: ConvProblem) -> ConvProblem:
        """Return what an instance is run on when no problem is given."""
        return usual

    def render(self, instance: Any, arch: str, api_level: str) -> KernelSource:
        """Return the C++ header."""
        name = self.kernel_name(instance)
        text = render(
            "ckprof_naive_gather",
            "kernel.hpp.j2",
            name=name,
            ndim=instance.ndim,
            type=instance.dtype.properties.cpp_type,
            rows=instance.rows,
            channels=instance.channels,
            instance_string=self.instance_string(instance),
        )
        return KernelSource(name=name, header=text, launcher=f"{name}_Launcher")
