"""Writing catalogs that are too long for their text to be held."""

from __future__ import annotations

import pytest

from ckprof.lists import catalogs as writer
from ckprof.lists.catalogs import render_catalog, write_catalog
from ckprof.model.catalog import Catalog
from ckprof.model.types import DataType
from ckprof_converters.records import DepthwiseRecord
from ckprof_plugins.directions._convolution.layout import find_layout


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
