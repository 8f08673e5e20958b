"""Where a library is built: the same call finds its folder again, different calls never share one."""

from __future__ import annotations

from dataclasses import replace

import pytest

import ckprof
from ckprof.errors import InputError, UsageError
from ckprof.flow.build_dir import BuildPlace, prepare_build_dir
from ckprof.model.recipe import BuildRequest, Purpose


class FakeTarget:
    """Gives a recipe with changes of the test's."""

    def __init__(self, target, **changes):
        self._target, self._changes = target, changes
        self.id = target.id

    def recipe(self, request):
        return replace(self._target.recipe(request), **self._changes)


@pytest.fixture(scope="module")
def parts():
    profiler = ckprof.Profiler()
    selection = profiler.instances(ckprof.InstanceQuery(conf="forward/tests/nhwgc_fp16"))
    target = next(one for one in profiler.registry.targets if one.embedded)
    return selection.candidates, profiler.registry.direction("fwd"), target


@pytest.mark.compiler
def test_everything_that_the_library_depends_on_is_in_the_name(parts, tmp_path):
    candidates, direction, target = parts
    request = BuildRequest(arch=target.default_arch)
    place = BuildPlace(base=tmp_path)

    def root(which=candidates, asked=request, **changes):
        return prepare_build_dir(which, direction, FakeTarget(target, **changes), asked, place).root

    usual = root()
    assert root() == usual and usual.is_dir() and usual.parent == tmp_path
    compiler = target.recipe(request).compiler
    others = [
        root(candidates[:-1]),
        root(asked=replace(request, purpose=Purpose.SUPPORT_CHECK)),
        root(compiler=replace(compiler, identity="another")),
        root(compile_flags=("-O1",)),
        root(kernel_flags=("-Og",)),
        root(link_flags=("-lm",)),
        root(machine_identity="another"),
        root(include_dirs=(tmp_path,)),
        root(api_level="2025-07"),
    ]
    assert usual not in others and len(set(others)) == len(others), others.index(usual)


@pytest.mark.compiler
def test_a_folder_of_the_users_own(parts, tmp_path):
    candidates, direction, target = parts
    request = BuildRequest(arch=target.default_arch)
    own = prepare_build_dir(candidates, direction, target, request, BuildPlace(folder=tmp_path / "own"))
    assert own.root == tmp_path / "own" and own.embedding is not None
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot make the folder"):
        prepare_build_dir(candidates, direction, target, request, BuildPlace(folder=tmp_path / "file"))


@pytest.mark.compiler
def test_a_folder_of_another_direction(parts, tmp_path):
    candidates, direction, target = parts
    (tmp_path / "manifest.json").write_text(
        '{"schema": "ckprof-source-tree", "version": 1, "direction": "bwd_data", "kernels": []}'
    )
    with pytest.raises(UsageError, match="holds the kernels of bwd_data"):
        prepare_build_dir(
            candidates, direction, target, BuildRequest(arch="gfx942"), BuildPlace(folder=tmp_path)
        )
