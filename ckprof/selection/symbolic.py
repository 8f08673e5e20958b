"""A problem whose sizes are not known yet, to write formulas that work for every problem."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ckprof.model.problem import ConvProblem

if TYPE_CHECKING:
    from ckprof.selection.expression import Recorder, Symbol

#: fields with one value, and those with one per axis
SCALARS: Final = ("groups", "batch", "out_channels", "in_channels")
VECTORS: Final = ("filter", "input", "strides", "dilations", "left_pads", "right_pads")


class SymbolicProblem:
    """Looks like a :class:`~ckprof.model.problem.ConvProblem`, but for its checks; its values are symbols.

    What follows from the sizes is computed by the very properties of the real class.
    """

    groups: Symbol
    batch: Symbol
    out_channels: Symbol
    in_channels: Symbol
    filter: tuple[Symbol, ...]
    input: tuple[Symbol, ...]
    strides: tuple[Symbol, ...]
    dilations: tuple[Symbol, ...]
    left_pads: tuple[Symbol, ...]
    right_pads: tuple[Symbol, ...]

    def __init__(self, recorder: Recorder, ndim: int) -> None:
        self.ndim = ndim
        for name in SCALARS:
            setattr(self, name, recorder.input(name))
        for name in VECTORS:
            setattr(self, name, tuple(recorder.input(f"{name}_{axis}") for axis in range(ndim)))

    axes = ConvProblem.axes
    output = ConvProblem.output
    flop = ConvProblem.flop
    input_elements = ConvProblem.input_elements
    weight_elements = ConvProblem.weight_elements
    output_elements = ConvProblem.output_elements
    moved_bytes = ConvProblem.moved_bytes
