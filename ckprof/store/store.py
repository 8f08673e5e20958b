"""Reading a store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ckprof.errors import input_errors
from ckprof.model.outcome import Status
from ckprof.store.baselines import read_baselines
from ckprof.store.database import open_for_reading
from ckprof.store.errors import DamagedRow, DamagedStoreError, store_errors
from ckprof.store.formats import flat_row, row_columns
from ckprof.store.key import canonical, origin_of
from ckprof.store.parts import PartReader
from ckprof.store.plausibility import disordered_rows, implausible
from ckprof.store.query import (
    MeasurementSummary,
    PastVisit,
    SharedKey,
    StoreQuery,
    add_attempt_existence,
    attempt_conditions,
    measurement_conditions,
    status_condition,
)
from ckprof.store.rows import attempt_selection, evidence, read_attempt, summary_of
from ckprof.store.schema import count_finding

if TYPE_CHECKING:
    import sqlite3

    import pandas

    from ckprof.model.problem import Problem
    from ckprof.store.attempt import Attempt, Session
    from ckprof.store.baselines import BaselineAttempt
    from ckprof.store.key import DeviceKey

EVERYTHING = StoreQuery()

#: rows fetched at once
_BATCH = 512


class Store(AbstractContextManager["Store"]):
    """A result store that is read, also while a sweep adds to it.

    Iterating yields every :class:`~ckprof.store.attempt.Attempt`. A context manager: leaving it closes the
    file.

    :param path: the store's file.
    :param connection: of its writer, to read uncommitted rows as well; ``None`` opens the file.
    :raises StoreError: it does not exist, is damaged, is newer than this program, or is something else.
    """

    def __init__(self, path: Path | str, connection: sqlite3.Connection | None = None) -> None:
        self.path = Path(path)
        self._connection = open_for_reading(self.path) if connection is None else connection
        self._parts = PartReader(self._connection)

    def close(self) -> None:
        """Close the file; closing twice is fine."""
        self._connection.close()

    def __exit__(self, *error: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[type[Store], tuple[Path]]:
        # another process opens the file itself
        return Store, (self.path,)

    @property
    def name(self) -> str:
        """The path, for messages."""
        return str(self.path)

    def __len__(self) -> int:
        with store_errors(self.path):
            return int(self._connection.execute("SELECT count(*) FROM attempts").fetchone()[0])

    def check_complete(self) -> None:
        """Look whether all attempts are there, in rounds that can have been: the cheap part of a check.

        What is read is compared with its digests and samples in any case.

        :raises DamagedStoreError: attempts are missing, nothing says whether they are, or their rounds cannot
            be as they are said to be.
        """
        with self._errors():
            finding = count_finding(self._connection)
            finding = finding or str(next(disordered_rows(self._connection), ""))
        if finding:
            raise DamagedStoreError(
                f"{finding}; see what is damaged with 'ckprof results check', save what is readable with "
                "'ckprof results recover'",
                self.path,
            )

    def __iter__(self) -> Iterator[Attempt]:
        return self.attempts()

    def attempts(self, query: StoreQuery = EVERYTHING, *, samples: bool = True) -> Iterator[Attempt]:
        """Yield the attempts that the query asks for, in the order they were added.

        Parts that attempts share (keys, kernels, sessions) are shared objects.

        :param samples: read the raw samples too; without them ``measurement.samples_ms`` is empty.
        """
        conditions = measurement_conditions(query)
        of_attempts = attempt_conditions(query)
        conditions.add("1")
        status_condition(query, "a.status", of_attempts)
        joined = " JOIN measurements m ON m.id = a.measurement_id" if len(conditions.texts) > 1 else ""
        where = f"{joined} WHERE {' AND '.join([*conditions.texts, *of_attempts.texts])}"
        values = [*conditions.values, *of_attempts.values]
        yield from self._attempts(where, values, samples=samples)

    def _attempts(self, where: str, values: Sequence[Any], *, samples: bool) -> Iterator[Attempt]:
        """Yield attempts."""
        with self._errors():
            for cells in self._rows(f"{attempt_selection(samples=samples)}{where} ORDER BY a.id", values):
                number, attempt = read_attempt(cells, self._parts)
                if attempt.measurement and (wrong := implausible(number, attempt.measurement)):
                    raise wrong
                yield attempt

    def measurements(self, query: StoreQuery = EVERYTHING) -> Iterator[MeasurementSummary]:
        """Yield one summary per measurement key that the query asks for, over all its attempts.

        The attempt-wise conditions of the query (tag, session, times) select measurements that have at least
        one such attempt; ``statuses`` is compared with the latest one.
        """
        conditions = measurement_conditions(query)
        status_condition(query, "m.status", conditions)
        add_attempt_existence(query, conditions)
        text = f"SELECT m.id FROM measurements m{conditions.where()} ORDER BY m.id"  # noqa: S608
        for (number,) in self._rows(text, conditions.values):
            yield self._summary(number)

    def best(self, query: StoreQuery = EVERYTHING) -> Sequence[MeasurementSummary]:
        """Return the fastest measurement that may be ranked per problem.

        One for each combination of operation, data type, layout, device, toolchain, method and problem;
        splits and kernels compete.
        """
        conditions = measurement_conditions(query)
        conditions.add("m.time_ms IS NOT NULL")
        add_attempt_existence(query, conditions)
        groups = (
            "SELECT DISTINCT m.context_id, m.problem_id "  # noqa: S608
            f"FROM measurements m{conditions.where()} ORDER BY m.context_id, m.problem_id"
        )
        values = list(conditions.values)
        conditions.add("m.context_id = ? AND m.problem_id = ?")
        # the one that a ranking of outcomes has first
        fastest = (
            "SELECT m.id FROM measurements m JOIN kernels k ON k.id = m.kernel_id "  # noqa: S608
            f"JOIN instances i ON i.id = k.instance_id{conditions.where()} "
            "ORDER BY m.pruned, m.time_ms, i.key, m.split_k, m.id LIMIT 1"
        )
        chosen = (next(self._rows(fastest, [*values, *group])) for group in self._rows(groups, values))
        return [self._summary(number) for (number,) in chosen]

    def baselines(self) -> Iterator[BaselineAttempt]:
        """Yield what became of baselines, in the order in which it was added."""
        with self._errors():
            yield from read_baselines(self._connection, self._parts)

    def sessions(self) -> Sequence[Session]:
        """Return the sessions, oldest first."""
        rows = self._rows("SELECT id FROM sessions ORDER BY started, id", [])
        with self._errors():
            return [self._parts.session(number) for (number,) in rows]

    def devices(self) -> Sequence[DeviceKey]:
        """Return every device once, in the order they were added."""
        return self._all_parts("devices")

    def origins(self) -> set[str]:
        """Return what its times are, see :attr:`~ckprof.store.key.MeasurementKey.origin`."""
        rows = self._rows("SELECT DISTINCT device_id, method_id FROM contexts", [])
        with self._errors():
            part = self._parts.part
            return {origin_of(part("devices", one), part("methods", other)) for one, other in rows}

    def problems(self) -> Sequence[Problem]:
        """Return every problem once, in the order they were added."""
        return self._all_parts("problems")

    def _all_parts(self, table: str) -> list[Any]:
        rows = self._rows(f"SELECT id FROM {table} ORDER BY id", [])  # noqa: S608
        with self._errors():
            return [self._parts.part(table, number) for (number,) in rows]

    def query(self, **conditions: Any) -> Iterator[Attempt]:
        """Yield the attempts that meet conditions, by the names of :class:`~ckprof.store.query.StoreQuery`.

        >>> import ckprof
        >>> with ckprof.Store("results.db") as store:  # doctest: +SKIP
        ...     failed = list(store.query(tag="nightly", statuses={"wrong_result"}))
        """
        given = conditions.pop("statuses", ())
        with input_errors(ValueError, "statuses", self.path):
            statuses = frozenset(map(Status, [given] if isinstance(given, str) else given))
        return self.attempts(StoreQuery(statuses=statuses, **conditions))

    def to_dicts(self, query: StoreQuery = EVERYTHING) -> list[dict[str, object]]:
        """Return one flat dictionary per attempt, see :func:`ckprof.store.formats.flat_row`."""
        return [flat_row(attempt) for attempt in self.attempts(query, samples=False)]

    def to_pandas(self, query: StoreQuery = EVERYTHING) -> pandas.DataFrame:
        """Return a DataFrame with one row per attempt.

        :raises ImportError: pandas is not installed.
        """
        from ckprof.data_frame import data_frame

        return data_frame(self.to_dicts(query), list(row_columns()))

    def past_visits(self, shared: SharedKey, problem: Problem) -> list[PastVisit]:
        """Return what earlier sweeps measured on a problem under the same conditions, in order.

        Lean on purpose: a sweep that resumes reads all of it before it begins.
        """
        parts = (shared.operation, shared.device, shared.toolchain, shared.method)
        rows = self._rows(
            "SELECT i.key, k.object_digest, m.split_k, a.round, a.status, a.time_ms, "
            "a.spread_ms, a.wrong_elements, t.body, a.wall_s, a.session_id, a.id, a.extra FROM contexts c "
            "JOIN measurements m ON m.context_id = c.id JOIN attempts a ON a.measurement_id = m.id "
            "JOIN kernels k ON k.id = m.kernel_id JOIN instances i ON i.id = k.instance_id "
            "LEFT JOIN texts t ON t.id = a.marks_id "
            "WHERE c.operation_id = (SELECT id FROM operations WHERE body = ?) "
            "AND c.device_id = (SELECT id FROM devices WHERE body = ?) "
            "AND c.toolchain_id = (SELECT id FROM toolchains WHERE body = ?) "
            "AND c.method_id = (SELECT id FROM methods WHERE body = ?) AND c.dtype = ? AND c.layout = ? "
            "AND m.problem_id = (SELECT id FROM problems WHERE body = ?) ORDER BY a.id",
            [
                *(canonical(part).decode() for part in parts),
                shared.dtype.value if shared.dtype is not None else "",
                shared.layout,
                canonical(problem).decode(),
            ],
        )
        with self._errors():
            return [self._past_visit(row) for row in rows]

    def _past_visit(self, cells: tuple[Any, ...]) -> PastVisit:
        *seen, session_id, number, extra = cells
        own, said = self._parts.session(session_id), evidence(number, extra)
        try:
            found = (*seen, said.process, said.scale, own.device_id, own.uid, said.device_lost, said.second)
            visit = msgspec.convert(found, PastVisit)
            _ = Status(visit.status), visit.all_marks
        except (msgspec.ValidationError, ValueError) as exc:
            raise DamagedRow("attempts", number, "", str(exc)) from None
        return visit

    def added(self, first: int, end: int) -> Iterator[Attempt]:
        """Yield the attempts of these rows.

        :param first: number of the first row, ``end`` that after the last one.
        """
        yield from self._attempts(" WHERE a.id >= ? AND a.id < ?", [first, end], samples=True)

    def _summary(self, number: int) -> MeasurementSummary:
        with self._errors():
            return summary_of(self._connection, self._parts, number)

    def _errors(self) -> AbstractContextManager[None]:
        return store_errors(self.path, self._connection)

    def _rows(self, statement: str, values: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
        with self._errors():
            cursor = self._connection.execute(statement, values)
            rows = cursor.fetchmany(_BATCH)
        while rows:
            yield from rows
            with self._errors():
                rows = cursor.fetchmany(_BATCH)
