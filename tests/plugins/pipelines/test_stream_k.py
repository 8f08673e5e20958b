"""Stream-K kernels: names, strings, and what their launcher rejects and clears."""

import pytest
from families import STREAM_K, broken, flat, header, pipeline_of

from ckprof.errors import InputError


@pytest.mark.parametrize(
    ("changes", "ending", "enumerator", "persistent"),
    [
        ({}, "_streamk_tree", "Tree", "false"),
        ({"streamk_persistent": True}, "_streamk_tree_persistent", "Tree", "true"),
        ({"streamk_reduction_strategy": "LINEAR"}, "_streamk_linear", "Linear", "false"),
    ],
)
def test_name_and_partitioner(changes, ending, enumerator, persistent, make_instance):
    instance = make_instance(**{**STREAM_K, **changes})
    assert pipeline_of(instance).kernel_name(instance).endswith(ending)
    partitioner = f"StreamKTilePartitioner<GemmShape, StreamKReductionStrategy::{enumerator}, {persistent}>"
    assert f"using TilePartitioner = {partitioner};" in flat(header(instance))


def test_strings_tell_strategies_apart(make_instance):
    variants = [
        make_instance(
            **{**STREAM_K, "streamk_reduction_strategy": strategy, "streamk_persistent": persistent}
        )
        for strategy in ("TREE", "LINEAR")
        for persistent in (False, True)
    ]
    assert len({pipeline_of(i).instance_string(i) for i in variants}) == 4


def test_launcher_rejects_splits_and_lost_tiles(make_instance):
    text = flat(header(make_instance(**STREAM_K)))
    assert 'if(k_batch != 1) { const std::string reason = std::string("split_k = ")' in text
    assert "if(misses_tiles(param))" in text and '"stream-k-groups"' in text


@pytest.mark.parametrize("strategy", [None, "tree", "ATOMIC"])
def test_strategies_that_do_not_exist(strategy, make_instance):
    with pytest.raises(InputError, match="streamk_reduction_strategy"):
        make_instance(**{**STREAM_K, "streamk_reduction_strategy": strategy})


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"direction": "fwd"}, "direction"),
        ({"layout": "ngchw"}, "layout"),
        ({"tile_k": 24}, "wave-divides-tile"),
    ],
)
def test_rules(changes, rule, make_instance):
    assert broken(make_instance(**STREAM_K)) == []
    assert "wave-size" in broken(make_instance(**STREAM_K), "gfx1250")
    moved = {"pipeline": "comp_tdm", "epilogue": "tdm", "double_smem_buffer": True, "warp_tile_k": 32}
    assert broken(make_instance(**{**STREAM_K, **moved, "tile_k": 64}), "gfx1250") == []
    assert rule in broken(make_instance(**{**STREAM_K, **changes}))
