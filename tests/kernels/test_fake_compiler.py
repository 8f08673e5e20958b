"""Compilers that hang, crash, fill the disk or are interrupted. No real compiler is needed."""

import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace

import psutil
import pytest

from ckprof.errors import ToolchainError
from ckprof.kernels import compile_step
from ckprof.kernels.cache import ObjectCache
from ckprof.model.outcome import Status
from tests.kernels.toys import compiled

HANG = 'if any("kernel_1.cpp" in a for a in args): time.sleep(60)'


def no_processes_of(folder):
    def command(process):
        try:
            return process.cmdline()
        except psutil.Error:
            return []

    deadline = time.monotonic() + 5
    while any(str(folder) in word for process in psutil.process_iter() for word in command(process)):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def test_a_hanging_compiler_costs_one_outcome(make_tree, make_recipe, fake_compiler, build, tmp_path, calls):
    tree, recipe = make_tree(3), make_recipe(fake_compiler(HANG))
    started = time.monotonic()
    result = build(tree, recipe, timeout_s=0.5)
    assert time.monotonic() - started < 10
    key = tree.kernels[1].key
    assert list(result.failures) == [key]
    status, said = result.failures[key]
    assert status is Status.COMPILE_TIMEOUT
    assert "not compiled within 0.5 s" in said
    assert result.library is not None and result.summary.compiled == 2
    assert no_processes_of(tmp_path / "fake")

    # the next call tries it again, with no more time, and it alone
    calls()
    fake_compiler("pass")
    again = build(tree, recipe, timeout_s=0.5)
    assert again.failures == {} and again.summary.from_cache == 2
    assert [word for word in compiled(calls) if "kernels/" in word] == ["kernels/kernel_1.cpp"]


def test_kernels_that_take_too_long_together_had_the_time_of_all(
    make_tree, make_recipe, fake_compiler, build
):
    recipe = make_recipe(fake_compiler('if any("units/" in arg for arg in args): time.sleep(60)'))
    recipe = replace(recipe, functions_per_unit=4, further_memory_bytes=2**20)
    tree = make_tree(2)
    result = build(tree, recipe, jobs=1, timeout_s=0.5)
    assert result.failures == {}
    ((apart, reason),) = result.summary.separated
    assert set(apart) == {one.name for one in tree.kernels}
    assert "not compiled within 1 s" in reason


def test_a_timeout_ends_the_children_of_a_driver(make_tree, make_recipe, fake_compiler, build, tmp_path):
    child = tmp_path / "fake" / "child.py"
    child.parent.mkdir()
    child.write_text("import time; time.sleep(60)\n")
    tree = make_tree(1)
    recipe = make_recipe(
        fake_compiler(f"import subprocess; subprocess.run([sys.executable, {str(child)!r}])")
    )
    with pytest.raises(ToolchainError, match=r"library\.cpp failed"):
        build(tree, recipe, timeout_s=0.5)
    assert no_processes_of(child)


def test_an_interrupted_build_ends_everything_and_goes_on_later(
    make_tree, make_recipe, fake_compiler, build, tmp_path, cache, calls
):
    tree, recipe = make_tree(6), make_recipe(fake_compiler("time.sleep(0.3)"))

    def interrupt(done, total, name):
        if name.startswith("kernel_"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build(tree, recipe, on_progress=interrupt)
    assert no_processes_of(tmp_path / "fake")
    assert not list((cache.root / "staging").iterdir())
    assert not list(build.work_dir.glob("*.so"))
    done = len(list(cache.root.glob("entries/*/*/object.o")))
    assert done >= 1
    calls()
    fake_compiler("pass")
    result = build(tree, recipe)
    assert result.failures == {} and result.library is not None
    assert result.summary.from_cache >= 1
    assert result.summary.compiled + result.summary.from_cache == 6


def test_a_stopped_step_kills_its_compiler(tmp_path, fake_compiler):
    command = fake_compiler("time.sleep(60)").command[0]
    spec = tmp_path / "a.spec"
    spec.write_text(
        f"cwd={tmp_path}\ntimeout=50\nlog={tmp_path}/log\nrecord={tmp_path}/record\noutput={tmp_path}/o\n"
        f"final={tmp_path}/f\nstamp={tmp_path}/s\narg={command}\narg=-o\narg=o\n"
    )
    process = subprocess.Popen([sys.executable, "-I", "-S", compile_step.__file__, str(spec)])
    while not (tmp_path / "fake" / "calls").exists():
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    assert process.wait(5) == 128 + signal.SIGTERM
    assert no_processes_of(tmp_path / "fake")
    assert not (tmp_path / "record").exists() and not (tmp_path / "f").exists()


def test_a_full_disk_is_one_clear_message(make_tree, make_recipe, fake_compiler, build, cache):
    recipe = make_recipe(
        fake_compiler("print('fatal error: x.o: No space left on device', file=sys.stderr); sys.exit(1)")
    )
    with pytest.raises(
        ToolchainError, match=r"cannot write to the object cache(?s:.*)CKPROF_CACHE_DIR"
    ) as caught:
        build(make_tree(3), recipe)
    assert str(cache.root) in str(caught.value)
    assert not list(cache.root.glob("entries/*/*")) and not list((cache.root / "staging").iterdir())


def test_an_object_that_cannot_be_stored_is_no_half_entry(
    make_tree, make_recipe, fake_compiler, build, cache
):
    # a file is where the entries belong
    (cache.root / "entries").parent.mkdir(parents=True)
    (cache.root / "entries").write_text("in the way")
    with pytest.raises(ToolchainError, match="cannot write to the object cache"):
        build(make_tree(2), make_recipe(fake_compiler()))
    assert not list((cache.root / "staging").iterdir())


def test_a_cache_that_cannot_be_written_is_one_clear_message(
    make_tree, make_recipe, fake_compiler, build, tmp_path
):
    (tmp_path / "file").write_text("")
    cache = ObjectCache(tmp_path / "file" / "cache")
    with pytest.raises(
        ToolchainError, match=r"cannot write to the object cache: Not a directory; free some space"
    ):
        build(make_tree(1), make_recipe(fake_compiler()), cache=cache)


def test_a_read_only_cache_still_serves(make_tree, make_recipe, fake_compiler, build, cache, tmp_path):
    tree, recipe = make_tree(2), make_recipe(fake_compiler())
    build(tree, recipe)
    folders = [path for path in (cache.root, *cache.root.rglob("*")) if path.is_dir()]
    for folder in folders:
        folder.chmod(0o500)
    try:
        if os.access(cache.root, os.W_OK):
            pytest.skip("this user may write everywhere")
        assert build(tree, recipe, work_dir=tmp_path / "other").summary.from_cache == 2
        tree.text(0, "return 9;")
        with pytest.raises(ToolchainError, match="cannot write to the object cache: Permission denied"):
            build(tree, recipe)
    finally:
        for folder in folders:
            folder.chmod(0o700)


def test_two_builds_at_once_share_a_cache(make_tree, make_recipe, fake_compiler, build, tmp_path):
    tree, recipe = make_tree(6), make_recipe(fake_compiler("time.sleep(0.05)"))
    results = {}
    threads = [
        threading.Thread(
            target=lambda n=n: results.setdefault(n, build(tree, recipe, work_dir=tmp_path / f"work{n % 2}"))
        )
        for n in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 3
    assert all(result.failures == {} and result.library.is_file() for result in results.values())
