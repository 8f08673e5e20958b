"""Programs that embed generated kernels as consumers of tuned results."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from ckprof_plugins.consumers.records import ConsumerFiles

if TYPE_CHECKING:
    from pathlib import Path

    from ckprof_plugins.consumers.records import ExportRequest

FILE: Final = "ckprof_winners.hpp"


class GeneratedLibrary:
    """A header beside those of ``ckprof generate``, with the fastest kernel of each measured problem."""

    id = "generated"
    label = "programs that embed kernels of 'ckprof generate': a C++ table of winners"

    def owns(self, path: Path, head: bytes) -> bool:
        """Say that no file is a database: the table is compiled."""
        return False

    def export(self, request: ExportRequest) -> ConsumerFiles:
        """Return the header; a kernel that the program's library lacks is not found there.

        Of a problem that was measured more than once the fastest is kept.
        """
        left_out: Counter[str] = Counter()
        rows: dict[tuple[str, str, str, tuple[int, ...]], tuple[float, str]] = {}
        for winner in sorted(request.winners, key=lambda one: one.time_ms):
            values = tuple(winner.problem.values())
            place = (winner.direction, winner.dtype.value, winner.layout, values)
            if place in rows:
                left_out["a faster winner of the same problem is written"] += 1
                continue
            name = ", ".join(map(_quoted, place[:3]))
            sizes = ", ".join(map(str, values))
            rest = f"{_quoted(winner.key)}, {winner.splits}, {winner.time_ms!r}"
            rows[place] = (winner.time_ms, f"{{{name}, {{{{{sizes}}}}}, {rest}}}")
        if not rows:
            return ConsumerFiles(files={}, entries=0, left_out=left_out)
        from ckprof.kernels.jinja import render

        text = render(
            __package__,
            "winners.hpp.j2",
            rows=[row for _, (_, row) in sorted(rows.items())],
            arch=request.arch,
            compute_units=request.compute_units,
        )
        return ConsumerFiles(files={FILE: text.encode()}, entries=len(rows), left_out=left_out)


def _quoted(text: str) -> str:
    """Return a C++ literal; ids and keys have no letters that would need more."""
    return f'"{text}"'
