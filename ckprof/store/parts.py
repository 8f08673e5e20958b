"""Between the parts of a key and the numbers under which a store keeps them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final, TypeVar

import msgspec

from ckprof.errors import InputError
from ckprof.model.kernel import KernelRef
from ckprof.model.problem import Problem
from ckprof.model.problem_types import problem_from
from ckprof.store.attempt import Session
from ckprof.store.errors import DamagedRow
from ckprof.store.key import (
    DeviceKey,
    KernelKey,
    KeyPart,
    MeasurementKey,
    MethodKey,
    OperationKey,
    ToolchainKey,
    canonical,
)
from ckprof.store.row_types import (
    ContextRow,
    InstanceRow,
    MeasurementRow,
    digest_damage,
    read_row,
    selected,
    store_digest,
    typed_row_of,
)

T = TypeVar("T")

#: texts kept in memory; a store may hold any number of different reasons
_MOST_TEXTS: Final = 20_000
_MOST_KEYS: Final = 200_000

_Cell = int | float | str | bytes | None


_SESSION: Final = msgspec.json.Decoder(Session)
_KERNEL: Final = msgspec.json.Decoder(KernelRef)


def _problem(text: str) -> Problem:
    values = msgspec.json.decode(text)
    if not isinstance(values, dict):
        raise ValueError("Expected `object`")
    return problem_from(values)


def _canonical(decode: Callable[[str], KeyPart]) -> Callable[[str], KeyPart]:
    def decode_part(text: str) -> KeyPart:
        part = decode(text)
        canonical(part)
        return part

    return decode_part


#: table -> how the text of a part of a key is decoded, which has a canonical one
_DECODERS: Final[Mapping[str, Callable[[str], KeyPart]]] = {
    "operations": _canonical(msgspec.json.Decoder(OperationKey).decode),
    "problems": _canonical(_problem),
    "devices": _canonical(msgspec.json.Decoder(DeviceKey).decode),
    "toolchains": _canonical(msgspec.json.Decoder(ToolchainKey).decode),
    "methods": _canonical(msgspec.json.Decoder(MethodKey).decode),
}


def _json(part: Session | KernelRef) -> str:
    return msgspec.json.encode(part, order="sorted").decode()


class PartWriter:
    """Finds or makes the rows of parts inside the transactions of a writer.

    :param connection: of the writer.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._row_ids: dict[tuple[_Cell, ...], int] = {}
        self._measurements: dict[bytes, int] = {}
        #: instances whose row says where they stand in a list -> what it says
        self._sources: dict[int, str] = {}

    def forget(self) -> None:
        """Forget all numbers: those of a transaction that was rolled back do not exist."""
        self._row_ids.clear()
        self._measurements.clear()
        self._sources.clear()

    def text(self, text: str) -> int | None:
        """Return the number of a text, ``None`` for the empty one."""
        return self._number("texts", body=text) if text else None

    def session(self, session: Session) -> int:
        """Return the number of a session; the first description of a session stays."""
        number = self._find("sessions", {"uid": session.uid})
        if number is None:
            number = self._insert(
                "sessions", {"uid": session.uid, "started": session.started, "body": _json(session)}
            )
            for tag in dict.fromkeys(session.tags):
                self._insert("tags", {"session_id": number, "tag": tag})
        return number

    def measurement(self, key: MeasurementKey, kernel: KernelRef) -> int:
        """Return the number of a measurement, whose row is made if it is missing."""
        number = self._measurements.get(key.digest)
        if number is not None:
            return number
        dtype = kernel.dtype.value if kernel.dtype is not None else ""
        context = self._number(
            "contexts",
            operation_id=self.part("operations", key.operation),
            device_id=self.part("devices", key.device),
            toolchain_id=self.part("toolchains", key.toolchain),
            method_id=self.part("methods", key.method),
            dtype=dtype,
            layout=kernel.layout,
        )
        instance = self._find("instances", {"key": key.kernel.instance})
        if instance is None:
            instance = self._insert(
                "instances",
                {"key": key.kernel.instance, "dtype": dtype, "layout": kernel.layout, "body": _json(kernel)},
            )
        elif kernel.source and self._sources.get(instance) != kernel.source:
            self._note_source(instance, kernel.source)
        identity: dict[str, _Cell] = {
            "context_id": context,
            "problem_id": self.part("problems", key.problem),
            "kernel_id": self._number(
                "kernels", instance_id=instance, object_digest=key.kernel.object_digest
            ),
            "split_k": key.split_k,
        }
        number = self._find("measurements", identity)
        if number is None:
            number = self._insert(
                "measurements", {**identity, "status": "", "attempts": 0, "ranked": 0, "pruned": 0}
            )
        if len(self._measurements) >= _MOST_KEYS:
            self._measurements.clear()
        self._measurements[key.digest] = number
        return number

    def _note_source(self, instance: int, source: str) -> None:
        """Have an instance lead to where it stands now: lists are edited, and lines move.

        Nothing else of it changes. A damaged row stays as it is: a new digest would hide the damage.
        """
        self._sources[instance] = source
        statement = f"SELECT {selected('instances')} FROM instances WHERE id = ?"  # noqa: S608
        cells = self._connection.execute(statement, (instance,)).fetchone()
        try:
            row: InstanceRow = read_row("instances", cells)
            stored = _KERNEL.decode(row.body)
        except (DamagedRow, msgspec.MsgspecError, ValueError, TypeError):
            return
        if stored.source != source:
            text = _json(replace(stored, source=source))
            self._connection.execute("UPDATE instances SET body = ? WHERE id = ?", (text, instance))
            store_digest(self._connection, "instances", instance)

    def part(self, table: str, part: KeyPart) -> int:
        """Return the number of a part of a key, whose row is made if it is missing."""
        return self._number(table, body=canonical(part).decode())

    def _number(self, table: str, **identity: _Cell) -> int:
        """Return the number of the row with these cells, which is made if it is missing."""
        number = self._find(table, identity)
        return self._insert(table, identity) if number is None else number

    def _find(self, table: str, identity: Mapping[str, _Cell]) -> int | None:
        cells = tuple(identity.values())
        identifier = (table, *cells)
        number = self._row_ids.get(identifier)
        if number is None:
            conditions = " AND ".join(f"{name} = ?" for name in identity)
            row = self._connection.execute(f"SELECT id FROM {table} WHERE {conditions}", cells).fetchone()  # noqa: S608
            if row is None:
                return None
            if len(self._row_ids) >= _MOST_TEXTS:
                self._row_ids.clear()
            number = self._row_ids[identifier] = int(row[0])
        return number

    def _insert(self, table: str, cells: Mapping[str, _Cell]) -> int:
        number = self._connection.execute(
            f"INSERT INTO {table} ({', '.join(cells)}) VALUES ({', '.join('?' * len(cells))})",  # noqa: S608
            tuple(cells.values()),
        ).lastrowid
        if number is None:
            raise RuntimeError("the database did not number a new row")
        if table not in ("measurements", "tags"):  # the figures of the ones follow, the others have no digest
            store_digest(self._connection, table, number)
        return number


