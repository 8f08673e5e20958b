"""What a store holds, in text."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ckprof.store.query import StoreQuery
    from ckprof.store.store import Store

#: sessions that are listed
_SESSIONS: Final = 10


def overview(store: Store, query: StoreQuery) -> str:
    """Return counts, sessions, and the best kernel of every problem."""
    from tabulate import tabulate

    summaries = list(store.measurements(query))
    counts = Counter(one.status.value for one in summaries)
    attempts = sum(one.attempts for one in summaries)
    statuses = ", ".join(f"{count} {status}" for status, count in counts.most_common())
    held = f"{len(summaries)} measurements ({statuses}), {attempts} attempts"
    lines = [f"{store.name}: {held if summaries else 'nothing that fits'}"]
    sessions = store.sessions()
    if len(sessions) > _SESSIONS:
        lines.append(f"{len(sessions)} sessions, the last {_SESSIONS}:")
    for session in sessions[-_SESSIONS:]:
        started = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(session.started))
        tags = f" [{', '.join(session.tags)}]" if session.tags else ""
        lines.append(f"  {session.uid[:8]} {started} {session.origin or session.host}{tags}")
    best = store.best(query)
    if best:
        rows = [
            (
                one.key.problem.describe(),
                one.kernel.dtype.value if one.kernel.dtype is not None else "",
                one.kernel.name if one.key.split_k == 1 else f"{one.kernel.name} (split-K {one.key.split_k})",
                one.median_ms,
                one.key.problem.flop / one.median_ms / 1e6 if one.median_ms else None,
                one.ranked_attempts,
            )
            for one in best
        ]
        heads = ("problem", "type", "best kernel", "median ms", "GFLOP/s", "attempts")
        lines += ["", tabulate(rows, heads, floatfmt=".4g")]
    return "\n".join(lines)
