"""Why a predicted time changed: what differs between the loops of two kernels, and where first.

Registers are allocated anew by every compilation, so instructions are compared without their numbers. What
follows from the order of instructions is computed on the loop, which repeats: a wait ``vmcnt(n)`` ends when
all but the last ``n`` accesses to global memory that were issued before it are complete, ``lgkmcnt(n)`` the
same of LDS.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import Enum
from functools import partial
from statistics import fmean
from typing import TYPE_CHECKING, Final

from ckprof.formatting import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ckprof_plugins.tuning.gate.baseline import KernelFigures, LoopInstruction

    Loop = Sequence[LoopInstruction]


class Cause(Enum):
    """What makes a loop take longer or shorter."""

    SPILL = "spill"
    BARRIER = "barrier"
    NARROWER = "narrower accesses"
    CONFLICTS = "bank conflicts"
    PREFETCH = "prefetch"
    WAIT = "wait"
    OCCUPANCY = "occupancy"
    ITERATIONS = "iterations"
    MATRIX = "matrix instructions"
    MORE = "instructions"
    ORDER = "order of instructions"


@dataclass(frozen=True, slots=True)
class Reason:
    """Something that differs, in one sentence; the first one of several explains most."""

    cause: Cause
    text: str
    #: what stands there before and after, the first place alone; empty for what has no place
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    #: whether it makes a kernel slower by itself; ``None`` if that is not known
    slows: bool | None = None


_REGISTER: Final = re.compile(r"\b([vsa])(?:\d+\b|\[\d+:\d+\])")
_COUNT: Final = re.compile(r"(vmcnt|lgkmcnt)\((\d+)\)")
_WIDTH: Final = re.compile(r"(?:dwordx(\d)|_b(\d+)$|(dword)$|_([us]?short|[us]byte)(?:_d16(?:_hi)?)?$)")
#: instructions that a place shows at most, of each side, and those around it
_SHOWN: Final = 4
_AROUND: Final = 1
#: share by which figures of loops differ before they explain anything
_NOTABLE: Final = 0.1


def reasons(old: KernelFigures, new: KernelFigures, before: Loop, after: Loop) -> list[Reason]:
    """Return what differs between two predictions of a kernel, what explains most first.

    What makes a kernel slower explains nothing of one that became faster, and stands last.

    :param old: the figures before, ``new`` those after.
    :param before: the loop, empty without one.
    """
    found = [
        *_spills(old, new, before, after),
        *_barriers(old, new, before, after),
        *_accesses(old, new, before, after),
        *_conflicts(old, new, before, after),
        *_prefetches(before, after),
        *_waits(before, after),
        *_occupancy(old, new),
        *_iterations(old, new),
        *_counts(old, new, before, after),
    ]
    if not found and (place := first_difference(before, after)) is not None:
        found.append(Reason(Cause.ORDER, "the same instructions stand in another order", *place))
    if old.time_us == new.time_us:
        return found
    slower = new.time_us > old.time_us
    return sorted(found, key=lambda one: 1 if one.slows is None else 0 if one.slows is slower else 2)


# --- places -------------------------------------------------------------------------------------------------


def without_registers(text: str) -> str:
    """Return the text of an instruction without the numbers of its registers."""
    return _REGISTER.sub(r"\1", text)


def first_difference(
    before: Loop, after: Loop, about: Callable[[LoopInstruction], bool] = lambda _: True
) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Return the first instructions of both loops that the other one lacks, with one around them.

    :param about: of these the difference has to have one; if none has, the first difference of all is meant.
    :returns: ``None`` where both are the same but for registers.
    """
    first = None
    old, new = ([without_registers(one.text) for one in loop] for loop in (before, after))
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        place = (i1, i2, j1, j2)
        first = first or place
        if any(map(about, (*before[i1:i2], *after[j1:j2]))):
            return _texts(before, after, _narrowed(before, after, place, about))
    return _texts(before, after, first) if first else None


