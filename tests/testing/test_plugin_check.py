"""Every kind of object is tried, and a fault of each is found."""

from __future__ import annotations

import importlib
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from ckprof.model.types import DataType
from ckprof.paths import conf_root
from ckprof.plugin.additions import Additions
from ckprof.plugin.manager import PluginManager
from ckprof.plugin.protocols import (
    CatalogVariant,
    ComparisonFormat,
    ParityFormat,
    ProblemSetFile,
    ReportFormat,
    StoreFormat,
)
from ckprof.plugin.registry import KINDS, Registry
from ckprof.profiler import Profiler
from ckprof.testing import check_contract
from ckprof.testing.contract import CheckVerdict
from ckprof.testing.plugin_check import check_plugin
from ckprof.testing.plugins import Registering
from ckprof_plugins.directions.fwd import Forward

#: instances that are small to compile
LIST = conf_root() / "forward" / "tests" / "nhwgc_fp16.conf"


def test_there_is_a_trial_for_every_kind():
    for kind in Registry(PluginManager()).kinds:
        module, _, name = kind.trials.partition(":")
        assert callable(getattr(importlib.import_module(module), name))


class Reader:
    """An observer."""

    id = "reader"

    def __init__(self, answer=None):
        self.answer = answer

    def observe(self, target, device):
        return self.answer


class Library:
    """A baseline."""

    id, label, entry = "library", "a library", "no_such_module:make"

    def __init__(self, lacks=""):
        self.lacks = lacks

    def missing(self):
        return self.lacks


class Inference(Forward):
    id, aliases, label = "inference", (), "forward under another name"
    dispatcher_form = None
    miopen_flag = 64
    positional_form = replace(Forward.positional_form, operations=("my_inference",))


class Flat(Inference):
    """An operation whose reference has another shape than its problem says."""

    def reference(self, problem, layout, operands):
        return super().reference(problem, layout, operands).ravel()


def text(*arguments):
    return "text"


def fail(*arguments):
    raise ValueError("as told")


def a_set(folder, id_="mine"):
    (folder / "set.json").write_text(
        '{"schema": "ckprof.problem_set", "version": 1, "id": "mine", "label": "l", "ndim": 2, "origin": "", '
        '"notes": [], "layers": [{"name": "c", "count": 1, "groups": 1, "out_channels": 8, "in_channels": 8, '
        '"filter": [1, 1], "input": [4, 4], "strides": [1, 1], "dilations": [1, 1], "pads": [0, 0]}]}'
    )
    return ProblemSetFile(id=id_, path=folder / "set.json")


#: kind -> an object that is fine or cannot be tried, one that is not, and what is said of it
FAST = {
    "observer": (lambda _: Reader(), lambda _: Reader(3), "expected Reading | None"),
    "operation": (lambda _: Inference(), lambda _: Flat(), "the reference has the shape"),
    "problem set": (a_set, lambda folder: a_set(folder, "yours"), "it is 'mine'"),
}
#: those for which an instance is run: kind, class, function that fails, what it needs besides
SLOW = [
    ("format", ReportFormat, "render", {}),
    ("format", ReportFormat, "render_batch", {"render": text}),
    ("format", ReportFormat, "render_failure", {"render": text}),
    ("parity format", ParityFormat, "render", {}),
    ("comparison format", ComparisonFormat, "render", {}),
]


@pytest.mark.parametrize("kind", FAST)
def test_an_object_of_each_kind(kind, tmp_path):
    good, bad, said = FAST[kind]
    checks = check_contract(Registering(good(tmp_path)), LIST)
    assert [one.verdict for one in checks if one.what.startswith(f"{kind} ")].count(CheckVerdict.PASSED) >= 1
    with pytest.raises(AssertionError, match=f"{kind} '.*failed: ") as caught:
        check_contract(Registering(bad(tmp_path)), LIST)
    assert said in str(caught.value)


@pytest.mark.compiler
@pytest.mark.thorough
@pytest.mark.parametrize(("kind", "make", "field", "more"), SLOW)
def test_a_format_of_each_kind(kind, make, field, more):
    good, bad = (make(id="mine", label="l", **{field: function}, **more) for function in (text, fail))
    checks = check_contract(Registering(good), LIST)
    assert any(one.what == f"{kind} 'mine'" for one in checks)
    with pytest.raises(AssertionError, match="ValueError: as told"):
        check_contract(Registering(bad), LIST)


@pytest.mark.compiler
@pytest.mark.thorough
def test_what_is_not_installed_is_untried_not_broken():
    with pytest.raises(AssertionError, match="not possible: "):
        check_contract(Registering(Library("pip install it")), LIST)


@pytest.mark.compiler
@pytest.mark.thorough
def test_a_baseline_that_cannot_be_opened_and_a_store_format_that_loses_everything():
    with pytest.raises(AssertionError, match="computes the default problem of an instance"):
        check_contract(Registering(Library()), LIST)

    def write(store, query, path):
        from ckprof.plugin.protocols.converters import ExportResult

        path.write_bytes(b"MINE")
        return ExportResult(rows=1)

    lossy = StoreFormat(
        id="mine", label="l", suffixes=(".x",), write=write, read=lambda path, hints: iter(()),
        recognises=lambda head: head == b"MINE",
    )  # fmt: skip
    with pytest.raises(AssertionError, match="reads nothing in what it has written"):
        check_contract(Registering(lossy), LIST)


@pytest.mark.slow
@pytest.mark.compiler
def test_every_built_in_object_keeps_its_contract():
    profiler = Profiler()
    for plugin in profiler.manager.plugins:
        failed = [one for one in check_plugin(profiler, plugin.name) if one.verdict is CheckVerdict.FAILED]
        assert not failed, failed


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
