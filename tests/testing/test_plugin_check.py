"""Every kind of object is tried, and a fault of each is found."""

import importlib
import shutil
import sys
from pathlib import Path

import pytest

from ckprof import hookimpl
from ckprof.model.strings.argument_kinds import POSITIVE
from ckprof.model.strings.fields import Field
from ckprof.model.strings.kind import StringKind
from ckprof.model.types import DataType
from ckprof.paths import conf_root
from ckprof.plugin.additions import Additions
from ckprof.plugin.manager import PluginManager
from ckprof.plugin.protocols import CatalogVariant
from ckprof.plugin.registry import KINDS, Registry
from ckprof.profiler import Profiler
from ckprof.testing import check_contract
from ckprof.testing.contract import CheckVerdict
from ckprof.testing.plugin_check import check_plugin

#: instances that are small to compile
LIST = conf_root() / "forward" / "tests" / "nhwgc_fp16.conf"


def test_there_is_a_trial_for_every_kind():
    for kind in Registry(PluginManager()).kinds:
        module, _, name = kind.trials.partition(":")
        assert callable(getattr(importlib.import_module(module), name))


@pytest.mark.slow
@pytest.mark.compiler
def test_every_built_in_object_keeps_its_contract():
    profiler = Profiler()
    for plugin in profiler.manager.plugins:
        failed = [one for one in check_plugin(profiler, plugin.name) if one.verdict is CheckVerdict.FAILED]
        assert not failed, failed


def test_a_direction_that_does_not_exist_is_found():
    kind = StringKind(
        id="mine", title="mine", name="Mine", direction="fwdd", fields=(Field(name="rows", kind=POSITIVE),)
    )
    hook = hookimpl(lambda self, registry: registry.add(kind), specname="ckprof_register")
    with pytest.raises(AssertionError, match="unknown direction 'fwdd'; did you mean 'fwd'"):
        check_contract(type("Mine", (), {"ckprof_register": hook})(), LIST)


def test_a_plugin_that_is_installed_is_found_under_its_entry_point(tmp_path, monkeypatch):
    """``mine = "ckprof_mine.plugin"``: the plugin's name is not that of its module."""
    folder = tmp_path / "site"
    information = folder / "ckprof_mine-1.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: ckprof-mine\nVersion: 1\n")
    (information / "entry_points.txt").write_text("[ckprof]\nmine = ckprof_mine.plugin\n")
    (folder / "ckprof_mine").mkdir()
    (folder / "ckprof_mine" / "__init__.py").touch()
    (folder / "ckprof_mine" / "plugin.py").write_text(
        "from ckprof import hookimpl\n\n\nclass Quiet:\n    id = 'quiet'\n\n"
        "    def observe(self, target, device):\n        return None\n\n\n"
        "@hookimpl\ndef ckprof_register(registry):\n    registry.add(Quiet())\n"
    )
    monkeypatch.syspath_prepend(str(folder))
    import ckprof_mine.plugin

    try:
        checks = check_contract(ckprof_mine.plugin, LIST)
    finally:
        for name in ("ckprof_mine", "ckprof_mine.plugin"):
            sys.modules.pop(name, None)
        shutil.rmtree(folder)
    assert {one.what for one in checks} == {"plugin", "observer 'quiet'"}


def test_types_of_the_example_are_those_that_it_declares(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "examples" / "naive_gather"))
    from ckprof_naive_gather import record
    from ckprof_naive_gather.plugin import ckprof_register

    registered = Additions()
    ckprof_register(registered)
    variant = next(item for item in registered.items if isinstance(item, CatalogVariant))
    assert variant.dtypes == record.FAMILY.dtypes == (DataType.FP32, DataType.FP16, DataType.BF16)
    assert Registry.variants in KINDS
