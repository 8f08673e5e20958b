"""What CI services get: files in several formats, names that last, annotations, and errors as reports."""

import io
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from ckprof.cli.console import Console
from ckprof.cli.main import StopSignals
from ckprof.cli.outputs import Delivery, check_report
from ckprof.errors import InputError, PluginError
from ckprof.paths import conf_root
from tests.report.services import cases, obeyed

LINES = (conf_root() / "forward" / "tests" / "nhwgc_fp16.conf").read_text().splitlines()[:5]


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A repository with a list of five instances, in whose folder commands are called."""
    folder = tmp_path / "checkout"
    (folder / ".git").mkdir(parents=True)
    (folder / "lists").mkdir()
    write(folder, LINES)
    return folder


def write(folder, lines):
    path = folder / "lists" / "nhwgc_fp16.conf"
    path.write_text("\n".join(lines) + "\n")
    return path


def parity_cases(ckprof, *arguments):
    return cases(ckprof("parity", "fwd", *arguments, "--format", "junit").out)


def test_cases_keep_their_names_when_lines_and_checkouts_move(ckprof, checkout, tmp_path, monkeypatch):
    conf = checkout / "lists" / "nhwgc_fp16.conf"
    before = parity_cases(ckprof, "--conf", conf)
    assert len(before) == 5 and set(before.values()) == {"passed"}
    assert {suite for suite, _ in before} == {"fwd lists/nhwgc_fp16.conf"}
    write(checkout, ["# a remark", LINES[4].replace("256,256,32,", "256,128,32,"), *LINES])
    after = parity_cases(ckprof, "--conf", conf)
    assert len(after) > 5 and before.items() <= after.items()
    write(checkout, LINES)
    moved = tmp_path / "elsewhere" / "clone"
    shutil.copytree(checkout, moved)
    assert parity_cases(ckprof, "--conf", moved / "lists" / "nhwgc_fp16.conf") == before
    monkeypatch.chdir(moved / "lists")
    assert parity_cases(ckprof, "--conf", "nhwgc_fp16.conf") == before
    # without a repository, from the current folder
    shutil.rmtree(moved / ".git")
    monkeypatch.chdir(moved)
    assert parity_cases(ckprof, "--conf", "lists/nhwgc_fp16.conf") == before


def test_copies_in_a_list_are_numbered(ckprof, checkout):
    conf = write(checkout, [*LINES, LINES[0]])
    found = parity_cases(ckprof, "--conf", conf)
    assert [name for _, name in found if name.endswith(" #2")]
    assert "failure" in found.values()


def test_a_result_in_several_formats_at_once(ckprof, checkout, tmp_path):
    done = ckprof(
        *("parity", "fwd", "--conf", checkout / "lists" / "nhwgc_fp16.conf", "--format", "github"),
        *("-o", "junit=parity.xml", "-o", "md=summary.md", "-o", "all.txt"),
    )
    assert (done.code, done.out) == (0, "")
    assert len(cases((tmp_path / "parity.xml").read_text())) == 5
    assert "**parity holds" in (tmp_path / "summary.md").read_text()
    assert (tmp_path / "all.txt").read_text().startswith("parity holds")
    conf = checkout / "lists" / "nhwgc_fp16.conf"
    ckprof("parity", "fwd", "--conf", conf, "-o", "json=/dev/null", "-o", "md=/dev/null").ok()


@pytest.mark.parametrize(
    ("outputs", "code", "said"),
    [
        (("-o", "a", "-o", "b"), 2, "-o names two files"),
        (("-o", "json=a", "-o", "md=./a"), 2, "a is named twice"),
        (("-o", "junit2=a.xml"), 2, "did you mean 'junit'"),
        (("-o", "junit=no/such/folder/a.xml"), 3, "there is no folder"),
        (("-o", "."), 3, "this is a folder"),
    ],
)
def test_wrong_outputs_are_refused_before_anything_is_done(ckprof, checkout, tmp_path, outputs, code, said):
    conf = checkout / "lists" / "nhwgc_fp16.conf"
    done = ckprof("parity", "fwd", "--conf", conf, *outputs)
    assert (done.code, done.out) == (code, "")
    assert said in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["checkout"]


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (("list", "pipelines", "--format", "json"), "implicit_gemm"),
        (("list", "instances", "--conf", "forward/tests/nhwgc_fp16"), "grouped_conv_fwd"),
        (("plugins",), "built-in"),
        (("problems", "list"), "resnet50"),
        (("explain", LINES[0]), "gives an instance"),
        (("diff", "forward/tests/nhwgc_fp16", "forward/tests/nhwgc_fp16"), "parity holds"),
    ],
)
def test_what_would_be_printed_is_written(ckprof, tmp_path, arguments, wanted):
    done = ckprof(*arguments, "-o", "out.txt")
    assert (done.code, done.out) == (0, "")
    text = (tmp_path / "out.txt").read_text()
    assert wanted in text
    assert text == ckprof(*arguments).out


@pytest.mark.parametrize("command", [("parity", "fwd"), ("run", "fwd"), ("diff",)])
def test_bad_input_is_reported_in_every_format(ckprof, checkout, tmp_path, command):
    conf = write(checkout, [*LINES, "DeviceGroupedConvFwdMultipleABD_Xdl_CShuffle_V3<2, 3"])
    named = (conf, conf) if command == ("diff",) else ("--conf", conf)
    done = ckprof(
        *command, *named, "--format", "github", "-o", "junit=r.xml", "-o", "md=r.md", "-o", "json=r.json"
    )
    assert done.code == 3
    place = f"{conf}:6:53"
    (remark,) = obeyed(done.out)
    assert (remark["level"], remark["file"], remark["line"], remark["col"]) == (
        *("error", "lists/nhwgc_fp16.conf", "6", "53"),
    )
    report = (tmp_path / "r.xml").read_text()
    assert cases(report) == {("lists/nhwgc_fp16.conf", "can be read"): "error"}
    assert f'message="{place}: ' in report
    assert place in (tmp_path / "r.md").read_text() and "exit code 3" in (tmp_path / "r.md").read_text()
    assert not (tmp_path / "r.json").exists(), "a report for programs has results or is not there"


def test_compare_reports_a_missing_store_and_a_wrong_one(ckprof, tmp_path):
    (tmp_path / "text.db").write_text("no store")
    done = ckprof("compare", "text.db", "text.db", "--format", "junit")
    assert done.code == 3
    assert list(cases(done.out).values()) == ["error"]
    assert "text.db" in done.out


def test_wrong_usage_leaves_no_report(ckprof, tmp_path):
    done = ckprof("run", "fwd", "--conf", "forward/tests/nhwgc_fp16", "--set", "x", "-o", "junit=r.xml")
    assert (done.code, (tmp_path / "r.xml").exists()) == (2, False)


def fail():
    raise ValueError("broken format")


@pytest.fixture
def streams():
    return io.StringIO(), io.StringIO()


@pytest.fixture
def delivery(streams):
    out, err = streams
    return Delivery(SimpleNamespace(console=Console(out=out, err=err), signals=StopSignals()))


@pytest.fixture
def outputs():
    return SimpleNamespace(mark_delivered=lambda: None, format=SimpleNamespace(commands=False))


def test_a_failing_format_costs_itself(delivery, outputs, streams, tmp_path):
    delivery.deliver(outputs, [(tmp_path / "out.json", lambda: "{}")], fail, lambda: "the table")
    assert (tmp_path / "out.json").read_text() == "{}"
    out, err = streams
    assert "the table" in err.getvalue() and not out.getvalue()
    with pytest.raises(PluginError, match="ValueError: broken format"):
        delivery.finish()


def test_a_failing_file_leaves_the_table(delivery, outputs, streams, tmp_path):
    forms = [(None, fail), (tmp_path / "absent" / "out.json", lambda: "{}")]
    delivery.deliver(outputs, forms, lambda: "the table", fail)
    assert "the table" in streams[0].getvalue()
    with pytest.raises(InputError, match="make it first"):
        delivery.finish()


def test_reports_that_cannot_be_written_are_found_first(tmp_path):
    with pytest.raises(InputError, match="there is no folder"):
        check_report(tmp_path / "absent" / "out.json")
    assert not (tmp_path / "absent").exists()
    with pytest.raises(InputError, match="this is a folder"):
        check_report(tmp_path)
    check_report(tmp_path / "out.json")
    check_report(Path("/dev/null"))
    assert not list(tmp_path.iterdir())
