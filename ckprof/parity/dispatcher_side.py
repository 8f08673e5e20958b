"""The dispatcher's side: the strings of the kernels that are generated, computed or asked of the library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError
from ckprof.model.parity import Skipped
from ckprof.parity.side import Entry, Side, merge_copies
from ckprof.strings.rendering import StringError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ckprof.flow.candidates import Candidate
    from ckprof.model.catalog import Catalog, CatalogRecord
    from ckprof.model.conversion import Conversion
    from ckprof.plugin.registry import Registry
    from ckprof.run.instance_strings import InstanceStrings
    from ckprof.strings.kind import ParsedString
    from ckprof.strings.string_grammar import StringGrammar

CATALOG: Final = "catalog"
LIBRARY: Final = "library"

#: dropped lines that are no instances of their own
_NO_INSTANCES: Final = frozenset({"blank", "comment", "duplicate", "unlisted"})


def catalog_side(
    conversions: Sequence[Conversion], registry: Registry, name: str = CATALOG, *, with_keys: bool = False
) -> Side:
    """Return the strings of the catalogs that lists were converted to; nothing is built.

    An instance that several lists hold counts once.

    :param with_keys: compute the content keys too, by which kernels of a library are found.
    :raises InputError: there is no instance, or a record or its string is wrong.
    """
    entries: list[Entry] = []
    invalid: dict[str, str] = {}
    for conversion in conversions:
        found: list[Entry] = []
        for catalog in conversion.catalogs:
            found += _of_catalog(catalog, conversion, registry, with_keys=with_keys)
        invalid.update(
            {
                f"{conversion.path}:{line.line}": f"the conversion drops it ({line.rule}: {line.reason})"
                for line in conversion.dropped
                if line.rule not in _NO_INSTANCES
            }
        )
        entries += found
    if len(conversions) > 1:
        entries = list(merge_copies(entries))
    origin = ", ".join(str(conversion.path) for conversion in conversions)
    return Side(name=name, origin=origin, entries=tuple(entries), invalid=invalid)


def _of_catalog(
    catalog: Catalog, conversion: Conversion, registry: Registry, *, with_keys: bool
) -> Iterable[Entry]:
    direction = registry.variants.find(catalog.variant).direction
    strings = registry.strings
    for record in catalog.records:
        pipeline = registry.pipeline_of(catalog, record)
        instance = pipeline.make_instance(catalog, direction, record)
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
    library: str,
    answers: InstanceStrings,
    strings: StringGrammar,
    candidates: Mapping[str, Candidate],
    built_for: tuple[str, str] | None,
) -> Side:
    """Return what the kernels of a library say of themselves.

    :param library: its path, for messages.
    :param answers: of all its kernels.
    :param candidates: content key -> instance that should have a kernel there.
    :param built_for: architecture and API level, if they are known: rules may forbid instances there.
    :raises InputError: a kernel gave no text, or one that is no instance string.
    """
    for key, reason in answers.failures.items():
        name = candidates[key].name if key in candidates else key
        raise InputError(f"kernel {name} does not say what it is: {reason}", library)
    entries = []
    for key, text in answers.texts.items():
        known = candidates.get(key)
        source = known.source if known else f"{library} kernel {key}"
        parsed = parse(strings, text, source)
        entries.append(Entry(text=text, parsed=parsed, source=source, identity=key, key=key))
    skipped: list[tuple[ParsedString | None, Skipped]] = []
    for key, candidate in candidates.items():
        if key in answers.texts or built_for is None:
            continue
        unmet_requirements = candidate.pipeline.unmet_requirements(candidate.instance, *built_for)
        if unmet_requirements:
            text, source = candidate.instance_string, candidate.source
            skip = Skipped(
                text=text,
                source=source,
                rule=unmet_requirements[0].rule,
                reason=unmet_requirements[0].message,
            )
            skipped.append((parse(strings, text, source), skip))
    return Side(name=LIBRARY, origin=library, entries=tuple(entries), skipped=tuple(skipped))
