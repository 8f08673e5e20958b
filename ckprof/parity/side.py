"""One side of a comparison: instances with their strings, taken apart."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError
from ckprof.kernels import manifest
from ckprof.measure.support import query_instance_strings
from ckprof.model.parity import Skipped
from ckprof.model.strings.rendering import StringError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from ckprof.kernels.candidates import Candidate
    from ckprof.model.catalog import Catalog, CatalogRecord
    from ckprof.model.conversion import Conversion
    from ckprof.model.parity import Loss
    from ckprof.model.strings.grammar import StringGrammar
    from ckprof.model.strings.kind import ParsedString
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
    #: source of an instance of the other side -> why this side leaves it out
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


def merge_copies(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """Return the entries of several files, those with equal identity once."""
    distinct: dict[object, Entry] = {}
    for entry in entries:
        distinct.setdefault(entry.identity, entry)
    return tuple(distinct.values())


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
    invalid: dict[str, str] = {}
    for conversion in conversions:
        of_list: list[Entry] = []
        for catalog in conversion.catalogs:
            of_list += _of_catalog(catalog, conversion, registry, with_keys=with_keys)
        invalid.update(
            {
                f"{conversion.path}:{line}": f"the conversion drops it ({why.rule}: {why.message})"
                for line, why in conversion.dropped.items()
                if why.rule not in _NO_INSTANCES
            }
        )
        entries += of_list
    if len(conversions) > 1:
        entries = list(merge_copies(entries))
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
            raise InputError("is no kernel library: it is no shared library at all", library)
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