class PartReader:
    """Reads parts back; equal parts are one object. Every row is compared with what was stored.

    :param connection: of the reader.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._parts: dict[tuple[str, int, object], Any] = {}
        self._keys: dict[int, tuple[MeasurementKey, KernelRef]] = {}

    def text(self, number: int | None) -> str:
        """Return a text; the empty one for ``None``.

        :raises DamagedRow: it is not what was stored.
        """
        return self._body("texts", number, str) if number is not None else ""

    def decoded(self, number: int | None, decode: Callable[[str], T]) -> T | None:
        """Return what a text means; ``None`` for ``None``.

        :param decode: raises ValueError, TypeError or an error of msgspec for what means nothing.
        :raises DamagedRow: it is not what was stored, or means nothing.
        """
        return self._body("texts", number, decode) if number is not None else None

    def session(self, number: int) -> Session:
        """Return a session.

        :raises DamagedRow: it is not what was stored.
        """
        return self._once("sessions", number, self._session)

    def part(self, table: str, number: int) -> Any:
        """Return a part of a key.

        :raises DamagedRow: it is not what was stored, or has no canonical text.
        :raises InputError: no plugin knows such a problem.
        """
        return self._body(table, number, _DECODERS[table])

    def measurement(self, number: int) -> tuple[MeasurementKey, KernelRef]:
        """Return the key of a measurement and its kernel.

        :raises DamagedRow: a row that it consists of is not what was stored.
        """
        measurement = self._keys.get(number)
        if measurement is not None:
            return measurement
        row: MeasurementRow = self.row("measurements", number)
        context: ContextRow = self._once("contexts", row.context_id, partial(self.row, "contexts"))
        kernel_key, info = self._once("kernels", row.kernel_id, self._kernel)
        key = MeasurementKey(
            operation=self.part("operations", context.operation_id),
            problem=self.part("problems", row.problem_id),
            split_k=row.split_k,
            kernel=kernel_key,
            device=self.part("devices", context.device_id),
            toolchain=self.part("toolchains", context.toolchain_id),
            method=self.part("methods", context.method_id),
        )
        if len(self._keys) >= _MOST_KEYS:
            self._keys.clear()
        self._keys[number] = (key, info)
        return key, info

    def row(self, table: str, number: int) -> Any:
        """Return a row by its number.

        :raises DamagedRow: it is missing, or not what was stored.
        """
        row, damage = self._suspect(table, number)
        if damage is not None:
            raise damage
        return row

    def _suspect(self, table: str, number: int) -> tuple[Any, DamagedRow | None]:
        """Return a row whose cells fit their columns, and what is wrong with it otherwise."""
        statement = f"SELECT {selected(table)} FROM {table} WHERE id = ?"  # noqa: S608
        cells = self._connection.execute(statement, (number,)).fetchone()
        if cells is None:
            raise DamagedRow(table, number, "", "is missing, though others refer to it")
        row = typed_row_of(table, cells)
        return row, digest_damage(table, cells)

    def _body(self, table: str, number: int, decode: Callable[[str], T]) -> T:
        def read(row: int) -> T:
            (_, body), damage = self._suspect(table, row)
            return self._decoded(table, row, body, decode, damage)

        return self._once(table, number, read, decode)

    @staticmethod
    def _decoded(
        table: str, number: int, body: str, decode: Callable[[str], T], damage: DamagedRow | None
    ) -> T:
        """Return what a cell of the column body means.

        :param damage: what is wrong with its row, if anything.
        """
        try:
            decoded = decode(body)
        except InputError as exc:
            # as it was stored: made with a plugin that is not loaded
            if damage is None:
                raise
            raise DamagedRow(table, number, "body", exc.message) from None
        except (msgspec.MsgspecError, ValueError, TypeError, OverflowError, RecursionError) as exc:
            raise DamagedRow(table, number, "body", f"{exc}, found {body!r:.60}") from None
        if damage is not None:
            raise damage
        return decoded

    def _session(self, number: int) -> Session:
        (_, uid, started, body), damage = self._suspect("sessions", number)
        session = self._decoded("sessions", number, body, _SESSION.decode, damage)
        if (session.uid, session.started) != (uid, started):
            raise DamagedRow("sessions", number, "body", "describes another session than the row")
        return session

    def _kernel(self, number: int) -> tuple[KernelKey, KernelRef]:
        _, instance_id, object_digest = self.row("kernels", number)
        instance: InstanceRow
        instance, damage = self._suspect("instances", instance_id)
        described = self._decoded("instances", instance_id, instance.body, _KERNEL.decode, damage)
        return KernelKey(instance=instance.key, object_digest=object_digest), described

    def _once(self, table: str, number: int, read: Callable[[int], T], meaning: object = None) -> T:
        """Return a part that was read before, or read it.

        :param meaning: of a text, which may stand for several things: a reason may read as marks do.
        """
        part: T | None = self._parts.get((table, number, meaning))
        if part is None:
            if len(self._parts) >= _MOST_TEXTS:
                self._parts.clear()
            part = self._parts[table, number, meaning] = read(number)
        return part
