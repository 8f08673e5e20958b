"""Catalogs of the dispatcher: entries of unknown families are counted, all others read."""

import json
from pathlib import Path

import pytest

from ckprof.errors import InputError
from ckprof.lists.catalogs import read_catalog, render_catalog
from ckprof.lists.list_files import find_list, read_list
from ckprof.model.conversion import ListReading
from ckprof.model.types import DataType

DIRECT = {"kind": "direct_conv", "channel_family": 4, "impl": "tile_grouped", "config": {"waves_q4": 2}}


@pytest.fixture(scope="module")
def document(registry):
    (catalog,) = read_list(find_list("forward/tests/nhwgc_fp16"), registry).catalogs
    return json.loads(render_catalog(catalog))


def written(tmp_path, document, **changes):
    path = tmp_path / "catalog.json"
    path.write_text(json.dumps({**document, **changes}))
    return path


def test_unknown_families_are_skipped_by_name_and_count(tmp_path, registry, document):
    others = [{**DIRECT, "id": 1000 + n} for n in range(7)] + [{"kind": "sparse", "id": 9}]
    mixed = [*others[:4], *document["instances"], *others[4:]]
    read = read_list(written(tmp_path, document, instances=mixed), registry)
    plain = json.dumps(document).encode()
    assert read.catalogs == (read_catalog(plain, Path("x"), registry.variants.as_mapping()),)
    first, second = read.notes
    assert "skipped 7 instances of the unknown family 'direct_conv' (id 1000, 1001" in first
    assert "skipped 1 instance of the unknown family 'sparse' (id 9)" in second


def test_an_entry_behind_a_megabyte_is_found(tmp_path, registry, document):
    entry = document["instances"][0]
    many = [{**entry, "id": n} for n in range(2500)]
    path = written(tmp_path, document, instances=[*many, {**DIRECT, "id": 1}])
    assert path.stat().st_size > 1 << 20
    read = read_list(path, registry)
    assert (len(read.catalogs[0].records), len(read.notes)) == (2500, 1)
    path = written(tmp_path, document, instances=many)
    assert (read_list(path, registry).converter, read_list(path, registry).notes) == ("catalog", ())


def test_depthwise_catalogs_of_three_dimensions(tmp_path, registry):
    reading = ListReading(dtype=DataType.FP16)
    (catalog,) = read_list(find_list("forward/tests/ngchw_depthwise"), registry, reading=reading).catalogs
    two = json.loads(render_catalog(catalog))
    read = read_list(written(tmp_path, two, ndim_spatial=3), registry)
    assert read.catalogs == (catalog,)
    assert "ndim_spatial 3 is read as 2" in read.notes[0]


def test_places_in_messages_count_what_was_skipped(tmp_path, registry, document):
    wrong = {**document["instances"][0], "tile_m": "many"}
    with pytest.raises(InputError, match=r"instances\[2\].tile_m"):
        read_list(written(tmp_path, document, instances=[{**DIRECT, "id": 1}, DIRECT, wrong]), registry)
    for instances in (3, [3, DIRECT]):
        with pytest.raises(InputError, match="instances"):
            read_list(written(tmp_path, document, instances=instances), registry)
    path = tmp_path / "broken.json"
    path.write_text('{"variant": "forward", "kind": 1,\n ]')
    with pytest.raises(InputError, match="not valid JSON") as caught:
        read_list(path, registry)
    assert caught.value.line == 2
