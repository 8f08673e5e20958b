"""What was found: one finding for all pairs that fail alike, with its condition, as small as it fails."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import reduce
from itertools import combinations
from operator import and_
from typing import TYPE_CHECKING, Any, Final

from ckprof.errors import InputError
from ckprof.model.outcome import Status
from ckprof.plugin.members import offers
from ckprof.plugin.protocols import Operation
from ckprof_plugins.hunt.boundaries import FUNCTIONS, formulas, value_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ckprof.model.problem import Problem
    from ckprof_plugins.hunt.hunting import Hunt, Pair

#: stands for the splits among the sizes of a problem
_SPLITS: Final = "split_k"
#: rounds in which sizes are made smaller
_MOST_ROUNDS: Final = 12
#: findings that are made smaller; further ones are shown as they were found
_MOST_MINIMISED: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Kernels that fail alike."""

    status: Status
    reason: str
    #: what all failing pairs of the kernels have and no other one; empty where no formula has that
    condition: str
    #: kinds of boundaries at which they fail
    boundaries: tuple[str, ...]
    #: keys of the kernels, that of :attr:`problem` first
    kernels: tuple[str, ...]
    #: pairs that fail, and pairs of these kernels that do not
    failed: int
    passed: int
    #: the smallest one that fails
    problem: Problem
    split_k: int
    #: where it was found
    found_on: Problem
    #: what repeats it; ``None`` where no line says its problem
    command: str | None = None


def findings(hunt: Hunt) -> list[Finding]:
    """Return what was found, most kernels first."""
    groups: dict[tuple[str, Status], list[Pair]] = {}
    for key in hunt.candidates:
        for condition, pairs in explained(hunt, key):
            for pair in pairs:
                groups.setdefault((condition, hunt.outcomes[pair].status), []).append(pair)
    ordered = sorted(groups.items(), key=lambda item: (-len({pair[0] for pair in item[1]}), -len(item[1])))
    return [_finding(hunt, *group, minimised=n < _MOST_MINIMISED) for n, group in enumerate(ordered)]


def _finding(hunt: Hunt, what: tuple[str, Status], pairs: Sequence[Pair], *, minimised: bool) -> Finding:
    condition, status = what
    first = min(pairs, key=lambda pair: weight_of(*pair[1:]))
    key, problem, splits = _minimised(hunt, first, status) if minimised else first
    kernels = dict.fromkeys((key, *(pair[0] for pair in pairs)))
    kinds = dict.fromkeys(kind for pair in pairs for kind, _ in hunt.planned[pair])
    return Finding(
        status=status,
        reason=hunt.outcomes[first].reason,
        condition=condition,
        boundaries=tuple(kinds),
        kernels=tuple(kernels),
        failed=len(pairs),
        passed=sum(pair[0] in kernels and out.status is Status.OK for pair, out in hunt.outcomes.items()),
        problem=problem,
        split_k=splits,
        found_on=first[1],
    )


def split_errors(hunt: Hunt) -> list[tuple[str, Problem, dict[int, float]]]:
    """Return kernels with the problem on which errors grow most with splits, and the largest ones by splits.

    What every split must keep within is its tolerance, which grows with them: more digits may be lost than a
    user wants.
    """
    errors: dict[tuple[str, Problem], dict[int, float]] = {}
    for (key, problem, splits), outcome in hunt.outcomes.items():
        check = outcome.verification
        if outcome.status is Status.OK and check is not None and splits > 0:
            errors.setdefault((key, problem), {})[splits] = check.max_error
    worst: dict[str, tuple[float, Problem, dict[int, float]]] = {}
    for (key, problem), known in errors.items():
        growth = max(known.values()) / (known[min(known)] or math.inf)
        if len(known) > 1 and (key not in worst or growth > worst[key][0]):
            worst[key] = growth, problem, known
    return [(key, problem, known) for key, (_, problem, known) in worst.items()]


# --- conditions -------------------------------------------------------------------------------------------


def explained(hunt: Hunt, key: str) -> Iterator[tuple[str, list[Pair]]]:
    """Yield conditions with the failing pairs of a kernel that have them, until all are explained.

    A condition is a formula, or up to three together, that no right pair has. What no formula explains comes
    last, with an empty condition.
    """
    known = [(pair, outcome) for pair, outcome in hunt.outcomes.items() if pair[0] == key]
    failing = [pair for pair, outcome in known if outcome.status.is_failure]
    pairs = [*failing, *(pair for pair, outcome in known if outcome.status is Status.OK)]
    if not failing:
        return
    right = (1 << len(pairs)) - (1 << len(failing))
    masks = _masks(hunt, pairs)
    left = (1 << len(failing)) - 1
    while left:
        best, cover = _best(masks, left, right)
        yield best, [pair for number, pair in enumerate(failing) if cover >> number & 1]
        left &= ~cover


def _best(masks: Mapping[str, int], wanted: int, right: int) -> tuple[str, int]:
    """Return the simplest condition that all wanted pairs have and no right one, and the pairs it covers.

    Without any, one that most of them have; without that, nothing, for all of them.
    """
    partly = "", 0
    for size in (1, 2, 3):
        all_have = [(text, mask) for text, mask in masks.items() if mask & wanted == wanted]
        for some in combinations(all_have, size):
            if not reduce(and_, (mask for _, mask in some)) & right:
                return " and ".join(text for text, _ in some), wanted
        for some in combinations(masks.items(), size) if size < 3 else ():
            mask = reduce(and_, (mask for _, mask in some))
            if not mask & right and (mask & wanted).bit_count() > partly[1].bit_count():
                partly = " and ".join(text for text, _ in some), mask & wanted
    return partly if 2 * partly[1].bit_count() > wanted.bit_count() else ("", wanted)


