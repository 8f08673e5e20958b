"""What is asked of a builder reader that prints strings, and what is said of lines that it has none for."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from ckprof.errors import InputError, PluginError
from ckprof.model.conversion import ConversionRequest
from ckprof.model.parity import PrintedLists
from ckprof.parity.ask_builder import printed_strings
from ckprof.parity.side import Entry, Side

TREE = Path("tree")
LISTS = [
    ConversionRequest(path=Path("one.conf"), data=b"# a list\nKnown<1>\nSilent<2>\n", direction="fwd"),
    ConversionRequest(path=Path("two.conf"), data=b"  Silent<3>\n", direction="fwd"),
]


class Printing:
    """A builder reader that prints some strings."""

    def __init__(self, *texts):
        self._text = "".join(f"{text}\n" for text in texts)

    def print_lists(self, request):
        self.asked = request
        return PrintedLists(
            texts={"forward/profiler/x.conf": self._text},
            without_string=frozenset({"Silent"}),
            notes=("some have none",),
        )


def printed_by(*readers):
    dtype = SimpleNamespace(value="fp16")
    catalogs = [SimpleNamespace(layout=SimpleNamespace(name=name), dtype=dtype) for name in ("a", "b", "a")]
    conversions = [SimpleNamespace(catalogs=catalogs)]
    registry = SimpleNamespace(builder_readers=(SimpleNamespace(), *readers))
    return printed_strings(registry, "fwd", TREE, LISTS, conversions)


def test_the_first_that_prints_is_asked_for_what_the_lines_are():
    first, second = Printing("Known<1>"), Printing()
    printed = printed_by(first, second)
    asked = first.asked
    assert (asked.tree, asked.direction, asked.layouts) == (TREE, "fwd", ("a", "b"))
    # short spellings say no types: then those of the catalogs count
    assert (asked.lines, asked.dtypes) == (("# a list", "Known<1>", "Silent<2>", "  Silent<3>"), ("fp16",))
    (request,) = printed.requests
    assert (request.path, request.data) == (TREE / "forward/profiler/x.conf", b"Known<1>\n")
    assert printed.notes == ("some have none",)


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
