"""Real compiler, tiny kernels."""

import time
from pathlib import Path

import pytest

from ckprof.errors import ToolchainError
from ckprof.kernels import build_systems
from ckprof.kernels.cache import ObjectCache
from ckprof.model.outcome import Status

pytestmark = pytest.mark.compiler


def test_builds_a_library_of_all_kernels(make_tree, make_recipe, compiler, build, total):
    seen = []
    result = build(make_tree(3), make_recipe(compiler), on_progress=lambda *step: seen.append(step))
    assert result.failures == {}
    assert total(result.library) == 111
    summary = result.summary
    assert (summary.compiled, summary.from_cache, summary.failed, summary.jobs) == (3, 0, 0, 2)
    assert summary.cpu_s > 0 and summary.wall_s > 0 and summary.peak_memory_bytes > 2**20
    assert {name for name, _ in summary.slowest} >= {"kernel_0", "kernel_1", "kernel_2"}
    assert [done for done, _, _ in seen] == list(range(1, len(seen) + 1))
    assert seen[-1][0] == seen[-1][1] and seen[-1][2] == "libtiny.so"


def test_precompiles_the_prefix_header_for_many_kernels(make_tree, make_recipe, compiler, build, cache):
    tree, recipe = make_tree(5), make_recipe(compiler)
    result = build(tree, recipe)
    assert "precompiled header" in {name for name, _ in result.summary.slowest}
    ready = [path for path in (cache.root / "prefixes").rglob("*") if path.suffix in (".gch", ".pch")]
    assert len(ready) == 1


def test_second_build_starts_nothing(make_tree, make_recipe, compiler, build, monkeypatch):
    tree, recipe = make_tree(3), make_recipe(compiler)
    first = build(tree, recipe)
    before = first.library.stat()
    monkeypatch.setattr(build_systems, "run", lambda *_: pytest.fail("ninja was started"))
    started = time.monotonic()
    second = build(tree, recipe)
    assert time.monotonic() - started < 0.2
    assert (second.summary.compiled, second.summary.from_cache) == (0, 3)
    assert second.library.stat().st_mtime_ns == before.st_mtime_ns


def test_a_changed_kernel_alone_is_compiled(make_tree, make_recipe, compiler, build, total):
    tree, recipe = make_tree(3), make_recipe(compiler)
    build(tree, recipe)
    tree.text(1, "return 7;")
    result = build(tree, recipe)
    assert (result.summary.compiled, result.summary.from_cache) == (1, 2)
    assert total(result.library) == 108


def test_a_changed_header_compiles_everything(make_tree, make_recipe, compiler, build, total):
    tree, recipe = make_tree(2), make_recipe(compiler)
    build(tree, recipe)
    (recipe.include_dirs[0] / "prefix_part.hpp").write_text(
        "#pragma once\ninline int prefix_value() { return 2; }\n"
    )
    result = build(tree, recipe)
    assert result.summary.compiled == 2
    assert total(result.library) == 22


def test_a_kernel_that_does_not_compile_costs_one_outcome(make_tree, make_recipe, compiler, build, total):
    tree, recipe = make_tree(4), make_recipe(compiler)
    tree.text(1, "return no_such_name;")
    result = build(tree, recipe)
    assert total(result.library) == 1101
    assert list(result.failures) == [tree.kernels[1].key]
    status, message = result.failures[tree.kernels[1].key]
    assert status is Status.COMPILE_ERROR
    log = Path(message.partition("full log: ")[2])
    assert "no_such_name" in message and log.name == "kernel_1.log"
    assert "kernel_1.cpp" in log.read_text().splitlines()[0]
    assert (result.summary.compiled, result.summary.failed) == (3, 1)

    again = build(tree, recipe)
    assert (again.summary.compiled, again.summary.from_cache, again.summary.failed) == (0, 3, 1)
    assert total(again.library) == 1101
    tree.text(1, "return 10;")
    assert total(build(tree, recipe).library) == 1111


def test_no_library_if_no_kernel_compiles(make_tree, make_recipe, compiler, build):
    tree, recipe = make_tree(1), make_recipe(compiler)
    assert build(tree, recipe).library is not None
    tree.text(0, "return no_such_name;")
    result = build(tree, recipe)
    assert result.library is None and len(result.failures) == 1
    assert not list(build.work_dir.glob("*.so"))


def test_a_broken_prefix_header_fails_every_kernel_with_its_message(make_tree, make_recipe, compiler, build):
    recipe = make_recipe(compiler, prefix_header='#include "missing_header.hpp"\n')
    result = build(make_tree(4), recipe)
    assert result.library is None and len(result.failures) == 4
    assert all("missing_header.hpp" in message for _, message in result.failures.values())


