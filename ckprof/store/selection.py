"""A query of a store as conditions of SQL."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ckprof.store.key import canonical

if TYPE_CHECKING:
    from ckprof.store.query import StoreQuery


@dataclass(slots=True)
class Conditions:
    """Conditions that all must hold, with their values."""

    texts: list[str] = field(default_factory=list)
    values: list[object] = field(default_factory=list)

    def add(self, text: str, *values: object) -> None:
        """Add one condition."""
        self.texts.append(text)
        self.values.extend(values)

    def where(self) -> str:
        """Return the ``WHERE`` clause, empty without conditions."""
        return f" WHERE {' AND '.join(self.texts)}" if self.texts else ""


def measurement_conditions(query: StoreQuery) -> Conditions:
    """Return what a query asks of rows of ``measurements m``, but for their status."""
    found = Conditions()
    contexts = Conditions()
    if query.direction is not None:
        contexts.add("json_extract(o.body, '$.direction') = ?", query.direction)
    if query.target is not None:
        contexts.add("json_extract(d.body, '$.target') = ?", query.target)
    if query.arch is not None:
        contexts.add("json_extract(d.body, '$.arch') = ?", query.arch)
    if query.dtype is not None:
        contexts.add("c.dtype = ?", query.dtype)
    if contexts.texts:
        found.add(
            "m.context_id IN (SELECT c.id FROM contexts c JOIN operations o ON o.id = c.operation_id "  # noqa: S608
            f"JOIN devices d ON d.id = c.device_id{contexts.where()})",
            *contexts.values,
        )
    if query.problem is not None:
        body = canonical(query.problem).decode()
        found.add("m.problem_id IN (SELECT id FROM problems WHERE body = ?)", body)
    if query.instance is not None:
        found.add(
            "m.kernel_id IN (SELECT k.id FROM kernels k JOIN instances i ON i.id = k.instance_id "
            "WHERE substr(i.key, 1, ?) = ?)",
            len(query.instance),
            query.instance,
        )
    return found


def attempt_conditions(query: StoreQuery) -> Conditions:
    """Return what a query asks of rows of ``attempts a`` alone, but for their status."""
    found = Conditions()
    if query.tag is not None:
        found.add("a.session_id IN (SELECT session_id FROM tags WHERE tag = ?)", query.tag)
    if query.session is not None:
        found.add(
            "a.session_id IN (SELECT id FROM sessions WHERE substr(uid, 1, ?) = ?)",
            len(query.session),
            query.session,
        )
    if query.since is not None:
        found.add("a.started >= ?", query.since)
    if query.before is not None:
        found.add("a.started < ?", query.before)
    return found


def status_condition(query: StoreQuery, column: str, conditions: Conditions) -> None:
    """Add what a query asks of a status in ``column``."""
    if query.statuses:
        marks = ", ".join("?" * len(query.statuses))
        conditions.add(f"{column} IN ({marks})", *sorted(status.value for status in query.statuses))


def add_attempt_existence(query: StoreQuery, conditions: Conditions) -> None:
    """Add that a measurement has an attempt that meets the conditions of a query on attempts."""
    own = attempt_conditions(query)
    if own.texts:
        conditions.add(
            "EXISTS (SELECT 1 FROM attempts a WHERE a.measurement_id = m.id "  # noqa: S608
            f"AND {' AND '.join(own.texts)})",
            *own.values,
        )
