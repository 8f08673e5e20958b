"""Plugins with a command, and folders of lists, for the tests of commands."""

import sys

import pytest

from tests.converters.samples import as_bytes, line

from .digging import PLUGIN


@pytest.fixture
def plugin(tmp_path):
    path = tmp_path / "digging.py"
    path.write_text(PLUGIN)
    return path


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Install a distribution, as pip does."""

    def install(name, modules, entry_points, table=""):
        site = tmp_path / f"site-{name}"
        files = {f"{module}.py": text for module, text in modules.items()}
        if table:
            files[f"{name}_package/COMMANDS.toml"] = table
        for file, text in files.items():
            (site / file).parent.mkdir(parents=True, exist_ok=True)
            (site / file).write_text(text)
        info = site / f"{name}-1.2.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n")
        (info / "entry_points.txt").write_text(entry_points)
        (info / "RECORD").write_text("".join(f"{file},,\n" for file in files))
        monkeypatch.syspath_prepend(str(site))
        return site

    yield install
    for module in [module for module in sys.modules if module.endswith("_package") or "_package." in module]:
        del sys.modules[module]


@pytest.fixture
def tree(tmp_path):
    """A folder with two forward lists and one for backward data."""
    forward = line("forward")
    for name, lines in {
        "forward/tests/nhwgc_fp16.conf": ("# annotation", forward, line("forward_v3"), forward),
        "forward/tests/ngchw_depthwise.conf": (line("depthwise"),),
        "backward_data/tests/nhwgc_fp16.conf": (line("backward_data"),),
    }.items():
        path = tmp_path / "lists" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(as_bytes(*lines))
    return tmp_path / "lists"
