"""Between the parts of a key and the numbers under which a store keeps them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Final, TypeVar

import msgspec

from ckprof.errors import InputError
from ckprof.model.problem import ConvProblem, Problem
from ckprof.model.problem_types import problem_from
from ckprof.plugin.manager import PluginManager
from ckprof.store.attempt import KernelInfo, Session
from ckprof.store.key import (
    DeviceKey,
    KernelKey,
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
_CONVOLUTION: Final = msgspec.json.Decoder(ConvProblem)
_OPERATION: Final = msgspec.json.Decoder(OperationKey)
_DEVICE: Final = msgspec.json.Decoder(DeviceKey)
_TOOLCHAIN: Final = msgspec.json.Decoder(ToolchainKey)
_METHOD: Final = msgspec.json.Decoder(MethodKey)
_KERNEL: Final = msgspec.json.Decoder(KernelInfo)


def _problem(text: str) -> Problem:
    try:
        return _CONVOLUTION.decode(text)
    except msgspec.ValidationError:
        values = msgspec.json.decode(text)
    try:
        return problem_from(values)
    except InputError:
        # A program that only reads a store has loaded no plugins.
        PluginManager().load_all()
        return problem_from(values)


def encode_session(session: Session) -> str:
    """Return a session as JSON."""
    return msgspec.json.encode(session, order="sorted").decode()


class PartWriter:
    """Finds or makes the rows of parts inside the transactions of a writer.

    :param connection: of the writer.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._known: dict[tuple[str, ...], int] = {}
        self._contexts: dict[tuple[int | str, ...], int] = {}
        self._measurements: dict[bytes, int] = {}

    def forget(self) -> None:
        """Forget all numbers: those of a transaction that was rolled back do not exist."""
        self._known.clear()
        self._contexts.clear()
        self._measurements.clear()

    def text(self, text: str) -> int | None:
        """Return the number of a text, ``None`` for the empty one."""
        return self._part("texts", text) if text else None

    def session(self, session: Session) -> int:
        """Return the number of a session; the first description of a session stays."""
        known = self._known.get(("sessions", session.uid))
        if known is not None:
            return known
        found = self._connection.execute("SELECT id FROM sessions WHERE uid = ?", (session.uid,)).fetchone()
        if found is None:
            number = self._insert(
                "INSERT INTO sessions (uid, started, body) VALUES (?, ?, ?)",
                (session.uid, session.started, encode_session(session)),
            )
            self._connection.executemany(
                "INSERT INTO tags (session_id, tag) VALUES (?, ?)",
                [(number, tag) for tag in dict.fromkeys(session.tags)],
            )
        else:
            number = found[0]
        self._known["sessions", session.uid] = number
        return number

    def measurement(self, key: MeasurementKey, kernel: KernelInfo) -> int:
        """Return the number of a measurement, whose row is made if it is missing."""
        known = self._measurements.get(key.digest)
        if known is not None:
            return known
        cells = (
            self._context(key, kernel),
            self._part("problems", canonical(key.problem).decode()),
            self._kernel(key.kernel, kernel),
            key.split_k,
        )
        found = self._connection.execute(
            "SELECT id FROM measurements WHERE context_id = ? AND problem_id = ? AND kernel_id = ? "
            "AND split_k = ?",
            cells,
        ).fetchone()
        number = (
            found[0]
            if found
            else self._insert(
                "INSERT INTO measurements (context_id, problem_id, kernel_id, split_k, status, attempts, "
                "ranked) VALUES (?, ?, ?, ?, '', 0, 0)",
                cells,
            )
        )
        if len(self._measurements) >= _MOST_KEYS:
            self._measurements.clear()
        self._measurements[key.digest] = number
        return number

    def _context(self, key: MeasurementKey, kernel: KernelInfo) -> int:
        cells: tuple[int | str, ...] = (
            self._part("operations", canonical(key.operation).decode()),
            self._part("devices", canonical(key.device).decode()),
            self._part("toolchains", canonical(key.toolchain).decode()),
            self._part("methods", canonical(key.method).decode()),
            kernel.dtype.value if kernel.dtype is not None else "",
            kernel.layout,
        )
        known = self._contexts.get(cells)
        if known is None:
            found = self._connection.execute(
                "SELECT id FROM contexts WHERE operation_id = ? AND device_id = ? AND toolchain_id = ? "
                "AND method_id = ? AND dtype = ? AND layout = ?",
                cells,
            ).fetchone()
            known = (
                found[0]
                if found
                else self._insert(
                    "INSERT INTO contexts (operation_id, device_id, toolchain_id, method_id, dtype, layout) "
                    "VALUES (?, ?, ?, ?, ?, ?)",
                    cells,
                )
            )
            self._contexts[cells] = known
        return known

    def _kernel(self, key: KernelKey, kernel: KernelInfo) -> int:
        known = self._known.get(("kernels", key.instance, key.object_digest))
        if known is not None:
            return known
        instance = self._instance(key.instance, kernel)
        found = self._connection.execute(
            "SELECT id FROM kernels WHERE instance_id = ? AND object_digest = ?",
            (instance, key.object_digest),
        ).fetchone()
        number = (
            found[0]
            if found
            else self._insert(
                "INSERT INTO kernels (instance_id, object_digest) VALUES (?, ?)",
                (instance, key.object_digest),
            )
        )
        self._known["kernels", key.instance, key.object_digest] = number
        return number

    def _instance(self, key: str, kernel: KernelInfo) -> int:
        found = self._connection.execute("SELECT id FROM instances WHERE key = ?", (key,)).fetchone()
        if found:
            return int(found[0])
        return self._insert(
            "INSERT INTO instances (key, dtype, layout, body) VALUES (?, ?, ?, ?)",
            (
                key,
                kernel.dtype.value if kernel.dtype is not None else "",
                kernel.layout,
                msgspec.json.encode(kernel, order="sorted").decode(),
            ),
        )

    def _part(self, table: str, body: str) -> int:
        known = self._known.get((table, body))
        if known is not None:
            return known
        found = self._connection.execute(f"SELECT id FROM {table} WHERE body = ?", (body,)).fetchone()  # noqa: S608
        number = found[0] if found else self._insert(f"INSERT INTO {table} (body) VALUES (?)", (body,))  # noqa: S608
        if len(self._known) >= _MOST_TEXTS:
            self._known.clear()
        self._known[table, body] = number
        return number

    def _insert(self, statement: str, cells: tuple[_Cell, ...]) -> int:
        number = self._connection.execute(statement, cells).lastrowid
        if number is None:
            raise RuntimeError("the database did not number a new row")
        return number


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """One row of the contexts table."""

    operation: OperationKey
    device: DeviceKey
    toolchain: ToolchainKey
    method: MethodKey


