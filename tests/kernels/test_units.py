"""Kernels that are compiled together: which, what the cache keeps of them, and who is to blame."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckprof.kernels.units import (
    available_cpus,
    common_part_of,
    compilers_for_kernels,
    free_memory_bytes,
    functions_per_unit,
    job_count,
    partition,
)
from ckprof.model.outcome import Status
from ckprof.model.recipe import Product

pytestmark = pytest.mark.compiler


@dataclass(frozen=True)
class FakeUnit:
    key: str
    weight: int = 1

    @property
    def kernel(self):
        return self


def units(*weights):
    return [FakeUnit(f"k{index}", weight) for index, weight in enumerate(weights)]


def keys(groups):
    return [[unit.key[1:] for unit in group] for group in groups]


def weights(groups):
    return sorted(sum(unit.weight for unit in group) for group in groups)


def test_groups_are_as_many_and_as_heavy_as_compilers_can_use():
    assert keys(partition(units(1, 1, 1, 1, 1), 2, {}, 8)) == [["0", "2", "4"], ["1", "3"]]
    assert keys(partition(units(1), 2, {}, 8)) == [["0"]]
    assert partition([], 2, {}, 8) == []
    groups = partition(units(*[1, 3] * 12), 2, {}, 8)
    assert weights(groups) == [8] * 6
    assert sorted(key for group in keys(groups) for key in group) == sorted(str(i) for i in range(24))
    assert weights(partition(units(*[1] * 24), 2, {}, 8)) == [6, 6, 6, 6]
    assert keys(partition(units(1, 20, 1), 1, {}, 8)) == [["1"], ["0", "2"]]
    assert keys(partition(units(1, 5, 1), 2, {}, 1)) == [["0"], ["1"], ["2"]]
    limits = {f"k{index}": 2 for index in range(4)}
    assert keys(partition(units(*[1] * 6), 1, limits, 8)) == [["0", "1"], ["2", "3"], ["4", "5"]]


def test_kernels_that_share_code_stay_together_unless_they_are_many():
    # Kernels 0, 2 and 4 have one code, the others one each; that of three costs little more than one.
    shared = {"k0", "k2", "k4"}
    groups = partition(units(*[1] * 6), 2, {}, 8, lambda unit: unit.key in shared or unit.key)
    assert keys(groups) == [["0", "2", "4", "5"], ["1", "3"]]
    groups = partition(units(*[1] * 10), 2, {}, 8, lambda unit: "all")
    assert weights(groups) == [5, 5]


@given(
    st.lists(st.tuples(st.integers(1, 6), st.integers(0, 4)), max_size=40),
    st.integers(1, 8),
    st.integers(2, 12),
)
def test_each_kernel_is_in_one_group(kernels, jobs, most):
    some = units(*(weight for weight, _ in kernels))
    codes = {unit.key: code for unit, (_, code) in zip(some, kernels, strict=True)}
    groups = partition(some, jobs, {}, most, lambda unit: codes[unit.key])
    assert sorted(unit.key for group in groups for unit in group) == sorted(unit.key for unit in some)
    assert all(groups)
    assert len(groups) <= max(jobs * -(-sum(weight for weight, _ in kernels) // (most * jobs)), 0) + sum(
        weight >= most for weight, _ in kernels
    )


def test_code_depends_on_all_fields_but_those_without():
    def kernel(**fields):
        return SimpleNamespace(key="key", kernel=SimpleNamespace(fields=lambda: fields))

    ignored = frozenset({"scheduler"})
    one, other = kernel(tile=1, scheduler="a"), kernel(tile=1, scheduler="b")
    assert (
        common_part_of(one, ignored)
        == common_part_of(other, ignored)
        != common_part_of(kernel(tile=2, scheduler="a"), ignored)
    )
    assert common_part_of(one, frozenset()) == "key"


@pytest.mark.parametrize(("free", "jobs", "most"), [(10_000, 2, 8), (1_400, 1, 5), (1_400, 2, 1), (0, 1, 1)])
def test_memory_bounds_the_groups(free, jobs, most):
    recipe = SimpleNamespace(functions_per_unit=8, compile_memory_bytes=1_000, further_memory_bytes=100)
    assert functions_per_unit(recipe, jobs, free) == most


@pytest.fixture
def grouping(make_recipe, compiler):
    """A recipe that puts up to four kernels together."""
    return replace(make_recipe(compiler), functions_per_unit=4, further_memory_bytes=2**20)


def test_kernels_share_translation_units(make_tree, grouping, build, total):
    tree = make_tree(6)
    result = build(tree, grouping, jobs=1)
    assert result.summary.compiled == 6
    assert len(list((tree.root / "units").glob("*.cpp"))) == 2
    assert len(set(result.objects.values())) == 2
    # kernel number i returns 10**i
    assert total(result.library) == 111_111


def test_a_changed_instance_is_compiled_without_its_neighbours(make_tree, grouping, build, total):
    tree = make_tree(5)
    build(replace(tree, kernels=tree.kernels[:4]), grouping, jobs=1)
    # an instance that changes is another one, with a symbol of its own
    changed = replace(tree, kernels=(*tree.kernels[:3], tree.kernels[4]))
    after = build(changed, grouping, jobs=1)
    assert (after.summary.compiled, after.summary.from_cache) == (1, 3)
    assert total(after.library) == 10_111


def test_two_versions_of_a_kernel_are_never_linked_together(make_tree, grouping, build, total):
    tree = make_tree(4)
    build(tree, grouping, jobs=1)
    tree.text(1, "return 70;")
    # the old object defines the changed kernel as well, so its neighbours cannot be linked from it
    assert total(build(tree, grouping, jobs=1).library) == 1171


def test_objects_that_are_not_linked_serve_beside_a_new_version(make_tree, grouping, build):
    tree = make_tree(4)
    code = replace(grouping, product=Product.CODE_OBJECTS)
    build(tree, code, jobs=1)
    tree.text(2, "return 2000;")
    second = build(tree, code, jobs=1)
    assert (second.summary.compiled, second.summary.from_cache) == (1, 3)


def test_a_smaller_list_uses_the_same_objects(make_tree, grouping, build):
    tree = make_tree(4)
    build(tree, grouping, jobs=1)
    part = replace(tree, kernels=tree.kernels[:2])
    assert build(part, grouping, jobs=1).summary.from_cache == 2


@pytest.mark.parametrize("guilty", [0, 2, 3])
def test_the_one_that_does_not_compile_is_found(make_tree, grouping, build, total, guilty):
    tree = make_tree(4)
    tree.text(guilty, "return no_such_name;")
    result = build(tree, grouping, jobs=1)
    kernel = tree.kernels[guilty]
    assert list(result.failures) == [kernel.key]
    status, message = result.failures[kernel.key]
    assert status is Status.COMPILE_ERROR
    assert "no_such_name" in message
    assert result.summary.compiled == 3
    assert result.summary.separated == ()
    assert result.library is not None


def test_kernels_that_only_compile_apart_are_named(make_tree, grouping, build, total):
    tree = make_tree(6)
    for kernel in tree.kernels[:3:2]:
        body = f"inline int {kernel.name}_value() {{ return defined_twice; }}"
        kernel.header.write_text(f"static int defined_twice = 1;\n{body}\n")
    result = build(tree, grouping, jobs=1)
    assert result.failures == {} and total(result.library) == 111_012
    ((apart, reason),) = result.summary.separated
    assert {tree.kernels[0].name, tree.kernels[2].name} <= {*apart} < {one.name for one in tree.kernels}
    assert "defined_twice" in reason and "full log: " in reason


def test_nothing_is_left_if_all_fail(make_tree, grouping, build):
    tree = make_tree(3)
    for position in range(3):
        tree.text(position, f"return missing_{position};")
    result = build(tree, grouping, jobs=1)
    assert result.library is None
    assert len(result.failures) == 3
    for position, kernel in enumerate(tree.kernels):
        assert f"missing_{position}" in result.failures[kernel.key][1]


def test_code_objects_are_not_linked(make_tree, grouping, build, tmp_path):
    tree = make_tree(2)
    recipe = replace(grouping, product=Product.CODE_OBJECTS)
    result = build(tree, recipe, jobs=1)
    assert result.library is None
    assert set(result.objects) == {kernel.key for kernel in tree.kernels}
    assert all(path.is_file() for path in result.objects.values())


def test_sources_without_kernels_take_a_quarter_of_a_compiler_and_never_most_of_them():
    assert compilers_for_kernels(16, 0) == 16
    assert compilers_for_kernels(16, 9) == 14
    assert compilers_for_kernels(4, 12) == 2
    assert compilers_for_kernels(1, 6) == 1


GIB = 2**30


@pytest.mark.parametrize(
    ("requested", "cpus", "free", "jobs"),
    [
        (None, 8, 100 * GIB, 8),
        (3, 8, 100 * GIB, 3),
        (20, 8, 100 * GIB, 20),
        (None, 64, 10 * GIB, 8),
        (64, 8, 10 * GIB, 8),
        (None, 8, 0, 1),
        (0, 8, 100 * GIB, 1),
    ],
)
def test_bounded_by_memory_and_at_least_one(requested, cpus, free, jobs):
    assert job_count(requested, GIB, cpus=cpus, free=free) == jobs


def test_asks_the_machine():
    assert 1 <= job_count(None, 1) == available_cpus() <= (os.cpu_count() or 1)
    assert job_count(None, 2**60) == 1


def test_a_container_has_the_memory_of_its_limit(tmp_path):
    everything = free_memory_bytes(tmp_path)
    (tmp_path / "memory.max").write_text("max\n")
    assert free_memory_bytes(tmp_path) == pytest.approx(everything, rel=0.5)
    (tmp_path / "memory.max").write_text("1000000\n")
    (tmp_path / "memory.current").write_text("400000\n")
    assert free_memory_bytes(tmp_path) == 600000
    (tmp_path / "memory.current").write_text("2000000\n")
    assert free_memory_bytes(tmp_path) == 0
