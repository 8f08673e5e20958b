"""Kernels of softmax over rows: instances, what is valid, and how they are called."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ckprof.kernels.jinja import render
from ckprof.model.catalog import Catalog
from ckprof.model.instance import Instance
from ckprof.model.requirement import UnmetRequirement
from ckprof.model.strings.rendering import render as render_string
from ckprof.model.types import TypeSet
from ckprof.plugin.protocols import KernelSource
from ckprof_row_softmax.operation import RowSoftmax
from ckprof_row_softmax.problem import RowSoftmaxProblem
from ckprof_row_softmax.record import STRINGS

#: columns that are kept in registers
MAX_STEP = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class RowSoftmaxInstance(Instance):
    """One configuration."""

    pipeline: ClassVar[str] = "row_softmax"

    #: rows that a block computes
    rows: int
    #: columns that are read at once
    step: int

    @property
    def types(self) -> TypeSet:
        """The operation's."""
        return RowSoftmax().types(self.dtype)


class RowSoftmaxPipeline:
    """The family as ckprof sees it."""

    id = RowSoftmaxInstance.pipeline
    label = "softmax, some rows per block; an example"
    directions = frozenset({RowSoftmax.id})

    def make_instance(self, catalog: Catalog, direction: str, record: Any) -> RowSoftmaxInstance:
        """Return the instance of a record."""
        return RowSoftmaxInstance(
            id=record.id,
            direction=direction,
            ndim=catalog.ndim,
            layout=catalog.layout,
            dtype=catalog.dtype,
            rows=record.rows,
            step=record.step,
        )

    def kernel_name(self, instance: Any) -> str:
        """Return the kernel's name."""
        return f"row_softmax_{instance.dtype.value}_{instance.rows}_{instance.step}"

    def instance_string(self, instance: Any) -> str:
        """Return the text that the list has for the instance."""
        values = {"input_type": instance.dtype.value, "rows": instance.rows, "step": instance.step}
        return render_string(STRINGS, values)

    def unmet_requirements(self, instance: Any, arch: str, api_level: str) -> list[UnmetRequirement]:
        """Return the rules that an instance breaks."""
        if instance.step <= MAX_STEP:
            return []
        message = f"{instance.step} columns at once, expected 1 to {MAX_STEP}"
        return [UnmetRequirement(rule="row-softmax-step", message=message)]

    def default_problem(self, instance: Any, usual: RowSoftmaxProblem) -> RowSoftmaxProblem:
        """Return what an instance is run on when no problem is given."""
        return usual

    def render(self, instance: Any, arch: str, api_level: str) -> KernelSource:
        """Return the C++ header."""
        name, cpp_type = self.kernel_name(instance), instance.dtype.properties.cpp_type
        text = render(
            __package__,
            "kernel.hpp.j2",
            name=name,
            type=cpp_type if cpp_type == "float" else f"ck_tile::{cpp_type}",
            rows=instance.rows,
            step=instance.step,
            instance_string=self.instance_string(instance),
        )
        return KernelSource(name=name, header=text, launcher=f"{name}_Launcher")
