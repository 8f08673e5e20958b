"""What is asked of an extractor that prints strings, and what is said of lines that it has none for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from ckprof.errors import InputError, PluginError
from ckprof.model.conversion import ConversionRequest
from ckprof.model.extraction import ExtractedFile, ExtractedLine, ExtractedList, ExtractionReport
from ckprof.parity.ask_builder import printed_strings
from ckprof.parity.side import Entry, Side

TREE = Path("tree")
LISTS = [
    ConversionRequest(path=Path("one.conf"), data=b"# a list\nKnown<1>\nSilent<2>\n", direction="fwd"),
    ConversionRequest(path=Path("two.conf"), data=b"  Silent<3>\n", direction="fwd"),
]


class Printing:
    """An extractor that prints some strings."""

    prints_strings = True

    def __init__(self, *texts):
        self._lines = tuple(ExtractedLine(text=text, function="f") for text in texts)

    def extract(self, request):
        self.asked = request
        if "Short" in request.lines:
            return ExtractionReport(extractor="printing", library={}, options={}, lists=())
        file = ExtractedFile(place="forward/profiler/x.conf", set_name="profiler", lines=self._lines)
        found = ExtractedList(direction="fwd", name="x", files=(file,), functions=(), counts={}, skipped={})
        return ExtractionReport(
            extractor="printing",
            library={},
            options={},
            lists=(found,),
            without_string=frozenset({"Silent"}),
            notes=("some have none",),
        )


def printed_by(*extractors, lists=LISTS):
    dtype = SimpleNamespace(value="fp16")
    catalogs = [SimpleNamespace(layout=SimpleNamespace(name=name), dtype=dtype) for name in ("a", "b", "a")]
    conversions = [SimpleNamespace(catalogs=catalogs)]
    registry = SimpleNamespace(extractors=(SimpleNamespace(prints_strings=False), *extractors))
    return printed_strings(registry, "fwd", TREE, lists, conversions)


def test_the_first_that_prints_is_asked_for_what_the_lines_are():
    first, second = Printing("Known<1>"), Printing()
    printed = printed_by(first, second)
    asked = first.asked
    assert (asked.directions, asked.layouts, asked.sets) == (("fwd",), ("a", "b"), ("profiler",))
    assert (asked.source, asked.lines, asked.dtypes) == (
        TREE,
        ("# a list", "Known<1>", "Silent<2>", "  Silent<3>"),
        (),
    )
    (request,) = printed.requests
    assert (request.path, request.data) == (TREE / "forward/profiler/x.conf", b"Known<1>\n")
    assert printed.notes == ("some have none",)


def test_catalogs_say_the_types_of_lines_that_do_not():
    printing = Printing("Known<1>")
    assert printed_by(printing, lists=[replace(LISTS[0], data=b"Short")]).requests
    assert (printing.asked.dtypes, printing.asked.lines) == (("fp16",), ())


def test_lines_without_a_string_are_named():
    left_out = printed_by(Printing("Known<1>")).left_out
    assert [*left_out] == ["one.conf:3", "two.conf:1"]
    skip = left_out["one.conf:3"]
    assert (skip.text, skip.source, skip.rule) == ("Silent<2>", "one.conf:3", "no-builder-string")
    assert "no string for Silent" in skip.reason


def test_a_side_without_them_has_them_as_skipped_ones():
    left_out = printed_by(Printing("Known<1>")).left_out
    entries = [
        Entry(text="t", parsed=None, source=source, identity=source)
        for source in ("one.conf:2", "one.conf:3")
    ]
    invalid = SimpleNamespace(source="two.conf:1"), SimpleNamespace(source="one.conf:9")
    side = Side(name="s", origin="o", entries=tuple(entries), skipped=tuple((None, skip) for skip in invalid))
    told = side.without(left_out)
    assert [entry.source for entry in told.entries] == ["one.conf:2"]
    assert [skip for _, skip in told.skipped] == [
        invalid[1],
        left_out["one.conf:3"],
        left_out["two.conf:1"],
    ]


def test_nothing_printed_and_nobody_to_ask_are_errors():
    with pytest.raises(InputError, match="prints no string for these lists; some have none"):
        printed_by(Printing())
    with pytest.raises(PluginError, match="no plugin can ask CK Builder"):
        printed_by()
