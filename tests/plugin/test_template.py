"""``ckprof plugins --new``: a package that passes its own tests, or nothing at all."""

import os
import re
import subprocess
import sys
import time
import venv
from pathlib import Path

import pytest

from ckprof.cli.main import main
from ckprof.errors import ExitCode, InputError
from ckprof.paths import template_root
from ckprof.plugin import template
from ckprof.plugin.template import write_plugin


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def files(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_the_package_is_the_example_under_another_name(capsys):
    assert main(["plugins", "--new", "wide_tile", "--dir", "."]) == ExitCode.OK
    assert "wrote ckprof-wide-tile" in capsys.readouterr().out
    folder = Path("ckprof-wide-tile")
    assert files(folder) == {
        *("README.md", "pyproject.toml", "wide_tile.conf", "tests/test_plugin.py"),
        *(f"ckprof_wide_tile/{name}.py" for name in ("__init__", "pipeline", "plugin", "record")),
        "ckprof_wide_tile/templates/kernel.hpp.j2",
    }
    text = "".join((folder / name).read_text() for name in files(folder))
    assert not re.search("naive", text, re.IGNORECASE)
    assert 'wide_tile = "ckprof_wide_tile.plugin"' in text and 'name = "ckprof-wide-tile"' in text
    assert "WideTileForward<fp32,16,1>" in text and "class WideTilePipeline" in text
    assert files(template_root("ckprof_template")) >= {"naive.conf", "pyproject.toml", "tests/test_plugin.py"}


def test_a_command_is_the_other_example_under_another_name(capsys):
    assert main(["plugins", "--new", "cold_start", "--kind", "command"]) == ExitCode.OK
    assert "ckprof cold-start --help" in capsys.readouterr().out
    folder = Path("ckprof-cold-start")
    assert files(folder) == {
        *("README.md", "pyproject.toml", "tests/test_command.py"),
        *(f"ckprof_cold_start/{name}" for name in ("__init__.py", "command.py", "COMMANDS.toml")),
    }
    text = "".join((folder / name).read_text() for name in files(folder))
    assert not re.search("time.guard", text, re.IGNORECASE)
    assert 'cold-start = "ckprof_cold_start.command:COMMAND"' in text and "[cold-start]" in text


def test_the_name_of_a_command_is_free(capsys):
    assert main(["plugins", "--new", "check_support", "--kind", "command"]) == ExitCode.USAGE
    assert "command has that name" in capsys.readouterr().err


@pytest.mark.parametrize(
    "name",
    [
        *("", "Mine", "my-family", "my family", "9a", "_a", "a_", "a__b", "ä", "class", "a\n", "a" * 41),
        *("../a", "/a", "a/b", "..", "plugins", "converters", "two_stage", "fwd"),
    ],
)
def test_names_that_cannot_be_used(name, tmp_path, capsys):
    assert main(["plugins", f"--new={name}"]) == ExitCode.USAGE
    assert "--new" in capsys.readouterr().err
    assert not list(tmp_path.iterdir()) and not list(tmp_path.parent.glob("ckprof-*"))


@pytest.mark.parametrize("kind", ["folder", "file", "link"])
def test_what_is_there_stays(kind, tmp_path, capsys):
    place = tmp_path / "ckprof-mine"
    if kind == "folder":
        place.mkdir()
    elif kind == "file":
        place.write_text("mine")
    else:
        place.symlink_to("nowhere")
    before = sorted(tmp_path.rglob("*"))
    assert main(["plugins", "--new", "mine"]) == ExitCode.USAGE
    assert "is there already" in capsys.readouterr().err
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    "arguments",
    [*(("--new", "a", "--dir", "no"), ("--dir", "."), ("--new", "a", "--check", "b")), ("--kind", "command")],
)
def test_wrong_usage(arguments, tmp_path, capsys):
    assert main(["plugins", *arguments]) == ExitCode.USAGE
    assert not list(tmp_path.iterdir())


def test_nothing_is_left_of_a_package_that_cannot_be_written(tmp_path, monkeypatch):
    written = []

    def full(text, names):
        written.append(text)
        if len(written) == 9:
            raise OSError(28, "No space left on device")
        return text

    monkeypatch.setattr(template, "_renamed", full)
    with pytest.raises(InputError, match="No space left"):
        write_plugin("mine", tmp_path, ())
    assert len(written) == 9 and not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.compiler
def test_from_an_empty_folder_to_a_plugin_that_passes_its_tests(tmp_path):
    """In an environment of its own: first as it is, then installed, and known by the name of its family."""
    started = time.monotonic()
    venv.create(tmp_path / "fresh", with_pip=False)
    python = str(tmp_path / "fresh" / "bin" / "python")
    site = next((tmp_path / "fresh" / "lib").glob("python*/site-packages"))
    running = next(path for path in sys.path if path.endswith("site-packages"))
    # what the running environment has, ckprof included; no network is needed
    (site / "running.pth").write_text(f"import site; site.addsitedir({running!r})\n")
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}

    def call(*arguments, cwd):
        done = subprocess.run(
            [python, "-m", *arguments], cwd=cwd, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    work = tmp_path / "work"
    work.mkdir()
    call("ckprof", "plugins", "--new", "mine", cwd=work)
    folder = work / "ckprof-mine"
    assert re.search(r"\b5 passed", call("pytest", "-q", "-p", "no:cacheprovider", cwd=folder))
    call("pip", "install", "-q", "--no-deps", "--no-build-isolation", "--target", str(site), ".", cwd=folder)
    assert re.search(r"\b5 passed", call("pytest", "-q", "-p", "no:cacheprovider", cwd=folder))
    checked = call("ckprof", "plugins", "--check", "mine", "--conf", str(folder / "mine.conf"), cwd=work)
    assert "pipeline 'mine'" in checked and "failed" not in checked
    ran = call("ckprof", "run", "fwd", "--conf", str(folder / "mine.conf"), "--max-time", "0.02", cwd=work)
    assert "3 ok, 1 unsupported" in ran
    assert time.monotonic() - started < 180
