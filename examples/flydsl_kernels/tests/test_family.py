"""Instances, rules and launches: nothing is compiled."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from ckprof_flydsl import plugin
from ckprof_flydsl.family import FlyDslFamily
from ckprof_flydsl.record import FlyDslRecord

from ckprof.model.types import DataType
from ckprof.testing import registry_with
from ckprof_plugins.code_objects.description import Scalar
from ckprof_plugins.code_objects.formula import formula
from ckprof_plugins.code_objects.sizes import sizes_of
from ckprof_plugins.directions._convolution.layout import find_layout
from ckprof_plugins.operations.gemm.problem import find_layout as find_matrix_layout

LISTS = Path(__file__).parent.parent
RIGHT = {"tile_m": 64, "tile_n": 64, "tile_k": 32, "waves_m": 2, "vector_size": 8, "mfma_k": 16}


def instance(direction="fwd", **changes):
    """Return an instance of 2D convolutions or of products."""
    layout = find_layout("nhwgc") if direction == "fwd" else find_matrix_layout("rcr")
    catalog = SimpleNamespace(ndim=layout.ndim, layout=layout, dtype=DataType.BF16)
    return FlyDslFamily().make_instance(catalog, direction, FlyDslRecord(id=0, **{**RIGHT, **changes}))


def test_it_registers():
    assert FlyDslFamily.id in registry_with(plugin).pipelines.ids


@pytest.mark.parametrize(
    ("arch", "changes", "rules"),
    [
        ("gfx942", {}, []),
        ("gfx950:sramecc+", {"mfma_k": 32}, []),
        ("gfx942", {"mfma_k": 32}, ["flydsl-mfma"]),
        ("gfx1100", {}, ["flydsl-mfma"]),
        ("gfx942", {"vector_size": 16}, ["flydsl-vector", "flydsl-loads-m", "flydsl-loads-n"]),
        ("gfx942", {"waves_m": 3}, ["flydsl-waves", "flydsl-m"]),
        ("gfx942", {"waves_m": 1, "tile_n": 32}, ["flydsl-n", "flydsl-loads-n"]),
        ("gfx942", {"tile_k": 24}, ["flydsl-depth", "flydsl-loads-m", "flydsl-loads-n"]),
        ("gfx942", {"tile_m": 512, "tile_n": 512}, ["flydsl-lds"]),
    ],
)
def test_rules(arch, changes, rules):
    found = FlyDslFamily().unmet_requirements(instance(**changes), arch, "2025-11")
    assert [one.rule for one in found] == rules


@pytest.mark.parametrize("direction", ["fwd", "gemm"])
def test_names_differ_as_instances_do(direction):
    family = FlyDslFamily()
    one = instance(direction)
    others = [instance(direction, **{name: 2 * number}) for name, number in RIGHT.items()]
    for text in (family.kernel_name, family.instance_string):
        assert len({text(each) for each in (one, *others)}) == 1 + len(RIGHT)


def sizes(ndim, **given):
    """Return the sizes of a convolution whose other lengths are 1."""
    names = {name: 0 if name.startswith("pad") else 1 for name in sizes_of("fwd").names}
    return {**names, **given}


def test_grid_arguments_and_conditions():
    description = FlyDslFamily().launch_description(instance())
    names = sizes_of("fwd").names
    values = sizes(2, N=3, K=70, C=24, G=2, in_h=11, in_w=9, out_h=10, out_w=7, filter_h=2, filter_w=3)
    # 210 positions in tiles of 64, 70 channels
    assert [formula(one, names).value(values) for one in description.grid] == [4, 2, 2]
    numbers = [
        formula(one.value, names).value(values) for one in description.arguments if isinstance(one, Scalar)
    ]
    assert numbers[:5] == [210, 70, 24, 144, 2]
    assert numbers[5:14] == [1, 11, 9, 1, 10, 7, 1, 2, 3]

    def unmet(**changes):
        changed = {**values, **changes}
        return [one.id for one in description.conditions if not formula(one.holds, names).value(changed)]

    assert unmet() == []
    assert unmet(C=20) == ["channels"]
    assert unmet(in_h=100_000, in_w=100_000) == ["input"]
    assert unmet(N=2**20, out_h=100, out_w=100) == ["positions", "input", "output"]
