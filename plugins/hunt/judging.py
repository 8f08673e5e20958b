"""Answers of support tests beyond 2 GiB and 2^31 elements, judged in 64 bits: nothing is run."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from math import isqrt, prod
from typing import TYPE_CHECKING, Any, Final

from ckprof.errors import InputError
from ckprof_plugins.hunt.boundaries import formulas, value_of
from ckprof_plugins.hunt.findings import pair_names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ckprof.model.problem import Problem
    from ckprof_plugins.hunt.hunting import Hunt

#: bytes of an element where images are counted that a launch takes, whatever its type is
_COUNTED_BYTES: Final = 4
_MOST_BYTES: Final = 2**31
#: directions whose kernels take as many images as fit, in several launches
_CUT: Final = ("fwd", "bwd_data")


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeFinding:
    """Kernels whose support test says yes to more than they can address."""

    #: what is addressed or counted
    text: str
    #: what the problem takes of it, and what there is
    value: int
    most: int
    kernels: tuple[str, ...]
    #: the smallest one that the first kernel says yes to
    problem: Problem


def range_findings(hunt: Hunt) -> tuple[int, list[RangeFinding]]:
    """Return how many answers were judged, and what they are wrong about.

    :raises CkprofError: the kernels cannot be asked.
    """
    asked = {
        key: list(dict.fromkeys((problem, 1) for problem in _problems(hunt, key))) for key in hunt.candidates
    }
    answers = hunt.answers(asked)
    found: dict[str, dict[str, tuple[int, Problem]]] = {}
    bounds = [one for one in formulas()["bound"] if not (one.get("device") and hunt.target.embedded)]
    for key, problems in asked.items():
        for (problem, splits), yes in zip(problems, answers.get(key, ()), strict=False):
            if not yes:
                continue
            names = pair_names(hunt, (key, problem, splits)) | _large_names(hunt, key, problem)
            for bound in bounds:
                try:
                    value = value_of(bound["value"], names)
                except NameError:
                    continue
                known = found.setdefault(bound["text"], {})
                if value > bound["most"] and (key not in known or value < known[key][0]):
                    known[key] = value, problem
    most = {bound["text"]: bound["most"] for bound in bounds}
    return sum(map(len, answers.values())), [
        RangeFinding(
            text=text,
            value=next(iter(kernels.values()))[0],
            most=most[text],
            kernels=tuple(kernels),
            problem=next(iter(kernels.values()))[1],
        )
        for text, kernels in found.items()
        if kernels
    ]


def _large_names(hunt: Hunt, key: str, problem: Any) -> dict[str, Any]:
    """Return images of one launch, and bytes of its result."""
    images, instance = problem.batch, hunt.candidates[key].instance
    per_image = max(problem.in_channels * prod(problem.input), problem.out_channels * prod(problem.output))
    size = _COUNTED_BYTES * per_image * images
    if instance.direction in _CUT and size > _MOST_BYTES:
        least = -(-size // _MOST_BYTES)
        divisors = (d for d in range(least, isqrt(images) + 1) if images % d == 0)
        images //= next(divisors, images)
    share = images / problem.batch
    elements = {
        "fwd": int(share * problem.output_elements),
        "bwd_data": int(share * problem.input_elements),
        "bwd_weight": problem.weight_elements,
    }.get(instance.direction, 0)
    return {"images": images, "result_bytes": elements * instance.types.result.properties.size_bytes}


def _problems(hunt: Hunt, key: str) -> Iterator[Problem]:
    """Yield problems around the bounds, with filters that kernels for one kind of them take as well."""
    data, usual = formulas()["range"], hunt.usual(key)
    if not any(field.name == "filter" for field in fields(usual)):  # type: ignore[arg-type]
        return
    ndim, channels = usual.ndim, data["channels"]

    def made(taps: int, image: int, **sizes: int) -> Iterator[Problem]:
        pads, ones = (taps // 2,) * ndim, (1,) * ndim
        shape = {"filter": (taps,) * ndim, "left_pads": pads, "right_pads": pads}
        lengths = (*ones[2:], *(image,) * ndim)[-ndim:] if ndim < 3 else (1, image, image)
        channels_of = {"groups": 1, "in_channels": channels, "out_channels": channels}
        try:
            yield replace(
                usual, **{**channels_of, **sizes, **shape}, input=lengths, strides=ones, dilations=ones
            )  # type: ignore[type-var]
        except InputError:
            return

    for taps in (1, 3):
        for one in data["problems"]:
            for batch in one["N"]:
                for groups in (1, 2):
                    per_group = {
                        "groups": groups,
                        "in_channels": channels // groups,
                        "out_channels": channels // groups,
                    }
                    yield from made(taps, one["image"], batch=batch, **per_group)
        for groups in data["groups"]:
            yield from made(taps, 3, batch=1, groups=groups, in_channels=8, out_channels=8)
        for k, c in data["weights"]:
            yield from made(taps, 3, batch=1, out_channels=k, in_channels=c)
