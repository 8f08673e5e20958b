"""Lists are read in the spelling of every revision, recognised line by line."""

import itertools
from dataclasses import replace

import pytest

from ckprof.errors import ListError, PluginError
from ckprof_converters.families import FAMILIES
from ckprof_converters.grammar import in_every_revision
from tests.cases import each
from tests.converters.samples import line

BY_ID = {family.id: family for family in FAMILIES}

V3 = line("forward_v3")
#: the same instance as the first revision prints it: LDS flags as numbers, no number of merged groups
OLD_V3 = V3.removesuffix(",1>").replace(",false,Seq", ",0,Seq").replace(",false,1,1,Seq", ",0,1,1,Seq") + ">"


def test_the_sample_has_a_single_group_and_one_argument_more():
    assert V3.endswith(",1>")
    assert OLD_V3.count(",") == V3.count(",") - 1


def test_old_and_new_spellings_of_a_line_are_one_instance(convert):
    (old,), (new,) = convert(OLD_V3).catalogs, convert(V3).catalogs
    assert old.records == new.records
    both = convert(V3, OLD_V3)
    assert len(both.catalogs[0].records) == 1
    assert [(line, why.rule) for line, why in both.dropped.items()] == [(2, "duplicate")]


def test_merged_groups_of_newer_lines_are_not_lost(convert):
    (catalog,) = convert(V3.removesuffix("1>") + "8>", OLD_V3).catalogs
    assert [record.num_groups_to_merge for record in catalog.records] == [8, 1]


def test_a_native_line_without_the_explicit_flag(convert):
    fields = line("native_forward").split(",")
    older = ",".join(fields[:11] + fields[12:])
    assert convert(older).catalogs[0].records == convert(line("native_forward")).catalogs[0].records


def test_a_flag_in_the_place_of_a_word_is_no_older_line(convert):
    without_direct_load = V3.replace(",false,1>", ",1>")
    with pytest.raises(ListError, match="expected one of false, true for direct_load"):
        convert(without_direct_load)


@each(family=FAMILIES)
def test_no_two_spellings_have_as_many_arguments(family):
    counts = [spelled.accepted_counts for spelled in in_every_revision(family)]
    assert len(set(itertools.chain(*counts))) == sum(map(len, counts))


def test_families_whose_revisions_leave_out_different_fields_are_reported(monkeypatch):
    family = BY_ID["forward_v3"]
    monkeypatch.setattr("ckprof_converters.grammar.all_revisions", lambda: _two_of_one_length(family.id))
    with pytest.raises(PluginError, match="as many arguments as those of another"):
        list(in_every_revision(family))
    assert list(in_every_revision(replace(family, string_kind="another"))) == [
        replace(family, string_kind="another")
    ]


def _two_of_one_length(kind):
    from ckprof.model.strings.kind import find_revision

    first = find_revision("2025-11")
    absences = ({"num_groups_to_merge": "1"}, {"direct_load": "0"})
    return [
        type(first)(name=name, note="", absent={kind: absent}, flag_words={})
        for name, absent in zip("ab", absences, strict=True)
    ]
