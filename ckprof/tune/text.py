"""What a search found, as text and as JSON values."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from tabulate import tabulate

from ckprof.tune.comparison_text import comparison_text, comparison_values

if TYPE_CHECKING:
    from ckprof.tune.result import TuneResult

#: rows of progress that are shown: enough to see how the search went
_SHOWN: Final = 12
#: kernels that were never built of which the text names the reason
_UNBUILT: Final = 8

_ENDS: Final = {
    "settled": "no further measurement is expected to be worth it",
    "budget": "the budget is spent; the same command goes on",
    "requested": "stopped; the same command goes on",
}


def tune_values(found: TuneResult) -> dict[str, Any]:
    """Return a search as plain JSON values; times in microseconds, shares between 0 and 1."""
    return {
        "strategy": found.strategy,
        "stop": found.stop.value,
        "seconds": found.seconds,
        "planning_seconds": found.planning_s,
        "tie": found.tie,
        "progress": [
            {
                "seconds": one.seconds,
                "measured": one.measured,
                "built": one.built,
                "problems": one.problems,
                "total_us": one.total_us,
                "best_us": [time if math.isfinite(time) else None for time in one.best_us],
            }
            for one in found.progress
        ],
        "problems": [
            {
                "problem": one.problem.describe(),
                "count": one.count,
                "kernel": one.kernel or None,
                "splits": one.splits,
                "time_us": one.time_us,
                "measured": one.measured,
                "unmeasured": one.unmeasured,
                "probability_better": one.certainty.better,
                "expected_improvement": one.certainty.gain,
            }
            for one in found.best
        ],
        "never_built": [{"kernel": one.name, "reason": one.reason} for one in found.unbuilt],
        "libraries": [
            {
                "kernels": [found.kernels[number] for number in one.kernels],
                "slowdown": one.slowdown,
                "bound": one.bound,
                "exact": one.exact,
                "unserved": one.unserved,
            }
            for one in found.libraries
        ],
        "chosen": list(found.chosen),
        "comparison": None if found.comparison is None else comparison_values(found.comparison),
    }


def tune_text(found: TuneResult) -> str:
    """Return a search as tables for people."""
    parts = [_summary(found), _progress(found), _best(found), _libraries(found), _unbuilt(found)]
    if found.comparison is not None:
        parts.append(comparison_text(found.comparison))
    return "\n\n".join(part for part in parts if part)


def _summary(found: TuneResult) -> str:
    built = len(found.kernels) - len(found.unbuilt)
    measured = sum(one.measured for one in found.best)
    lines = [
        f"{_ENDS[found.stop.value]} ({found.strategy}, {found.seconds:.4g} s, "
        f"planning {found.planning_s:.2g} s)",
        f"{measured} of {measured + sum(one.unmeasured for one in found.best)} measurements, "
        f"{built} of {len(found.kernels)} kernels built",
    ]
    open_ = [one for one in found.best if one.kernel and one.unmeasured]
    if open_:
        worst = max(open_, key=lambda one: one.certainty.better)
        mean = sum(one.certainty.better for one in open_) / len(open_)
        lines.append(
            f"probability that an unmeasured kernel is better by more than {found.tie:.3g} of the time: "
            f"{mean:.1%} on average, at most {worst.certainty.better:.1%}"
        )
    return "\n".join(lines)


def _progress(found: TuneResult) -> str:
    rows = found.progress
    if not rows:
        return ""
    step = max(1, math.ceil(len(rows) / _SHOWN))
    shown = [*rows[:-1:step], rows[-1]]
    table = [(f"{one.seconds:.4g}", one.built, one.measured, one.problems, one.total_us) for one in shown]
    return tabulate(
        table,
        headers=("seconds", "built", "measured", "problems", "best so far, sum us"),
        floatfmt=".4g",
        disable_numparse=[0],
    )


def _best(found: TuneResult) -> str:
    table = [
        (
            number,
            one.count,
            one.time_us,
            one.kernel or "-",
            one.splits or "",
            f"{one.certainty.better:.1%}" if one.kernel else "",
            f"{one.measured}/{one.measured + one.unmeasured}",
        )
        for number, one in enumerate(found.best)
    ]
    headers = ("problem", "count", "us", "kernel", "splits", "better exists", "measured")
    return tabulate(table, headers=headers, floatfmt=".4g", missingval="-")


def _libraries(found: TuneResult) -> str:
    if not found.libraries:
        return ""
    table = [
        (
            len(one.kernels),
            f"{one.slowdown - 1:.2%}",
            "exact" if one.exact else f"at least {one.bound - 1:.2%}",
            one.unserved or "",
            found.kernels[one.kernels[-1]] if number == 0 else "",
        )
        for number, one in enumerate(found.libraries)
    ]
    headers = ("library of", "slower than all", "the best of that size", "unserved", "kernel")
    chosen = "\n".join(f"  {name}" for name in found.chosen)
    return f"{tabulate(table, headers=headers, disable_numparse=True)}\nchosen:\n{chosen}"


def _unbuilt(found: TuneResult) -> str:
    if not found.unbuilt:
        return ""
    lines = [f"never built: {len(found.unbuilt)} kernels"]
    lines += [f"  {one.name}: {one.reason}" for one in found.unbuilt[:_UNBUILT]]
    if len(found.unbuilt) > _UNBUILT:
        lines.append(f"  ... and {len(found.unbuilt) - _UNBUILT} more; --format json has all of them")
    return "\n".join(lines)
