"""Instances that differ only in what has no meaning on NVIDIA GPUs."""

import re
from collections import Counter
from dataclasses import fields as fields_of
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

import ckprof
from ckprof.kernels.candidates import same_kernels
from ckprof.kernels.choose import choose_instances
from ckprof.kernels.requests import InstanceQuery
from ckprof.kernels.units import common_part_of
from ckprof_plugins.cuda.execution import IN_BOTH_ENGINES, IN_ENGINE_W
from ckprof_plugins.cuda.recipe import FIELDS_WITHOUT_COST
from ckprof_plugins.cuda.target import CudaTarget

pytestmark = pytest.mark.compiler

DOCS = Path(__file__).parents[1] / "docs" / "cuda-kernels.md"


@pytest.fixture(scope="module")
def session():
    return ckprof.Profiler()


def candidates(session, direction, name):
    query = InstanceQuery(conf=name, directions=direction)
    return choose_instances(session, query).candidates


def changed(candidate, index, **changes):
    return replace(candidate, index=index, instance=replace(candidate.instance, **changes))


def find(candidates, **wanted):
    for one in candidates:
        fields = one.instance.fields()
        if all(fields[name] == value for name, value in wanted.items()):
            return one
    raise AssertionError(wanted)


def test_nothing_is_said_where_everything_has_a_meaning(session):
    found = candidates(session, "fwd", "forward/tests/nhwgc_bf16.conf")
    target = session.registry.targets.find("cpu")
    assert same_kernels(target, [*found, changed(found[0], 99, split_image=True)]) == ()


def test_the_wave_and_tile_fields_of_both_engines(session):
    found = candidates(session, "fwd", "forward/tests/nhwgc_bf16.conf")
    first = found[0]
    tile = replace(first.instance.mma_tile, m=16, n=16)
    others = [changed(first, 90, mma_tile=tile), changed(first, 91, num_wave_groups=2)]
    (one,) = [
        group for group in same_kernels(CudaTarget(), [*found, *others]) if {90, 91} & set(group.instances)
    ]
    assert {first.index, 90, 91} <= set(one.instances)
    assert {"mma_tile_m", "mma_tile_n", "num_wave_groups"} <= set(one.fields)
    assert re.search(
        r"instances \d.*are the same kernel here: they differ only in .*MMA tile is that", one.describe()
    )


def test_what_has_no_meaning_in_engine_w_has_one_in_engine_m(session):
    halves = candidates(session, "fwd", "forward/tests/nhwgc_bf16.conf")
    singles = candidates(session, "fwd", "forward/tests/nhwgc_fp32.conf")
    for found, is_same in ((halves, True), (singles, False)):
        first = find(found, tile_m=128) if is_same else found[0]
        tile = replace(first.instance.tile, k=first.instance.tile.k * 2)
        narrow = first.instance.vector_size_a // 2
        twins = [first, changed(first, 80, tile=tile), changed(first, 81, vector_size_a=narrow)]
        groups = same_kernels(CudaTarget(), twins)
        assert [one.instances for one in groups] == ([(first.index, 80, 81)] if is_same else [])
        if is_same:
            assert set(groups[0].fields) == {"tile_k", "vector_size_a"}


def test_tiles_and_pipelines_keep_their_meaning(session):
    found = candidates(session, "fwd", "forward/tests/nhwgc_bf16.conf")
    for group in same_kernels(CudaTarget(), found):
        members = [one.instance.fields() for one in found if one.index in group.instances]
        for name in ("tile_m", "tile_n", "gemm_pipeline", "scheduler", "double_smem_buffer", "dtype"):
            assert len({fields[name] for fields in members}) == 1


def test_depthwise_kernels_are_as_their_instances_say(session):
    found = candidates(session, "fwd", "forward/tests/ngchw_depthwise.conf")
    assert same_kernels(CudaTarget(), found) == ()


def test_the_docs_name_the_fields():
    text = DOCS.read_text(encoding="utf-8")
    for name in (*IN_BOTH_ENGINES, *IN_ENGINE_W):
        assert f"`{name}`" in text, name


def test_fields_without_cost_put_kernels_together(session):
    """Triplets of specializations, with two schedulers each, are compiled in one unit."""
    found = candidates(session, "fwd", "forward/tests/nhwgc_fp16.conf")
    instance = found[0].instance
    # those that instances of this list leave out as well
    known = {*instance.fields(), *(field.name for field in fields_of(instance))}
    assert known >= FIELDS_WITHOUT_COST
    codes = Counter(
        common_part_of(SimpleNamespace(key=one.index, kernel=one.instance), FIELDS_WITHOUT_COST)
        for one in found
    )
    assert sum(codes.values()) == len(found)
    assert sorted(codes.values(), reverse=True)[:4] == [6, 6, 6, 6]