class PartReader:
    """Reads parts back; equal parts are one object.

    :param connection: of the reader.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._parts: dict[tuple[str, int], Any] = {}
        self._keys: dict[int, tuple[MeasurementKey, KernelInfo]] = {}

    def text(self, number: int | None) -> str:
        """Return a text; the empty one for ``None``."""
        if number is None:
            return ""
        return self._remember("texts", number, str)

    def session(self, number: int) -> Session:
        """Return a session."""
        return self._remember("sessions", number, _SESSION.decode)

    def problem(self, number: int) -> Problem:
        """Return a problem."""
        return self._remember("problems", number, _problem)

    def measurement(self, number: int) -> tuple[MeasurementKey, KernelInfo]:
        """Return the key of a measurement and its kernel."""
        known = self._keys.get(number)
        if known is not None:
            return known
        context, problem, kernel, split_k = self._row(
            "SELECT context_id, problem_id, kernel_id, split_k FROM measurements WHERE id = ?", number
        )
        shared = self._context(context)
        kernel_key, info = self._kernel(kernel)
        key = MeasurementKey(
            operation=shared.operation,
            problem=self.problem(problem),
            split_k=split_k,
            kernel=kernel_key,
            device=shared.device,
            toolchain=shared.toolchain,
            method=shared.method,
        )
        if len(self._keys) >= _MOST_KEYS:
            self._keys.clear()
        self._keys[number] = (key, info)
        return key, info

    def _context(self, number: int) -> Context:
        known = self._parts.get(("contexts", number))
        if known is None:
            operation, device, toolchain, method = self._row(
                "SELECT operation_id, device_id, toolchain_id, method_id FROM contexts WHERE id = ?", number
            )
            known = self._parts["contexts", number] = Context(
                operation=self._remember("operations", operation, _OPERATION.decode),
                device=self._remember("devices", device, _DEVICE.decode),
                toolchain=self._remember("toolchains", toolchain, _TOOLCHAIN.decode),
                method=self._remember("methods", method, _METHOD.decode),
            )
        return known

    def _kernel(self, number: int) -> tuple[KernelKey, KernelInfo]:
        known = self._parts.get(("kernels", number))
        if known is None:
            instance, digest, body = self._row(
                "SELECT i.key, k.object_digest, i.body FROM kernels k JOIN instances i "
                "ON i.id = k.instance_id WHERE k.id = ?",
                number,
            )
            info: KernelInfo = _KERNEL.decode(body)
            known = self._parts["kernels", number] = (
                KernelKey(instance=instance, object_digest=digest),
                info,
            )
        return known

    def _remember(self, table: str, number: int, decode: Callable[[str], T]) -> T:
        known = self._parts.get((table, number))
        if known is None:
            (body,) = self._row(f"SELECT body FROM {table} WHERE id = ?", number)  # noqa: S608
            if len(self._parts) >= _MOST_TEXTS:
                self._parts.clear()
            known = self._parts[table, number] = decode(body)
        return known

    def _row(self, statement: str, number: int) -> tuple[Any, ...]:
        row = self._connection.execute(statement, (number,)).fetchone()
        if row is None:
            raise sqlite3.DatabaseError(
                "database disk image is malformed: a row that others refer to is missing"
            )
        return tuple(row)


#: names of the fields of a key's parts, for exports
PART_FIELDS: Final = {
    kind: tuple(field.name for field in fields(kind))
    for kind in (OperationKey, DeviceKey, ToolchainKey, MethodKey)
}
