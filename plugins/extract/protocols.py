"""What an extractor of lists must have, and the kind of objects that extractors are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from ckprof.plugin.additions import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof_plugins.extract.lists import ExtractionReport, ExtractorOption, ExtractRequest


class ListExtractor(Protocol):
    """Derives instance lists from an installed library."""

    @property
    def id(self) -> str:
        """What users type with ``--extractor``."""

    @property
    def label(self) -> str:
        """A few words for help texts."""

    @property
    def options(self) -> Sequence[ExtractorOption]:
        """The options that it understands beside those of every extractor."""

    def extract(self, request: ExtractRequest) -> ExtractionReport:
        """Derive lists; an error that concerns one list is reported with it and does not stop the others.

        :raises UsageError: the request asks for something that the extractor does not know.
        :raises InputError: the library cannot be read.
        :raises ToolchainError: there is no such library.
        """


#: what derives lists from installed libraries
EXTRACTORS: Final = Kind[ListExtractor](
    "extractor", ListExtractor, "ckprof_plugins.extract.lists:extractor_trials"
)
