"""What a list says and catalogs cannot."""

from __future__ import annotations

from pathlib import Path

import pytest

import ckprof
from ckprof.errors import InputError

LIST = Path(__file__).parents[2] / "conf" / "forward" / "tests" / "nhwgc_fp16.conf"
LINE = LIST.read_text().splitlines()[0]
PLAIN = "PassThrough,PassThrough,PassThrough"


def converted(folder: Path, *lines: str):
    path = folder / "list.conf"
    path.write_text("\n".join(lines) + "\n")
    return ckprof.Profiler().read(path)


def test_an_unknown_operation_is_an_error_with_its_place(tmp_path: Path) -> None:
    assert PLAIN in LINE
    wrong = LINE.replace(PLAIN, "Scale,Bilinear,Foo")
    with pytest.raises(InputError, match="'Foo'") as found:
        converted(tmp_path, LINE, wrong)
    assert f"list.conf:2:{wrong.index('Foo') + 1}:" in str(found.value)
    assert "operation_output" in str(found.value)


def test_an_unknown_compute_type_is_an_error(tmp_path: Path) -> None:
    assert "fp16,fp16,false,1>" in LINE
    with pytest.raises(InputError, match="'fp17'"):
        converted(tmp_path, LINE.replace("fp16,fp16,false,1>", "fp16,fp17,false,1>"))


def test_what_catalogs_cannot_say_is_reported_by_line(tmp_path: Path) -> None:
    other = LINE.replace(PLAIN, "PassThrough,PassThrough,Bilinear").replace(",64,8,8,", ",32,8,8,")
    slow = LINE.replace("fp16,fp16,false,1>", "fp8,fp16,false,1>")
    found = converted(tmp_path, LINE, other, slow)
    assert [(one.line, one.what) for one in found.lossy] == [
        (2, "operation_output Bilinear"),
        (3, "compute_type_a fp8 of fp16 operands"),
    ]
    assert not converted(tmp_path, LINE).lossy


def test_it_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from ckprof.cli.main import main

    path = tmp_path / "list.conf"
    path.write_text(LINE.replace(PLAIN, "PassThrough,PassThrough,Bilinear") + "\n")
    assert main(["list", "instances", "--conf", str(path)]) == 0
    assert "lossy: kernels of 1 line do without" in capsys.readouterr().err
