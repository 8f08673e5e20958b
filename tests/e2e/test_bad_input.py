"""What users do wrong: one clear message, the documented exit code, no traceback, nothing half-written."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ckprof.errors import ExitCode
from tests.called import Ckprof
from tests.e2e.conftest import LISTS

pytestmark = pytest.mark.thorough

GOOD = (LISTS / "forward" / "tests" / "nhwgc_fp16.conf").read_text().splitlines()[0]


def test_missing_file_and_directory(ckprof: Ckprof, tmp_path: Path) -> None:
    ckprof("run", "fwd", "--conf", "nowhere.conf").fails_with(ExitCode.INPUT, "nowhere.conf: no such file")
    ckprof("run", "fwd", "--conf", tmp_path).fails_with(ExitCode.INPUT, str(tmp_path), "is a directory")


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        (b"", ("bad.conf", "empty")),
        (b"# only a comment\n\n", ("bad.conf", "no instance")),
        (b"\x7fELF\x02\x01\x01\x00\x00\xff\xfe", ("bad.conf",)),
        (bytes(range(256)) * 50, ("bad.conf",)),
        (b"hello world\n", ("bad.conf",)),
        (GOOD.replace(",NHWGC", "", 1).encode(), ("bad.conf:1", "49", "50")),
        (GOOD.replace("128,128", "128,x128", 1).encode(), ("bad.conf:1:", "x128")),
        (GOOD.encode() + b"\n" + GOOD.replace("fp16", "bf16").encode(), ("bad.conf:2", "bf16", "fp16")),
        (GOOD[:60].encode(), ("bad.conf:1",)),
        (GOOD.encode() + b"," * 3_000_000, ("bad.conf:1",)),
        (b'{"variant": "forward"}', ("bad.conf",)),
        (b'{"variant": "forward",', ("bad.conf:1",)),
    ],
    ids=[
        "empty",
        "only-comments",
        "binary",
        "all-bytes",
        "prose",
        "one-field-missing",
        "no-number",
        "mixed-types",
        "half-a-line",
        "huge-line",
        "catalog-without-keys",
        "cut-off-json",
    ],
)
def test_bad_lists(ckprof: Ckprof, tmp_path: Path, content: bytes, parts: tuple[str, ...]) -> None:
    path = tmp_path / "bad.conf"
    path.write_bytes(content)
    called = ckprof("run", "fwd", "--conf", path)
    called.fails_with(ExitCode.INPUT, *parts)
    assert len(called.err) < 5000
    ckprof("convert", path, "-o", tmp_path / "out.json").fails_with(ExitCode.INPUT, *parts)
    assert not (tmp_path / "out.json").exists()


def test_standard_output_takes_no_more() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "ckprof", "convert", "forward/tests/nhwgc_fp16", "-q"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == ExitCode.INPUT
    assert done.stderr == "ckprof: standard output: cannot write: No space left on device\n"


def test_a_list_of_another_direction(ckprof: Ckprof) -> None:
    called = ckprof("run", "fwd", "--conf", LISTS / "backward_data" / "tests" / "nhwgc_fp16.conf")
    called.fails_with(ExitCode.INPUT, "nhwgc_fp16.conf", "bwd_data", "fwd")


def test_line_ends_marks_and_blanks_do_not_matter(ckprof: Ckprof, tmp_path: Path) -> None:
    path = tmp_path / "windows.conf"
    path.write_bytes(b"\xef\xbb\xbf# comment\r\n\r\n  " + GOOD.encode() + b"  # trailing comment\r\n")
    called = ckprof("run", "fwd", "--conf", path, "--list-instances")
    assert called.code == 0, called.err
    assert "Total: 1 instance" in called.out


def test_file_name_and_lines_contradict(ckprof: Ckprof, tmp_path: Path) -> None:
    path = tmp_path / "nhwgc_bf16.conf"
    path.write_text(GOOD)
    ckprof("run", "fwd", "--conf", path).fails_with(ExitCode.INPUT, "bf16", "fp16")


def test_no_compiler(ckprof: Ckprof, short_list: Path, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    empty = {"PATH": str(tmp_path / "bin"), "CXX": ""}
    called = ckprof("run", "fwd", "--conf", short_list, "--compiler", "no-such-compiler", env=empty)
    called.fails_with(ExitCode.TOOLCHAIN, "no-such-compiler")


def test_the_report_cannot_be_written(ckprof: Ckprof, short_list: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    called = ckprof(
        "run", "fwd", "--conf", short_list, "--instance", "1", "--json", tmp_path / "file" / "report.json"
    )
    called.fails_with(ExitCode.INPUT, "report.json")


def test_broken_plugins(ckprof: Ckprof, short_list: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text("import no_such_module")
    called = ckprof("run", "fwd", "--conf", short_list, "--plugin", broken)
    called.fails_with(ExitCode.PLUGIN, "broken.py", "no_such_module")
    (tmp_path / "ckprof.toml").write_text('plugins = ["broken.py"]\n')
    called = ckprof("run", "fwd", "--conf", short_list, "--dry-run")
    assert called.code == 0 and "warning: plugin" in called.err
    called = ckprof("plugins")
    assert called.code == ExitCode.PLUGIN and "ModuleNotFoundError" in called.out
