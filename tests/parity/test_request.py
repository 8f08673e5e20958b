"""Which lists are compared with what: those that ship with ckprof, or that were named."""

import json

import pytest

from ckprof.errors import ExitCode
from ckprof.paths import conf_root


@pytest.mark.thorough
def test_every_shipped_list_matches(ckprof):
    done = ckprof("parity", "--all", "--format", "json").ok()
    comparisons = json.loads(done.out)["comparisons"]
    assert len(comparisons) == len(list(conf_root().rglob("*.conf")))
    for comparison in comparisons:
        counts = comparison["counts"]
        assert counts["missing"] == counts["extra"] == counts["duplicate"] == 0
        assert counts["matched"] == comparison["second_count"]
        collapsed = [loss for loss in comparison["lossy"] if loss["rule"] == "collapsed"]
        # every instance of the list is matched, lossy or skipped; nothing is lost without a word
        assert counts["matched"] + len(collapsed) == comparison["first_count"]
        assert all(loss["reason"] for loss in comparison["lossy"])
        assert all(skip["rule"] and skip["reason"] for skip in comparison["skipped"])
        path = conf_root() / comparison["title"].split()[1]
        lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
        copies = 3 if "depthwise" in path.name else 1
        assert comparison["first_count"] + counts["skipped"] == len(lines) * copies


def test_one_direction_of_a_tree(ckprof):
    done = ckprof("parity", "bwd_data", "--tree", conf_root(), "--format", "json")
    titles = [comparison["title"] for comparison in json.loads(done.out)["comparisons"]]
    assert titles
    assert all(title.startswith("bwd_data backward_data/") for title in titles)


LIST = "forward/tests/nhwgc_fp16"


def test_lists_say_what_they_are_for(ckprof):
    both = ("--conf", LIST, "--conf", "backward_data/tests/nhwgc_fp16")
    assert ckprof("parity", "--conf", LIST).out == ckprof("parity", "fwd", "--conf", LIST).out
    assert ckprof("parity", *both).code == ExitCode.OK


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "no list: pass --conf FILE"),
        (
            ("--conf", LIST, "--conf", "backward_data/tests/nhwgc_fp16", "--generated", "library"),
            "--conf holds instances of bwd_data and fwd",
        ),
        (("fwd", "--conf", LIST, "--all"), "--conf and --all both say which lists are meant"),
        (
            ("fwd", "--conf", LIST, "--fail-on", "nothing"),
            "--fail-on: expected missing, extra, duplicate, lossy, skipped or none, got 'nothing'",
        ),
        (("fwd", "--conf", LIST, "--fail-on", ","), "--fail-on: expected missing"),
        (("fwd", "--conf", LIST, "--format", "xml"), "unknown parity format 'xml'"),
        (("fwd", "--conf", LIST, "--revision", "2020"), "unknown CK revision '2020'"),
        (("fwd", "--conf", LIST, "--library", "x.so", "--generated", "catalog"), "contradict each other"),
        (("--all", "--against", "x"), "--against, --builder and --library belong to lists"),
        (("--locked", "--all"), "--locked and --all contradict"),
        (("forwards", "--all"), "unknown direction 'forwards'"),
    ],
)
def test_wrong_usage(ckprof, arguments, message):
    ckprof("parity", *arguments).fails_with(ExitCode.USAGE, message)


def test_missing_files(ckprof, tmp_path):
    assert ckprof("parity", "fwd", "--conf", "no.conf").code == ExitCode.INPUT
    ckprof("parity", "fwd", "--conf", LIST, "--against", "no.log").fails_with(
        ExitCode.INPUT, "no.log: cannot read"
    )
    ckprof("parity", "fwd", "--conf", LIST, "--library", "no.so").fails_with(
        ExitCode.INPUT, "no.so: no such library"
    )
    ckprof("parity", "--tree", tmp_path).fails_with(ExitCode.INPUT, "no instance list below it")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--conf", "dangling.conf"), "dangling.conf: a link to nowhere, which does not exist"),
        (("--conf", LIST, "--library", "text.so"), "text.so: is not a kernel library"),
        (("--tree", "nothere"), "nothere: there is no such folder of lists"),
    ],
)
def test_files_that_are_something_else_are_named(ckprof, tmp_path, arguments, message):
    (tmp_path / "dangling.conf").symlink_to("nowhere")
    (tmp_path / "text.so").write_text("text")
    ckprof("parity", "fwd", *arguments).fails_with(ExitCode.INPUT, message)
