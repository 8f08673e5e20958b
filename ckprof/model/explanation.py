"""What a converter says about one line: its arguments, what each became, and what dropped it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ckprof.model.conversion import ConversionRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainRequest:
    """One line to explain.

    :param text: the line as it stands in the file.
    :param request: how the list is read; its path may say layout and data type, its data is not used.
    """

    text: str
    request: ConversionRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedField:
    """One argument of the line."""

    #: one-based
    position: int
    name: str
    text: str
    #: one-based
    column: int
    #: false if the argument is checked but has no influence on the record
    read: bool
    #: what the text means; ``None`` if it is wrong
    value: Any
    #: keys of the record that follow from the argument, alone or together with others
    becomes: tuple[str, ...]
    #: what is wrong with it; empty if nothing is
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedKey:
    """One key of the record that the line gives."""

    name: str
    value: Any
    #: ``argument N``, ``fixed``, or the id of the rule that derived it
    origin: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedRule:
    """A rule that derived keys of the record."""

    id: str
    #: a sentence
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedLine:
    """What becomes of a line that stands alone in a list."""

    text: str
    #: id, title, direction and variant of the family; empty if there is none
    family: str = ""
    title: str = ""
    direction: str = ""
    variant: str = ""
    fields: tuple[ExplainedField, ...] = ()
    #: empty if the line gives no instance
    record: tuple[ExplainedKey, ...] = ()
    #: the rules that ``record`` names as origins, in the order of their use
    rules: tuple[ExplainedRule, ...] = ()
    #: rule that drops the line, and its sentence; empty if none does
    rule: str = ""
    reason: str = ""
    #: (one-based column, message)
    errors: tuple[tuple[int, str], ...] = ()
    #: assumption that was made
    note: str = ""
