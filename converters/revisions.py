"""Lists in the spelling of every revision: a family's fields, less those that a revision does not print."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ckprof.errors import PluginError
from ckprof.model.strings import argument_kinds as kinds
from ckprof.model.strings.revision import all_revisions

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ckprof.model.strings.fields import Field
    from ckprof.model.strings.revision import Revision
    from ckprof_converters.conf_family import ConfFamily


def in_every_revision(family: ConfFamily) -> Iterator[ConfFamily]:
    """Yield a family for each number of fields that its lines have in some revision, most fields first.

    The fields that a revision leaves out have the values that their absence stands for. In a shorter line,
    flags are expected as its revisions spell them: else a line that lacks another field might pass for one.
    A family that says itself how many arguments its lines have is yielded as it is.

    :raises PluginError: revisions leave out different fields, and the lines would look alike.
    """
    yield family
    if family.counts or family.rejection:
        return
    kind = family.string_kind or family.id
    alike: dict[frozenset[str], list[Revision]] = {}
    for revision in all_revisions():
        if absent := revision.absent.get(kind):
            alike.setdefault(frozenset(absent), []).append(revision)
    counts = {len(family.fields)}
    for names, revisions in sorted(alike.items(), key=lambda item: len(item[0])):
        spelled = _without(family, revisions[0].absent[kind], _words(kind, revisions))
        if len(spelled.fields) in counts:
            raise PluginError(
                f"conf family {family.id}: lines without {', '.join(sorted(names))} have as many arguments "
                "as those of another revision"
            )
        counts.add(len(spelled.fields))
        yield spelled


def _words(kind: str, revisions: Sequence[Revision]) -> frozenset[str]:
    """Return the flags that each of the revisions prints as a word, of this kind alone."""
    return frozenset.intersection(*(frozenset(revision.flag_words.get(kind, ())) for revision in revisions))


def _without(family: ConfFamily, absent: Mapping[str, str], words: frozenset[str]) -> ConfFamily:
    fields = tuple(
        replace(field, kind=kinds.WORD_FLAG) if field.name in words else field
        for field in family.fields
        if field.name not in absent
    )
    implied = {
        field.name: _value(field, absent[field.name])
        for field in family.fields
        if field.name in absent and field.read
    }
    return replace(family, fields=fields, fixed={**family.fixed, **implied})


def _value(field: Field, implied: str) -> Any:
    """Return what a field means whose text is in normal spelling: flags are 0 and 1 whatever is printed."""
    kind = kinds.FLAG if field.kind in kinds.FLAGS else field.kind
    return kind.parse(implied)
