"""Where a library is built: the same call finds its folder again, different calls never share one."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

import ckprof
from ckprof.errors import InputError, UsageError
from ckprof.kernels.build_dir import build_dir_for
from ckprof.model.recipe import BuildRequest, Purpose


class FakeTarget:
    """Gives a recipe with changes of the test's."""

    def __init__(self, target, **changes):
        self._target, self._changes = target, changes
        self.id, self.default_arch = target.id, target.default_arch

    def recipe(self, request):
        return replace(self._target.recipe(request), **self._changes)


@pytest.fixture(scope="module")
def profiler():
    return ckprof.Profiler()


@pytest.fixture(scope="module")
def candidates(profiler):
    return profiler.instances(ckprof.InstanceQuery(conf="forward/tests/nhwgc_fp16")).candidates


@pytest.fixture
def make(profiler, candidates, tmp_path):
    """Return what makes a folder: with changes of the recipe, below a folder for libraries."""

    def call(which=candidates, purpose=Purpose.RUN, folder=None, **changes):
        session = SimpleNamespace(
            settings=replace(profiler.settings, work_dir=str(tmp_path)),
            registry=profiler.registry,
            target=lambda _: FakeTarget(profiler.target(), **changes),
            recipe=lambda target, request: target.recipe(request),
        )
        return build_dir_for(session, which, ckprof.BuildOptions(build_dir=folder), purpose)

    return call


@pytest.mark.compiler
def test_everything_that_the_library_depends_on_is_in_the_name(
    make, candidates, profiler, tmp_path, monkeypatch
):
    usual = make().root
    assert make().root == usual and usual.is_dir() and usual.parent == tmp_path
    target = profiler.target()
    compiler = target.recipe(BuildRequest(arch=target.default_arch)).compiler
    others = [
        make(which=candidates[:-1]).root,
        make(purpose=Purpose.SUPPORT_CHECK).root,
        make(compiler=replace(compiler, identity="another")).root,
        make(compiler=replace(compiler, added_words=("-Og",))).root,
        make(location_flags=("-Lsome",)).root,
        make(compile_flags=("-O1",)).root,
        make(kernel_flags=("-Og",)).root,
        make(link_flags=("-lm",)).root,
        make(machine_identity="another").root,
        make(include_dirs=(tmp_path,)).root,
        make(api_level="2025-07").root,
    ]
    monkeypatch.setenv("CPATH", "/elsewhere")
    others.append(make().root)
    assert usual not in others and len(set(others)) == len(others), others.index(usual)


@pytest.mark.compiler
def test_a_folder_of_the_users_own(make, tmp_path):
    own = make(folder=tmp_path / "own")
    assert own.root == tmp_path / "own" and own.chunk_size is not None
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot make the folder"):
        make(folder=tmp_path / "file")


@pytest.mark.compiler
def test_a_folder_of_another_direction(make, tmp_path):
    (tmp_path / "manifest.json").write_text(
        '{"schema": "ckprof-source-tree", "version": 1, "direction": "bwd_data", "kernels": []}'
    )
    with pytest.raises(UsageError, match="holds the kernels of bwd_data"):
        make(folder=tmp_path)
