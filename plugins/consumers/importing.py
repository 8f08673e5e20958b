"""Times in files of programs that use tuned results, as measurements of a store."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ckprof.errors import PluginError, UsageError
from ckprof.model.outcome import Status, Verification
from ckprof.option import option
from ckprof.plugin.protocols import ResultReader
from ckprof.plugin.protocols.formats import ImportHints
from ckprof.store.attempt import Attempt
from ckprof_plugins.consumers.audit import required_consumer

if TYPE_CHECKING:
    from ckprof.plugin.registry import Registry

#: what the verification of attempts says that were taken on trust
TRUSTED: Final = "none here: taken on trust from"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportCall:
    """Which files become measurements."""

    paths: tuple[Path, ...]
    consumer: str = field(
        default="",
        metadata=option("program that owns the files (default: what they look like)", metavar="ID"),
    )
    trust: bool = field(
        default=False,
        metadata=option(
            "take results for verified, which nothing in the files proves: only then are they ranked, "
            "compared and trained on; each says so"
        ),
    )
    hints: ImportHints = field(default_factory=ImportHints)


def attempts_of(registry: Registry, call: ImportCall, path: Path) -> Iterator[Attempt]:
    """Yield the measurements of a file, each with its origin.

    :raises InputError: the file cannot be read, or is of no known program.
    :raises UsageError: the program's files have no times, or do not say what must be known.
    """
    owner = required_consumer(registry, path, call.consumer)
    if not isinstance(owner, ResultReader):
        readers = ", ".join(one.id for one in registry.consumers if isinstance(one, ResultReader))
        raise UsageError(f"{path}: files of {owner.id} hold no times of kernels; those of {readers} do")
    for attempt in owner.measurements(path, call.hints):
        if not isinstance(attempt, Attempt):
            raise PluginError(
                f"plugin {registry.consumers.provider(owner.id)}: consumer {owner.id!r}: measurements yields "
                f"{type(attempt).__name__}, expected Attempt"
            )
        trusted = call.trust and attempt.status is Status.OK and attempt.verification is None
        yield replace(attempt, verification=_trusted(path)) if trusted else attempt


def _trusted(path: Path) -> Verification:
    return Verification(
        max_error=0.0, wrong_elements=0, elements=0, rtol=0.0, atol=0.0, reference=f"{TRUSTED} {path.name}"
    )
