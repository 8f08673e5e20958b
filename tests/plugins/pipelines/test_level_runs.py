"""In which order the kernels of a level are compiled, and what is kept of their outcomes."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from ckprof.kernels.build.keys import abi_dir
from ckprof.model.api_level import API_LEVEL_2025_11
from tests.plugins.pipelines.level_builds import KIND, Outcome, Record, expressed, in_order, table

pytestmark = pytest.mark.thorough


def setting(arch="gfx942"):
    return SimpleNamespace(
        arch=arch,
        api_level=API_LEVEL_2025_11,
        compiler=SimpleNamespace(description="clang 19"),
        digested_dirs=(abi_dir(),),
    )


def kind(candidate):
    return tuple(candidate.instance.fields().get(field) for field in KIND)


@pytest.fixture(scope="module")
def kernels():
    return {one.instance.key: one for _, _, valid in expressed(setting()) for one in valid}


def test_every_kernel_comes_once_and_one_of_each_kind_first(kernels):
    kinds = {kind(one) for one in kernels.values()}
    order = [one for group in in_order(kernels, (), "") for one in group]
    assert {one.instance.key for one in order} == set(kernels)
    assert len(order) == len(kernels)
    assert {kind(one) for one in order[: len(kinds)]} == kinds


def test_what_is_known_is_not_compiled_again_nor_another_one_of_its_kind_before_others(kernels):
    groups = list(in_order(kernels, (), ""))
    known = {one.instance.key for group in groups[:3] for one in group}
    order = [one for group in in_order(kernels, known, "") for one in group]
    assert {one.instance.key for one in order} == set(kernels) - known
    done = {kind(kernels[key]) for key in known}
    left = {kind(one) for one in kernels.values()} - done
    assert left
    assert {kind(one) for one in order[: len(left)]} == left


def test_outcomes_are_kept_for_their_architecture_alone(tmp_path, monkeypatch, kernels):
    monkeypatch.setenv("CKPROF_CACHE_DIR", str(tmp_path / "cache"))
    passed, failed = list(kernels)[:2]
    path = tmp_path / "record.jsonl"
    Record(path, setting()).add([Outcome(passed, ""), Outcome(failed, "no matching function")])
    record = Record(path, setting())
    assert record.outcomes == {passed: "", failed: "no matching function"}
    assert not Record(path, setting("gfx950")).outcomes
    first = next(line for line in table(setting(), record) if line.startswith("| forward"))
    assert first.endswith("| 1 | 1 |")
