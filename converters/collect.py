"""Collecting what the lines of a file become: records, dropped lines and diagnostics."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

import msgspec

from ckprof.errors import Diagnostic, ListError
from ckprof.model.catalog import Catalog
from ckprof.model.conversion import Conversion
from ckprof.model.requirement import UnmetRequirement
from ckprof.model.types import SHARED_TYPES, DataType
from ckprof_converters.compiled import LineError, LineProblem
from ckprof_converters.drop_rules import ANNOUNCED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ckprof.model.catalog import CatalogRecord
    from ckprof.model.conversion import ConversionRequest, ListReading
    from ckprof.model.tensor import Layout
    from ckprof_converters.compiled import CompiledFamily
    from ckprof_converters.properties import FileFacts

_MAX_NOTES: Final = 20

#: dropped lines that are listed one by one; those after them are counted
MAX_LISTED: Final = 10_000

#: wrong lines after which a strict conversion gives up: the file is no instance list then
MAX_ERRORS: Final = 1000


class _Bucket:
    """The records of one variant."""

    def __init__(self, layout: Layout | None, dtype: DataType | None) -> None:
        self.layout = layout
        self.dtype = dtype
        self.records: list[CatalogRecord] = []
        #: hash of the values -> index of the record; see :meth:`duplicate_of`
        self._seen: dict[int, int] = {}
        #: instances read so far, duplicates included
        self.count = 0
        #: id -> line; ``None`` as long as all ids are zero-based line numbers
        self.lines: dict[int, int] | None = None

    def line_of(self, id_: int) -> int:
        """Return the line of a record."""
        return id_ + 1 if self.lines is None else self.lines[id_]

    def take(self, id_: int, line: int) -> int:
        """Give an id to a line; return the line that has it already, or 0."""
        if self.lines is None:
            self.lines = {record.id: record.id + 1 for record in self.records}
        other = self.lines.setdefault(id_, line)
        return 0 if other == line else other

    def duplicate_of(self, values: tuple[Any, ...]) -> CatalogRecord | None:
        """Return the record that already has these values, or make room for a new one.

        Only hashes are kept: tuples of values would need as much memory as the records themselves.
        """
        slot = hash(values)
        while (index := self._seen.get(slot)) is not None:
            record = self.records[index]
            if msgspec.structs.astuple(record)[1:] == values:
                return record
            slot += 1
        self._seen[slot] = len(self.records)
        return None


def repeated(diagnostic: Diagnostic, more: int) -> Diagnostic:
    """Return a diagnostic that holds for so many lines more."""
    if not more:
        return diagnostic
    return replace(diagnostic, message=f"{diagnostic.message} (and {more} more line{'s' * (more > 1)})")


class Collector:
    """What became of the lines so far.

    :param lenient: wrong lines are dropped instead of failing the conversion.
    """

    def __init__(self, request: ConversionRequest) -> None:
        self._request = request
        self._buckets: dict[str, _Bucket] = {}
        self._dropped: dict[int, UnmetRequirement] = {}
        self._unlisted: Counter[str] = Counter()
        #: diagnostic -> further lines that it holds for
        self._errors: dict[Diagnostic, int] = {}
        self._by_message: dict[str, Diagnostic] = {}
        # a dictionary for its order
        self._notes: dict[str, None] = {}

    def drop(self, line: int, rule: str, reason: str) -> None:
        """Account for a line that gives no instance."""
        if rule in ANNOUNCED and len(self._notes) < _MAX_NOTES:
            self._notes[f"{rule}: {reason}"] = None
        if len(self._dropped) < MAX_LISTED:
            self._dropped[line] = UnmetRequirement(rule=rule, message=reason)
        else:
            self._unlisted[rule] += 1

    def add(
        self,
        line: int,
        compiled: CompiledFamily,
        row: tuple[Any, ...],
        properties: ListReading,
        id_: int | None = None,
    ) -> int:
        """Add the record of a line unless an equal one is there.

        :param row: values of the record without its id.
        :param id_: the id that an annotation says; such a line is kept even if an equal record is there.
        :returns: the line of the record that has these values; another line than ``line`` for a duplicate.
        :raises LineError: another line has the id.
        """
        family = compiled.family
        bucket = self.touch(compiled, properties)
        equal = bucket.duplicate_of(row) if id_ is None else None
        bucket.count += 1
        if family.note:
            self._notes[family.note] = None
        if equal is not None:
            return bucket.line_of(equal.id)
        counted = bucket.count - 1 if family.index_ids else line - 1
        if id_ is not None or family.index_ids or bucket.lines is not None:
            other = bucket.take(counted if id_ is None else id_, line)
            if other:
                raise LineError(LineProblem(f"the id {id_} is already that of line {other}", 0))
        assert family.record_type is not None  # noqa: S101  # compiled families have one
        bucket.records.append(family.record_type(counted if id_ is None else id_, *row))
        return line

    def touch(self, compiled: CompiledFamily, properties: ListReading) -> _Bucket:
        """Return the records of the family's variant; the variant gets a catalog even if none is added."""
        variant = compiled.family.variant
        bucket = self._buckets.get(variant)
        if bucket is None:
            bucket = self._buckets[variant] = _Bucket(properties.layout, properties.dtype)
        return bucket

    def error(self, line: int, column: int | None, message: str, *, whole_file: bool = False) -> None:
        """Account for something wrong in a line.

        :param whole_file: the same message for other lines is counted, not repeated.
        """
        if whole_file and message in self._by_message:
            self._errors[self._by_message[message]] += 1
            return
        diagnostic = Diagnostic(path=self._request.path, line=line, column=column, message=message)
        if whole_file:
            self._by_message[message] = diagnostic
        self._errors[diagnostic] = 0
        if len(self._errors) >= MAX_ERRORS:
            if not self._request.lenient:
                self.fail()
            # They are dropped lines, counted as such; no more are needed should no instance be left.
            del self._errors[diagnostic]
            self._by_message.pop(message, None)

    def fail(self) -> None:
        """Raise all errors so far, if there are any."""
        if self._errors:
            advice = "no line is left" if self._request.lenient else None
            raise ListError([repeated(one, more) for one, more in self._errors.items()], advice)

    def finish(
        self, converter: str, lines: int, properties: FileFacts, empty_variant: str = ""
    ) -> Conversion:
        """Return the conversion.

        :param empty_variant: variant of the empty catalog of a list whose lines are all comments or of
            rejected families. Without it, or if layout or data type are unknown, such a list has no catalog.
        :raises ListError: lines were wrong, or there is neither an instance nor a catalog.
        """
        if not self._request.lenient or not self._buckets:
            self.fail()
        layout, dtype_ = properties.layout, properties.dtype
        if self._only("blank"):
            raise ListError([Diagnostic(path=self._request.path, message=self._nothing(lines))])
        if not self._buckets and empty_variant and layout is not None and dtype_ is not None:
            self._buckets[empty_variant] = _Bucket(layout, dtype_)
        if not self._buckets and self._only("blank", "comment"):
            raise ListError([Diagnostic(path=self._request.path, message=self._nothing(lines))])
        catalogs = []
        for variant, bucket in self._buckets.items():
            layout = bucket.layout
            assert layout is not None  # noqa: S101  # lines without a layout are errors
            dtype = bucket.dtype or properties.dtype
            for each in (dtype,) if dtype is not None else SHARED_TYPES:
                catalogs.append(
                    Catalog(
                        variant=variant,
                        ndim=layout.ndim,
                        layout=layout,
                        dtype=each,
                        records=tuple(bucket.records),
                    )
                )
        return Conversion(
            path=self._request.path,
            converter=converter,
            catalogs=tuple(catalogs),
            lines=lines,
            dropped=self._dropped,
            unlisted=self._unlisted,
            source_lines=SourceLines(
                {variant: (tuple(bucket.records), bucket.lines) for variant, bucket in self._buckets.items()}
            ),
            notes=(*properties.notes, *self._notes),
        )

    def _only(self, *rules: str) -> bool:
        """Say whether all lines were dropped for one of these reasons."""
        seen = {why.rule for why in self._dropped.values()} | set(self._unlisted)
        return not self._buckets and seen <= set(rules)

    @staticmethod
    def _nothing(lines: int) -> str:
        if not lines:
            return "the file is empty, expected an instance list"
        return f"no instance found: all {lines} lines are blank or comments"


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
        index = bisect_left(records, id_, key=attrgetter("id"))
        if index == len(records) or records[index].id != id_:
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
