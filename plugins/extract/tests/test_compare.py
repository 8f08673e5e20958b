"""Comparing a derived list with a kept one."""

from ckprof_plugins.extract.lists import ExtractedFile, ExtractedLine, compare, split_fields
from plugins.extract.tests.conftest import MAIN_LINES, MERGED_LINES, run
from plugins.extract.tests.tree import MAIN, MERGED, line


def derived(tree, set_name="profiler"):
    (found,) = run(tree.write()).lists
    return found.file(set_name)


def test_verdicts_of_lists(tree):
    found = compare(derived(tree), MAIN_LINES + MERGED_LINES)
    assert found.is_same
    assert (found.common, found.verdict) == (10, "same")
    found = compare(derived(tree), MERGED_LINES + MAIN_LINES)
    assert not found.is_same
    assert found.verdict == "same set, other order"
    found = compare(derived(tree), None)
    assert found.verdict == "no such list"
    assert found.added_count == 10
    found = compare(derived(tree), [*MAIN_LINES, *MERGED_LINES, MAIN_LINES[3]])
    assert found.verdict == "0 added, 1 removed"


def test_added_lines_by_function_and_the_nearest_of_each_removed_one(tree):
    old = line(256, 128, "Default", vector=4)
    kept = [old, "DeviceGroupedConvOther<1,2>", *MAIN_LINES[1:], MERGED_LINES[1]]
    found = compare(derived(tree), kept)
    assert found.verdict == "2 added, 2 removed"
    assert dict(found.added) == {MAIN: (MAIN_LINES[0],), MERGED: (MERGED_LINES[0],)}
    assert found.common == 8
    first, other = found.removed
    assert (first.text, first.nearest) == (old, MAIN_LINES[0])
    assert first.changes == (
        ("ABlockTransferSrcScalarPerVector", "4", "8"),
        ("BBlockTransferSrcScalarPerVector", "4", "8"),
    )
    assert (other.nearest, other.changes) == ("", ())


def test_fields_are_split_and_numbered(tree):
    file = derived(tree, "typestring")
    kept = list(file.texts)
    kept[0] = kept[0].replace("<256, 128", "<512, 128")
    (removed,) = compare(file, kept).removed
    assert removed.changes == (("field 0", "512", "256"),)
    assert split_fields("A<1,Seq(2,3), B<4,5> c: 6, d: 7>") == (
        "A",
        ("1", "Seq(2,3)", "B<4,5>", "c: 6", "d: 7"),
    )


def test_labels_name_the_fields_that_changed():
    new = "A<B<Default, CRR> BlkSize: 128, BlkTile: 16x16x64>"
    file = ExtractedFile(place="x", lines=(ExtractedLine(text=new, function="f"),))
    (removed,) = compare(file, ["A<B<Padding, CRR> BlkSize: 128, BlkTile: 16x32x64>"]).removed
    assert removed.changes == (
        ("field 0", "B<Padding, CRR>", "B<Default, CRR>"),
        ("BlkTile", "16x32x64", "16x16x64"),
    )


def test_an_added_line_has_at_most_one_removed_line():
    added = [ExtractedLine(text=f"A<{x}, 64, 8>", function="f") for x in (128, 256)]
    file = ExtractedFile(place="x", lines=tuple(added))
    kept = ["A<128, 32, 8>", "A<128, 32, 4>", "A<1, 2, 3>"]
    first, second, third = compare(file, kept).removed
    assert sorted([first.nearest, second.nearest]) == ["A<128, 64, 8>", "A<256, 64, 8>"]
    # two fields of three altogether are fewer than any other pairs have
    assert len(first.changes) + len(second.changes) == 4
    assert (third.nearest, third.changes) == ("", ())
