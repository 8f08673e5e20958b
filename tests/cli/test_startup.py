"""What short commands load: a kind of plugin objects that a command does not use costs it nothing."""

import subprocess
import sys

import pytest

#: prefixes of modules that only other commands need
_OTHERS = {
    "convert": (
        "ckprof.kernels.choose",
        "ckprof.measure.",
        "ckprof_converters.builder.reader",
        "ckprof_plugins.baselines.torch_baseline",
        "ckprof_plugins.operations.gemm.operation",
        "ckprof_plugins.pipelines.gemm_families",
        "ckprof_plugins.pipelines.universal_gemm.pipeline",
        "ckprof_plugins.rule_sets.default",
        "ckprof_plugins.targets.cpu.target",
        "filelock",
        "jinja2",
        "numpy",
        "tabulate",
    ),
    "list": (
        "ckprof.kernels.choose",
        "ckprof.kernels.cache",
        "ckprof_converters.converter",
        "ckprof_plugins.targets.cpu.recipe",
        "ckprof_plugins.targets.hip.doctor",
        "filelock",
        "jinja2",
        "numpy",
    ),
}


#: prefixes of modules that no parser needs, but for those that announce what plugins have
_NOT_FOR_PARSING = (
    "ckprof.kernels.build",
    "ckprof.kernels.c",
    "ckprof.kernels.keys",
    "ckprof.kernels.plan",
    "ckprof.kernels.s",
    "ckprof.kernels.toolchain",
    "ckprof.kernels.units",
    "ckprof.lists.",
    "ckprof.measure.host",
    "ckprof.report.rows",
    "ckprof.report.run_",
    "ckprof.results",
    "ckprof.store.",
    "ckprof_converters.converter",
    "ckprof_plugins.directions._convolution.operation",
    "ckprof_plugins.operations.gemm.",
    "ckprof_plugins.pipelines.gemm_instance",
    "ckprof_plugins.pipelines.universal_gemm.instance",
    "ckprof_plugins.rule_sets.full",
    "ckprof_plugins.targets.cpu.target",
    "filelock",
    "jinja2",
    "numpy",
    "tabulate",
)


def modules_of(program, folder):
    """Return the modules that a program has loaded at its end, with a file each."""
    code = f"import sys\ntry:\n    {program}\nfinally:\n    print(*sys.modules, sep='\\n', file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stderr.splitlines()


@pytest.mark.parametrize(
    ("command", "used"),
    [("convert forward/tests/nhwgc_fp16", "ckprof_converters.converter"), ("list targets", "ckprof_plugins")],
)
def test_a_command_loads_what_it_uses(command, used, tmp_path):
    loaded = modules_of(f"from ckprof.cli.main import main; main({command.split()!r})", tmp_path)
    assert used in loaded
    others = _OTHERS[command.split()[0]]
    assert not [name for name in loaded if name.startswith(others)]


def not_for_parsing(loaded):
    """Return the modules that no parser needs; what announces options is needed."""
    announcing = (".plugin", ".instance_spec")
    return [name for name in loaded if name.startswith(_NOT_FOR_PARSING) and not name.endswith(announcing)]


def test_help_needs_no_objects_of_plugins(tmp_path):
    program = """from ckprof.cli.main import main
    from contextlib import suppress
    for command in ("build", "call", "check-support", "run", "sweep"):
        with suppress(SystemExit):
            main([command, "--help"])"""
    loaded = modules_of(program, tmp_path)
    assert "ckprof.option" in loaded
    assert not_for_parsing(loaded) == []


def test_help_and_the_package_load_what_is_used(tmp_path):
    loaded = modules_of("from ckprof.cli.main import main; main(['--help'])", tmp_path)
    others = ("ckprof.plugin.manager", "ckprof.option", "ckprof.model.types", "ckprof_plugins.", "msgspec")
    assert [name for name in loaded if name.startswith((*others, "importlib.metadata"))] == []
    loaded = modules_of("import ckprof", tmp_path)
    heavy = ("ckprof.model.types", "ckprof.option", "ckprof.plugin.manager", "ckprof_plugins", "msgspec")
    assert [name for name in loaded if name.startswith(heavy)] == []
    loaded = modules_of("from ckprof import BuildOptions, InstanceQuery, RunOptions", tmp_path)
    heavy = ("ckprof.plugin.manager", "ckprof.profiler", "jinja2", "numpy")
    assert [name for name in loaded if name.startswith(heavy)] == []
