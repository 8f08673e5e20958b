"""What ``ckprof plugins --check`` tries with an extractor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof.errors import InputError, PluginError, ToolchainError
from ckprof_plugins.extract.lists import ExtractRequest

if TYPE_CHECKING:
    from ckprof.testing.contract import Trials
    from ckprof.testing.samples import Samples
    from ckprof_plugins.extract.protocols import ListExtractor


def extractor_trials(samples: Samples, extractor: ListExtractor) -> Trials:
    """Yield the trials of an extractor, for which there need not be a library."""
    yield "has options", lambda: f"{len(extractor.options)} options"
    yield "refuses a folder without a library", lambda: _refused(samples, extractor)


def _refused(samples: Samples, extractor: ListExtractor) -> str:
    empty = samples.folder / "nothing"
    empty.mkdir(exist_ok=True)
    try:
        report = extractor.extract(ExtractRequest(source=empty, extractor=extractor.id))
    except (InputError, ToolchainError) as exc:
        return str(exc)
    if any(extracted.files for extracted in report.lists):
        raise PluginError("derives lists from an empty folder")
    return "no list"
