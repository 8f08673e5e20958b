"""The sides of a comparison, instances with their strings: of catalogs, of libraries, of CK Builder."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError, PluginError, UsageError
from ckprof.kernels import manifest
from ckprof.lists.list_files import is_json
from ckprof.measure.support import query_instance_strings
from ckprof.model.conversion import ConversionRequest
from ckprof.model.parity import Skipped
from ckprof.model.strings.kind import all_revisions
from ckprof.model.strings.rendering import StringError
from ckprof.plugin.members import offers
from ckprof.plugin.protocols import BuilderReader

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from ckprof.kernels.candidates import Candidate
    from ckprof.model.catalog import Catalog, CatalogRecord
    from ckprof.model.conversion import Conversion
    from ckprof.model.parity import BuilderList, BuilderString, Loss
    from ckprof.model.strings.grammar import StringGrammar
    from ckprof.model.strings.kind import ParsedString, Revision
    from ckprof.plugin.registry import Registry


_ELF: Final = b"\x7fELF"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One instance of a side."""

    #: the string as it is printed
    text: str
    #: what is compared: the string that the other side is expected to have
    parsed: ParsedString
    source: str
    #: equal for copies of the same instance only
    identity: object
    #: content key of the generated instance; empty where nothing is generated
    key: str = ""
    #: the fields of the line that the instance comes from, for telling lines with equal strings apart
    origin: Mapping[str, str] | None = None
    #: what the other side is known to write differently; ``said`` is the string before that
    losses: tuple[Loss, ...] = ()
    said: ParsedString | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StringSide:
    """All instances of one route.

    :raises InputError: there is no instance at all: nothing would be compared.
    """

    #: what reports call it
    name: str
    #: files or library that it comes from
    origin: str
    entries: tuple[Entry, ...]
    #: instances that a rule leaves out, with their strings as far as these are known
    skipped: tuple[tuple[ParsedString | None, Skipped], ...] = ()
    #: source of an instance of the other side -> why this side omits it
    invalid: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    #: the strings are those of CK Builder, before anything was converted
    is_builder: bool = False

    def __post_init__(self) -> None:
        if not self.entries and not self.skipped and not self.invalid:
            why = f" ({'; '.join(self.notes)})" if self.notes else ""
            raise InputError(f"no instance string at all on the side of {self.name}{why}", self.origin)

    def without(self, left_out: Mapping[str, Skipped]) -> StringSide:
        """Return the side with the instances of some sources left out.

        :param left_out: source -> what is said of it.
        """
        entries = tuple(entry for entry in self.entries if entry.source not in left_out)
        skipped = tuple(item for item in self.skipped if item[1].source not in left_out)
        sources = (*(entry.source for entry in self.entries), *(skip.source for _, skip in self.skipped))
        named = tuple((None, left_out[source]) for source in dict.fromkeys(sources) if source in left_out)
        return replace(self, entries=entries, skipped=(*skipped, *named))


def is_library(data: bytes) -> bool:
    """Say whether the content is that of a shared library."""
    return data.startswith(_ELF)


CATALOG: Final = "catalog"
LIBRARY: Final = "library"

#: dropped lines that are no instances of their own
_NO_INSTANCES: Final = frozenset({"blank", "comment", "duplicate", "unlisted"})


def catalog_side(
    conversions: Sequence[Conversion], registry: Registry, name: str = CATALOG, *, with_keys: bool = False
) -> StringSide:
    """Return the strings of the catalogs that lists were converted to; nothing is built.

    An instance that several lists hold counts once.

    :param with_keys: compute the content keys too, by which kernels of a library are found.
    :raises InputError: there is no instance, or a record or its string is wrong.
    """
    entries: list[Entry] = []
    for conversion in conversions:
        for catalog in conversion.catalogs:
            entries += _of_catalog(catalog, conversion, registry, with_keys=with_keys)
    invalid = {
        f"{conversion.path}:{line}": f"the conversion drops it ({why.rule}: {why.message})"
        for conversion in conversions
        for line, why in conversion.dropped.items()
        if why.rule not in _NO_INSTANCES
    }
    if len(conversions) > 1:
        distinct: dict[object, Entry] = {}
        for entry in entries:
            distinct.setdefault(entry.identity, entry)
        entries = [*distinct.values()]
    origin = ", ".join(str(conversion.path) for conversion in conversions)
    return StringSide(name=name, origin=origin, entries=tuple(entries), invalid=invalid)


