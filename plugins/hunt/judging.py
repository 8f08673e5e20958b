"""Answers of support tests beyond 2 GiB and 2^31 elements, judged in 64 bits: nothing is run."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import product
from math import isqrt, prod
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ckprof.errors import InputError
from ckprof_plugins.hunt.boundaries import formulas, value_of
from ckprof_plugins.hunt.findings import pair_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

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


#: content key of a kernel -> problems around the bounds, the smallest first, and whether it supports them
LargeAnswers: TypeAlias = "Mapping[str, list[tuple[Problem, bool]]]"


def large_answers(hunt: Hunt) -> LargeAnswers:
    """Return what kernels say of problems around the ends of 32-bit integers.

    :raises CkprofError: the kernels cannot be asked.
    """
    asked = {
        key: sorted(dict.fromkeys(large_problems(hunt, key)), key=lambda problem: problem.flop)
        for key in hunt.candidates
    }
    answers = hunt.answers({key: [(problem, 1) for problem in problems] for key, problems in asked.items()})
    return {key: list(zip(asked[key], said, strict=True)) for key, said in answers.items()}


def range_findings(hunt: Hunt, answers: LargeAnswers) -> list[RangeFinding]:
    """Return what answers are wrong about."""
    bounds = [one for one in formulas()["bound"] if not (one.get("device") and hunt.target.embedded)]
    hits: dict[str, list[tuple[int, str, Problem]]] = {}
    for key, said in answers.items():
        for problem, yes in said:
            names = {**pair_names(hunt, (key, problem, 1)), **_large_names(hunt, key, problem)}
            for bound in bounds if yes else ():
                with suppress(NameError):
                    if (value := value_of(bound["value"], names)) > bound["most"]:
                        hits.setdefault(bound["text"], []).append((value, key, problem))
    found = []
    for bound in bounds:
        if of_bound := sorted(hits.get(bound["text"], ()), key=lambda hit: hit[0]):
            value, _, problem = of_bound[0]
            kernels = tuple(dict.fromkeys(key for _, key, _ in of_bound))
            found.append(
                RangeFinding(
                    text=bound["text"], value=value, most=bound["most"], kernels=kernels, problem=problem
                )
            )
    return found


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


def large_problems(hunt: Hunt, key: str) -> Iterator[Problem]:
    """Yield problems around the bounds, with filters that kernels for one kind of them take as well."""
    usual: Any = hunt.usual(key)
    if not hasattr(usual, "filter"):
        return
    ones = (1,) * usual.ndim
    for entry in formulas()["range"]:
        for values in product(*entry.values()):
            sizes = dict(zip(entry, values, strict=True))
            taps, image, channels = (sizes.pop(name, 0) for name in ("taps", "image", "channels"))
            usual_sizes = {"groups": 1, "batch": 1, "in_channels": channels, "out_channels": channels}
            with suppress(InputError):
                yield replace(
                    usual,
                    **{**usual_sizes, **sizes},
                    filter=(taps,) * usual.ndim,
                    input=(1, image, image)[-usual.ndim :],
                    strides=ones,
                    dilations=ones,
                    left_pads=(taps // 2,) * usual.ndim,
                    right_pads=(taps // 2,) * usual.ndim,
                )
