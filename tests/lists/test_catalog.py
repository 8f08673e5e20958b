"""Catalog files: exact text, exact errors."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from ckprof.errors import SHOWN, Diagnostic, ExitCode, InputError, ListError
from ckprof.files import write_output
from ckprof.lists.catalogs import read_catalog, render_catalog, write_catalog
from ckprof.model.catalog import Catalog
from ckprof.model.types import DataType
from ckprof.plugin.protocols import CatalogVariant
from ckprof_plugins.directions._convolution.layout import LAYOUTS, find_layout

PATH = Path("x.json")


class Record(msgspec.Struct, forbid_unknown_fields=True):
    id: int
    tile_m: int
    name: str
    flag: bool
    choice: str | None


VARIANTS = {"sample": CatalogVariant(name="sample", direction="fwd", record_type=Record, layouts=LAYOUTS)}
RECORD = Record(3, 64, "a", True, None)


def catalog(*records):
    return Catalog(
        variant="sample", ndim=2, layout=find_layout("nhwgc"), dtype=DataType.FP16, records=records
    )


def document(**changes):
    return {**json.loads(render_catalog(catalog(RECORD))), **changes}


def read(value):
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return read_catalog(data, PATH, VARIANTS)


def test_the_text_is_exact():
    assert render_catalog(catalog(RECORD)) == (
        '{\n  "variant": "sample",\n  "ndim_spatial": 2,\n  "layout": "nhwgc",\n  "datatype": "fp16",\n'
        '  "instances": [\n    {\n      "id": 3,\n      "tile_m": 64,\n      "name": "a",\n'
        '      "flag": true,\n      "choice": null\n    }\n  ]\n}'
    )
    assert render_catalog(catalog()).endswith('  "instances": []\n}')


def test_other_characters_are_escaped():
    text = render_catalog(catalog(msgspec.structs.replace(RECORD, name="é")))
    assert '"\\u00e9"' in text
    assert read(text.encode()).records[0].name == "é"


def test_what_is_written_is_read_again():
    assert read(render_catalog(catalog(RECORD)).encode()) == catalog(RECORD)
    assert read(b"\xef\xbb\xbf" + render_catalog(catalog()).encode()) == catalog()


WRONG = [
    (b"", "x.json: the file is empty, expected a JSON catalog"),
    (b'{\n  "variant": }', "x.json:2:14: not valid JSON: Expecting value"),
    (b'{\n  "variant": "sam', "x.json:2:14: not valid JSON: Unterminated string starting at"),
    (b'{"variant": "sample"} x', "x.json:1:23: not valid JSON: Extra data"),
    (b'{"variant": "\xff"}', "x.json:1:14: not UTF-8 text (invalid start byte)"),
    (b'{"a": NaN, "variant": "sample"}', "x.json:1:7: not valid JSON: "),
    (b'{"a":' + b"[" * 200_000, "x.json"),
    (b"[]", "x.json: expected 'object', got 'array'"),
    ({}, "x.json: object missing required field 'variant'"),
    (
        document(variant="samples"),
        "x.json: variant: unknown catalog variant 'samples'; did you mean 'sample'? (known",
    ),
    (document(variant=3), "x.json: variant: expected 'str', got 'int'"),
    (document(layout="hwc"), "x.json: layout: unknown layout 'hwc'"),
    (
        document(ndim_spatial=3),
        "x.json: ndim_spatial: 3 does not fit layout nhwgc, which has 2 spatial dimensions",
    ),
    (document(datatype="fp8"), "x.json: datatype: expected one of fp32, fp16, bf16, got 'fp8'"),
    (document(extra=1), "x.json: object contains unknown field 'extra'"),
    (document(instances={}), "x.json: instances: expected 'array', got 'object'"),
    (document(instances=[{"id": 0}]), "x.json: instances[0]: object missing required field 'tile_m'"),
    (
        document(
            instances=[document()["instances"][0], {**document()["instances"][0], "id": 4, "tile_m": "a"}]
        ),
        "x.json: instances[1].tile_m: expected 'int', got 'str'",
    ),
    (
        document(instances=[{**document()["instances"][0], "warp": 1}]),
        "x.json: instances[0]: object contains unknown field 'warp'",
    ),
    (
        document(instances=[document()["instances"][0]] * 2),
        "x.json: instances[1].id: 3 is already the id of instances[0]",
    ),
]


@pytest.mark.parametrize(("value", "message"), WRONG, ids=[wrong[1][:60] for wrong in WRONG])
def test_what_is_wrong_with_a_catalog(value, message):
    with pytest.raises(InputError) as caught:
        read(value)
    assert str(caught.value).startswith(message)
    assert caught.value.exit_code is ExitCode.INPUT


def test_files(tmp_path):
    path = tmp_path / "a" / "b.json"
    assert write_catalog(path, catalog(RECORD)) is True
    stamp = path.stat().st_mtime_ns
    assert write_catalog(path, catalog(RECORD)) is False
    assert path.stat().st_mtime_ns == stamp
    assert write_catalog(path, catalog()) is True
    assert [entry.name for entry in path.parent.iterdir()] == ["b.json"]
    assert read_catalog(path.read_bytes(), path, VARIANTS) == catalog()


def test_files_that_cannot_be_used(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot write: "):
        write_output(tmp_path / "file" / "x.json", "")
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match="cannot write: "):
        write_output(tmp_path / "folder", "text")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["file", "folder"]


def test_a_list_error_shows_the_first_diagnostics():
    diagnostics = [Diagnostic(path=PATH, message="m", line=n, column=2) for n in range(1, SHOWN + 3)]
    error = ListError([*diagnostics[:1], Diagnostic(path=PATH, message="whole"), *diagnostics[1:]])
    lines = str(error).splitlines()
    assert lines[:3] == ["x.json:1:2: m", "x.json: whole", "x.json:2:2: m"]
    assert lines[-1] == "... and 3 more"
    assert (error.path, error.line, error.column, error.message) == (PATH, 1, 2, "m")
    assert str(ListError(diagnostics[:1])) == "x.json:1:2: m"
