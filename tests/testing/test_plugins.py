"""What plugin authors test with, tried on the example package and on plugins that are wrong."""

from __future__ import annotations

import importlib
import itertools
import sys
from pathlib import Path

import pytest

from ckprof.cli.main import main
from ckprof.errors import ExitCode, PluginError
from ckprof.model.outcome import Status
from ckprof.paths import conf_root
from ckprof.plugin.additions import Additions
from ckprof.plugin.protocols import KernelSource
from ckprof.testing import check_contract, registry_with
from ckprof.testing.contract import CheckVerdict
from ckprof.testing.fixtures import ckprof_list, ckprof_registry, ckprof_run  # noqa: F401 - fixtures
from ckprof.testing.plugins import Registering

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "naive_gather"
LINE = "NaiveGatherForward<fp32,16,1>"
PROBLEM = "conv -n 2 -c 16 -H 9 -W 9 -k 12 -y 3 -x 3 -p 1 -q 1 -u 2 -v 2 -g 2 -F 1"


@pytest.fixture(scope="module")
def example():
    """The example's plugin module, without installing it."""
    sys.path.insert(0, str(EXAMPLE))
    try:
        yield importlib.import_module("ckprof_naive_gather.plugin")
    finally:
        sys.path.remove(str(EXAMPLE))


def test_a_registry_with_a_plugin(ckprof_registry, example):  # noqa: F811
    registry = ckprof_registry(example)
    assert registry.pipelines.provider("naive_gather") == "ckprof_naive_gather.plugin"
    assert "fwd" in registry.operations.ids
    assert registry_with(builtins=False).operations.ids == ()


def test_a_registry_with_a_plugin_that_breaks_its_contract():
    with pytest.raises(PluginError, match="plugin Registering: ckprof_register: added an object of type obj"):
        registry_with(Registering(object()))


@pytest.mark.compiler
def test_one_instance_on_the_cpu(ckprof_run, ckprof_list, example):  # noqa: F811
    conf = ckprof_list("mine.conf", [LINE, "NaiveGatherForward<fp32,64,128>"])
    result = ckprof_run(conf, example, problem=PROBLEM)
    assert result.status is Status.OK
    assert result.outcome.measurement is not None
    assert ckprof_run(conf, example, problem=PROBLEM, index=1).status is Status.UNSUPPORTED


@pytest.mark.compiler
def test_the_example_fulfils_its_contract(example):
    checks = check_contract(example, EXAMPLE / "naive.conf")
    assert {one.verdict for one in checks} == {CheckVerdict.PASSED}
    assert {one.what.partition(" '")[0] for one in checks} == {
        *("plugin", "catalog variant", "conf family", "kind of instance string", "pipeline")
    }
    assert any(one.detail.startswith("naive_gather_fwd_fp32_16x1 on 2D") for one in checks)


def changed(example, **members):
    """A plugin that is the example but for some members of its pipeline."""
    original = Additions()
    example.ckprof_register(original)
    pipeline, *others = original.items
    return Registering(type("Changed", (type(pipeline),), members)(), *others)


COUNTER = itertools.count()


@pytest.mark.parametrize(
    ("members", "said"),
    [
        (
            {"render": lambda *a: KernelSource(name=f"k{next(COUNTER)}", header="", launcher="x")},
            "render gives another header each time",
        ),
        (
            {"render": lambda *a: KernelSource(name="no name", header="L", launcher="L")},
            "'no name' is no C\\+\\+ identifier",
        ),
        (
            {"render": lambda *a: KernelSource(name="fine", header="nothing", launcher="ns::L<2>")},
            "the header has no launcher 'ns::L<2>'",
        ),
        (
            {"instance_string": lambda *a: f"Text{next(COUNTER)}<1>"},
            "instance_string gives another text each time",
        ),
        ({"directions": frozenset({"bwd_data"})}, "an instance of 'fwd', which is not among its directions"),
        ({"kernel_name": lambda *a: 3}, "kernel_name returned an object of type int, expected str"),
    ],
)
def test_a_plugin_that_does_not(example, members, said):
    with pytest.raises(AssertionError, match=said):
        check_contract(changed(example, **members), EXAMPLE / "naive.conf")


@pytest.fixture
def broken(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.py").write_text("import no_such_module_at_all\n")
    (tmp_path / "ckprof.toml").write_text('plugins = ["broken.py"]\n')
    return str(tmp_path / "broken.py")


def test_the_command_names_what_fails(broken, capsys):
    assert main(["plugins", "--check", broken]) == ExitCode.PLUGIN
    assert "ModuleNotFoundError" in capsys.readouterr().out


def test_the_command_knows_its_plugins(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["plugins", "--check", "ckprof_plugins.pipelines.depthwis"]) == ExitCode.USAGE
    assert "did you mean 'ckprof_plugins.pipelines.depthwise'" in capsys.readouterr().err
    assert main(["plugins", "--conf", "x.conf"]) == ExitCode.USAGE
    assert main(["plugins", "--check", "ckprof_plugins.targets.cpu", "--format", "json"]) == ExitCode.OK
    assert '"result": "passed"' in capsys.readouterr().out


def test_a_family_without_a_list_is_untried_and_said_to_be(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(EXAMPLE))
    lines = (conf_root() / "forward" / "tests" / "nhwgc_fp16.conf").read_text().splitlines()
    (tmp_path / "other_nhwgc_fp16.conf").write_text(f"{lines[0]}\n")
    name = "ckprof_naive_gather.plugin"
    code = main(["--plugin", name, "plugins", "--check", name, "--conf", "other_nhwgc_fp16.conf"])
    assert code == ExitCode.FAILED
    printed = capsys.readouterr()
    assert "not possible" in printed.out and "name a list of its instances with --conf" in printed.out
    assert "not everything could be tried: " in printed.err and "pipeline 'naive_gather'" in printed.err
