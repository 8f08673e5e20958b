"""Synthetic problems: random shapes with a seed, log-uniform in size, and edge cases."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError, UsageError
from ckprof.model.problem_case import ProblemCase
from ckprof.option import option, settable
from ckprof_plugins.directions._convolution.problem import ConvProblem

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ckprof.option import Option

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


def _read_range(text: str) -> Range:
    """Return the range of ``LEAST:LARGEST``, or of a single number.

    :raises UsageError: it is neither.
    """
    least, separator, largest = text.partition(":")
    try:
        return int(least), int(largest if separator else least)
    except ValueError:
        raise UsageError(f"{text!r} is not LEAST:LARGEST, e.g. 1:64") from None


def _read_integers(text: str) -> tuple[int, ...]:
    """Return the integers of a list that commas separate.

    :raises UsageError: it is none.
    """
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise UsageError(f"{text!r} is not a list of integers, e.g. 1,8,64") from None


def _read_giga(text: str) -> float:
    return 1e9 * float(text)


# the command line says "expected" and this name
_read_giga.__name__ = "a number"


def _range_option(help: str) -> Mapping[str, Option]:
    return option(help, metavar="RANGE", parse=_read_range, show="{0[0]}:{0[1]}".format)


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleSpec:
    """What is drawn."""

    count: int
    seed: int = 0
    ndim: int = settable(2, "spatial dimensions", metavar="N")
    batch: Range = field(default=(1, 128), metadata=_range_option("batch size"))
    #: input and output channels of one group
    channels: Range = field(default=(1, 2048), metadata=_range_option("channels of one group"))
    #: lengths of the spatial axes
    size: Range = field(default=(1, 224), metadata=_range_option("lengths of the image"))
    groups: Range = field(default=(1, 1), metadata=_range_option("groups"))
    multiples: tuple[int, ...] = settable(
        (1, 2, 4, 8, 16, 32, 64),
        "channels are multiples of one of these, each as often as the others",
        metavar="LIST",
        parse=_read_integers,
        show=lambda values: ",".join(map(str, values)),
        several="store",
    )
    #: 0 to 1
    edges: float = settable(0.1, "share of edge cases", metavar="SHARE")
    #: number of floating-point operations
    max_flop: float = settable(
        math.inf,
        "no problem has more operations",
        flag="--max-gflop",
        metavar="N",
        parse=_read_giga,
        show=lambda _: "",
    )
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


def sample(spec: SampleSpec) -> list[ProblemCase]:
    """Draw distinct problems; the same ones for the same specification, on every machine.

    Edge cases come first, in a fixed order of kinds, then the random shapes.

    :raises InputError: the limits leave too few problems.
    """
    generator = random.Random(spec.seed)  # noqa: S311 - shapes, no secrets
    edge_count = round(spec.count * spec.edges)
    kinds: dict[ConvProblem, str] = {}
    for attempt in range(spec.count * _ATTEMPTS):
        if len(kinds) == spec.count:
            break
        kind = _EDGES[len(kinds) % len(_EDGES)] if len(kinds) < edge_count else None
        if kind is not None and attempt >= edge_count * _ATTEMPTS // 2:
            kind = None  # the limits exclude this kind
        try:
            problem = _draw(generator, spec)
            if kind is not None:
                problem = kind[1](problem, generator)
        except InputError:
            continue  # an empty output: another draw
        if _within(problem, spec):
            kinds.setdefault(problem, kind[0] if kind else "")
    if len(kinds) < spec.count:
        raise InputError(
            f"only {len(kinds)} of {spec.count} problems could be drawn: the ranges hold no more, or the "
            "limits on operations and elements exclude most; widen the ranges or raise the limits"
        )
    return [ProblemCase(problem=problem, name=kind) for problem, kind in kinds.items()]


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


def _odd_channels(problem: ConvProblem, _: random.Random) -> ConvProblem:
    return replace(problem, in_channels=problem.in_channels | 1, out_channels=problem.out_channels | 1)


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
    ("one input channel", lambda one, _: replace(one, in_channels=1)),
    (
        "a group per channel",
        lambda one, _: replace(one, groups=one.out_channels, in_channels=1, out_channels=1),
    ),
    ("odd channels", _odd_channels),
    ("batch of one", lambda one, _: replace(one, batch=1)),
    ("image of one element", _single_pixel),
    ("filter as large as the image", _filter_is_image),
    ("unequal pads", _unequal_pads),
    ("stride larger than the filter", lambda one, _: replace(one, strides=tuple(n + 1 for n in one.filter))),
    ("flat filter", _flat_filter),
)


#: sizes that meet, and just miss, the conditions of kernels
_CHANNELS: Final = (1, 2, 3, 4, 5, 6, 8, 12, 16, 20, 24, 32, 40, 60, 64, 96, 128)
_FILTERS: Final = (1, 1, 2, 3, 3, 5)


def random_convolution(draw: random.Random, ndim: int) -> ConvProblem:
    """Return a small convolution whose sizes meet, and just miss, the conditions of kernels.

    :raises InputError: the sizes that were drawn do not fit together.
    """

    def axis(values: Sequence[int]) -> tuple[int, ...]:
        return tuple(draw.choice(values) for _ in range(ndim))

    # equal along all axes half of the time: some conditions are about all of them together
    shared = draw.random() < 0.5
    filters = (draw.choice(_FILTERS),) * ndim if shared else axis(_FILTERS)
    pads = (draw.choice((0, 0, 1)),) * ndim if shared else axis((0, 0, 1, 2))
    return ConvProblem(
        groups=draw.choice((1, 1, 2, 4)),
        batch=draw.choice((1, 2, 4, 5)),
        out_channels=draw.choice(_CHANNELS),
        in_channels=draw.choice(_CHANNELS),
        filter=filters,
        input=axis(range(5, 18)),
        strides=(draw.choice((1, 1, 2)),) * ndim if shared else axis((1, 2)),
        dilations=axis((1, 1, 2)),
        left_pads=pads,
        right_pads=pads if shared else axis((0, 0, 1)),
    )