def _of_catalog(
    catalog: Catalog, conversion: Conversion, registry: Registry, *, with_keys: bool
) -> Iterable[Entry]:
    strings = registry.strings
    for record in catalog.records:
        pipeline, instance = registry.instance_of(catalog, record)
        text = pipeline.instance_string(instance)
        source = _source(conversion, catalog, record)
        values = {name: getattr(record, name) for name in record.__struct_fields__ if name != "id"}
        yield Entry(
            text=text,
            parsed=parse(strings, text, source),
            source=source,
            key=instance.key if with_keys else "",
            identity=(catalog.variant, catalog.layout.name, catalog.dtype, *values.values()),
            origin={"layout": catalog.layout.name, **{name: str(value) for name, value in values.items()}},
        )


def _source(conversion: Conversion, catalog: Catalog, record: CatalogRecord) -> str:
    id_ = record.id
    line = conversion.source_lines.get((catalog.variant, id_))
    return f"{conversion.path}:{line}" if line else f"{conversion.path} instance {id_}"


def parse(strings: StringGrammar, text: str, source: str) -> ParsedString:
    """Take the string of a generated kernel apart; any revision may have printed it.

    :raises InputError: it is none.
    """
    try:
        return strings.parse(text)
    except StringError as error:
        raise InputError(f"{error.message} in {text!r}", source) from None


def library_side(
    library: Path,
    candidates: Sequence[Candidate],
    registry: Registry,
    built_for: tuple[str, str] | None = None,
) -> StringSide:
    """Return what all kernels of a library say of themselves.

    :param candidates: instances that should have a kernel there.
    :param built_for: architecture and API level, whose rules may forbid instances; ``None`` to look beside
        the library.
    :raises ToolchainError: the library cannot be loaded.
    :raises InputError: a kernel gives no text, or one that is no instance string.
    """
    if not library.is_file():
        raise InputError("no such library", library)
    with library.open("rb") as stream:
        if not is_library(stream.read(4)):
            raise InputError("is not a kernel library: it is not a shared library at all", library)
    texts, failures = query_instance_strings(library)
    by_key = {candidate.instance.key: candidate for candidate in candidates}
    for key, reason in failures.items():
        name = by_key[key].name if key in by_key else key
        raise InputError(f"kernel {name} does not say what it is: {reason}", library)
    entries = []
    for key, text in texts.items():
        source = by_key[key].source if key in by_key else f"{library} kernel {key}"
        parsed = parse(registry.strings, text, source)
        entries.append(Entry(text=text, parsed=parsed, source=source, identity=key, key=key))
    skipped: list[tuple[ParsedString | None, Skipped]] = []
    rules = built_for or manifest.built_for(library.parent)
    for key, candidate in by_key.items():
        if key in texts or rules is None:
            continue
        unmet = candidate.pipeline.unmet_requirements(candidate.instance, *rules)
        if unmet:
            text, source = candidate.instance_string, candidate.source
            skip = Skipped(text=text, source=source, rule=unmet[0].rule, reason=unmet[0].message)
            skipped.append((parse(registry.strings, text, source), skip))
    return StringSide(name=LIBRARY, origin=str(library), entries=tuple(entries), skipped=tuple(skipped))


BUILDER = "CK Builder"


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


def builder_side(lists: Iterable[BuilderList], strings: StringGrammar, name: str = BUILDER) -> StringSide:
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
        return f"as printed by CK revision {_either(each for each in all_revisions() if each in common)}"
    spellings = (f"{count} as in {_either(revisions) or 'none'}" for revisions, count in distinct.items())
    return f"as several CK revisions print it: {'; '.join(spellings)}"


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
    compiler: str | None,
) -> tuple[tuple[ConversionRequest, ...], dict[str, Skipped], tuple[str, ...]]:
    """Return what a tree's Builder prints for the factories of lists.

    That is a line for each string, as if each list that the tree has stood in a file; lines of the lists that
    the tree's Builder has no string for, by where they are; and what the user should know.

    :param direction: id.
    :param lists: what is asked for has the types of their lines, and does what these do.
    :param conversions: what the lists became.
    :param compiler: as in :class:`~ckprof.kernels.requests.BuildOptions`.
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
        compiler=compiler,
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
