"""Comparing two sides as multisets of normalised instance strings.

What counts as a match: every instance of the second side has a partner of the first one with the same
normalised string. Copies on the first side are distinguished by their lines: equal lines are
duplicates, different lines that end in one instance are lossy.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final

from ckprof.model.parity import Duplicate, FieldDifference, Lossy, Match, Skipped, StringComparison, Unmatched

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence

    import numpy as np

    from ckprof.model.strings.grammar import StringGrammar
    from ckprof.model.strings.kind import ParsedString
    from ckprof.parity.side import Entry, StringSide

    Fields = Sequence[str | None]


#: different lines end in one instance
COLLAPSED: Final = "collapsed"
#: different instances have one string
INDISTINCT: Final = "indistinct"


def compare(
    first: StringSide, second: StringSide, strings: StringGrammar, title: str = ""
) -> StringComparison:
    """Compare two sides.

    :param first: what is expected, e.g. CK Builder's strings.
    :param second: what is there, e.g. those of the generated kernels.
    :param strings: the kinds of strings of both sides.
    :param title: what is compared, for reports.
    """
    return _Comparing(first, second, strings).run(title or f"{first.origin} and {second.origin}")


class _Comparing:
    def __init__(self, first: StringSide, second: StringSide, strings: StringGrammar) -> None:
        self._first = first
        self._second = second
        self._strings = strings
        self._matches: list[Match] = []
        self._missing: list[Entry] = []
        self._extra: list[Entry] = []
        self._duplicates: list[Duplicate] = []
        self._lossy: list[Lossy] = []
        self._skipped = [skip for _, skip in first.skipped]
        self._first_skips, self._second_skips = dict(first.skipped), dict(second.skipped)

    def run(self, title: str) -> StringComparison:
        ours, theirs = _grouped(self._first.entries), _grouped(self._second.entries)
        for parsed in {**ours, **theirs}:
            self._string(parsed, ours.get(parsed, []), theirs.get(parsed, []))
        seen = self._first_skips.keys() | ours.keys()
        self._skipped += [skip for parsed, skip in self._second.skipped if parsed not in seen]
        missing, extra = self._partners()
        return StringComparison(
            title=title,
            first=self._first.name,
            second=self._second.name,
            first_count=len(self._first.entries),
            second_count=len(self._second.entries),
            matches=tuple(self._matches),
            missing=missing,
            extra=extra,
            duplicates=tuple(self._duplicates),
            lossy=tuple(self._lossy),
            skipped=tuple(self._skipped),
            notes=(*self._first.notes, *self._second.notes),
        )

    def _string(self, parsed: ParsedString, ours: list[Entry], theirs: list[Entry]) -> None:
        """Account for all instances that have one normalised string."""
        ours = self._without_copies(ours, self._first)
        theirs = self._without_copies(theirs, self._second)
        if not theirs:
            skip = self._second_skips.get(parsed)
            if skip is None:
                self._missing += ours
            else:
                self._skipped += [
                    Skipped(text=entry.text, source=entry.source, rule=skip.rule, reason=skip.reason)
                    for entry in ours
                ]
            return
        pairs = min(len(ours), len(theirs))
        self._matches += [Match(text=entry.text, source=entry.source) for entry in theirs[:pairs]]
        self._extra += theirs[pairs:]
        for entry in ours[:pairs]:
            self._note_losses(entry, theirs[0])
        for entry in ours[pairs:]:
            self._lossy.append(_collapsed(ours[0], entry, theirs[0]))
        for entry in theirs[1:pairs]:
            self._lossy.append(
                Lossy(
                    rule=INDISTINCT,
                    reason=f"the string does not distinguish {entry.source} from {theirs[0].source}",
                    text=entry.text,
                    written=theirs[0].text,
                    sources=(theirs[0].source, entry.source),
                    differences=_origin_differences(theirs[0], entry),
                )
            )

    def _without_copies(self, entries: list[Entry], side: StringSide) -> list[Entry]:
        """Return each instance once, and account for the other copies."""
        if len(entries) < 2:
            return entries
        copies: dict[object, list[Entry]] = {}
        for entry in entries:
            copies.setdefault(entry.identity, []).append(entry)
        self._duplicates += [
            Duplicate(text=group[0].text, side=side.name, sources=tuple(entry.source for entry in group))
            for group in copies.values()
            if len(group) > 1
        ]
        return [group[0] for group in copies.values()]

    def _note_losses(self, entry: Entry, partner: Entry) -> None:
        for loss in entry.losses:
            differences = _differences(entry.said, entry.parsed, self._strings) if entry.said else ()
            self._lossy.append(
                Lossy(
                    rule=loss.rule,
                    reason=loss.reason,
                    text=entry.text,
                    written=partner.text,
                    sources=(entry.source,),
                    differences=differences,
                )
            )

    def _partners(self) -> tuple[tuple[Unmatched, ...], tuple[Unmatched, ...]]:
        """Return what is missing and what is extra, in pairs that most likely are one changed instance."""
        missing, extra = self._missing, self._extra
        pairs = closest_pairs(_kinds_and_fields(missing), _kinds_and_fields(extra))
        to_extra = {place: extra[partner] for place, partner in pairs.items()}
        to_missing = {partner: missing[place] for place, partner in pairs.items()}
        return (
            tuple(self._unmatched(missing, to_extra, extra, self._second, swap=False)),
            tuple(self._unmatched(extra, to_missing, missing, self._first, swap=True)),
        )

    def _unmatched(
        self,
        entries: Sequence[Entry],
        partners: Mapping[int, Entry],
        lonely: Sequence[Entry],
        other: StringSide,
        *,
        swap: bool,
    ) -> Iterable[Unmatched]:
        """Return the entries with their partners, or the nearest one that the other side has matched.

        :param partners: place among the entries -> that of the other side without a match, too.
        :param lonely: all of the other side without a match.
        """
        alone = {id(entry) for entry in lonely}
        matched = [entry for entry in other.entries if id(entry) not in alone]
        for place, entry in enumerate(entries):
            nearest = partners.get(place) or _nearest(entry, matched)
            skip = (self._first_skips if swap else self._second_skips).get(entry.parsed)
            note = other.invalid.get(entry.source, "")
            if skip is not None:
                note = f"{other.name} omits it by rule {skip.rule}: {skip.reason}"
            yield _unmatched(entry, nearest, self._strings, note, swap=swap)


def _differences(
    first: ParsedString, second: ParsedString, strings: StringGrammar
) -> tuple[FieldDifference, ...]:
    found = strings.differences(first, second)
    return tuple(FieldDifference(field=name, first=a, second=b) for name, a, b in found)


def _grouped(entries: Iterable[Entry]) -> dict[ParsedString, list[Entry]]:
    groups: dict[ParsedString, list[Entry]] = {}
    for entry in entries:
        groups.setdefault(entry.parsed, []).append(entry)
    return groups


def _kinds_and_fields(entries: Iterable[Entry]) -> list[tuple[str, tuple[str | None, ...]]]:
    return [(entry.parsed.kind_id, entry.parsed.values) for entry in entries]


def _nearest(entry: Entry, candidates: Sequence[Entry]) -> Entry | None:
    """Return the candidate of the same kind with the fewest differing fields."""
    values = entry.parsed.values
    best: Entry | None = None
    fewest = len(values) + 1
    for candidate in candidates:
        if candidate.parsed.kind_id != entry.parsed.kind_id:
            continue
        differing = sum(a != b for a, b in zip(values, candidate.parsed.values, strict=True))
        if differing < fewest:
            best, fewest = candidate, differing
    return best


def _collapsed(kept: Entry, lost: Entry, partner: Entry) -> Lossy:
    differences = _origin_differences(kept, lost)
    fields = ", ".join(item.field for item in differences)
    what = f"differs from {kept.source} in {fields}" if fields else f"reads like {kept.source}"
    return Lossy(
        rule=COLLAPSED,
        reason=f"{lost.source} {what}; both are one generated kernel",
        text=lost.text,
        written=partner.text,
        sources=(kept.source, lost.source),
        differences=differences,
    )


def _origin_differences(kept: Entry, other: Entry) -> tuple[FieldDifference, ...]:
    if kept.origin is None or other.origin is None:
        return ()
    first, second = kept.origin, other.origin
    if first.get("kernel") != second.get("kernel"):
        names: Iterable[str] = ("kernel",)
    else:
        names = {**first, **second}
    return tuple(
        FieldDifference(field=name, first=first.get(name, "-"), second=second.get(name, "-"))
        for name in names
        if first.get(name) != second.get(name)
    )


def agree(computed: StringSide, built: StringSide, strings: StringGrammar, title: str) -> StringComparison:
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
        left, right = ours.get(key), theirs.get(key)
        if left is not None and right is not None and left.parsed == right.parsed:
            matches.append(Match(text=right.text, source=right.source))
        elif left is not None and right is None and left.source in rejected:
            skipped.append(rejected[left.source])
        else:
            if left is not None:
                note = "" if right is not None else "the library has no kernel for it"
                missing.append(_unmatched(left, right, strings, note))
            if right is not None:
                note = "" if left is not None else "no instance of the lists has this kernel's key"
                extra.append(_unmatched(right, left, strings, note, swap=True))
    return StringComparison(
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
        pair = (partner, entry) if swap else (entry, partner)
        differences = _differences(pair[0].parsed, pair[1].parsed, strings)
        nearest = Match(text=partner.text, source=partner.source, differences=differences)
    return Unmatched(text=entry.text, source=entry.source, nearest=nearest, note=note)


#: entries of the largest table of distances that is searched for the best pairs; larger ones are paired one
#: after the other, the most alike first
_LARGEST: Final = 600 * 600


def closest_pairs(
    first: Sequence[tuple[Hashable, Fields]], second: Sequence[tuple[Hashable, Fields]]
) -> dict[int, int]:
    """Return places in ``first`` with their partners' places in ``second``, the same for the same input.

    Each is paired with the one that it most likely became: none is in two pairs, and the pairs differ in as
    few fields as possible altogether.

    :param first: kind and fields of each thing; only those of one kind, with as many fields of which at least
        one is equal, are paired.
    """
    groups: dict[Hashable, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for side, things in enumerate((first, second)):
        for place, (kind, fields) in enumerate(things):
            groups[kind, len(fields)][side].append(place)
    pairs: dict[int, int] = {}
    for ours, theirs in groups.values():
        if ours and theirs:
            distances = _distances([first[i][1] for i in ours], [second[j][1] for j in theirs])
            strange = distances == len(first[ours[0]][1])
            # of equally good assignments the one with the most pairs
            for row, column in _assigned(distances * (max(distances.shape) + 1) + strange):
                if not strange[row, column]:
                    pairs[ours[row]] = theirs[column]
    return pairs


def _distances(first: Sequence[Fields], second: Sequence[Fields]) -> np.ndarray[Any, Any]:
    """Return in how many fields each differs from each."""
    import numpy as np

    numbers: dict[str | None, int] = {}

    def table(things: Sequence[Fields]) -> np.ndarray[Any, Any]:
        rows = [[numbers.setdefault(field, len(numbers)) for field in fields] for fields in things]
        return np.array(rows, dtype=np.int32).reshape(len(things), -1)

    ours, theirs = table(first), table(second)
    found = np.zeros((len(first), len(second)), dtype=np.int64)
    for left, right in zip(ours.T, theirs.T, strict=True):
        found += left[:, None] != right[None, :]
    return found


def _assigned(distances: np.ndarray[Any, Any]) -> list[tuple[int, int]]:
    """Return rows and columns of the pairs with the least sum, as many as there can be."""
    if distances.size > _LARGEST:
        return _one_after_the_other(distances)
    if distances.shape[0] > distances.shape[1]:
        return [(row, column) for column, row in _assigned(distances.T)]
    return _least_sum(distances)


def _least_sum(distances: np.ndarray[Any, Any]) -> list[tuple[int, int]]:
    """Assign a column to each row, of which there are no more than columns.

    The method is that of Kuhn and Munkres with potentials: each row enlarges the assignment by a shortest
    alternating path.
    """
    import numpy as np

    rows, columns = distances.shape
    row_potential = np.zeros(rows + 1, dtype=np.int64)
    column_potential = np.zeros(columns + 1, dtype=np.int64)
    #: row of each column; columns and rows count from 1, 0 is none
    owner = np.zeros(columns + 1, dtype=np.int64)
    for row in range(1, rows + 1):
        owner[0] = row
        column = 0
        slack = np.full(columns + 1, np.iinfo(np.int64).max // 2)
        previous = np.zeros(columns + 1, dtype=np.int64)
        done = np.zeros(columns + 1, dtype=bool)
        while owner[column]:
            done[column] = True
            current = owner[column]
            reduced = distances[current - 1] - row_potential[current] - column_potential[1:]
            better = ~done[1:] & (reduced < slack[1:])
            slack[1:][better] = reduced[better]
            previous[1:][better] = column
            open_slack = np.where(done[1:], np.iinfo(np.int64).max, slack[1:])
            nearest = int(open_slack.argmin()) + 1
            step = slack[nearest]
            row_potential[owner[done]] += step
            column_potential[done] -= step
            slack[~done] -= step
            column = nearest
        while column:
            owner[column] = owner[previous[column]]
            column = int(previous[column])
    return sorted((int(owner[column]) - 1, column - 1) for column in range(1, columns + 1) if owner[column])


def _one_after_the_other(distances: np.ndarray[Any, Any]) -> list[tuple[int, int]]:
    import numpy as np

    columns = distances.shape[1]
    pairs: dict[int, int] = {}
    taken: set[int] = set()
    for place in np.argsort(distances, axis=None, kind="stable"):
        row, column = divmod(int(place), columns)
        if row not in pairs and column not in taken:
            pairs[row] = column
            taken.add(column)
            if len(pairs) == min(distances.shape):
                break
    return sorted(pairs.items())
