"""What a check of a plugin says of an object, and what raises if a trial fails."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from ckprof.errors import CkprofError, ToolchainError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    #: a few words and what raises if that is not so, in the order in which they are tried
    Trials = Iterable[tuple[str, Callable[[], str]]]


class CheckVerdict(Enum):
    """What became of a check."""

    PASSED = "passed"
    FAILED = "failed"
    #: it needs something that this machine or the call lacks
    NOT_POSSIBLE = "not possible"


class CannotTry(CkprofError):
    """Something that a trial needs is not there; the message says how to bring it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContractCheck:
    """One check of one object."""

    #: kind and id, e.g. ``pipeline 'mine'``
    what: str
    #: a few words, e.g. ``records round-trip``
    check: str
    verdict: CheckVerdict
    #: why it failed, or what was found
    detail: str = ""

    @classmethod
    def of(cls, what: str, check: str, action: Callable[[], str]) -> ContractCheck:
        """Return what becomes of a check that raises if it fails."""
        try:
            return cls(what=what, check=check, verdict=CheckVerdict.PASSED, detail=action())
        except CkprofError as error:
            return cls.failed(what, check, error)

    @classmethod
    def failed(cls, what: str, check: str, error: CkprofError) -> ContractCheck:
        """Return a check that ended with an error."""
        # protocols raise the base class itself where a package is not installed
        impossible = isinstance(error, (CannotTry, ToolchainError)) or type(error) is CkprofError
        verdict = CheckVerdict.NOT_POSSIBLE if impossible else CheckVerdict.FAILED
        return cls(what=what, check=check, verdict=verdict, detail=str(error))
