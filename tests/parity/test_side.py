"""The sides of comparisons: logs explained by lists, wrong strings, what CK Builder is asked for."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from ckprof.errors import ExitCode, InputError, PluginError
from ckprof.model.conversion import ConversionRequest
from ckprof.parity.side import Entry, StringSide, printed_strings
from ckprof.paths import conf_root

from .samples import FORWARD, log_of, strings_of

LIST = "forward/tests/nhwgc_fp16"


def test_a_log_matches_and_a_changed_log_does_not(ckprof, tmp_path):
    strings = strings_of(ckprof, LIST)
    log = tmp_path / "profiler.log"
    log.write_bytes(log_of(strings).encode())
    assert ckprof("parity", "fwd", "--conf", LIST, "--against", log).code == ExitCode.OK
    place = next(n for n, text in enumerate(strings) if "MEMORY,Intrawave" in text)
    changed = strings[place].replace("MEMORY", "WAVELET")
    log.write_text(log_of([*strings[:place], changed, *strings[place + 1 :]]))
    done = ckprof("parity", "fwd", "--conf", LIST, "--against", log)
    assert done.code == ExitCode.FAILED
    assert f"missing: only in CK Builder: {log}:{place + 2}: {changed}" in done.out
    assert "differs in pipeline_name (WAVELET -> MEMORY)" in done.out


def test_a_log_that_has_every_line_of_the_list_shows_what_collapses(ckprof, tmp_path, builder_of):
    path = conf_root() / f"{LIST}.conf"
    side = builder_of(*path.read_text().splitlines(), name=path.name)
    log = tmp_path / "profiler.log"
    log.write_text(log_of([entry.text for entry in side.entries]).replace("[Not supported]", "Perf: 1 ms,"))
    done = ckprof("parity", "fwd", "--conf", LIST, "--against", log).ok()
    assert "58 matched, 0 missing, 0 extra, 0 duplicate, 10 lossy" in done.out
    # one more copy than the list has lines for is a copy
    log.write_text("\n".join([*(entry.text for entry in side.entries), side.entries[0].text]))
    done = ckprof("parity", "fwd", "--conf", LIST, "--against", log)
    assert done.code == ExitCode.FAILED
    assert "1 duplicate, 10 lossy" in done.out


def test_instances_of_a_log_that_rules_leave_out_are_skipped(ckprof, tmp_path, builder_of):
    name = "backward_weight/tests/nhwgc_fp16"
    path = conf_root() / f"{name}.conf"
    side = builder_of(*path.read_text().splitlines(), name=path.name)
    texts = [entry.text for entry in side.entries] + [skip.text for _, skip in side.skipped]
    file = tmp_path / "builder.txt"
    file.write_text("\n".join(texts))
    done = ckprof("parity", "bwd_weight", "--conf", name, "--against", file).ok()
    assert f"{len(side.skipped)} skipped" in done.out
    assert f"skipped: one-wave-coverage: {file}:" in done.out


def test_older_strings_are_recognised_and_a_revision_insists(ckprof, tmp_path):
    name = "backward_weight/tests/nhwgc_bf16"
    old = [text.removesuffix(",0>") + ">" for text in strings_of(ckprof, name)]
    file = tmp_path / "builder.txt"
    file.write_text("\n".join(old))
    done = ckprof("parity", "bwd_weight", "--conf", name, "--against", file).ok()
    told = f"{file}: as printed by CK revision 2025-11 or 2026-01 or 2026-02"
    assert told in done.out + done.err
    ckprof("parity", "bwd_weight", "--conf", name, "--against", file, "--revision", "2026-06").fails_with(
        ExitCode.INPUT,
        f"{file}:1:",
        "has 32 or 34 fields in revision 2026-06, got 31; revision 2026-02 prints 31",
    )
    ckprof("parity", "bwd_weight", "--conf", name, "--against", file, "--revision", "2026-01").ok()


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        ("", ("builder.txt", "empty")),
        ("# nothing\n", ("builder.txt", "no instance")),
        (f"{FORWARD}\n{FORWARD[:-1]},0>\n", ("builder.txt:2:1:", "has 30 or 31 fields", "got 32")),
        (f"{FORWARD}\n{FORWARD.replace('Forward', 'BackwardData')}\n", ("builder.txt:2:1:", "expected fwd")),
        (f"{FORWARD}\n{FORWARD.replace('Forward', 'Foward')}\n", ("builder.txt:2:1:", "unknown kernel name")),
        (f"Perf: 1 ms, {FORWARD[:40]}\nPerf: 1 ms, {FORWARD}\n", ("builder.txt:1:13:", "breaks off")),
        ('{"variant": "forward"}', ("--against", "expected CK Builder's strings")),
    ],
)
def test_bad_strings_are_rejected_by_line(ckprof, tmp_path, content, parts):
    (tmp_path / "builder.txt").write_text(content)
    done = ckprof("parity", "fwd", "--conf", LIST, "--against", "builder.txt")
    assert done.code in (ExitCode.INPUT, ExitCode.USAGE)
    assert all(part in done.err for part in parts), done.err
    assert not done.out


def test_a_catalog_needs_strings_to_be_compared_with(ckprof, tmp_path):
    ckprof("convert", LIST, "-o", "catalog.json")
    ckprof("parity", "fwd", "--conf", "catalog.json").fails_with(ExitCode.USAGE, "catalog.json is a catalog")
    (tmp_path / "builder.txt").write_text("\n".join(strings_of(ckprof, LIST)))
    assert ckprof("parity", "fwd", "--conf", "catalog.json", "--against", "builder.txt").code == ExitCode.OK


TREE = Path("tree")


LISTS = [
    ConversionRequest(path=Path("one.conf"), data=b"# a list\nKnown<1>\nSilent<2>\n", direction="fwd"),
    ConversionRequest(path=Path("two.conf"), data=b"  Silent<3>\n", direction="fwd"),
]


class Printing:
    """A builder reader that prints some strings."""

    def __init__(self, *texts):
        self._text = "".join(f"{text}\n" for text in texts)

    def print_lists(self, tree, direction, **lists):
        self.asked = (tree, direction, lists["layouts"])
        self.lines, self.dtypes = lists["lines"], lists["dtypes"]
        return ({"forward/profiler/x.conf": self._text}, frozenset({"Silent"}), ("some have none",))


def printed_by(*readers):
    dtype = SimpleNamespace(value="fp16")
    catalogs = [SimpleNamespace(layout=SimpleNamespace(name=name), dtype=dtype) for name in ("a", "b", "a")]
    conversions = [SimpleNamespace(catalogs=catalogs)]
    registry = SimpleNamespace(builder_readers=(SimpleNamespace(), *readers))
    return printed_strings(registry, "fwd", TREE, LISTS, conversions, None)


def test_the_first_that_prints_is_asked_for_what_the_lines_are():
    first, second = Printing("Known<1>"), Printing()
    (request,), _, notes = printed_by(first, second)
    assert first.asked == (TREE, "fwd", ("a", "b"))
    # short spellings say no types: then those of the catalogs count
    assert (first.lines, first.dtypes) == (("# a list", "Known<1>", "Silent<2>", "  Silent<3>"), ("fp16",))
    assert (request.path, request.data) == (TREE / "forward/profiler/x.conf", b"Known<1>\n")
    assert notes == ("some have none",)


def test_lines_without_a_string_are_named():
    _, left_out, _ = printed_by(Printing("Known<1>"))
    assert [*left_out] == ["one.conf:3", "two.conf:1"]
    skip = left_out["one.conf:3"]
    assert (skip.text, skip.source, skip.rule) == ("Silent<2>", "one.conf:3", "no-builder-string")
    assert "no string for Silent" in skip.reason


def test_a_side_without_them_has_them_as_skipped_ones():
    _, left_out, _ = printed_by(Printing("Known<1>"))
    entries = [
        Entry(text="t", parsed=None, source=source, identity=source)
        for source in ("one.conf:2", "one.conf:3")
    ]
    invalid = SimpleNamespace(source="two.conf:1"), SimpleNamespace(source="one.conf:9")
    side = StringSide(
        name="s", origin="o", entries=tuple(entries), skipped=tuple((None, skip) for skip in invalid)
    )
    told = side.without(left_out)
    assert [entry.source for entry in told.entries] == ["one.conf:2"]
    assert [skip for _, skip in told.skipped] == [invalid[1], left_out["one.conf:3"], left_out["two.conf:1"]]


def test_nothing_printed_and_nobody_to_ask_are_errors():
    with pytest.raises(InputError, match="prints no string for these lists; some have none"):
        printed_by(Printing())
    with pytest.raises(PluginError, match="no plugin can ask CK Builder"):
        printed_by()
