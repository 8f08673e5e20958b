"""Python programs of ours import nothing that lies in the folder that they are started in."""

import ast
import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ckprof import python_child
from ckprof.measure.worker.process import WorkerProcess
from tests.places import belongs_to_tests

ROOT = Path(__file__).parents[1]

#: modules that our children import, of the standard library, of dependencies, and our own
PLANTED = (
    "msgspec",
    "numpy",
    "queue",
    "random",
    "filelock",
    "ckprof",
    "ckprof_plugins",
    "ziglang",
    "sitecustomize",
)


@pytest.fixture
def trap(tmp_path, monkeypatch):
    """A current folder with files that say so when they are imported."""
    folder = tmp_path / "trap"
    folder.mkdir()
    for name in PLANTED:
        (folder / f"{name}.py").write_text(f"open({str(tmp_path / 'sprung')!r}, 'w')\n")
    monkeypatch.chdir(folder)
    yield folder
    assert not (tmp_path / "sprung").exists()


def run_isolated(tmp_path, *words):
    """Run a command that does not look for modules in its folder."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", "ckprof", *words],
        env={**os.environ, "PYTHONPATH": str(ROOT), "CKPROF_CACHE_DIR": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode in (0, 1), done.stderr


def test_a_child_has_the_modules_of_its_parent_and_no_others(trap, tmp_path, monkeypatch):
    (tmp_path / "extra").mkdir()
    (tmp_path / "extra" / "of_parent.py").write_text("import sys, msgspec\nprint(__name__, sys.argv[1:])\n")
    monkeypatch.setattr(sys, "path", ["", str(trap), "relative", *sys.path, str(tmp_path / "extra")])
    command = python_child.python_command("of_parent", "a", "b c")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("__main__ ['a', 'b c']\n", "")


@pytest.mark.parametrize(
    ("number", "launcher", "text"),
    [
        (errno.ENOENT, ("tool", "-x"), "the launcher tool cannot be started: No such file or directory"),
        (errno.EACCES, ("tool",), "the launcher tool cannot be started: Permission denied"),
        (errno.ENOENT, (), "No such file or directory; see whether /usr/bin/python is still there"),
        # no fault of the launcher
        (errno.EMFILE, ("tool",), "Too many open files; raise 'ulimit -n'"),
        (errno.ENOMEM, (), "Cannot allocate memory; end what takes the memory of this machine"),
        (errno.EIO, (), "Input/output error"),
    ],
)
def test_what_keeps_a_process_from_starting_has_a_remedy(monkeypatch, number, launcher, text):
    monkeypatch.setattr(sys, "executable", "/usr/bin/python")
    said = python_child.start_failure(OSError(number, os.strerror(number)), launcher)
    assert said == (text if text.startswith("the launcher") else f"no worker process can be started: {text}")


def test_a_folder_that_is_gone_is_no_current_folder(tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    monkeypatch.setattr(sys, "path", ["/a", "/b", "/a"])
    assert python_child.module_folders() == [str(ROOT), "/a", "/b"]


def test_the_current_folder_counts_if_it_is_named(trap, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(trap))
    monkeypatch.setattr(sys, "path", [str(trap), *sys.path])
    assert str(trap) in python_child.module_folders()
    monkeypatch.setenv("PYTHONPATH", "")
    assert str(trap) not in python_child.module_folders()


def test_a_worker_imports_nothing_from_its_folder(trap):
    process = WorkerProcess(trap)
    try:
        from ckprof.measure.worker.remote import CallFailed, RemoteLibrary

        with pytest.raises(CallFailed, match="cannot load kernel library"):
            RemoteLibrary(process).open(Path("missing.so"), None)
    finally:
        process.kill()


@pytest.mark.slow
@pytest.mark.compiler
@pytest.mark.skipif(sys.version_info < (3, 11), reason="the command itself is started with -P")
def test_whole_commands_import_nothing_from_the_current_folder(trap, tmp_path, short_list):
    """Runs, sweeps, builds and questions to compilers start their children in the user's folder."""
    problem = ("--problem", "2 1 1 16 16 3 3 10 10 1 1 1 1 1 1 1 1")
    common = ("fwd", "--conf", str(short_list), *problem)
    quick = ("--round-time", "0.02", "--min-rounds", "1", "--max-rounds", "1")
    for words in (
        ("run", *common),
        ("sweep", *common, "--store", str(tmp_path / "r.db"), *quick),
        ("doctor",),
    ):
        run_isolated(tmp_path, *words)


#: starts a program as its users do: the option would tell it that it is judged
_AS_USERS = "plugins/judge/plainly.py"


@pytest.mark.parametrize("folder", ["ckprof", "plugins", "converters"])
def test_python_is_started_in_isolation(folder):
    """Whoever names the interpreter says ``-I`` next: nothing of ours starts one that looks around."""
    found = 0
    for path in sorted((ROOT / folder).rglob("*.py")):
        text = path.read_text()
        if belongs_to_tests(path) or "sys.executable" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            if not isinstance(node, (ast.List, ast.Tuple)) or not node.elts:
                continue
            texts = [ast.unparse(element) for element in node.elts]
            if "sys.executable" in texts:
                if path == ROOT / _AS_USERS:
                    continue
                found += 1
                assert texts[texts.index("sys.executable") + 1] == "'-I'", f"{path}:{node.lineno}"
    assert found == {"ckprof": 4, "plugins": 0, "converters": 0}[folder]
