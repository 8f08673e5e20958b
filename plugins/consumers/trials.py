"""Trials of programs that use tuned results: on files that say nothing, and on winners that there are not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError, PluginError, UsageError
from ckprof.plugin.members import offers
from ckprof.plugin.protocols.converters import ImportHints
from ckprof.testing.contract import CannotTry
from ckprof_plugins.consumers.protocols import Consumer
from ckprof_plugins.consumers.records import AuditRequest, ExportRequest

if TYPE_CHECKING:
    from pathlib import Path

    from ckprof.testing.contract import Trials
    from ckprof.testing.samples import Samples

#: no program's, but a text with what some separate by
_NOTHING: Final = b"a line, of nothing = at all: 1\n"


def consumer_trials(samples: Samples, consumer: Consumer) -> Trials:
    """Yield the trials of a consumer and of each of its abilities."""
    path = samples.folder / "nothing"
    path.write_bytes(_NOTHING)
    yield "looks at a file", lambda: _recognised(consumer, path)
    if offers(consumer, Consumer.audit):
        yield "judges a file of nothing", lambda: _judged(consumer, path)
    if offers(consumer, Consumer.measurements):
        yield "reads the times of a file of nothing", lambda: _read(consumer, path)
    if offers(consumer, Consumer.export):
        yield "writes no winners", lambda: _written(consumer, samples.profiler.target().default_arch)
    if offers(consumer, Consumer.sightings):
        yield "reads a line of nothing", lambda: _seen(consumer)


def _recognised(consumer: Consumer, path: Path) -> str:
    for content in (b"", _NOTHING):
        answer = consumer.owns(path, content)
        if not isinstance(answer, bool):
            raise PluginError(f"owns returns {answer!r}, expected True or False")
    return "an empty one, and one of nothing"


def _judged(consumer: Consumer, path: Path) -> str:
    try:
        audit = consumer.audit(AuditRequest(path=path))
        kept = len(consumer.cleaned(audit))
    except InputError as error:
        # a file that is none of the consumer's may be refused as a whole
        return str(error)
    return f"{len(audit.findings)} findings, {kept} bytes remain"


def _read(consumer: Consumer, path: Path) -> str:
    try:
        count = sum(1 for _ in consumer.measurements(path, ImportHints()))
    except (InputError, UsageError) as error:
        return str(error)
    return f"{count} times"


def _written(consumer: Consumer, arch: str) -> str:
    try:
        files = consumer.export(ExportRequest(winners=(), arch=arch, compute_units=1))
    except UsageError as error:
        raise CannotTry(str(error)) from None
    if files.entries:
        raise PluginError(f"{files.entries} entries are written of no winner")
    return f"{len(files.files)} files"


def _seen(consumer: Consumer) -> str:
    found = consumer.sightings(_NOTHING.decode(), ())
    if found:
        raise PluginError(f"{found[0].what} is seen in a line of nothing")
    return "nothing is seen"
