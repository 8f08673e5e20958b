"""What users do wrong: one clear message, the documented exit code, no traceback, nothing half-written."""

import subprocess
from pathlib import Path

import pytest

from ckprof.errors import ExitCode
from tests.called import ckprof_apart
from tests.cases import Cases
from tests.e2e.conftest import LISTS

pytestmark = pytest.mark.thorough

GOOD = (LISTS / "forward" / "tests" / "nhwgc_fp16.conf").read_text().splitlines()[0]


#: what converters reject of each kind, see tests/converters -> what the message says
BAD_LISTS = {
    "empty": (b"", ("bad.conf", "empty")),
    "binary": (bytes(range(256)) * 50, ("bad.conf",)),
    "mixed types": (GOOD.encode() + b"\n" + GOOD.replace("fp16", "bf16").encode(), ("bad.conf:2", "bf16")),
    "huge line": (GOOD.encode() + b"," * 3_000_000, ("bad.conf:1",)),
    "catalog without keys": (b'{"variant": "forward"}', ("bad.conf",)),
    "cut off JSON": (b'{"variant": "forward",', ("bad.conf:1",)),
}


def test_bad_lists(ckprof, tmp_path):
    path = tmp_path / "bad.conf"
    with Cases() as cases:
        for name, (content, parts) in BAD_LISTS.items():
            path.write_bytes(content)
            with cases.case(name):
                called = ckprof("run", "fwd", "--conf", path)
                called.fails_with(ExitCode.INPUT, *parts)
                assert len(called.err) < 5000
                ckprof("convert", path, "-o", tmp_path / "out.json").fails_with(ExitCode.INPUT, *parts)
                assert not (tmp_path / "out.json").exists()


def test_standard_output_takes_no_more():
    with Path("/dev/full").open("w") as full:
        convert = ("convert", "forward/tests/nhwgc_fp16", "-q")
        done = ckprof_apart(*convert, capture_output=False, stdout=full, stderr=subprocess.PIPE)
    assert done.code == ExitCode.INPUT
    assert done.err == "ckprof: standard output: cannot write: No space left on device\n"


def test_no_compiler(ckprof, short_list, tmp_path):
    (tmp_path / "bin").mkdir()
    empty = {"PATH": str(tmp_path / "bin"), "CXX": ""}
    called = ckprof("run", "fwd", "--conf", short_list, "--compiler", "no-such-compiler", env=empty)
    called.fails_with(ExitCode.TOOLCHAIN, "no-such-compiler")


def test_broken_plugins(ckprof, short_list, tmp_path):
    (tmp_path / "broken.py").write_text("import no_such_module")
    (tmp_path / "ckprof.toml").write_text('plugins = ["broken.py"]\n')
    called = ckprof("run", "fwd", "--conf", short_list, "--dry-run")
    assert called.code == 0 and "warning: plugin" in called.err
    called = ckprof("plugins")
    assert called.code == ExitCode.PLUGIN and "ModuleNotFoundError" in called.out
