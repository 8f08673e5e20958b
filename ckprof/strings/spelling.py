"""Strings that are not written ``Name<field,field,...>``, and lists of kernels that print other texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ckprof.model.builder_list import Loss
    from ckprof.model.requirement import UnmetRequirement


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratedString:
    """What the kernel that is generated for a line of a list prints, by what the line says."""

    text: str
    #: what the line says and the kernel does not have
    losses: tuple[Loss, ...] = ()
    #: why no kernel is generated
    skipped: UnmetRequirement | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationRequest:
    """A line, and what the list says for all of its lines."""

    #: normal spelling of each field that the line has
    values: Mapping[str, str | None]
    #: names of layout and type of the elements; empty if they are not known
    layout: str
    dtype: str
    #: least K of the MMA tiles of the half types, (for 32-wide, for all others)
    mma_k_table: tuple[int, int]


@runtime_checkable
class Spelling(Protocol):
    """How the strings of a kind are written, of lists and of kernels alike."""

    def recognises(self, text: str) -> bool:
        """Say whether a text is meant to be one of these strings; must be quick."""

    def read(self, text: str) -> Mapping[str, str | None]:
        """Return the normal spelling of each field, ``None`` for those that the text does not say.

        :raises StringError: it is spelled wrong.
        """

    def write(self, values: Mapping[str, str | None]) -> str:
        """Return the text of a kernel with these fields, else that of a list.

        :raises StringError: it takes more fields.
        """

    def generated(self, request: GenerationRequest) -> GeneratedString:
        """Return what is generated for a line.

        It must not be derived by the converter that the comparison is to prove.

        :raises StringError: the line's fields contradict each other, or the list does not say enough.
        """
