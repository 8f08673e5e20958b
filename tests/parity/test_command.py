"""``ckprof parity`` and ``ckprof diff`` as users call them, without a compiler."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest

from ckprof.errors import ExitCode
from ckprof.paths import conf_root

from .samples import FORWARD, first_line

LIST = "forward/tests/nhwgc_fp16"


def strings_of(ckprof, name):
    done = ckprof("list", "instances", "--conf", name, "--format", "json")
    return [row["instance string"] for row in json.loads(done.out)]


def log_of(strings):
    lines = ["IMPORTANT: Generate instances using generate_instances.py"]
    for number, text in enumerate(strings):
        timed = f"\x1b[36m[Valid] Perf:     0.0123 ms, 9.5 TFlops, 80 GB/s, {text} (instance {number})\x1b[0m"
        lines.append(timed if number % 3 else f"[Not supported] {text}")
    lines += ["Best configuration parameters:", f"\tname: {strings[1]} (instance 1)", "\tavg_time: 0.0123ms"]
    return "\r\n".join([*lines, ""])


def test_a_list_matches_by_itself(ckprof):
    done = ckprof("parity", "fwd", "--conf", LIST)
    assert done.code == ExitCode.OK, done.out
    assert "parity holds: 58 matched, 0 missing, 0 extra, 0 duplicate, 10 lossy, 0 skipped" in done.out
    assert done.out.count("specialization (Default -> OddC)") == 8
    assert done.out.count("pipeline_name (COMPUTE_ASYNC -> MEMORY)") == 2


def test_lists_say_what_they_are_for(ckprof):
    both = ("--conf", LIST, "--conf", "backward_data/tests/nhwgc_fp16")
    assert ckprof("parity", "--conf", LIST).out == ckprof("parity", "fwd", "--conf", LIST).out
    assert ckprof("parity", *both).code == ExitCode.OK


def test_lossy_fails_when_asked_to(ckprof):
    done = ckprof("parity", "fwd", "--conf", LIST, "--fail-on", "missing,extra,duplicate,lossy")
    assert done.code == ExitCode.FAILED
    assert "PARITY FAILS" in done.out


def test_skipped_instances_are_listed_with_their_rule(ckprof):
    done = ckprof("parity", "bwd_weight", "--conf", "backward_weight/tests/nhwgc_fp16")
    assert done.code == ExitCode.OK
    assert "skipped: one-wave-coverage: " in done.out
    again = ckprof(
        *("parity", "bwd_weight", "--conf", "backward_weight/tests/nhwgc_fp16", "--fail-on", "skipped")
    )
    assert again.code == ExitCode.FAILED


def test_a_list_of_which_nothing_is_left_is_an_error(ckprof):
    done = ckprof("parity", "bwd_data", "--conf", "backward_data/typestring/nhwgc_fp16")
    assert done.code == ExitCode.INPUT
    assert "nothing is compared: every instance is left out (missing-information)" in done.err


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
    done = ckprof("parity", "fwd", "--conf", LIST, "--against", log)
    assert done.code == ExitCode.OK, done.out
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
    done = ckprof("parity", "bwd_weight", "--conf", name, "--against", file)
    assert done.code == ExitCode.OK, done.out
    assert f"{len(side.skipped)} skipped" in done.out
    assert f"skipped: one-wave-coverage: {file}:" in done.out


def test_older_strings_are_recognised_and_a_revision_insists(ckprof, tmp_path):
    name = "backward_weight/tests/nhwgc_bf16"
    old = [text.removesuffix(",0>") + ">" for text in strings_of(ckprof, name)]
    file = tmp_path / "builder.txt"
    file.write_text("\n".join(old))
    done = ckprof("parity", "bwd_weight", "--conf", name, "--against", file)
    assert done.code == ExitCode.OK, done.out
    told = f"{file}: spelled as CK revision 2025-11 or 2026-01 or 2026-02"
    assert told in done.out + done.err
    newer = ckprof("parity", "bwd_weight", "--conf", name, "--against", file, "--revision", "2026-06")
    assert newer.code == ExitCode.INPUT
    assert f"{file}:1:" in newer.err
    assert "has 32 or 34 fields in revision 2026-06, got 31; revision 2026-02 prints 31" in newer.err
    done = ckprof("parity", "bwd_weight", "--conf", name, "--against", file, "--revision", "2026-01")
    assert done.code == ExitCode.OK, done.out


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
        (
            ("fwd", "--conf", LIST, "--library", "x.so", "--generated", "catalog"),
            "contradict each other",
        ),
        (("--all", "--against", "x"), "--against, --builder and --library belong to lists"),
        (("--locked", "--all"), "--locked and --all contradict"),
        (("forwards", "--all"), "unknown direction 'forwards'"),
    ],
)
def test_wrong_usage(ckprof, arguments, message):
    done = ckprof("parity", *arguments)
    assert done.code == ExitCode.USAGE
    assert message in done.err


def test_missing_files(ckprof, tmp_path):
    assert ckprof("parity", "fwd", "--conf", "no.conf").code == ExitCode.INPUT
    done = ckprof("parity", "fwd", "--conf", LIST, "--against", "no.log")
    assert (done.code, "no.log: cannot read" in done.err) == (ExitCode.INPUT, True)
    done = ckprof("parity", "fwd", "--conf", LIST, "--library", "no.so")
    assert (done.code, "no.so: no such library" in done.err) == (ExitCode.INPUT, True)
    done = ckprof("parity", "--tree", tmp_path)
    assert (done.code, "no instance list below it" in done.err) == (ExitCode.INPUT, True)


def test_a_catalog_needs_strings_to_be_compared_with(ckprof, tmp_path):
    ckprof("convert", LIST, "-o", "catalog.json")
    done = ckprof("parity", "fwd", "--conf", "catalog.json")
    assert done.code == ExitCode.USAGE
    assert "catalog.json is a catalog" in done.err
    (tmp_path / "builder.txt").write_text("\n".join(strings_of(ckprof, LIST)))
    assert ckprof("parity", "fwd", "--conf", "catalog.json", "--against", "builder.txt").code == ExitCode.OK


def test_formats_for_machines(ckprof):
    report = json.loads(ckprof("parity", "fwd", "--conf", LIST, "--format", "json").out)
    assert (report["schema"], report["version"], report["passed"]) == ("ckprof-parity", 1, True)
    (comparison,) = report["comparisons"]
    assert comparison["counts"] == {
        **{"matched": 58, "missing": 0, "extra": 0, "duplicate": 0, "lossy": 10, "skipped": 0}
    }
    assert len(comparison["matches"]) == 58
    root = ElementTree.fromstring(  # noqa: S314  # our own output
        ckprof("parity", "fwd", "--conf", LIST, "--format", "junit").out
    )
    assert (root.get("tests"), root.get("failures")) == ("68", "0")
    assert "<details>" in ckprof("parity", "fwd", "--conf", LIST, "--format", "md").out


def test_diff_between_lists_catalogs_and_logs(ckprof, tmp_path, upstream_lists):
    # upstream's list: what is loaded directly prints another pipeline than its catalog can say
    ours = str(upstream_lists / f"{LIST}.conf")
    ckprof("convert", ours, "-o", "catalog.json")
    strings = strings_of(ckprof, ours)
    (tmp_path / "profiler.log").write_bytes(log_of(strings).encode())
    (tmp_path / "native.conf").write_text("\n".join(strings))
    files = [ours, "catalog.json", "profiler.log", "native.conf"]
    for first in files:
        for second in files:
            done = ckprof("diff", first, second, "--fail-on", "missing,extra,duplicate")
            # the list has eight more lines than kernels: as the second side they are too many
            wanted = ExitCode.FAILED if second == ours and first != ours else ExitCode.OK
            assert done.code == wanted, (first, second, done.out, done.err)
    other = first_line("forward/tests/nhwgc_bf16")
    (tmp_path / "other.conf").write_text(other)
    done = ckprof("diff", "catalog.json", "other.conf")
    assert done.code == ExitCode.FAILED
    assert "1 extra" in done.out


def test_diff_counts_what_rules_leave_out_where_nothing_is_generated(ckprof, tmp_path):
    name = "backward_weight/tests/nhwgc_fp16"
    done = ckprof("diff", name, name)
    assert done.code == ExitCode.OK
    assert " 0 skipped" in done.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--conf", "dangling.conf"), "dangling.conf: a link to nowhere, which does not exist"),
        (("--conf", LIST, "--library", "text.so"), "text.so: is no kernel library"),
        (("--tree", "nothere"), "nothere: there is no such folder of lists"),
    ],
)
def test_files_that_are_something_else_are_named(ckprof, tmp_path, arguments, message):
    (tmp_path / "dangling.conf").symlink_to("nowhere")
    (tmp_path / "text.so").write_text("text")
    done = ckprof("parity", "fwd", *arguments)
    assert (done.code, message in done.err) == (ExitCode.INPUT, True), done.err
