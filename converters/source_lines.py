"""Which line each record comes from, without a table where the ids tell."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ckprof.model.catalog import CatalogRecord


class SourceLines(Mapping[tuple[str, int], int]):
    """(variant, record id) -> one-based line.

    :param records: variant -> its records, and id -> line; without the latter, ids ascend and are
        zero-based line numbers.
    """

    def __init__(
        self, records: Mapping[str, tuple[tuple[CatalogRecord, ...], Mapping[int, int] | None]]
    ) -> None:
        self._records = records

    def __getitem__(self, key: tuple[str, int]) -> int:
        variant, id_ = key
        records, lines = self._records[variant]
        if lines is not None:
            return lines[id_]
        place = bisect_left(records, id_, key=lambda record: record.id)
        if place == len(records) or records[place].id != id_:
            raise KeyError(key)
        return id_ + 1

    def __iter__(self) -> Iterator[tuple[str, int]]:
        for variant, (records, _) in self._records.items():
            for record in records:
                yield variant, record.id

    def __len__(self) -> int:
        return sum(len(records) for records, _ in self._records.values())

    def __eq__(self, other: object) -> bool:
        return dict(self) == other if isinstance(other, Mapping) else NotImplemented
