"""Between the parts of a key and the numbers under which a store keeps them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

import msgspec

from ckprof.model.kernel import KernelRef
from ckprof.model.problem import Problem
from ckprof.model.problem_types import problem_from
from ckprof.store.attempt import Session
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

T = TypeVar("T")

#: texts kept in memory; a store may hold any number of different reasons
_MOST_TEXTS: Final = 20_000
_MOST_KEYS: Final = 200_000

_Cell = int | float | str | bytes | None


#: one decoder per kind of part
_SESSION: Final = msgspec.json.Decoder(Session)
_OPERATION: Final = msgspec.json.Decoder(OperationKey)
_DEVICE: Final = msgspec.json.Decoder(DeviceKey)
_TOOLCHAIN: Final = msgspec.json.Decoder(ToolchainKey)
_METHOD: Final = msgspec.json.Decoder(MethodKey)
_KERNEL: Final = msgspec.json.Decoder(KernelRef)


def _problem(text: str) -> Problem:
    return problem_from(msgspec.json.decode(text))


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

    def forget(self) -> None:
        """Forget all numbers: those of a transaction that was rolled back do not exist."""
        self._row_ids.clear()
        self._measurements.clear()

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
            operation_id=self._part("operations", key.operation),
            device_id=self._part("devices", key.device),
            toolchain_id=self._part("toolchains", key.toolchain),
            method_id=self._part("methods", key.method),
            dtype=dtype,
            layout=kernel.layout,
        )
        instance = self._find("instances", {"key": key.kernel.instance})
        if instance is None:
            instance = self._insert(
                "instances",
                {"key": key.kernel.instance, "dtype": dtype, "layout": kernel.layout, "body": _json(kernel)},
            )
        identity: dict[str, _Cell] = {
            "context_id": context,
            "problem_id": self._part("problems", key.problem),
            "kernel_id": self._number(
                "kernels", instance_id=instance, object_digest=key.kernel.object_digest
            ),
            "split_k": key.split_k,
        }
        number = self._find("measurements", identity)
        if number is None:
            number = self._insert("measurements", {**identity, "status": "", "attempts": 0, "ranked": 0})
        if len(self._measurements) >= _MOST_KEYS:
            self._measurements.clear()
        self._measurements[key.digest] = number
        return number

    def _part(self, table: str, part: KeyPart) -> int:
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
        return number


class PartReader:
    """Reads parts back; equal parts are one object.

    :param connection: of the reader.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._parts: dict[tuple[str, int], Any] = {}
        self._keys: dict[int, tuple[MeasurementKey, KernelRef]] = {}

    def text(self, number: int | None) -> str:
        """Return a text; the empty one for ``None``."""
        return self._remember("texts", number, str) if number is not None else ""

    def session(self, number: int) -> Session:
        """Return a session."""
        return self._remember("sessions", number, _SESSION.decode)

    def problem(self, number: int) -> Problem:
        """Return a problem."""
        return self._remember("problems", number, _problem)

    def measurement(self, number: int) -> tuple[MeasurementKey, KernelRef]:
        """Return the key of a measurement and its kernel."""
        measurement = self._keys.get(number)
        if measurement is not None:
            return measurement
        context, problem, kernel, split_k = self._row(
            "SELECT context_id, problem_id, kernel_id, split_k FROM measurements WHERE id = ?", number
        )
        operation, device, toolchain, method = self._once("contexts", context, self._context)
        kernel_key, info = self._once("kernels", kernel, self._kernel)
        key = MeasurementKey(
            operation=operation,
            problem=self.problem(problem),
            split_k=split_k,
            kernel=kernel_key,
            device=device,
            toolchain=toolchain,
            method=method,
        )
        if len(self._keys) >= _MOST_KEYS:
            self._keys.clear()
        self._keys[number] = (key, info)
        return key, info

    def _context(self, number: int) -> tuple[OperationKey, DeviceKey, ToolchainKey, MethodKey]:
        operation, device, toolchain, method = self._row(
            "SELECT operation_id, device_id, toolchain_id, method_id FROM contexts WHERE id = ?", number
        )
        return (
            self._remember("operations", operation, _OPERATION.decode),
            self._remember("devices", device, _DEVICE.decode),
            self._remember("toolchains", toolchain, _TOOLCHAIN.decode),
            self._remember("methods", method, _METHOD.decode),
        )

    def _kernel(self, number: int) -> tuple[KernelKey, KernelRef]:
        instance, digest, body = self._row(
            "SELECT i.key, k.object_digest, i.body FROM kernels k JOIN instances i "
            "ON i.id = k.instance_id WHERE k.id = ?",
            number,
        )
        return KernelKey(instance=instance, object_digest=digest), _KERNEL.decode(body)

    def _remember(self, table: str, number: int, decode: Callable[[str], T]) -> T:
        statement = f"SELECT body FROM {table} WHERE id = ?"  # noqa: S608
        return self._once(table, number, lambda row: decode(self._row(statement, row)[0]))

    def _once(self, table: str, number: int, read: Callable[[int], T]) -> T:
        part: T | None = self._parts.get((table, number))
        if part is None:
            if len(self._parts) >= _MOST_TEXTS:
                self._parts.clear()
            part = self._parts[table, number] = read(number)
        return part

    def _row(self, statement: str, number: int) -> tuple[Any, ...]:
        row = self._connection.execute(statement, (number,)).fetchone()
        if row is None:
            raise sqlite3.DatabaseError(
                "database disk image is malformed: a row that others refer to is missing"
            )
        return tuple(row)
