"""The profiles of revisions, and how they are found."""

import pytest

from ckprof.errors import UsageError
from ckprof.model.strings import argument_kinds as kinds
from ckprof.model.strings.fields import Field
from ckprof.model.strings.kind import Revision, StringKind, all_revisions, default_revision, find_revision
from tests.cases import each

from .samples import GRAMMAR


def test_revisions_are_found_by_name():
    assert default_revision().name == "2026-06"
    assert find_revision("2025-11") is all_revisions()[0]
    names = [revision.name for revision in all_revisions()]
    assert names == sorted(names), "oldest first"
    with pytest.raises(UsageError, match=r"unknown CK revision '2026-05'; did you mean .*known: 2025-11"):
        find_revision("2026-05")


@each(revision=all_revisions())
def test_revisions_name_kinds_and_fields_that_exist(revision):
    known = {kind.id: kind for kind in GRAMMAR.kinds}
    everything = {name for kind in GRAMMAR.kinds for name in kind.field_names}
    for kind, absent in revision.absent.items():
        assert absent.keys() <= {*known[kind].field_names}
    for kind, fields in revision.flag_words.items():
        assert {*fields} <= ({*known[kind].field_names} if kind in known else everything)
        assert kind in known or kind == "*"


def test_a_revision_says_what_it_lacks_and_how_it_spells_flags():
    flag, other = (Field(name, kinds.FLAG) for name in ("flag", "other"))
    kind = StringKind(id="mine", title="", name="Mine", fields=(flag, other))
    assert kind.field_names == ("flag", "other")
    for words, spelled in (
        ({}, (False, False)),
        ({"mine": ["flag"]}, (True, False)),
        ({"*": ["other"]}, (False, True)),
        ({"mine": ["flag"], "*": ["other"]}, (True, True)),
        ({"another": ["flag"]}, (False, False)),
    ):
        revision = Revision(name="r", note="", absent={"mine": {"other": "0"}}, flag_words=words)
        assert tuple(revision.spells_flag_as_word(kind, name) for name in kind.field_names) == spelled
        assert revision.absent_fields(kind) == {"other": "0"}
    assert Revision(name="r", note="", absent={}, flag_words={}).absent_fields(kind) == {}