def _masks(hunt: Hunt, pairs: Sequence[Pair]) -> dict[str, int]:
    """Return condition -> pairs that have it, bit by bit."""
    known = [pair_names(hunt, pair) for pair in pairs]
    masks = {}
    for text in formulas()["conditions"]["texts"]:
        try:
            masks[text] = sum(1 << number for number, names in enumerate(known) if value_of(text, names))
        except (NameError, ZeroDivisionError):
            continue  # a width of 0 follows from the tile
    return masks


_SHORT: Final = {"groups": "G", "batch": "N", "out_channels": "K", "in_channels": "C"}


def pair_names(hunt: Hunt, pair: Pair) -> dict[str, Any]:
    """Return what conditions know of a kernel on a problem."""
    key, splits = pair[0], pair[2]
    problem: Any = pair[1]
    instance = hunt.candidates[key].instance
    names: dict[str, Any] = {**FUNCTIONS, **instance.fields(), "split_k": splits}
    sizes = {one.name: getattr(problem, one.name) for one in fields(problem)}
    is_convolution = "filter" in sizes
    names |= {_SHORT.get(name, name) if is_convolution else name: value for name, value in sizes.items()}
    if is_convolution:
        axes = list(zip(problem.strides, problem.dilations, strict=True))
        names["output"] = problem.output
        names["sub_gemms"] = tuple(stride // math.gcd(stride, dilation) for stride, dilation in axes)
        names["uncovered"] = any(
            (length + left + right - (taps - 1) * dilation - 1) % stride
            for length, left, right, taps, (stride, dilation) in zip(
                problem.input, problem.left_pads, problem.right_pads, problem.filter, axes, strict=True
            )
        )
    if offers(hunt.operation, Operation.product) and "tile_k" in names:
        product = hunt.operation.product(getattr(problem, "unfused", problem), instance.dtype)
        names |= {"gemm_m": product.m, "gemm_n": product.n, "gemm_k": product.k}
        names["loops"] = -(-product.k // (names["tile_k"] * max(1, splits)))
    return names


# --- smaller ----------------------------------------------------------------------------------------------


def _minimised(hunt: Hunt, pair: Pair, status: Status) -> Pair:
    """Return a pair of the same kernel that fails alike and is smaller in every size that allows it."""
    key, problem, splits = pair

    def failing(ones: Iterable[tuple[Problem, int]]) -> list[tuple[Problem, int]]:
        asked = dict.fromkeys(one for one in ones if one != (problem, splits))
        results = hunt.results([(key, *one) for one in asked])
        known = {pair[1:]: outcome.status for pair, outcome in results.items()}
        return [one for one in asked if known.get(one) is status]

    for _ in range(_MOST_ROUNDS):
        if hunt.seconds_left() <= 0 or hunt.error is not None:
            break
        changes = {changed: change for change, changed in smaller_problems(problem, splits)}
        alone = failing(changes)
        if not alone:
            break
        # each size as small as it still fails alone, all of them together
        least: dict[tuple[str, int], int] = {}
        for one in alone:
            name, axis, value = changes[one]
            least[name, axis] = min(value, least.get((name, axis), value))
        together = problem, splits
        for (name, axis), value in least.items():
            with suppress(InputError):
                together = _changed(*together, name, axis, value)
        problem, splits = min([*alone, *failing([together])], key=lambda one: weight_of(*one))
    return key, problem, splits


def weight_of(problem: Problem, splits: int) -> float:
    """Return how large a problem is: what is made smaller has less of it."""
    return sum(math.log2(1 + abs(value)) for value in (*problem.values(), splits))


def smaller_problems(
    problem: Problem, splits: int, moduli: Sequence[int] = ()
) -> Iterator[tuple[tuple[str, int, int], tuple[Problem, int]]]:
    """Yield what is changed, as name, axis and value, and the problem with one size smaller.

    :param moduli: a size is made as small as it has the same remainder, too.
    """
    sizes = {
        field.name: value if isinstance(value, tuple) else (value,)
        for field in fields(problem)  # type: ignore[arg-type]
        if not is_dataclass(value := getattr(problem, field.name))
    }
    for name, values in (*sizes.items(), (_SPLITS, (splits,))):
        for axis, size in enumerate(values):
            alike = (size % modulus + modulus for modulus in moduli)
            for wanted in dict.fromkeys(
                (0, 1, size // 2, 1 << (max(2, size) - 1).bit_length() - 1, size - 1, *alike)
            ):
                if wanted < size and (name != _SPLITS or wanted > 0):
                    with suppress(InputError):
                        yield (name, axis, wanted), _changed(problem, splits, name, axis, wanted)


def _changed(problem: Problem, splits: int, name: str, axis: int, value: int) -> tuple[Problem, int]:
    """Return a problem with another size.

    :raises InputError: the problem cannot have it.
    """
    if name == _SPLITS:
        return problem, value
    before = getattr(problem, name)
    after = (*before[:axis], value, *before[axis + 1 :]) if isinstance(before, tuple) else value
    return replace(problem, **{name: after}), splits  # type: ignore[type-var]
