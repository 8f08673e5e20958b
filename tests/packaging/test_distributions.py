"""The sdist is complete: a wheel that is built from it is the one that the checkout gives, with all data."""

import subprocess
import sys
import tarfile
import zipfile

import pytest

from tests.packaging.checkouts import copy_checkout

pytestmark = pytest.mark.slow  # .ci/wheel builds, installs and uses one each time


def build(source, out, kind):
    """Build without a network: the running environment has what it takes."""
    pytest.importorskip("build")
    subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", f"--{kind}", "--outdir", str(out), str(source)],
        check=True, capture_output=True,
    )  # fmt: skip
    (made,) = out.glob("*.whl" if kind == "wheel" else "*.tar.gz")
    return made


def content(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/RECORD")]
        return {name: archive.read(name) for name in names}


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """What is under version control, so that nothing that lies about is taken."""
    return copy_checkout(tmp_path_factory.mktemp("checkout"))


def test_the_sdist_builds_the_wheel_of_the_checkout(checkout, tmp_path):
    wheel = content(build(checkout, tmp_path / "a", "wheel"))
    sdist = build(checkout, tmp_path / "b", "sdist")
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    (unpacked,) = (tmp_path / "unpacked").iterdir()
    assert content(build(unpacked, tmp_path / "c", "wheel")) == wheel
    assert {"LICENSE", "NOTICE", "README.md", "CHANGELOG.md"} <= {path.name for path in unpacked.iterdir()}

    # every file of the packages, under the name that it is installed with
    expected = set()
    for folder, package in (
        *(("ckprof", "ckprof"), ("plugins", "ckprof_plugins"), ("converters", "ckprof_converters")),
        *(("conf", "ckprof_conf"), ("examples/naive_gather", "ckprof_template")),
        ("examples/time_guard", "ckprof_command_template"),
    ):
        for path in (checkout / folder).rglob("*"):
            parts = path.relative_to(checkout / folder).parts
            # tests and pages of feature packages stay in the checkout
            if path.is_file() and not (folder == "plugins" and {"tests", "docs"} & {*parts}):
                expected.add(f"{package}/{path.relative_to(checkout / folder).as_posix()}")
    installed = {name for name in wheel if ".dist-info/" not in name}
    assert installed == expected