def test_sources_at_another_place_share_objects(make_tree, make_recipe, compiler, build, tmp_path):
    recipe = make_recipe(compiler)
    for folder in ("one", "a second, longer place"):
        tree = make_tree(2, folder)
        for position in range(2):
            tree.text(position, f"static const char* const place = __FILE__; return place[0] + {position};")
        result = build(tree, recipe, work_dir=tmp_path / f"work of {folder}")
        assert (result.summary.compiled, result.summary.from_cache) == ((2, 0) if folder == "one" else (0, 2))


def test_objects_do_not_depend_on_the_place(make_tree, make_recipe, compiler, build, tmp_path):
    contents = []
    for folder in ("one", "a second, longer place"):
        tree, recipe = make_tree(1, folder), make_recipe(compiler)
        tree.text(0, "static const char* const place = __FILE__; return place[0];")
        cache = ObjectCache(tmp_path / f"cache of {folder}")
        build(tree, recipe, work_dir=tmp_path / f"work of {folder}", cache=cache)
        objects = sorted(cache.root.glob("entries/*/*/object.o"))
        contents.append([path.read_bytes() for path in objects])
    assert contents[0] == contents[1]
    assert not any(str(tmp_path).encode() in content for content in contents[0])


def test_support_sources_are_linked_and_must_compile(
    make_tree, make_recipe, compiler, build, tmp_path, total
):
    tree = make_tree(1)
    source = tmp_path / "support" / "support.cpp"
    source.parent.mkdir()
    source.write_text('#include "beside.hpp"\nint support() { return 40 + beside; }\n')
    (source.parent / "beside.hpp").write_text("inline constexpr int beside = 2;\n")
    tree.kernels[0].header.write_text("int support();\ninline int kernel_0_value() { return support(); }\n")
    recipe = make_recipe(compiler, support_sources=(source,))
    assert total(build(tree, recipe).library) == 42
    (source.parent / "beside.hpp").write_text("inline constexpr int beside = 3;\n")
    assert total(build(tree, recipe).library) == 43
    source.write_text("#error out of order\n")
    with pytest.raises(ToolchainError, match=r"compiling support\.cpp failed(?s:.*)out of order"):
        build(tree, recipe)


def test_a_folder_that_cannot_be_written_is_an_error_that_says_how_to_move_it(
    make_tree, make_recipe, compiler, build, tmp_path
):
    (tmp_path / "file").touch()
    with pytest.raises(ToolchainError, match=r"file: cannot be written .set CKPROF_CACHE_DIR or --build-dir"):
        build(make_tree(1), make_recipe(compiler), work_dir=tmp_path / "file")


def test_a_link_error_is_told(make_tree, make_recipe, compiler, build):
    tree = make_tree(1)
    tree.kernels[0].header.write_text("int nowhere();\ninline int kernel_0_value() { return nowhere(); }\n")
    recipe = make_recipe(compiler, link_flags=("-Wl,-z,defs",))
    with pytest.raises(ToolchainError, match=r"linking libtiny\.so failed(?s:.*)nowhere"):
        build(tree, recipe)


def test_a_damaged_library_is_linked_again(make_tree, make_recipe, compiler, build, total):
    tree, recipe = make_tree(2), make_recipe(compiler)
    library = build(tree, recipe).library
    library.write_bytes(library.read_bytes()[:-1] + b"?")
    result = build(tree, recipe)
    assert result.summary.compiled == 0
    assert total(result.library) == 11


def test_a_damaged_object_is_compiled_again(make_tree, make_recipe, compiler, build, cache, total, tmp_path):
    tree, recipe = make_tree(2), make_recipe(compiler)
    build(tree, recipe)
    objects = sorted(cache.root.glob("entries/*/*/object.o"))
    objects[0].write_bytes(objects[0].read_bytes()[:-1] + b"?")
    objects[1].write_bytes(b"")
    (objects[2].parent / "entry.json").write_text("{")
    result = build(tree, recipe, work_dir=tmp_path / "elsewhere")
    assert result.summary.compiled == 2 and total(result.library) == 11


def test_a_damaged_precompiled_header_is_made_again(make_tree, make_recipe, compiler, build, cache):
    tree, recipe = make_tree(4), make_recipe(compiler)
    build(tree, recipe)
    ready = next(p for p in (cache.root / "prefixes").rglob("*") if p.suffix in (".gch", ".pch"))
    ready.write_bytes(ready.read_bytes()[:-1] + b"?")
    for position in range(4):
        tree.text(position, "return 1;")
    result = build(tree, recipe)
    assert result.failures == {} and "precompiled header" in {name for name, _ in result.summary.slowest}


def test_paths_with_spaces_and_dollars(make_tree, make_recipe, compiler, build, tmp_path, total):
    tree = make_tree(2, "a tree's $root")
    assert tree.root.is_dir()
    cache = ObjectCache(tmp_path / "the cache: $HOME")
    result = build(tree, make_recipe(compiler), work_dir=tmp_path / 'work "dir" $1', cache=cache)
    assert total(result.library) == 11
    assert isinstance(result.library, Path)
