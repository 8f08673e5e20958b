"""Pairs of things that went and things that came: each with the one that it most likely became.

No thing is in two pairs, and the pairs differ in as few fields as possible altogether.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    import numpy as np

    Fields = Sequence[str | None]

#: entries of the largest table of distances that is searched for the best pairs; larger ones are paired one
#: after the other, the most alike first
_LARGEST: Final = 600 * 600


def closest_pairs(
    first: Sequence[tuple[Hashable, Fields]], second: Sequence[tuple[Hashable, Fields]]
) -> dict[int, int]:
    """Return places in ``first`` with their partners' places in ``second``, the same for the same input.

    :param first: kind and fields of each thing; only those of one kind, with as many fields of which at least
        one is equal, are paired.
    """
    groups: dict[Hashable, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for side, things in enumerate((first, second)):
        for place, (kind, fields) in enumerate(things):
            groups[kind, len(fields)][side].append(place)
    pairs: dict[int, int] = {}
    for ours, theirs in groups.values():
        if ours and theirs:
            distances = _distances([first[i][1] for i in ours], [second[j][1] for j in theirs])
            strange = distances == len(first[ours[0]][1])
            # of equally good assignments the one with the most pairs
            for row, column in _assigned(distances * (max(distances.shape) + 1) + strange):
                if not strange[row, column]:
                    pairs[ours[row]] = theirs[column]
    return pairs


def _distances(first: Sequence[Fields], second: Sequence[Fields]) -> np.ndarray[Any, Any]:
    """Return in how many fields each differs from each."""
    import numpy as np

    numbers: dict[str | None, int] = {}

    def table(things: Sequence[Fields]) -> np.ndarray[Any, Any]:
        rows = [[numbers.setdefault(field, len(numbers)) for field in fields] for fields in things]
        return np.array(rows, dtype=np.int32).reshape(len(things), -1)

    ours, theirs = table(first), table(second)
    found = np.zeros((len(first), len(second)), dtype=np.int64)
    for left, right in zip(ours.T, theirs.T, strict=True):
        found += left[:, None] != right[None, :]
    return found


def _assigned(distances: np.ndarray[Any, Any]) -> list[tuple[int, int]]:
    """Return rows and columns of the pairs with the least sum, as many as there can be."""
    if distances.size > _LARGEST:
        return _one_after_the_other(distances)
    if distances.shape[0] > distances.shape[1]:
        return [(row, column) for column, row in _assigned(distances.T)]
    return _least_sum(distances)


def _least_sum(distances: np.ndarray[Any, Any]) -> list[tuple[int, int]]:
    """Assign a column to each row, of which there are no more than columns.

    The method is that of Kuhn and Munkres with potentials: each row enlarges the assignment by a shortest
    alternating path.
    """
    import numpy as np

    rows, columns = distances.shape
    row_potential = np.zeros(rows + 1, dtype=np.int64)
    column_potential = np.zeros(columns + 1, dtype=np.int64)
    #: row of each column; columns and rows count from 1, 0 is none
    owner = np.zeros(columns + 1, dtype=np.int64)
    for row in range(1, rows + 1):
        owner[0] = row
        column = 0
        slack = np.full(columns + 1, np.iinfo(np.int64).max // 2)
        previous = np.zeros(columns + 1, dtype=np.int64)
        done = np.zeros(columns + 1, dtype=bool)
        while owner[column]:
            done[column] = True
            current = owner[column]
            reduced = distances[current - 1] - row_potential[current] - column_potential[1:]
            better = ~done[1:] & (reduced < slack[1:])
            slack[1:][better] = reduced[better]
            previous[1:][better] = column
            open_slack = np.where(done[1:], np.iinfo(np.int64).max, slack[1:])
            nearest = int(open_slack.argmin()) + 1
            step = slack[nearest]
            row_potential[owner[done]] += step
            column_potential[done] -= step
            slack[~done] -= step
            column = nearest
        while column:
            owner[column] = owner[previous[column]]
            column = int(previous[column])
    return sorted((int(owner[column]) - 1, column - 1) for column in range(1, columns + 1) if owner[column])


def _one_after_the_other(distances: np.ndarray[Any, Any]) -> list[tuple[int, int]]:
    import numpy as np

    columns = distances.shape[1]
    pairs: dict[int, int] = {}
    taken: set[int] = set()
    for place in np.argsort(distances, axis=None, kind="stable"):
        row, column = divmod(int(place), columns)
        if row not in pairs and column not in taken:
            pairs[row] = column
            taken.add(column)
            if len(pairs) == min(distances.shape):
                break
    return sorted(pairs.items())
