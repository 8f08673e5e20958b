"""Feature packages can be taken away: in a copy without one its commands are gone, and nothing else is.

The wheel that the copy gives is installed away from the checkout and used; of the tests of the copy a few run
here, and all with ``-m slow``.
"""

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from ckprof_plugins import FEATURE_PACKAGES
from tests.called import COMMANDS
from tests.packaging.checkouts import ROOT, copy_checkout

PACKAGES = [name for name in FEATURE_PACKAGES if (ROOT / "plugins" / name).is_dir()]
EACH = [pytest.param([name], id=name, marks=pytest.mark.slow) for name in PACKAGES]

#: tests of what looks at all commands, options, objects and documents
OF_ALL = (
    "tests/cli/test_main.py",
    "tests/cli/test_option_names.py",
    "tests/docs/test_documents.py",
    "tests/docs/test_reference.py",
    "tests/plugin/test_registry.py",
)

pytestmark = pytest.mark.compiler


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """What is under version control, or will be."""
    return copy_checkout(tmp_path_factory.mktemp("checkout"))


class Copy:
    """A checkout without some packages, and an environment with the wheel that it gives.

    Dependencies are taken from the running environment, without its .pth files: an editable ckprof is out of
    reach.
    """

    def __init__(self, checkout, folder, packages):
        self.root = folder / "checkout"
        shutil.copytree(
            checkout,
            self.root,
            symlinks=True,
            # files are not written, only read and replaced
            copy_function=os.link,
            ignore=lambda parent, names: packages if Path(parent) == checkout / "plugins" else [],
        )
        venv.create(folder / "fresh", with_pip=False)
        self.python = folder / "fresh" / "bin" / "python"
        installed = folder / "installed"
        pip = (sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps")
        options = ("--no-build-isolation", "--no-compile", "--target", str(installed), str(self.root))
        subprocess.run([*pip, *options], check=True, capture_output=True)
        site = next((folder / "fresh" / "lib").glob("python*/site-packages"))
        running = [path for path in sys.path if path.endswith("site-packages")]
        (site / "paths.pth").write_text("\n".join([str(installed), *running]) + "\n")
        self.work = folder / "work"
        self.work.mkdir()

    def call(self, *arguments, cwd=None):
        """Run Python there and return what it prints."""
        environment = {
            key: value for key, value in os.environ.items() if not key.startswith(("PYTEST", "PYTHON"))
        }
        done = subprocess.run(
            [self.python, *arguments], cwd=cwd or self.work, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, f"{done.stdout[-6000:]}\n{done.stderr[-3000:]}"
        return done.stdout

    def ckprof(self, *arguments):
        """Run ckprof there."""
        return self.call("-m", "ckprof", *arguments)

    def pytest(self, *arguments):
        """Run tests of the copy."""
        return self.call("-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments, cwd=self.root)


@pytest.fixture
def without(checkout, tmp_path):
    return lambda packages: Copy(checkout, tmp_path, packages)


@pytest.mark.thorough
@pytest.mark.parametrize("packages", [*EACH, pytest.param(PACKAGES, id="all")])
def test_packages_can_be_taken_away(without, packages):
    copy = without(packages)
    place = copy.call("-c", "import ckprof, ckprof_plugins; print(ckprof.__file__, ckprof_plugins.__file__)")
    assert str(ROOT) not in place and str(copy.root) not in place
    help_text, owners = copy.ckprof("--help"), [f"ckprof_plugins.{name}" for name in packages]
    for command in COMMANDS:
        assert (f"\n  {command.name} " in help_text) == (command.owner not in owners)
    line = "conv -n 1 -c 64 -H 14 -W 14 -k 64 -y 3 -x 3 -p 1 -q 1 -F 1"
    job = ("run", "fwd", "--conf", "forward/tests/nhwgc_fp16", "--instance", "3", "--problem", line)
    assert "1 ok" in copy.ckprof(*job, "--max-time", "0.02", "--store", "results.db")
    copy.pytest(*OF_ALL)


@pytest.mark.slow
@pytest.mark.parametrize("packages", EACH)
@pytest.mark.timeout(3600)
def test_all_other_tests_pass_without_a_package(without, packages):
    ran = without(packages).pytest("-n", "auto")
    assert f"plugins/{packages[0]}/" not in ran
