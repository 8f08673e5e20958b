"""Synthetic problems: random shapes with a seed, log-uniform in size, and edge cases."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError, UsageError
from ckprof.model.problem import ConvProblem
from ckprof.problems.counted import CountedProblem

if TYPE_CHECKING:
    from collections.abc import Callable

#: (least, largest), both included
Range = tuple[int, int]

#: how many shapes are drawn for each one that is wanted before the limits count as unsatisfiable
_ATTEMPTS: Final = 1000

#: (filter, stride, dilation) of one axis with their weights, about as often as networks have them
_WINDOWS: Final = (
    ((1, 1, 1), 6),
    ((1, 2, 1), 2),
    ((3, 1, 1), 6),
    ((3, 2, 1), 3),
    ((3, 1, 2), 1),
    ((5, 1, 1), 1),
    ((7, 1, 1), 1),
    ((7, 2, 1), 1),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleSpec:
    """What is drawn."""

    count: int
    seed: int = 0
    ndim: int = 2
    batch: Range = (1, 128)
    #: input and output channels of one group
    channels: Range = (1, 2048)
    #: lengths of the spatial axes
    size: Range = (1, 224)
    groups: Range = (1, 1)
    #: channels are multiples of one of these, each class as often as the others
    multiples: tuple[int, ...] = (1, 2, 4, 8, 16, 32, 64)
    #: share of edge cases, 0 to 1
    edges: float = 0.1
    #: no problem has more floating-point operations than this
    max_flop: float = math.inf
    #: no tensor has more elements than this
    max_elements: int = 2**31 - 1

    def __post_init__(self) -> None:
        if self.count < 1:
            raise UsageError(f"the number of problems is {self.count}, expected at least 1")
        if self.ndim not in (1, 2, 3):
            raise UsageError(f"the number of spatial dimensions is {self.ndim}, expected 1, 2 or 3")
        if not 0 <= self.edges <= 1:
            raise UsageError(f"the share of edge cases is {self.edges}, expected 0 to 1")
        if not self.multiples or min(self.multiples) < 1:
            raise UsageError("the divisibility classes must be positive integers")
        for name in ("batch", "channels", "size", "groups"):
            least, largest = getattr(self, name)
            if not 1 <= least <= largest:
                raise UsageError(f"{name}: the range {least}:{largest} is empty or not positive")


def sample(spec: SampleSpec) -> list[CountedProblem]:
    """Draw distinct problems; the same ones for the same specification, on every machine.

    Edge cases come first, in a fixed order of kinds, then the random shapes.

    :raises InputError: the limits leave too few problems.
    """
    generator = random.Random(spec.seed)  # noqa: S311 - shapes, no secrets
    edge_count = round(spec.count * spec.edges)
    found: dict[ConvProblem, str] = {}
    for attempt in range(spec.count * _ATTEMPTS):
        if len(found) == spec.count:
            break
        kind = _EDGES[len(found) % len(_EDGES)] if len(found) < edge_count else None
        if kind is not None and attempt >= edge_count * _ATTEMPTS // 2:
            kind = None  # the limits exclude this kind
        try:
            problem = _draw(generator, spec)
            if kind is not None:
                problem = kind[1](problem, generator)
        except InputError:
            continue  # an empty output: another draw
        if _within(problem, spec):
            found.setdefault(problem, kind[0] if kind else "")
    if len(found) < spec.count:
        raise InputError(
            f"only {len(found)} of {spec.count} problems could be drawn: the ranges hold no more, or the "
            "limits on operations and elements exclude most; widen the ranges or raise the limits"
        )
    return [CountedProblem(problem=problem, name=kind) for problem, kind in found.items()]


def _within(problem: ConvProblem, spec: SampleSpec) -> bool:
    largest = max(problem.input_elements, problem.weight_elements, problem.output_elements)
    return problem.flop <= spec.max_flop and largest <= spec.max_elements


def _log_uniform(generator: random.Random, bounds: Range) -> int:
    least, largest = bounds
    drawn = math.exp(generator.uniform(math.log(least), math.log(largest + 1)))
    return min(largest, max(least, int(drawn)))


def _channels(generator: random.Random, spec: SampleSpec) -> int:
    """Draw a multiple of a random class; without the factors that do not fit the range."""
    least, largest = spec.channels
    multiple = generator.choice(spec.multiples)
    if multiple > largest or (largest // multiple) * multiple < least:
        multiple = 1
    return multiple * _log_uniform(generator, (max(1, -(-least // multiple)), largest // multiple))


def _draw(generator: random.Random, spec: SampleSpec) -> ConvProblem:
    windows, weights = zip(*_WINDOWS, strict=True)
    taps, stride, dilation = generator.choices(windows, weights)[0]
    size = _log_uniform(generator, spec.size)
    pad = (taps - 1) * dilation // 2 if generator.random() < 0.8 else 0
    # images are mostly square
    sizes = tuple(
        size if generator.random() < 0.8 else _log_uniform(generator, spec.size) for _ in range(spec.ndim)
    )

    def axes(value: int) -> tuple[int, ...]:
        return (value,) * spec.ndim

    return ConvProblem(
        groups=_log_uniform(generator, spec.groups),
        batch=_log_uniform(generator, spec.batch),
        out_channels=_channels(generator, spec),
        in_channels=_channels(generator, spec),
        filter=axes(taps),
        input=sizes,
        strides=axes(stride),
        dilations=axes(dilation),
        left_pads=axes(pad),
        right_pads=axes(pad),
    )


def _last_axis(values: tuple[int, ...], value: int) -> tuple[int, ...]:
    return (*values[:-1], value)


def _one_channel(problem: ConvProblem, _: random.Random) -> ConvProblem:
    return replace(problem, in_channels=1)


def _group_per_channel(problem: ConvProblem, _: random.Random) -> ConvProblem:
    return replace(problem, groups=problem.out_channels, in_channels=1, out_channels=1)


def _odd_channels(problem: ConvProblem, _: random.Random) -> ConvProblem:
    return replace(problem, in_channels=problem.in_channels | 1, out_channels=problem.out_channels | 1)


def _single_image(problem: ConvProblem, _: random.Random) -> ConvProblem:
    return replace(problem, batch=1)


def _single_pixel(problem: ConvProblem, _: random.Random) -> ConvProblem:
    ones = (1,) * problem.ndim
    pads = tuple(
        (taps - 1) * dilation // 2 for taps, dilation in zip(problem.filter, problem.dilations, strict=True)
    )
    return replace(problem, input=ones, left_pads=pads, right_pads=pads)


def _filter_is_image(problem: ConvProblem, _: random.Random) -> ConvProblem:
    none, ones = (0,) * problem.ndim, (1,) * problem.ndim
    window = tuple(min(size, 11) for size in problem.input)
    return replace(problem, filter=window, input=window, dilations=ones, left_pads=none, right_pads=none)


def _unequal_pads(problem: ConvProblem, generator: random.Random) -> ConvProblem:
    return replace(
        problem, right_pads=_last_axis(problem.right_pads, problem.left_pads[-1] + generator.choice((1, 2)))
    )


def _stride_over_filter(problem: ConvProblem, _: random.Random) -> ConvProblem:
    return replace(problem, strides=tuple(taps + 1 for taps in problem.filter))


def _flat_filter(problem: ConvProblem, _: random.Random) -> ConvProblem:
    none = (0,) * problem.ndim
    return replace(
        problem,
        filter=_last_axis((1,) * problem.ndim, 7),
        dilations=(1,) * problem.ndim,
        left_pads=_last_axis(none, 3),
        right_pads=_last_axis(none, 3),
    )


#: kinds of edge cases with what makes one of a random shape
_EDGES: Final[tuple[tuple[str, Callable[[ConvProblem, random.Random], ConvProblem]], ...]] = (
    ("one input channel", _one_channel),
    ("a group per channel", _group_per_channel),
    ("odd channels", _odd_channels),
    ("batch of one", _single_image),
    ("image of one element", _single_pixel),
    ("filter as large as the image", _filter_is_image),
    ("unequal pads", _unequal_pads),
    ("stride larger than the filter", _stride_over_filter),
    ("flat filter", _flat_filter),
)
