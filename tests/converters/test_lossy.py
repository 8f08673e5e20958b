"""What a list says and catalogs cannot."""

from pathlib import Path

import msgspec
import pytest

import ckprof
from ckprof.errors import InputError
from ckprof_converters.native import to_native

LIST = Path(__file__).parents[2] / "conf" / "forward" / "tests" / "nhwgc_fp16.conf"
LINE = LIST.read_text().splitlines()[0]
PLAIN = "PassThrough,PassThrough,PassThrough"


def converted(folder, *lines):
    path = folder / "list.conf"
    path.write_text("\n".join(lines) + "\n")
    return ckprof.Profiler().read(path)


def test_unknown_operations_and_compute_types_are_errors(tmp_path):
    assert PLAIN in LINE
    wrong = LINE.replace(PLAIN, "Scale,Bilinear,Foo")
    with pytest.raises(InputError, match="'Foo'") as found:
        converted(tmp_path, LINE, wrong)
    assert f"list.conf:2:{wrong.index('Foo') + 1}:" in str(found.value)
    assert "operation_output" in str(found.value)
    assert "fp16,fp16,false,1>" in LINE
    with pytest.raises(InputError, match="'fp17'"):
        converted(tmp_path, LINE.replace("fp16,fp16,false,1>", "fp16,fp17,false,1>"))


def test_what_catalogs_cannot_say_is_reported_by_line(tmp_path):
    other = LINE.replace("fp16,fp16,fp32", "fp16,fp16,fp16").replace(",64,8,8,", ",32,8,8,")
    slow = LINE.replace("fp16,fp16,false,1>", "fp8,fp16,false,1>")
    found = converted(tmp_path, LINE, other, slow)
    assert [*found.lossy.items()] == [
        (2, "type_accumulator fp16 of fp16 operands"),
        (3, "compute_type_a fp8 of fp16 operands"),
    ]
    assert not converted(tmp_path, LINE).lossy


SINGLE = (LIST.parent / "nhwgc_fp32.conf").read_text().splitlines()
#: a line of each kind that prints compute types
PRINTS = [next(line for line in SINGLE if f"{name}<" in line) for name in ("CShuffle", "CShuffle_V3")] + [
    next(
        line
        for line in (LIST.parents[2] / folder / "tests" / "nhwgc_fp32.conf").read_text().splitlines()
        if line.startswith("Device") and "fp32,fp32,1,1" in line
    )
    for folder in ("backward_data", "backward_weight")
]


def with_compute_types(line, first, second):
    """Replace the last two types of a line."""
    head, types, tail = line.rpartition("fp32,fp32")
    assert types
    return f"{head}{first},{second}{tail}"


@pytest.mark.parametrize("line", PRINTS)
def test_tf32_is_kept(tmp_path, line):
    found = converted(tmp_path, line, with_compute_types(line, "tf32", "tf32"))
    assert not found.lossy
    plain, rounded = found.catalogs[0].records
    assert (plain.compute_type, rounded.compute_type) == (None, "tf32")
    assert msgspec.structs.replace(rounded, id=plain.id, compute_type=None) == plain
    # as lines of CK Tile's own text, with what it leaves out behind it
    lines = to_native(found.catalogs[0])
    assert ["compute_type" in one for one in lines] == [False, True]
    assert lines[1].endswith('# ckprof: compute_type="tf32"')
    (tmp_path / "native.conf").write_text("\n".join(lines) + "\n")
    again = ckprof.Profiler().read(tmp_path / "native.conf")
    assert [one.compute_type for one in again.catalogs[0].records] == [None, "tf32"]


@pytest.mark.parametrize("types", [("tf32", "fp32"), ("fp16", "fp16")])
def test_other_products_are_reported(tmp_path, types):
    found = converted(tmp_path, with_compute_types(PRINTS[0], *types))
    assert found.catalogs[0].records[0].compute_type is None
    names = dict(zip("ab", types, strict=True))
    assert next(iter(found.lossy.values())) == ", ".join(
        f"compute_type_{name} {one} of fp32 operands" for name, one in names.items() if one != "fp32"
    )


def test_it_is_said(tmp_path, capsys):
    from ckprof.cli.main import main

    path = tmp_path / "list.conf"
    path.write_text(LINE.replace("fp16,fp16,fp32", "fp16,fp16,fp16") + "\n")
    assert main(["list", "instances", "--conf", str(path)]) == 0
    assert "lossy: kernels of 1 line do without" in capsys.readouterr().err
