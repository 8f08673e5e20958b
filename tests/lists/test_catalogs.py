"""Catalog files: exact text, exact errors."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from ckprof.errors import SHOWN, Diagnostic, ExitCode, InputError, ListError
from ckprof.files import write_output
from ckprof.lists import catalogs as writer
from ckprof.lists.catalogs import differences, read_catalog, render_catalog, write_catalog
from ckprof.model.catalog import Catalog
from ckprof.model.types import DataType
from ckprof.plugin.protocols import CatalogVariant
from ckprof_converters.records import DepthwiseRecord
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


def test_the_text_is_exact_and_is_read_again():
    assert render_catalog(catalog(RECORD)) == (
        '{\n  "variant": "sample",\n  "ndim_spatial": 2,\n  "layout": "nhwgc",\n  "datatype": "fp16",\n'
        '  "instances": [\n    {\n      "id": 3,\n      "tile_m": 64,\n      "name": "a",\n'
        '      "flag": true,\n      "choice": null\n    }\n  ]\n}'
    )
    assert render_catalog(catalog()).endswith('  "instances": []\n}')
    text = render_catalog(catalog(msgspec.structs.replace(RECORD, name="é")))
    assert '"\\u00e9"' in text
    assert read(text.encode()).records[0].name == "é"
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


DEPTHWISE = Catalog(
    variant="forward_depthwise",
    ndim=2,
    layout=find_layout("ngchw"),
    dtype=DataType.FP16,
    records=(
        DepthwiseRecord(0, 8, 8, 3, 1, 1, 1, 1, 1, 4, 4, 8, 8),
        DepthwiseRecord(3, 16, 16, 3, 1, 1, 1, 1, 1, 4, 4, 8, 8),
    ),
)


DEPTHWISE_TEXT = render_catalog(DEPTHWISE)


def found(change):
    document = json.loads(DEPTHWISE_TEXT)
    change(document)
    return [str(item) for item in differences(json.dumps(document, indent=2).encode(), DEPTHWISE)]


def test_the_very_bytes_do_not_differ():
    assert differences(DEPTHWISE_TEXT.encode(), DEPTHWISE) == []


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda d: d.update(datatype="bf16"), ['datatype: is "bf16", expected "fp16"']),
        (lambda d: d["instances"][1].update(tile_h=8), ["instances[id 3].tile_h: is 8, expected 16"]),
        (lambda d: d["instances"][1].update(tile_h=True), ["instances[id 3].tile_h: is true, expected 16"]),
        (lambda d: d["instances"][1].pop("tile_h"), ["instances[id 3].tile_h: is missing, expected 16"]),
        (lambda d: d["instances"][0].update(x=1), ["instances[id 0].x: is 1, expected no such key"]),
        (lambda d: d["instances"].pop(), ["instances[id 3]: is missing"]),
        (
            lambda d: d["instances"][1].update(id=4),
            ["instances[id 3]: is missing", "instances[id 4]: is not in the list"],
        ),
        (lambda d: d["instances"].append(d["instances"][0]), ["instances[2]: repeats the id 0"]),
        (lambda d: d["instances"].append(7), ["instances[2]: has no id"]),
        (lambda d: d.update(instances=None), ["instances: is not a list of records"]),
        (lambda d: d.pop("layout"), ['layout: is missing, expected "ngchw"']),
        (
            lambda d: d["instances"].reverse(),
            ["same values in another order or spacing, first at line 8 column 13"],
        ),
    ],
)
def test_each_difference_is_named(change, expected):
    assert found(change) == expected


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (
            DEPTHWISE_TEXT.encode() + b"\n",
            "same values in another order or spacing, first at line 38 column 2",
        ),
        (b"", "not valid JSON: "),
        (b"\xff", "not valid JSON: "),
        (b"[" * 100_000, "not valid JSON: "),
        (b"[]", "not a JSON object, expected a catalog"),
    ],
)
def test_files_that_are_no_such_catalog(data, expected):
    (difference,) = differences(data, DEPTHWISE)
    assert str(difference).startswith(expected)


@pytest.mark.parametrize("count", [4, 5, 6, 8, 9])
def test_pieces_make_the_same_text(tmp_path, monkeypatch, count):
    monkeypatch.setattr(writer, "_RECORDS_AT_ONCE", 4)
    catalog = Catalog(
        variant="forward_depthwise",
        ndim=2,
        layout=find_layout("ngchw"),
        dtype=DataType.FP16,
        records=tuple(DepthwiseRecord(id_, *[8] * 12) for id_ in range(count)),
    )
    path = tmp_path / "x.json"
    assert write_catalog(path, catalog)
    assert path.read_text() == render_catalog(catalog)
    assert not write_catalog(path, catalog)
    assert [item.name for item in tmp_path.iterdir()] == ["x.json"]
