"""What sessions say of how their times came about that is no part of a key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from ckprof.store.attempt import SOURCES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ckprof.store.attempt import Session

#: digits of a digest that are shown
_DIGITS: Final = 12
_FIELDS: Final = ("host", "ckprof_version", "git_commit", "seed")


def provenance(sessions: Iterable[Session]) -> dict[str, str]:
    """Return what is known, by name: distinct values in the order of the sessions, separated by commas.

    Digests of the files of ckprof and of plugins are named ``sources.`` and what they are of; ``host.cpus``
    are the CPUs that a session was allowed to use.
    """
    found: dict[str, dict[str, None]] = {}
    for session in sessions:
        for name, value in _facts(session):
            if value not in (None, ""):
                found.setdefault(name, {})[shortened(str(value))] = None
    return {name: ", ".join(values) for name, values in found.items()}


def _facts(session: Session) -> Iterator[tuple[str, object]]:
    for name in _FIELDS:
        yield name, getattr(session, name)
    host, sources = (session.environment.get(name) for name in ("host", SOURCES))
    if isinstance(host, Mapping):
        yield "host.cpus", host.get("cores")
    if isinstance(sources, Mapping):
        for name, digest in sources.items():
            yield f"{SOURCES}.{name}", digest


def shortened(text: str) -> str:
    """Return the first digits of a digest; any other text as it is."""
    is_digest = len(text) > 2 * _DIGITS and all(letter in "0123456789abcdef" for letter in text)
    return text[:_DIGITS] if is_digest else text
