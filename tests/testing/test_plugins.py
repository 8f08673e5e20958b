"""What plugin authors test with, tried on the example package and on plugins that are wrong."""

import pytest

from ckprof.cli.main import main
from ckprof.errors import ExitCode, PluginError
from ckprof.testing import check_contract, registry_with
from ckprof.testing.contract import CheckVerdict
from ckprof.testing.fixtures import ckprof_list, ckprof_registry, ckprof_run  # noqa: F401 - fixtures
from ckprof.testing.plugins import Registering

from .conftest import EXAMPLE


def test_a_registry_with_a_plugin_that_breaks_its_contract():
    with pytest.raises(PluginError, match="plugin Registering: ckprof_register: added an object of type obj"):
        registry_with(Registering(object()))


@pytest.mark.thorough
@pytest.mark.compiler
def test_the_example_fulfils_its_contract(example):
    checks = check_contract(example, EXAMPLE / "naive.conf")
    assert {one.verdict for one in checks} == {CheckVerdict.PASSED}
    assert {one.what.partition(" '")[0] for one in checks} == {
        *("plugin", "catalog variant", "conf family", "kind of instance string", "pipeline")
    }
    assert any(one.detail.startswith("naive_gather_fwd_fp32_16x1 on 2D") for one in checks)


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
    assert main(["plugins", "--device", "emulated"]) == ExitCode.USAGE
    assert "--device go with --check" in capsys.readouterr().err
    assert main(["plugins", "--check", "ckprof_plugins.targets.cpu", "--format", "json"]) == ExitCode.OK
    assert '"result": "passed"' in capsys.readouterr().out