def _narrowed(
    before: Loop, after: Loop, place: tuple[int, int, int, int], about: Callable[[LoopInstruction], bool]
) -> tuple[int, int, int, int]:
    """Return the part of a long difference that begins with the first instruction that it is about."""
    i1, i2, j1, j2 = place
    at = [
        next((n for n in range(*ends) if about(loop[n])), None)
        for loop, ends in ((before, (i1, i2)), (after, (j1, j2)))
    ]
    begin_i = at[0] if at[0] is not None else min(i1 + (at[1] or j1) - j1, i2)
    begin_j = at[1] if at[1] is not None else min(j1 + (at[0] or i1) - i1, j2)
    return begin_i, i2, begin_j, j2


def _texts(
    before: Loop, after: Loop, place: tuple[int, int, int, int]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    def texts(loop: Loop, begin: int, end: int) -> tuple[str, ...]:
        return tuple(one.text for one in loop[max(0, begin - _AROUND) : min(end, begin + _SHOWN) + _AROUND])

    i1, i2, j1, j2 = place
    return texts(before, i1, i2), texts(after, j1, j2)


def _at(
    before: Loop, after: Loop, about: Callable[[LoopInstruction], bool]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return first_difference(before, after, about) or ((), ())


# --- what differs -------------------------------------------------------------------------------------------


def _is_scratch(one: LoopInstruction) -> bool:
    """Whether an instruction may access memory of the lane: by its name, or by the usual resource of that."""
    return one.mnemonic.startswith("scratch_") or (
        one.mnemonic.startswith("buffer_") and "s[0:3]" in one.text
    )


def _in_loop(side: KernelFigures, loop: Loop) -> int:
    """Return the accesses to scratch in the loop."""
    return sum(map(_is_scratch, loop)) if _scratch(side) else 0


def _spills(old: KernelFigures, new: KernelFigures, before: Loop, after: Loop) -> Iterator[Reason]:
    had, has = _in_loop(old, before), _in_loop(new, after)
    if old.spills == new.spills and _scratch(old) == _scratch(new) and had == has:
        return
    text = f"registers spilled: {old.spills} -> {new.spills}"
    if _scratch(old) != _scratch(new):
        text += f", scratch {_scratch(old)} -> {_scratch(new)} bytes"
    if had != has:
        text += f"; scratch accesses in the loop: {had} -> {has}"
    more = (new.spills, _scratch(new), has) > (old.spills, _scratch(old), had)
    place = _at(before, after, _is_scratch) if had != has else ((), ())
    yield Reason(Cause.SPILL, text, *place, slows=more)


def _scratch(one: KernelFigures) -> int:
    return one.needs.get("scratch_bytes", 0)


def _barriers(old: KernelFigures, new: KernelFigures, before: Loop, after: Loop) -> Iterator[Reason]:
    had, has = (sum(one.mnemonic == "s_barrier" for one in loop) for loop in (before, after))
    if had != has:
        place = _at(before, after, lambda one: one.mnemonic == "s_barrier")
        yield Reason(Cause.BARRIER, f"barriers in the loop: {had} -> {has}", *place, slows=has > had)
    elif (was := old.executed.get("s_barrier", 0)) != (now := new.executed.get("s_barrier", 0)):
        where = _outside(old, new)
        text = f"barriers that the waves of a workgroup execute{where}: {was} -> {now}"
        yield Reason(Cause.BARRIER, text, slows=now > was)


def _outside(old: KernelFigures, new: KernelFigures) -> str:
    """Say where something differs that does not differ in the loop, if as many waves execute it as often."""
    same = (old.iterations, old.lanes) == (new.iterations, new.lanes)
    return " outside of the loop" if same else ""


def _bits(mnemonic: str) -> int:
    """Return how many bits an access moves per lane; 0 for what is none."""
    match = _WIDTH.search(mnemonic)
    if match is None:
        return 0
    if match[1]:
        return 32 * int(match[1])
    if match[2]:
        return int(match[2]) * (2 if re.match(r"ds_(?:read|write)2", mnemonic) else 1)
    return 32 if match[3] else 16 if "short" in match[4] else 8


#: beginnings of mnemonics -> what they are
_ACCESSES: Final = {
    "loads from global memory": ("buffer_load", "global_load", "flat_load"),
    "stores to global memory": ("buffer_store", "global_store", "flat_store"),
    "reads of LDS": ("ds_read",),
    "writes to LDS": ("ds_write",),
}


def _accesses(old: KernelFigures, new: KernelFigures, before: Loop, after: Loop) -> Iterator[Reason]:
    """Yield kinds of accesses whose mean width changed."""
    for what, begins in _ACCESSES.items():
        widths = [_widths(side, begins) for side in (old, new)]
        means = [_mean_width(counts) for counts in widths]
        if not all(means) or abs(means[1] / means[0] - 1) < _NOTABLE:
            continue
        change = "narrower" if means[1] < means[0] else "wider"
        texts = [
            ", ".join(f"{number} x {bits} bits" for bits, number in sorted(counts.items()))
            for counts in widths
        ]
        place = _at(before, after, partial(_begins, begins))
        text = f"{what} are {change}: a workgroup has {texts[0]} -> {texts[1]}"
        yield Reason(Cause.NARROWER, text, *place, slows=means[1] < means[0])


def _widths(side: KernelFigures, begins: tuple[str, ...]) -> dict[int, int]:
    """Return bits of a lane -> accesses that the waves of a workgroup execute."""
    counts: dict[int, int] = {}
    for name, number in side.executed.items():
        if name.startswith(begins) and (bits := _bits(name)):
            counts[bits] = counts.get(bits, 0) + number
    return counts


def _begins(begins: tuple[str, ...], one: LoopInstruction) -> bool:
    return one.mnemonic.startswith(begins)


def _mean_width(counts: dict[int, int]) -> float:
    number = sum(counts.values())
    return sum(bits * count for bits, count in counts.items()) / number if number else 0.0


#: cycles of bank conflicts of a workgroup, per access to LDS, from which on more of them explain something
_LEAST_CONFLICT: Final = 0.25


def _conflicts(old: KernelFigures, new: KernelFigures, before: Loop, after: Loop) -> Iterator[Reason]:
    per_access = []
    for side in (old, new):
        accesses = sum(number for name, number in side.executed.items() if name.startswith("ds_"))
        per_access.append(side.conflict_cycles / accesses if accesses else 0.0)
    if abs(per_access[1] - per_access[0]) < _LEAST_CONFLICT:
        return
    text = (
        f"bank conflicts cost a workgroup {old.conflict_cycles:,.0f} -> {new.conflict_cycles:,.0f} cycles, "
        f"{per_access[0]:.1f} -> {per_access[1]:.1f} of each access to LDS"
    )
    first = (next((one for one in loop if one.conflict_cycles), None) for loop in (before, after))
    old_place, new_place = (
        (f"{one.text}  ({one.conflict_cycles:g} cycles of conflicts)",) if one else () for one in first
    )
    yield Reason(Cause.CONFLICTS, text, old_place, new_place, slows=per_access[1] > per_access[0])


#: how often a loop is executed to see which wait a load is needed for; no loop loads more iterations ahead
_TURNS: Final = 6


def _distances(loop: Loop, counter: str, begins: tuple[str, ...]) -> list[int]:
    """Return of each access the matrix instructions that are issued before a wait needs it.

    The loop is executed some times; what is issued in the second one counts.
    """
    flying: list[int | None] = []
    found: list[int] = []
    matrix = 0
    for turn in range(_TURNS):
        for one in loop:
            if one.unit == "matrix":
                matrix += 1
            elif one.mnemonic.startswith(begins):
                loads = "load" in one.mnemonic or "read" in one.mnemonic
                flying.append(matrix if loads and turn == 1 else None)
            elif one.mnemonic == "s_waitcnt":
                left = dict(_COUNT.findall(one.text)).get(counter)
                done = len(flying) - int(left) if left is not None else 0
                found += [matrix - issued for issued in flying[: max(done, 0)] if issued is not None]
                del flying[: max(done, 0)]
    return found


def _prefetches(before: Loop, after: Loop) -> Iterator[Reason]:
    products = [sum(one.unit == "matrix" for one in loop) for loop in (before, after)]
    for what, counter, begins in (
        ("global memory", "vmcnt", ("buffer_", "global_", "flat_")),
        ("LDS", "lgkmcnt", ("ds_",)),
    ):
        found = [_distances(loop, counter, begins) for loop in (before, after)]
        if not all(found) or not all(products):
            continue
        means = [fmean(one) for one in found]
        # in iterations: more matrix instructions of an iteration are no earlier loads
        ahead = [mean / matrix for mean, matrix in zip(means, products, strict=True)]
        if abs(ahead[1] - ahead[0]) <= _NOTABLE * max(ahead):
            continue
        lost = "earlier" if ahead[1] < ahead[0] else "later"
        text = (
            f"loads from {what} are waited for {lost}: {means[0]:.1f} -> {means[1]:.1f} matrix instructions "
            "are issued between a load and its wait"
        )
        place = _at(before, after, lambda one: one.mnemonic == "s_waitcnt")
        yield Reason(Cause.PREFETCH, text, *place, slows=ahead[1] < ahead[0])


def _waits(before: Loop, after: Loop) -> Iterator[Reason]:
    sides = [[one.text for one in loop if one.mnemonic == "s_waitcnt"] for loop in (before, after)]
    if sides[0] == sides[1]:
        return
    text = "waits of the loop differ"
    if len(sides[0]) != len(sides[1]):
        text = f"waits in the loop: {len(sides[0])} -> {len(sides[1])}"
    place = _at(before, after, lambda one: one.mnemonic == "s_waitcnt")
    numbers = [len(side) for side in sides]
    yield Reason(
        Cause.WAIT, text, *place, slows=None if numbers[0] == numbers[1] else numbers[1] > numbers[0]
    )


def _occupancy(old: KernelFigures, new: KernelFigures) -> Iterator[Reason]:
    if old.resident != new.resident:
        needs = ", ".join(
            f"{name} {old.needs.get(name, 0)} -> {new.needs.get(name, 0)}"
            for name in ("vgprs", "sgprs", "lds_bytes")
            if old.needs.get(name) != new.needs.get(name)
        )
        yield Reason(
            Cause.OCCUPANCY,
            f"workgroups that share a compute unit: {old.resident} -> {new.resident}, limited by "
            f"{new.limited_by}" + (f" ({needs})" if needs else ""),
            slows=new.resident < old.resident,
        )


def _iterations(old: KernelFigures, new: KernelFigures) -> Iterator[Reason]:
    if old.iterations != new.iterations:
        text = f"iterations of the loop: {old.iterations} -> {new.iterations}"
        yield Reason(Cause.ITERATIONS, text, slows=new.iterations > old.iterations)


def _counts(old: KernelFigures, new: KernelFigures, before: Loop, after: Loop) -> Iterator[Reason]:
    """Yield what waves execute more or less of, all kinds in one sentence."""
    changes = {
        name: (old.executed.get(name, 0), new.executed.get(name, 0))
        for name in sorted({*old.executed, *new.executed})
        if old.executed.get(name, 0) != new.executed.get(name, 0)
    }
    if not changes:
        return
    matrix = any(name.startswith("v_mfma") for name in changes)
    most = sorted(changes, key=lambda name: -abs(changes[name][1] - changes[name][0]))[:_SHOWN]
    texts = [f"{name} {changes[name][0]} -> {changes[name][1]}" for name in most]
    more = f" and {counted(len(changes) - len(most), 'further kind')}" if len(changes) > len(most) else ""
    place = _at(before, after, lambda one: one.mnemonic in changes or one.unit in changes)
    where = "" if any(place) else _outside(old, new)
    yield Reason(
        Cause.MATRIX if matrix else Cause.MORE,
        f"instructions of a workgroup{where}: {', '.join(texts)}{more}",
        *place,
    )
