"""What differs between the sides besides the times: compiler, driver, headers, device, version."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields
from typing import TYPE_CHECKING, Final

from ckprof.compare.model import PartChange

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ckprof.compare.side import Row, Side
    from ckprof.store.key import MeasurementKey

#: parts of a key that are looked at field by field
_PARTS: Final = ("device", "toolchain", "method")

#: parts without which times cannot be compared
_INCOMPARABLE: Final = frozenset({"device", "method"})

#: digits of a digest that are shown
_DIGITS: Final = 12


def what_changed(matched: Sequence[tuple[Row, Row]], old: Side, new: Side) -> tuple[PartChange, ...]:
    """Return every difference once, with how many rows it holds for."""
    counts: Counter[tuple[str, str, str]] = Counter()
    for before, after in matched:
        counts.update(_differences(before.measurement, after.measurement))
    # an object differs with the toolchain and per kernel: the number of rows says it all
    objects = sum(rows for (name, _, _), rows in counts.items() if name == "kernel.object_digest")
    found = [
        PartChange(
            name=name,
            old=before or "unknown",
            new=after or "unknown",
            rows=rows,
            incomparable=name.partition(".")[0] in _INCOMPARABLE,
        )
        for (name, before, after), rows in counts.most_common()
        if name != "kernel.object_digest"
    ]
    if objects:
        found.append(PartChange(name="kernel.object_digest", old="", new="", rows=objects))
    return (*found, *_evidence(old, new))


def _differences(old: MeasurementKey, new: MeasurementKey) -> Iterator[tuple[str, str, str]]:
    if old.digest == new.digest:
        return
    pairs: list[tuple[str, object, object]] = [
        ("operation.api_level", old.operation.api_level, new.operation.api_level),
        ("kernel.object_digest", old.kernel.object_digest, new.kernel.object_digest),
    ]
    for part in _PARTS:
        before, after = getattr(old, part), getattr(new, part)
        if before != after:
            pairs += [
                (f"{part}.{one.name}", getattr(before, one.name), getattr(after, one.name))
                for one in fields(before)
            ]
    yield from ((name, _text(a), _text(b)) for name, a, b in pairs if a != b)


def _text(value: object) -> str:
    if isinstance(value, tuple):
        return " ".join(map(str, value))
    text = str(value)
    is_digest = len(text) > 2 * _DIGITS and all(letter in "0123456789abcdef" for letter in text)
    return text[:_DIGITS] if is_digest else text


def _evidence(old: Side, new: Side) -> Iterator[PartChange]:
    for name in ("host", "ckprof_version", "git_commit", "seed"):
        before, after = (
            _distinct(getattr(session, name) for session in side.sessions) for side in (old, new)
        )
        if before != after:
            yield PartChange(name=name, old=before or "unknown", new=after or "unknown", rows=0)


def _distinct(values: Iterable[object]) -> str:
    return ", ".join(dict.fromkeys(_text(value) for value in values if value not in (None, "")))
