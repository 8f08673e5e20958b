"""CK Builder's side: what lists and logs mean to it."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from ckprof.errors import InputError, PluginError, UsageError
from ckprof.lists.list_files import is_json
from ckprof.model.conversion import ConversionRequest
from ckprof.model.parity import Skipped
from ckprof.model.strings.kind import all_revisions
from ckprof.parity.side import Entry, StringSide, is_library
from ckprof.plugin.members import offers
from ckprof.plugin.protocols import BuilderReader

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from ckprof.model.conversion import Conversion
    from ckprof.model.parity import BuilderList, BuilderString
    from ckprof.model.strings.grammar import StringGrammar
    from ckprof.model.strings.kind import ParsedString, Revision
    from ckprof.plugin.registry import Registry


NAME = "CK Builder"


def read_builder(
    request: ConversionRequest, registry: Registry, revision: Revision | None = None
) -> BuilderList:
    """Read a list or a log as CK Builder does.

    :param revision: the only one that may have printed it; ``None`` for every one, line by line.

    :raises InputError: no reader knows the content, or lines are wrong.
    """
    for reader in registry.builder_readers:
        if reader.recognises(request):
            return reader.read(request, registry.strings, revision)
    if not request.data.strip():
        raise InputError("the file is empty, expected instance strings", request.path)
    readers = "; ".join(f"{reader.id}: {reader.label}" for reader in registry.builder_readers)
    raise InputError(f"no instance list and no profiler output that a reader knows ({readers})", request.path)


def builder_side(lists: Iterable[BuilderList], strings: StringGrammar, name: str = NAME) -> StringSide:
    """Return the side of one or several lists; a line that several lists have in common counts once.

    :raises InputError: the lists hold no instance.
    """
    entries: list[Entry] = []
    skipped: list[tuple[ParsedString | None, Skipped]] = []
    notes: list[str] = []
    paths: list[str] = []
    seen: set[object] = set()
    for builder_list in lists:
        paths.append(str(builder_list.path))
        notes += [f"{builder_list.path}: {note}" for note in builder_list.notes]
        fresh = set()
        for string in builder_list.strings:
            source = f"{builder_list.path}:{string.line}"
            if string.skipped is not None:
                parsed = strings.parse(string.expected) if string.expected else None
                why = string.skipped
                skip = Skipped(text=string.text, source=source, rule=why.rule, reason=why.message)
                skipped.append((parsed, skip))
                continue
            identity = _identity(string)
            if identity in seen:
                continue
            fresh.add(identity)
            entries.append(
                Entry(
                    text=string.text,
                    parsed=strings.parse(string.expected),
                    source=source,
                    identity=identity,
                    origin=string.origin,
                    losses=string.losses,
                    said=strings.parse(string.text) if string.losses else None,
                )
            )
        seen |= fresh
    return StringSide(
        name=name,
        origin=", ".join(paths),
        entries=tuple(entries),
        skipped=tuple(skipped),
        notes=tuple(notes),
        is_builder=True,
    )


def _spelled(texts: Iterable[str], strings: StringGrammar) -> str:
    """Say which revisions of CK spell strings so; nothing if all of them do."""
    counts = Counter(strings.revisions_of(text) for text in texts)
    distinct = {revisions: count for revisions, count in counts.items() if revisions != all_revisions()}
    common = set(all_revisions()).intersection(*distinct)
    if not distinct:
        return ""
    if common:
        return f"spelled as CK revision {_either(each for each in all_revisions() if each in common)}"
    spellings = (f"{count} as in {_either(revisions) or 'none'}" for revisions, count in distinct.items())
    return f"spelled as several CK revisions: {'; '.join(spellings)}"


def _either(revisions: Iterable[Revision]) -> str:
    return " or ".join(revision.name for revision in revisions)


def _identity(string: BuilderString) -> object:
    """Return what tells the instances of equal strings apart: the line that they come from."""
    if string.abridged:
        return (string.text, string.line)
    return (string.text, *string.origin.values()) if string.origin else string.text


def explain_by_lists(side: StringSide, computed: StringSide) -> StringSide:
    """Return a side that was read from strings alone, with what the lists themselves say about them.

    The n-th copy of a string is taken for the n-th line that gives it: then copies are known as different
    instances, more copies than lines as copies, and instances that the generator leaves out as such.

    :param side: strings without their lines, e.g. of a log.
    :param computed: the strings of the lists, by the same normalisation.
    """
    lines: dict[ParsedString, list[Entry]] = defaultdict(list)
    for entry in computed.entries:
        lines[entry.said or entry.parsed].append(entry)
    skips = dict(computed.skipped)
    entries: list[Entry] = []
    skipped = list(side.skipped)
    for entry in side.entries:
        printed = entry.said or entry.parsed
        candidates = lines.get(printed) if entry.origin is None else None
        if candidates:
            # More copies than lines are copies of the last one.
            line = candidates.pop(0) if len(candidates) > 1 else candidates[0]
            entries.append(replace(entry, identity=line.identity, origin=line.origin, parsed=line.parsed))
        elif printed in skips and printed not in lines:
            skip = replace(skips[printed], source=entry.source)
            skipped.append((printed, skip))
        elif entry.said is not None and printed not in lines:
            # No line of the lists loses this: it is something that they do not have.
            entries.append(replace(entry, parsed=entry.said, said=None, losses=()))
        else:
            entries.append(entry)
    return replace(side, entries=tuple(entries), skipped=tuple(skipped))


def against_each_other(first: StringSide, second: StringSide) -> tuple[StringSide, StringSide]:
    """Return two sides, made ready to be compared with each other whatever they are.

    Where both are CK Builder's, nothing is generated from either of them: the strings count as they are
    printed, and instances that the generator would leave out count as well.
    """
    if not (first.is_builder and second.is_builder):
        return first, second
    first, second = _as_printed(first), _as_printed(second)
    return explain_by_lists(first, second), explain_by_lists(second, first)


def _as_printed(side: StringSide) -> StringSide:
    invalid = tuple(
        Entry(text=skip.text, parsed=parsed, source=skip.source, identity=(skip.text, skip.source))
        for parsed, skip in side.skipped
        if parsed is not None
    )
    entries = tuple(replace(entry, parsed=entry.said or entry.parsed, losses=()) for entry in side.entries)
    unknown = tuple(item for item in side.skipped if item[0] is None)
    return replace(side, entries=entries + invalid, skipped=unknown)


def expected_side(
    requests: Sequence[ConversionRequest],
    against: Sequence[ConversionRequest],
    registry: Registry,
    revision: Revision | None = None,
) -> StringSide:
    """Return CK Builder's side: computed from lists, or read from files and explained by the lists.

    :param requests: the lists.
    :param against: the files.
    :param revision: the only one of CK that may have printed the files. Lists are read in the spelling of
        any.
    :raises InputError: a file is wrong, or holds no instance.
    :raises UsageError: a catalog stands for a list, which says nothing about CK Builder.
    """
    lists = [request for request in requests if not is_json(request.data)]
    if not against and len(lists) < len(requests):
        named = next(request.path for request in requests if is_json(request.data))
        raise UsageError(
            f"{named} is a catalog, which does not say what CK Builder has: name CK Builder's strings with "
            "--against"
        )
    read = [read_builder(request, registry) for request in lists]
    computed = builder_side(read, registry.strings) if read else None
    if not against:
        assert computed is not None  # noqa: S101  # there is at least one list
        return computed
    for file in against:
        if is_json(file.data) or is_library(file.data):
            raise UsageError(f"--against {file.path}: expected CK Builder's strings or a profiler's log")
    strings = [read_builder(file, registry, revision) for file in against]
    printed = builder_side(strings, registry.strings)
    spelled = ((file.path, _spelled(file.printed, registry.strings)) for file in strings)
    printed = replace(printed, notes=(*printed.notes, *(f"{path}: {how}" for path, how in spelled if how)))
    return explain_by_lists(printed, computed) if computed is not None else printed


def printed_strings(
    registry: Registry,
    direction: str,
    tree: Path,
    lists: Sequence[ConversionRequest],
    conversions: Sequence[Conversion],
) -> tuple[tuple[ConversionRequest, ...], dict[str, Skipped], tuple[str, ...]]:
    """Return what a tree's Builder prints for the factories of lists.

    That is a line for each string, as if each list that the tree has stood in a file; lines of the lists that
    the tree's Builder has no string for, by where they are; and what the user should know.

    :param direction: id.
    :param lists: what is asked for has the types of their lines, and does what these do.
    :param conversions: what the lists became.
    :raises PluginError: no plugin can ask a Builder.
    :raises InputError: the tree's factories have no such instance, or none that its Builder describes.
    :raises CkprofError: the tree cannot be used.
    """
    lines = {
        f"{request.path}:{number}": line
        for request in lists
        for number, line in enumerate(request.data.decode(errors="replace").splitlines(), 1)
    }
    catalogs = [catalog for conversion in conversions for catalog in conversion.catalogs]
    printer = next((one for one in registry.builder_readers if offers(one, BuilderReader.print_lists)), None)
    if printer is None:
        raise PluginError("no plugin can ask CK Builder: no builder reader prints lists")
    texts, without_string, notes = printer.print_lists(
        tree,
        direction,
        layouts=tuple(dict.fromkeys(catalog.layout.name for catalog in catalogs)),
        dtypes=tuple(dict.fromkeys(catalog.dtype.value for catalog in catalogs)),
        lines=tuple(lines.values()),
    )
    if not any(texts.values()):
        raise InputError("; ".join(("its CK Builder prints no string for these lists", *notes)), tree)
    requests = tuple(
        ConversionRequest(path=tree / place, data=text.encode(), direction=direction)
        for place, text in texts.items()
        if text
    )
    left_out = {
        source: Skipped(
            text=line,
            source=source,
            rule="no-builder-string",
            reason=f"the tree's CK Builder has no string for {name}",
        )
        for source, line in lines.items()
        if (name := line.partition("<")[0].strip()) in without_string
    }
    return requests, left_out, notes
