"""The shipped lists give the catalogs that upstream's converter gives, byte for byte."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ckprof.catalog.writer import render_catalog
from ckprof.model.conversion import ConversionRequest
from ckprof.model.conversion_tree import ListState, TreeRequest
from ckprof.paths import conf_root
from ckprof_converters.tree import DIRECTION_FOLDERS

GOLDEN = Path(__file__).parent.parent / "golden" / "catalogs"
CATALOGS = sorted(path.relative_to(GOLDEN) for path in GOLDEN.rglob("*.json"))
LISTS = sorted(path.relative_to(conf_root()) for path in conf_root().rglob("*.conf"))


@pytest.fixture(scope="module", params=[False, True], ids=["our-comments", "upstream-comments"])
def plan(converter, request):
    return converter.plan_tree(TreeRequest(root=conf_root(), upstream_comments=request.param))


def test_there_is_something_to_compare(plan):
    assert len(CATALOGS) == 21
    assert len(LISTS) == 62
    assert len(plan.catalogs) == 54
    assert {item.state for item in plan.lists} == {ListState.CONVERTED}


@pytest.mark.parametrize("name", CATALOGS, ids=str)
def test_catalogs_are_reproduced_byte_for_byte(plan, name):
    (found,) = (item for item in plan.catalogs if item.place == name)
    assert render_catalog(found.catalog).encode() == (GOLDEN / name).read_bytes()


@pytest.mark.parametrize("name", LISTS, ids=str)
def test_every_shipped_list_accounts_for_every_line(converter, name):
    path = conf_root() / name
    conversion = converter.convert(
        ConversionRequest(path=path, data=path.read_bytes(), direction=DIRECTION_FOLDERS[name.parts[0]])
    )
    accounted = [line.line for line in conversion.dropped] + sorted(set(conversion.source_lines.values()))
    assert sorted(accounted) == list(range(1, conversion.lines + 1))
    assert conversion.lines == len(path.read_text().splitlines())
    for catalog in conversion.catalogs:
        text = render_catalog(catalog)
        assert json.dumps(json.loads(text), indent=2) == text


def test_the_older_table_changes_the_mma_tile_of_half_types_only(converter):
    path = conf_root() / "forward" / "tests" / "nhwgc_fp16.conf"
    data = path.read_bytes()
    new, old = (
        converter.convert(ConversionRequest(path=path, data=data, mma_k_table=table)).catalogs[0].records
        for table in ((16, 32), (8, 16))
    )
    assert any(a.warp_tile_k != b.warp_tile_k for a, b in zip(new, old, strict=True))
    for record in old:
        assert record.warp_tile_k >= 8
