"""How counts, shares, factors and durations are written: one rule for all messages, tables and reports.

=========  ===========================================  ===================
what       how                                          for example
=========  ===========================================  ===================
count      the noun agrees with it                      ``1 attempt``
share      percent, a blank before the sign             ``2.5 %``
factor     three digits, an x right after               ``2.72x``
change     signed percent; from twice, or down to half  ``+12.5 %``,
           of it, a factor                              ``2.72x``
duration   the two largest units                        ``2 h 05 min``
=========  ===========================================  ===================

A column of ratios whose heading says so has plain numbers, as CSV, JSON and data frames do everywhere. What
is typed, such as ``--tie 2%``, has no blank.
"""

from __future__ import annotations

from typing import Final

#: largest number of rounds that is said as one
_MOST_TOLD: Final = 1000


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return how many there are of something, e.g. ``1 attempt``, ``3 attempts``.

    :param plural: of nouns whose plural is not made by an ``s``.
    """
    return f"{number} {noun if number == 1 else plural or f'{noun}s'}"


def agreeing(number: int, one: str, many: str) -> str:
    """Return the form of a word that agrees with a number, e.g. ``is`` or ``are``."""
    return one if number == 1 else many


def would_resolve(number: int, noun: str) -> str:
    """Return how many of something would settle a question; beyond what anybody waits for, no number."""
    if number > _MOST_TOLD:
        return f"more than {_MOST_TOLD} {noun}s would be needed"
    return f"about {counted(number, noun)} would resolve it"


def percent(share: float, digits: int | None = 1) -> str:
    """Return a share as percent.

    :param digits: after the point; ``None`` for as many as a share has that somebody chose.
    """
    return f"{100 * share:g} %" if digits is None else f"{100 * share:.{digits}f} %"


def factor(ratio: float) -> str:
    """Return a ratio as a factor."""
    return f"{ratio:.3g}x" if ratio < 1000 else f"{ratio:.0f}x"


def change(ratio: float, digits: int = 1) -> str:
    """Return by how much new / old differs from 1: in percent, or as a factor where percent are hard to read.

    :param digits: of percent, after the point.
    """
    return factor(ratio) if ratio >= 2 or ratio <= 0.5 else f"{100 * (ratio - 1):+.{digits}f} %"


def duration(seconds: float) -> str:
    """Return a duration for people, e.g. ``2 h 05 min``."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"
