"""Which kernels are compiled together for AMD GPUs."""

import itertools
from types import SimpleNamespace

from ckprof.kernels.units import common_part_of, partition
from ckprof_plugins.targets.hip.recipe import FIELDS_WITHOUT_COST

TILES = ((64, 64, 32), (64, 64, 64), (128, 64, 32), (128, 64, 64), (64, 128, 32), (64, 128, 64))


def units_of(make_instance):
    """Two pipelines with two vector sizes of each tile, in an order that has equal pipelines side by side."""
    kinds = itertools.product(("compv1", "compv3"), TILES, (8, 4))
    for number, (pipeline, (m, n, k), vector) in enumerate(kinds):
        instance = make_instance(
            **{"pipeline": pipeline, "tile_m": m, "tile_n": n, "tile_k": k},
            **dict.fromkeys(("vector_size_a", "vector_size_b", "vector_size_c"), vector),
        )
        weight = 1 if pipeline == "compv1" else 3
        yield SimpleNamespace(
            key=str(number), kernel=SimpleNamespace(fields=instance.fields, weight=weight), tile=(m, n, k)
        )


def test_kernels_of_one_tile_come_together(make_instance):
    units = list(units_of(make_instance))
    groups = partition(units, 2, {}, 36, lambda unit: common_part_of(unit, FIELDS_WITHOUT_COST))
    assert [len(group) for group in groups] == [12, 12]
    tiles = [{unit.tile for unit in group} for group in groups]
    assert len(tiles[0]) == len(tiles[1]) == 3
    assert not tiles[0] & tiles[1]


def test_the_fields_are_those_of_instances(make_instance):
    assert set(make_instance().fields()) >= FIELDS_WITHOUT_COST
