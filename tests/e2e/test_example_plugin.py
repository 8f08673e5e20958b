"""The extension points, proved: packages outside ckprof add a family and a command to a fresh environment."""

import os
import shutil
import subprocess
import sys
import venv

import pytest

from tests.e2e.conftest import ROOT

pytestmark = [pytest.mark.compiler, pytest.mark.thorough]


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """A fresh virtual environment with ckprof and two examples, installed as packages.

    Their dependencies are taken from the running environment, so that the test needs no network.
    """
    root = tmp_path_factory.mktemp("fresh")
    venv.create(root, with_pip=False)
    python = root / "bin" / "python"
    packages = root / "packages"
    for source in (ROOT, ROOT / "examples" / "naive_gather", ROOT / "examples" / "time_guard"):
        copy = tmp_path_factory.mktemp("source") / source.name
        copy.mkdir()
        for item in source.iterdir():
            # what a build backend writes and reads again must not leak in from the checkout
            if item.name.startswith(".") or item.suffix == ".egg-info" or item.name in ("build", "tests"):
                continue
            if item.is_dir():
                shutil.copytree(item, copy / item.name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(item, copy)
        subprocess.run(
            [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation",
             "--disable-pip-version-check", "--target", packages, copy],
            check=True, capture_output=True,
        )  # fmt: skip
    site = next((root / "lib").glob("python*/site-packages"))
    running = "\n".join(path for path in sys.path if path.endswith("site-packages"))
    # The package folder is a site directory of its own; what it lacks comes from the running environment,
    # without the .pth files there, so that an editable ckprof is out of reach.
    (site / "packages.pth").write_text(f"import site; site.addsitedir({str(packages)!r})\n{running}\n")
    return python


def call(python, *arguments, cwd):
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    return subprocess.run(
        [python, "-m", "ckprof", *arguments],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=environment,
        check=False,
    )


def test_ckprof_comes_from_the_fresh_environment(environment, tmp_path):
    code = "import ckprof, ckprof_plugins; print(ckprof.__file__, ckprof_plugins.__file__)"
    done = subprocess.run([environment, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=True)
    assert str(ROOT) not in done.stdout


def test_the_family_is_listed(environment, tmp_path):
    done = call(environment, "list", "pipelines", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "naive_gather" in done.stdout
    plugins = call(environment, "plugins", cwd=tmp_path)
    assert "ckprof-naive-gather" in plugins.stdout and "entry point" in plugins.stdout


def test_the_main_job_runs_with_the_family_alone(environment, tmp_path):
    """Every built-in pipeline is disabled: what runs comes from the example package."""
    shutil.copy(ROOT / "examples" / "naive_gather" / "naive.conf", tmp_path)
    done = call(
        environment, "run", "fwd", "--conf", "naive.conf", "--max-time", "0.05", "--problem",
        "conv -n 2 -c 16 -H 9 -W 9 -k 12 -y 3 -x 3 -p 1 -q 1 -u 2 -v 2 -g 2 -F 1", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr + done.stdout
    assert "4 instances: 3 ok, 1 unsupported" in done.stdout
    assert "name: NaiveGatherForward<fp32," in done.stdout
    assert "naive-gather-size" in done.stdout


def test_the_family_takes_part_in_parity(environment, tmp_path):
    shutil.copy(ROOT / "examples" / "naive_gather" / "naive.conf", tmp_path)
    done = call(environment, "parity", "fwd", "--conf", "naive.conf", cwd=tmp_path)
    assert done.returncode == 0, done.stderr + done.stdout
    assert "parity holds: 4 matched" in done.stdout


def test_the_command_is_listed_and_measures_into_a_store(environment, tmp_path):
    listed = call(environment, "--help", cwd=tmp_path).stdout
    assert "\n  time-guard " in listed.split("\nmeasure at scale:\n")[1].split("\n\n")[0]
    assert "ckprof-time-guard" in call(environment, "plugins", cwd=tmp_path).stdout
    shutil.copy(ROOT / "examples" / "naive_gather" / "naive.conf", tmp_path)
    line = "conv -n 1 -c 8 -H 5 -W 5 -k 8 -y 1 -x 1 -F 1"
    measure = ("time-guard", "fwd", "--conf", "naive.conf", "--problem", line, "--store", "guarded.db")
    done = call(environment, *measure, cwd=tmp_path)
    assert done.returncode == 0 and "kernel,ms,limit_ms" in done.stdout, done.stderr
    assert (
        "time-guard"
        in call(environment, "results", "show", "guarded.db", "--format", "json", cwd=tmp_path).stdout
    )
    done = call(environment, *measure, "--limit", "1e-9", cwd=tmp_path)
    assert done.returncode == 1 and "were expected" in done.stderr
