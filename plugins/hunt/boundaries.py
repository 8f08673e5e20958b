"""Problems at the boundaries of a kernel: the formulas of ``boundaries.toml``, with values.

What a boundary leaves open is drawn: other sizes, filters, strides, pads. So every boundary is met in other
surroundings each time, and what is wrong under two conditions together is met as well.
"""

from __future__ import annotations

import math
import random
import sys
from dataclasses import fields, replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ckprof.errors import InputError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ckprof.model.architecture import Architecture
    from ckprof.model.instance import Instance
    from ckprof.model.problem import Problem

#: draws of the open sizes of which a kernel is asked whether it supports them
ATTEMPTS: Final = 14
#: floating-point operations of a problem at most, unless its row says that it is large
_MOST_FLOP: Final = 4e7
#: short names of the sizes of a convolution
_CHANNELS: Final = {"G": "groups", "N": "batch", "K": "out_channels", "C": "in_channels"}
#: which windows are drawn, attempt by attempt: kernels may take pointwise filters alone, or 3x3
_MODES: Final = ("any", "any", "any", "pointwise", "any", "strided", "three")
#: backward data: pixels of the product are those of its input
_BY_INPUT: Final = "bwd_data"
#: size -> step of the vectors along it
_STEPS: Final = {"K": "k", "C": "c", "m": "m_step", "n": "n_step", "k": "k_step"}
#: splits and lengths of outputs that boundaries leave open
_SPLITS: Final = (1, 1, 2, 3)
_OUTPUTS: Final = (1, 2, 3, 5)
#: elements between the lines of a matrix that are not packed
_GAP: Final = 8


@cache
def formulas() -> Mapping[str, Any]:
    """Return the file with the formulas."""
    text = Path(__file__).with_name("boundaries.toml").read_text(encoding="utf-8")
    values: dict[str, Any] = tomllib.loads(text)
    return values


@cache
def _code(text: str) -> Any:
    return compile(text, "boundaries.toml", "eval")


def value_of(text: str, names: Mapping[str, Any]) -> Any:
    """Return the value of a formula of the package's own.

    :raises NameError: the kernel, or the problem, has no such field.
    """
    return eval(_code(text), {"__builtins__": {}}, names)  # noqa: S307


#: what formulas may call
FUNCTIONS: Final = {
    function.__name__: function for function in (math.lcm, math.gcd, math.prod, min, max, any, abs)
}


def kernel_names(instance: Instance, arch: Architecture) -> dict[str, Any]:
    """Return what formulas know of a kernel."""
    names: dict[str, Any] = {**FUNCTIONS, **instance.fields(), "compute_units": arch.compute_units}
    for name, text in formulas()["steps"].get(instance.direction, {}).items():
        names |= {name: value_of(text, names)} if _applies(text, names) else {name: 1}
    return names


def _applies(text: str, names: Mapping[str, Any]) -> bool:
    return all(name in names for name in _code(text).co_names)


class Place(NamedTuple):
    """One value of a boundary, with problems that have it; a kernel may support some of them."""

    kind: str
    #: e.g. ``C = 2 * c + 1``
    formula: str
    #: (problem, splits of its reduction)
    attempts: tuple[tuple[Problem, int], ...]


