"""Whether what is computed for each instance is what its kernel says: kernel by kernel, not as a multiset."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof.model.parity import Comparison, FieldDifference, Match, Nearest, Skipped, Unmatched

if TYPE_CHECKING:
    from ckprof.parity.side import Entry, Side
    from ckprof.strings.string_grammar import StringGrammar


def agree(computed: Side, built: Side, strings: StringGrammar, title: str) -> Comparison:
    """Compare the strings of the same instances, found by their content keys.

    :param computed: of the catalog, with keys.
    :param built: of the library; instances that its rules rejected are skipped.
    """
    ours = {entry.key: entry for entry in computed.entries}
    theirs = {entry.key: entry for entry in built.entries}
    rejected = {skip.source: skip for _, skip in built.skipped}
    matches: list[Match] = []
    missing: list[Unmatched] = []
    extra: list[Unmatched] = []
    skipped: list[Skipped] = []
    for key in {**ours, **theirs}:
        one, other = ours.get(key), theirs.get(key)
        if one is not None and other is not None and one.parsed == other.parsed:
            matches.append(Match(text=other.text, source=other.source))
        elif one is not None and other is None and one.source in rejected:
            skipped.append(rejected[one.source])
        else:
            if one is not None:
                note = "" if other is not None else "the library has no kernel for it"
                missing.append(_unmatched(one, other, strings, note))
            if other is not None:
                note = "" if one is not None else "no instance of the lists has this kernel's key"
                extra.append(_unmatched(other, one, strings, note, swap=True))
    return Comparison(
        title=title,
        first=computed.name,
        second=built.name,
        first_count=len(ours),
        second_count=len(theirs),
        matches=tuple(matches),
        missing=tuple(missing),
        extra=tuple(extra),
        skipped=tuple(skipped),
    )


def _unmatched(
    entry: Entry, partner: Entry | None, strings: StringGrammar, note: str, *, swap: bool = False
) -> Unmatched:
    nearest = None
    if partner is not None:
        pair = (partner.parsed, entry.parsed) if swap else (entry.parsed, partner.parsed)
        nearest = Nearest(
            text=partner.text,
            source=partner.source,
            differences=tuple(
                FieldDifference(field=name, first=a, second=b) for name, a, b in strings.differences(*pair)
            ),
        )
    return Unmatched(text=entry.text, source=entry.source, nearest=nearest, note=note)
