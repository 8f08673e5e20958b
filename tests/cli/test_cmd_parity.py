"""``ckprof parity``: lock files that are written and compared with, and what else decides its exit code."""

import json

import pytest

from tests.converters.samples import as_bytes, line

FORWARD = line("forward")


@pytest.fixture
def conf(tmp_path):
    path = tmp_path / "nhwgc_fp16.conf"
    path.write_bytes(as_bytes(FORWARD))
    return path


def test_a_lock_file_is_written_once_and_compared_with(ckprof, conf, tmp_path):
    write = ("parity", "fwd", "--conf", conf.name, "--write", "parity.lock")
    assert ckprof(*write).err.endswith("wrote parity.lock: 1 string\n")
    assert ckprof(*write).err.endswith("unchanged parity.lock: 1 string\n")
    # a direction behind --locked is no file
    for words in (
        *(("--locked",), ("--locked", "parity.lock"), ("--locked", "fwd"), ("forward", "--locked")),
        ("fwd", "--conf", conf.name, "--locked"),
    ):
        code, out, _ = ckprof("parity", *words)
        assert (code, "parity holds: 1 matched" in out) == (0, True), words
    conf.write_bytes(as_bytes(line("forward_v3")))
    code, out, _ = ckprof("parity", "--locked")
    assert code == 1 and "PARITY FAILS" in out
    assert ckprof("parity", "--locked", "--fail-on", "none").code == 0


def test_what_does_not_match_is_not_written(ckprof, conf, tmp_path):
    (found,) = json.loads(ckprof("list", "instances", "--conf", conf, "--format", "json").out)
    (tmp_path / "builder.txt").write_text(found["instance string"].replace("Intrawave", "Interwave"))
    call = ("parity", "fwd", "--conf", conf, "--against", "builder.txt")
    code, out, err = ckprof(*call, "--write", "parity.lock", "--format", "json")
    assert code == 1 and err.endswith("ckprof: parity.lock is not written: the strings do not match\n")
    (compared,) = json.loads(out)["comparisons"]
    assert (compared["counts"]["missing"], compared["counts"]["extra"]) == (1, 1)
    assert not (tmp_path / "parity.lock").exists()
    assert ckprof(*call, "--fail-on", "duplicate").code == 0