class KernelBoundaries:
    """The boundaries of one kernel.

    :param usual: the problem that it is run on when none is given; those at boundaries differ in their sizes.
    :param seed: of what is drawn.
    """

    def __init__(self, instance: Instance, usual: Any, arch: Architecture, seed: int) -> None:
        self._names = kernel_names(instance, arch)
        self._usual = usual
        self._instance, self._seed = instance, seed
        self._axes: Mapping[str, str] = formulas()["axes"].get(instance.direction, {})
        self._is_convolution = hasattr(usual, "filter")
        #: what boundaries are of; ``None``: of filters, strides and pads alone
        self._known: set[str | None] = {*_CHANNELS, "pixels", "rows", "columns", None}
        if not self._is_convolution:
            self._known = {field.name for field in fields(usual)}
        self._context = {
            name: [text for text in texts if _applies(text, self._names)]
            for name, texts in formulas()["context"].items()
        }

    def places(self, kinds: Sequence[str] = ()) -> Iterator[Place]:
        """Yield every place, each once.

        :param kinds: only of these; empty for all.
        """
        seen: set[object] = set()
        for row in formulas()["row"]:
            missing = {*row.get("needs", ())} - {*self._names}
            if missing or (kinds and row["kind"] not in kinds):
                continue
            for formula, sizes, splits, windows in self._values(row):
                key = str((sorted(sizes.items()), splits, windows, row.get("windows")))
                if key not in seen:
                    seen.add(key)
                    attempts = tuple(dict.fromkeys(self._attempts(row, sizes, splits, windows)))
                    yield Place(row["kind"], formula, attempts)

    def _values(self, row: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, int], int | None, Any]]:
        """Yield formula, sizes, splits and windows of each value of a row; ``None`` where they are drawn."""
        size = self._axes.get(row.get("size", ""), row.get("size"))
        if size not in self._known:
            return
        step = self._names.get(_STEPS.get(size or "", ""), 1)
        offsets = (0,) if row.get("exact") or size is None else (0, -1, 1, -step, step)
        further = row.get("set", {})
        for splits, windows, text in product(
            row.get("split", [None]), self._windows(row), row.get("at", ["0"])
        ):
            names = {**self._names, "split": splits}
            if not all(_applies(one, names) for one in (text, *further.values())):
                continue
            at = value_of(text, names)
            fixed = {self._axes.get(name, name): value_of(one, names) for name, one in further.items()}
            for offset in dict.fromkeys(offsets):
                shown = f"{size} = {text}{f' {offset:+d}' if offset else ''}" if size else f"axes {windows}"
                shown += f", split_k = {splits}" if splits not in (None, 1) else ""
                if size is None:
                    yield shown, fixed, splits, windows
                elif at + offset >= (not size.startswith("stride")):
                    yield shown, {**fixed, size: at + offset}, splits, windows

    def _windows(self, row: Mapping[str, Any]) -> Sequence[Any]:
        """Return filter, stride, dilation and pads by axis, some at a time; ``None`` where they are drawn."""
        axes = range(self._usual.ndim)
        if "every" not in row:
            several: Sequence[Any] = row.get("axes", [None])
            return several
        every = formulas()["windows"][row["every"]]
        return [[one if axis == here else None for here in axes] for one in every for axis in axes]

    def _attempts(
        self, row: Mapping[str, Any], sizes: Mapping[str, int], splits: int | None, windows: Any
    ) -> Iterator[tuple[Problem, int]]:
        """Yield problems with these sizes, all others drawn."""
        for number in range(ATTEMPTS):
            text = f"{self._seed} {row['kind']} {sorted(sizes.items())} {windows} {number}"
            draw = random.Random(text)  # noqa: S311 - no secret
            drawn = 1 if number % 2 else draw.choice(_SPLITS)
            mode = row.get("windows") or _MODES[number % len(_MODES)]
            try:
                problem = (
                    self._convolution(draw, sizes, mode, windows)
                    if self._is_convolution
                    else self._product(draw, sizes)
                )
            except InputError:
                continue
            if row.get("large") or problem.flop <= _MOST_FLOP:
                yield problem, drawn if splits is None else splits

    def _drawn(self, draw: random.Random, name: str) -> int:
        value: int = value_of(draw.choice(self._context[name]), self._names)
        return value

    def _convolution(
        self, draw: random.Random, sizes: Mapping[str, int], mode: str, windows: Sequence[Any] | None
    ) -> Any:
        """Return a convolution with these sizes.

        :raises InputError: no convolution has them.
        """
        ndim = self._usual.ndim
        values = {name: sizes.get(name) or self._drawn(draw, name) for name in _CHANNELS}
        outputs = [draw.choice(_OUTPUTS) for _ in range(ndim)]
        if "filt" in self._names:
            values |= {"K": 1, "C": 1}
            axes = [
                [value_of(text, self._names) for text in one] for one in formulas()["windows"]["of_fields"]
            ]
        else:
            axes = [draw.choice(formulas()["windows"][mode]) for _ in range(ndim)]
        given = [None, None, None, *(windows or ())][-ndim:]
        axes = [window or drawn for window, drawn in zip(given, axes, strict=True)]
        for name, axis in (("rows", -2), ("columns", -1)):
            if name in sizes and ndim >= -axis:
                outputs[axis] = sizes[name]
        pixels = sizes.get("pixels", 0)
        if pixels:
            values["N"] = draw.choice([n for n in (1, 2, 3) if pixels % n == 0])
            outputs = [1] * (ndim - 1) + [pixels // values["N"]]
        lengths = []
        for (taps, stride, dilation, left, right), output in zip(axes, outputs, strict=True):
            slack = draw.randrange(stride)
            length = (output - 1) * stride + (taps - 1) * dilation + 1 - left - right + slack
            lengths.append(max(1, output if pixels and self._instance.direction == _BY_INPUT else length))
        filters, strides, dilations, lefts, rights = (tuple(one) for one in zip(*axes, strict=True))
        fused: dict[str, Any] = {}
        if (combination := getattr(self._usual, "elementwise", None)) is not None:
            # D tensors as large as the result, or with an element per channel
            extents = [draw.choice([*type(extent).__members__.values()]) for extent in combination.extents]
            fused = {"elementwise": replace(combination, extents=tuple(extents))}
        return replace(
            self._usual,
            **{_CHANNELS[name]: value for name, value in values.items()},
            **fused,
            filter=filters,
            input=tuple(lengths),
            strides=strides,
            dilations=dilations,
            left_pads=lefts,
            right_pads=rights,
        )

    def _product(self, draw: random.Random, sizes: Mapping[str, int]) -> Any:
        """Return a product of matrices with these sizes; strides are gaps beyond the packed ones.

        :raises InputError: no product has them.
        """
        values = {name: sizes.get(name) or self._drawn(draw, name) for name in ("m", "n", "k", "batch")}
        problem = replace(self._usual, **values)
        strides = {}
        for name in "abe":
            least = problem.tensor(name, self._instance.layout).shape[-1]
            gap = sizes.get(f"stride_{name}", draw.choice((0, 0, _GAP)))
            strides[f"stride_{name}"] = least + gap if gap else 0
        return replace(problem, **strides)
