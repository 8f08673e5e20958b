"""What short commands load: a kind of plugin objects that a command does not use costs it nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

#: prefixes of modules that only other commands need
_OTHERS = {
    "convert": (
        "ckprof.api.events",
        "ckprof.run.",
        "ckprof_converters.builder_reader",
        "ckprof_converters.extract.",
        "ckprof_plugins.baselines.torch_baseline",
        "ckprof_plugins.operations.gemm.operation",
        "ckprof_plugins.pipelines.implicit_gemm.pipeline",
        "ckprof_plugins.pipelines.universal_gemm.pipeline",
        "ckprof_plugins.rule_sets.default",
        "ckprof_plugins.targets.cpu.target",
        "filelock",
        "jinja2",
        "numpy",
        "tabulate",
    ),
    "list": (
        "ckprof.api.events",
        "ckprof.build.cache",
        "ckprof_converters.converter",
        "ckprof_plugins.targets.cpu.recipe",
        "ckprof_plugins.targets.hip.doctor",
        "filelock",
        "jinja2",
        "numpy",
    ),
}


@pytest.mark.parametrize(
    ("command", "used"),
    [("convert forward/tests/nhwgc_fp16", "ckprof_converters.converter"), ("list targets", "ckprof_plugins")],
)
def test_a_command_loads_what_it_uses(command: str, used: str, tmp_path: Path) -> None:
    code = (
        "import sys\nfrom ckprof.cli.main import main\n"
        f"code = main({command.split()!r})\n"
        "print(*sys.modules, sep='\\n', file=sys.stderr)\nsys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    loaded = done.stderr.splitlines()
    assert used in loaded
    others = _OTHERS[command.split()[0]]
    assert not [name for name in loaded if name.startswith(others)]
