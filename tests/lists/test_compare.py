"""Differences between a catalog on disk and what it should be."""

from __future__ import annotations

import json

import pytest

from ckprof.lists.catalogs import differences, render_catalog
from ckprof.model.catalog import Catalog
from ckprof.model.types import DataType
from ckprof_converters.records import DepthwiseRecord
from ckprof_plugins.directions._convolution.layout import find_layout

CATALOG = Catalog(
    variant="forward_depthwise",
    ndim=2,
    layout=find_layout("ngchw"),
    dtype=DataType.FP16,
    records=(
        DepthwiseRecord(0, 8, 8, 3, 1, 1, 1, 1, 1, 4, 4, 8, 8),
        DepthwiseRecord(3, 16, 16, 3, 1, 1, 1, 1, 1, 4, 4, 8, 8),
    ),
)
TEXT = render_catalog(CATALOG)


def found(change):
    document = json.loads(TEXT)
    change(document)
    return [str(item) for item in differences(json.dumps(document, indent=2).encode(), CATALOG)]


def test_the_very_bytes_do_not_differ():
    assert differences(TEXT.encode(), CATALOG) == []


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
        (
            lambda d: d["instances"].append(d["instances"][0]),
            ["instances[2]: repeats the id 0"],
        ),
        (lambda d: d["instances"].append(7), ["instances[2]: has no id"]),
        (lambda d: d.update(instances=None), ["instances: is no list of records"]),
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
        (TEXT.encode() + b"\n", "same values in another order or spacing, first at line 38 column 2"),
        (b"", "not valid JSON: "),
        (b"\xff", "not valid JSON: "),
        (b"[" * 100_000, "not valid JSON: "),
        (b"[]", "not a JSON object, expected a catalog"),
    ],
)
def test_files_that_are_no_such_catalog(data, expected):
    (difference,) = differences(data, CATALOG)
    assert str(difference).startswith(expected)
