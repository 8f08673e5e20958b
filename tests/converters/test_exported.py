"""What ``--export-json`` writes, and catalogs of the dispatcher, are read as the same instances again."""

import json
from pathlib import Path

import pytest

from ckprof import Profiler
from ckprof.cli.instance_report import export_json
from ckprof.errors import InputError
from ckprof.kernels.requests import InstanceQuery
from ckprof.lists.catalogs import read_catalog, render_catalog
from ckprof.lists.list_files import find_list, read_list
from ckprof.model.conversion import ListReading
from ckprof.model.types import DataType
from ckprof_plugins.directions._convolution.layout import find_layout


@pytest.fixture(scope="module")
def profiler():
    return Profiler()


QUERIES = {
    # two-stage, stream-K, merged groups, depthwise
    "full-tests": InstanceQuery(rule_set="full-tests", arch="gfx942"),
    "products": InstanceQuery(rule_set="gemm", directions="gemm", arch="gfx942"),
    # strides as channels
    "hopper": InstanceQuery(rule_set="hopper", directions="bwd_data", arch="gfx942"),
    "elementwise": InstanceQuery(conf="forward/bilinear/tests/ndhwgc_fp16"),
    "mixed types": InstanceQuery(conf="forward/convscale/tests/ndhwgc_fp8"),
}


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_content_keys_are_equal(profiler, query, tmp_path):
    chosen = profiler.instances(query)
    export_json(chosen, tmp_path / "kernels.json")
    again = profiler.instances(InstanceQuery(conf=tmp_path / "kernels.json"))
    assert len(again.candidates) == len(chosen.candidates) > 2
    assert {(c.instance.key, c.name) for c in again.candidates} == {
        (c.instance.key, c.name) for c in chosen.candidates
    }


@pytest.fixture
def exported(profiler, tmp_path):
    """Return the path of an export, and its document."""
    path = tmp_path / "kernels.json"
    query = InstanceQuery(rule_set="default", directions="bwd_weight", arch="gfx950", ndims=(2,))
    export_json(profiler.instances(query), path)
    return path, json.loads(path.read_text())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda fields: fields.update(tile_m="16"), r"instances\[1\].fields: Expected 'int'.*tile_m"),
        (lambda fields: fields.pop("tile_m"), r"instances\[1\].fields: .*missing required field 'tile_m'"),
        (lambda fields: fields.pop("dtype"), r"instances\[1\].fields: no dtype"),
        (lambda fields: fields.update(direction="bwd_weigh"), "did you mean 'bwd_weight'"),
        (lambda fields: fields.update(layout="nhwcg"), "did you mean 'nhwgc'"),
        (lambda fields: fields.update(pad_m=False), "unknown field 'pad_m'"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(profiler, exported, change, message):
    path, document = exported
    change(document["instances"][1]["fields"])
    path.write_text(json.dumps(document))
    with pytest.raises(InputError, match=message):
        profiler.instances(InstanceQuery(conf=path))


def test_another_version_or_half_a_file(profiler, exported):
    path, document = exported
    path.write_text(json.dumps(document | {"version": 2}))
    with pytest.raises(InputError, match="version: 2 is not known, expected 1"):
        profiler.instances(InstanceQuery(conf=path))
    path.write_text(json.dumps(document)[:900])
    with pytest.raises(InputError, match=r"kernels.json:1:\d+: not valid JSON"):
        profiler.instances(InstanceQuery(conf=path))


def test_a_byte_order_mark_is_no_content(profiler, exported):
    path, _ = exported
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert len(profiler.instances(InstanceQuery(conf=path)).candidates) > 2


def test_options_that_contradict_the_document(profiler, exported):
    path, _ = exported
    reading = ListReading(layout=find_layout("ndhwgc"))
    with pytest.raises(InputError, match="the list says nhwgc, --layout says ndhwgc"):
        profiler.instances(InstanceQuery(conf=path, reading=reading))
    with pytest.raises(InputError, match="the list holds instances of bwd_weight, expected fwd"):
        profiler.instances(InstanceQuery(conf=path, directions="fwd"))


def test_one_direction_of_an_export_of_several(ckprof, tmp_path):
    lists = ("--conf", "traits/forward_bf16", "--conf", "traits/bwd_data")
    ckprof("list", "instances", *lists, "--filter", "c.tile_m == 16", "--export-json", "both.json").ok()
    every = ckprof("list", "instances", "--conf", "both.json", "--format", "names").ok().out.split()
    called = ckprof(
        "list", "instances", "--conf", "both.json", "--direction", "bwd_data", "--format", "names"
    )
    assert called.ok().out.split() == [name for name in every if "_bwd_data_" in name]
    assert "excluded 6 instances of other directions than bwd_data" in called.err
    ckprof("convert", "both.json", "--direction", "fwd", "-o", "fwd.json").ok()
    assert json.loads((tmp_path / "fwd.json").read_text())["variant"] == "forward"


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
