"""The rule set ``hopper``: valid on every architecture, with a kernel for each kind of problem."""

import pytest

import ckprof
from ckprof.model.architecture import find_architecture
from ckprof.model.types import DataType
from ckprof.plugin.protocols import RuleSetRequest
from ckprof_plugins.cuda.hopper import HopperRuleSet

DIRECTIONS = ("fwd", "bwd_data", "bwd_weight")


def entries(arch, *directions, dtype=DataType.BF16):
    request = RuleSetRequest(
        arch=find_architecture(arch),
        directions=directions,
        ndims=(2,),
        dtypes=(dtype,),
        read_lists=lambda _: (),
    )
    return HopperRuleSet().enumerate(request)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_any_channels_are_served(direction):
    """Some kernel of each direction accesses single elements, and some the widest vectors."""
    vectors = {entry.instance.vector_sizes for entry in entries("gfx942", direction)}
    assert {(1, 1, 1), (8, 8, 8)} <= vectors


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_some_kernels_see_a_stride_as_channels(direction):
    """They take the place of no other kernel: the same tiles are there without."""
    found = {entry.instance for entry in entries("gfx942", direction)}
    folding = {instance for instance in found if instance.fold_stride}
    assert {(8, 8, 8)} < {instance.vector_sizes for instance in folding}
    plain = {(one.tile, one.gemm_pipeline) for one in found if not one.fold_stride}
    assert {(one.tile, one.gemm_pipeline) for one in folding} <= plain


def test_numbers_are_those_of_places():
    found = entries("gfx942", *DIRECTIONS, "gemm")
    assert [entry.instance.id for entry in found] == list(range(len(found)))
    assert len({entry.instance for entry in found}) == len(found)


def test_weight_gradients_of_odd_channels_can_be_split():
    """A result of single 16-bit elements is not added up in memory: that takes a workspace."""
    pipelines = {
        entry.instance.pipeline
        for entry in entries("gfx942", "bwd_weight")
        if entry.instance.vector_size_c == 1
    }
    assert pipelines == {"implicit_gemm", "two_stage"}


def test_tiles_fit_into_local_memory():
    lds = find_architecture("gfx942").lds_bytes
    for entry in entries("gfx942", *DIRECTIONS, dtype=DataType.FP32):
        tile = entry.instance.tile
        buffers = 2 if entry.instance.double_smem_buffer else 1
        assert (tile.m + tile.n) * tile.k * 4 * buffers <= lds


def test_products_pad_and_do_not_impose_vectors_but_single_ones():
    products = [entry.instance for entry in entries("gfx942", "gemm")]
    assert products
    assert all(instance.pads == (True, True, True) for instance in products)
    assert {instance.vector_sizes for instance in products} == {(0, 0, 0), (1, 1, 1)}


@pytest.mark.parametrize("suffix", [".conf", ".json"])
def test_lists_and_catalogs_keep_strides_as_channels(suffix, tmp_path):
    profiler = ckprof.Profiler()
    query = ckprof.InstanceQuery(
        rule_set="hopper", directions="bwd_weight", arch="gfx942", ndims=(2,), dtypes=(DataType.BF16,)
    )
    selection = profiler.instances(query)
    chosen = selection.candidates[:: max(1, len(selection.candidates) // 40)]
    path = tmp_path / f"chosen{suffix}"
    path.write_text(profiler.list_text(selection, [one.name for one in chosen]).files(path)[path])
    again = profiler.instances(ckprof.InstanceQuery(conf=path))
    assert [one.instance.key for one in again.candidates] == [one.instance.key for one in chosen]
