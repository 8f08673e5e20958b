"""Freezing strings in a lock file, and comparing with it."""

import json
import shutil

import pytest

from ckprof.errors import ExitCode
from ckprof.paths import conf_root

from .samples import first_line

LIST = "forward/tests/nhwgc_fp16"


@pytest.fixture
def own_list(tmp_path):
    """A list of the user's own, in the folder where ckprof is called."""
    path = tmp_path / "nhwgc_fp16.conf"
    shutil.copyfile(conf_root() / f"{LIST}.conf", path)
    return path


@pytest.fixture
def lock(ckprof, own_list):
    ckprof("parity", "fwd", "--conf", own_list, "--write", "parity.lock").ok()
    return own_list.with_name("parity.lock")


def test_a_lock_holds_strings_digests_and_revision(lock, ckprof):
    content = json.loads(lock.read_text())
    assert (content["schema"], content["revision"]) == ("ckprof-parity-lock", "2026-06")
    (expected,) = content["expected"]
    assert (expected["direction"], len(expected["strings"])) == ("fwd", 58)
    assert expected["strings"] == sorted(expected["strings"])
    assert [item["path"] for item in expected["lists"]] == ["nhwgc_fp16.conf"]
    before = lock.read_bytes(), lock.stat().st_mtime_ns
    assert "unchanged" in ckprof("parity", "fwd", "--conf", "nhwgc_fp16.conf", "--write", "parity.lock").err
    assert (lock.read_bytes(), lock.stat().st_mtime_ns) == before


def test_a_lock_keeps_its_revision(ckprof, tmp_path):
    name = "backward_weight/tests/nhwgc_bf16"
    done = ckprof(
        *("parity", "bwd_weight", "--conf", name, "--revision", "2026-01", "--write", "parity.lock")
    ).ok()
    strings = json.loads((tmp_path / "parity.lock").read_text())["expected"][0]["strings"]
    assert all(text.endswith(",PassThrough>") for text in strings)
    done = ckprof("parity", "--locked").ok()
    assert "CK revision 2026-01" in done.out


def test_a_changed_list_fails_and_says_so(lock, ckprof, own_list):
    lines = own_list.read_text().splitlines()
    own_list.write_text("\n".join([*lines[1:], first_line("forward/profiler/nhwgc_fp16", 100)]) + "\n")
    done = ckprof("parity", "--locked")
    assert done.code == ExitCode.FAILED
    assert "nhwgc_fp16.conf has changed since the lock was written" in done.out
    assert "missing: only in lock file" in done.out
    assert "extra: only in catalog" in done.out


def test_what_does_not_match_is_not_frozen(ckprof, own_list, tmp_path):
    (tmp_path / "builder.txt").write_text(first_line("backward_weight/tests/nhwgc_bf16_streamk"))
    other = tmp_path / "other.lock"
    done = ckprof("parity", "fwd", "--conf", own_list, "--against", "builder.txt", "--write", other)
    assert done.code == ExitCode.INPUT
    text = json.loads(ckprof("list", "instances", "--conf", own_list, "--format", "json").out)[0]
    (tmp_path / "builder.txt").write_text(text["instance string"])
    ckprof("parity", "fwd", "--conf", own_list, "--against", "builder.txt", "--write", other).fails_with(
        ExitCode.FAILED, "other.lock is not written"
    )
    assert not other.exists()


def test_lists_that_ship_with_ckprof_are_named_so_that_they_are_found_anywhere(ckprof, tmp_path):
    assert ckprof("parity", "bwd_data", "--all", "--write", "all.lock").code == ExitCode.OK
    content = json.loads((tmp_path / "all.lock").read_text())
    paths = [item["path"] for one in content["expected"] for item in one["lists"]]
    assert "backward_data/profiler/ndhwgc_bf16.conf" in paths
    assert ckprof("parity", "--locked", "all.lock").code == ExitCode.OK


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text[: len(text) // 2], "no lock file of this version of ckprof"),
        (lambda text: text.replace('"ckprof-parity-lock"', '"x"'), "no lock file of this version"),
        (lambda text: text.replace("COMPUTE_V3", "COMPUTE_V4", 1), "were edited: their digest differs"),
        (lambda text: text.replace('"2026-06"', '"1999"'), "unknown CK revision '1999'"),
        (lambda text: text.replace("nhwgc_fp16.conf", "gone.conf"), "gone.conf: no such file"),
    ],
)
def test_bad_locks(lock, ckprof, change, message):
    lock.write_text(change(lock.read_text()))
    done = ckprof("parity", "--locked")
    assert done.code in (ExitCode.INPUT, ExitCode.USAGE)
    assert message in done.err


def test_missing_lock_and_missing_list(ckprof, lock, tmp_path):
    ckprof("parity", "--locked", "no.lock").fails_with(ExitCode.INPUT, "write one with --write no.lock")
    done = ckprof("parity", "fwd", "--conf", "forward/tests/nhwgc_bf16", "--locked")
    assert done.code == ExitCode.INPUT
    assert "does not hold" in done.err
    ckprof("parity", "bwd_data", "--locked").fails_with(ExitCode.INPUT, "holds no list of the direction")
