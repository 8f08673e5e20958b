"""Programs that embed generated kernels as consumers of tuned results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ckprof_plugins.consumers.records import ConsumerFiles

if TYPE_CHECKING:
    from pathlib import Path

    from ckprof_plugins.consumers.records import ExportRequest, TunedKernel

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
        found, left_out = request.fastest(_row)
        slower = len(request.winners) - len(found)
        if slower:
            left_out["a faster winner of the same problem is written"] = slower
        if not found:
            return ConsumerFiles(files={}, entries=0, left_out=left_out)
        from ckprof.kernels.jinja import render

        text = render(
            __package__,
            "winners.hpp.j2",
            rows=[row for _, row in sorted(found.items())],
            arch=request.arch,
            compute_units=request.compute_units,
        )
        return ConsumerFiles(files={FILE: text.encode()}, entries=len(found), left_out=left_out)


def _row(winner: TunedKernel) -> tuple[tuple[str, str, str, tuple[int, ...]], str]:
    """Return what a winner is found by, and its line in C++."""
    values = tuple(winner.problem.values())
    place = (winner.direction, winner.dtype.value, winner.layout, values)
    name = ", ".join(map(_quoted, place[:3]))
    sizes = ", ".join(map(str, values))
    return place, f"{{{name}, {{{{{sizes}}}}}, {_quoted(winner.key)}, {winner.splits}, {winner.time_ms!r}}}"


def _quoted(text: str) -> str:
    """Return a C++ literal; ids and keys have no letters that would need more."""
    return f'"{text}"'
