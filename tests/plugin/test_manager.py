"""Loading of plugins: isolation, order, disabling; hooks, and errors with an owner."""

import importlib
import importlib.metadata
import inspect

import pytest

from ckprof import hookimpl
from ckprof.errors import ExitCode, InputError, PluginError
from ckprof.model.instance import Instance
from ckprof.model.types import DataType
from ckprof.plugin import hookspecs
from ckprof.plugin.manager import DISABLE_VARIABLE, TRACE_VARIABLE, Origin, PluginManager
from ckprof_plugins.directions._convolution.layout import LAYOUTS
from tests.cases import Cases

from .test_boundary import RAISED, Odd

GOOD = """
from ckprof import hookimpl

@hookimpl
def ckprof_after_report(command, exit_code):
    CALLS.append((command, exit_code))

CALLS = []
"""


@pytest.fixture
def manager():
    return PluginManager()


def state(manager, name):
    return next(plugin.error or "active" for plugin in manager.plugins if plugin.name == name)


def test_builtins_load_without_errors(manager):
    manager.load_all()
    assert not manager.broken
    origins = {plugin.origin for plugin in manager.plugins}
    assert Origin.BUILTIN in origins
    assert all(plugin.hooks for plugin in manager.plugins if plugin.origin is Origin.BUILTIN)


def test_a_file_is_loaded_and_its_hooks_are_called(manager, tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(GOOD)
    manager.load_all(requested=[str(path)])
    loaded = manager.plugins[-1]
    assert (loaded.origin, loaded.hooks) == (Origin.COMMAND_LINE, ("ckprof_after_report",))
    manager.call("ckprof_after_report", command="run", exit_code=0)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("import no_such_module_at_all", "module_at_all'; install it (your own: pip install -e FOLDER), or"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("x = (", "SyntaxError"),
        (GOOD.replace("exit_code)", "exitcode)", 1), "PluginValidationError"),
        (GOOD.replace("ckprof_after_report", "ckprof_after_rapport"), "ckprof_after_rapport"),
    ],
)
def test_a_broken_configured_plugin_is_remembered(manager, tmp_path, source, message):
    broken, good = tmp_path / "broken.py", tmp_path / "good.py"
    broken.write_text(source)
    good.write_text(GOOD)
    manager.load_all(configured=[str(broken), str(good)])
    assert message in state(manager, str(broken))
    assert state(manager, str(good)) == "active"
    assert [plugin.name for plugin in manager.broken] == [str(broken)]


def test_a_broken_requested_plugin_is_an_error(manager, tmp_path):
    with pytest.raises(PluginError, match=r"--plugin .*nowhere\.py: .*no such file"):
        manager.load_all(requested=[str(tmp_path / "nowhere.py")])


def test_a_package_whose_hooks_are_in_a_module_of_it(manager, tmp_path, monkeypatch):
    (tmp_path / "hookless_package").mkdir()
    (tmp_path / "hookless_package" / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(PluginError, match="a package without hooks; name its module, such as hookless"):
        manager.load_all(requested=["hookless_package"])


def test_disabled_plugins_are_not_loaded(monkeypatch, tmp_path):
    path = tmp_path / "broken.py"
    path.write_text("raise RuntimeError")
    monkeypatch.setenv(DISABLE_VARIABLE, f"{path}, other")
    manager = PluginManager()
    manager.load_all(configured=[str(path)])
    assert state(manager, str(path)) == f"disabled by {DISABLE_VARIABLE}"
    assert not manager.broken


class _Distribution:
    name = "some-package"
    version = "1.2"


class _EntryPoint:
    def __init__(self, name, plugin):
        self.name = name
        self.value = f"module_of_{name}"
        self.dist = _Distribution()
        self._plugin = plugin

    def load(self):
        if isinstance(self._plugin, Exception):
            raise self._plugin
        return self._plugin


class _Reporter:
    def __init__(self):
        self.calls = []

    @hookimpl
    def ckprof_after_report(self, command):
        self.calls.append(command)


def test_entry_points_load_sorted_and_one_by_one(manager, monkeypatch):
    points = [_EntryPoint("zeta", _Reporter()), _EntryPoint("alpha", ImportError("gone"))]
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: points)
    manager.load_all()
    found = [plugin for plugin in manager.plugins if plugin.origin is Origin.ENTRY_POINT]
    assert [plugin.name for plugin in found] == ["alpha", "zeta"]
    assert found[0].error == "ImportError: gone"
    assert (found[1].distribution, found[1].version, found[1].error) == ("some-package", "1.2", "")


def test_one_that_is_installed_may_be_named_as_well(manager, monkeypatch, tmp_path):
    """As a developer's tests do who has installed the package; its hooks are called once."""
    (tmp_path / "named_twice.py").write_text(GOOD)
    monkeypatch.syspath_prepend(str(tmp_path))
    module = importlib.import_module("named_twice")
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: [_EntryPoint("twice", module)])
    manager.load_all(requested=["named_twice"])
    assert not manager.broken and state(manager, "twice") == "active"
    manager.call("ckprof_after_report", command="run", exit_code=0)
    assert module.CALLS == [("run", 0)]


def test_an_exception_in_a_hook_names_plugin_and_hook(manager):
    class Raising:
        @hookimpl
        def ckprof_after_report(self):
            raise ZeroDivisionError("oops")

    manager.register(Raising(), "bad-one")
    with pytest.raises(
        PluginError, match="plugin bad-one: ckprof_after_report raised ZeroDivisionError: oops"
    ):
        manager.call("ckprof_after_report", command="run", exit_code=0)


def test_our_own_errors_pass_through_a_hook_unchanged(manager):
    class Rejecting:
        @hookimpl
        def ckprof_after_conversion(self):
            raise InputError("not like this", "list.conf", 3)

    manager.register(Rejecting(), "strict")
    with pytest.raises(InputError, match=r"list\.conf:3: not like this"):
        manager.call("ckprof_after_conversion", request=None, conversion=None)


def test_results_come_in_load_order_with_their_owner(manager):
    class Makes:
        def __init__(self, instances):
            self.instances = instances

        @hookimpl
        def ckprof_make_instances(self):
            return self.instances

    one, two = (
        Instance(id=n, direction="fwd", ndim=2, layout=LAYOUTS[0], dtype=DataType.FP16) for n in (1, 2)
    )
    for name, instances in (("b", [one]), ("none", None), ("a", [two])):
        manager.register(Makes(instances), name)
    nothing = dict.fromkeys(("arguments", "directions", "ndims", "dtypes"))
    assert manager.call("ckprof_make_instances", **nothing) == [("b", [one]), ("a", [two])]


def test_wrong_hooks_of_an_object_are_rejected(manager):
    class Misspelt:
        @hookimpl
        def ckprof_after_rapport(self): ...

    with pytest.raises(PluginError, match="ckprof_after_rapport"):
        manager.register(Misspelt(), "misspelt")
    assert manager.call("ckprof_after_report", command="run", exit_code=0) == []


def test_hook_calls_can_be_traced(monkeypatch, capsys):
    monkeypatch.setenv(TRACE_VARIABLE, "1")
    manager = PluginManager()
    manager.register(_Reporter(), "reporter")
    manager.call("ckprof_after_report", command="run", exit_code=0)
    assert "ckprof_after_report" in capsys.readouterr().err


HOOKS = [name for name, _ in inspect.getmembers(hookspecs, inspect.isfunction) if name.startswith("ckprof_")]


@pytest.mark.parametrize("hook", HOOKS)
def test_whatever_a_hook_raises_is_reported(hook):
    with Cases() as cases:
        for misbehaviour, (function, said) in RAISED.items():
            with cases.case(misbehaviour):
                with pytest.raises(PluginError) as caught:
                    call(hook, function)
                assert str(caught.value).startswith(f"plugin hostile: {hook} {said}")
                assert caught.value.exit_code is ExitCode.PLUGIN


@pytest.mark.parametrize(
    "hook", [hook for hook in HOOKS if hook.startswith(("ckprof_register", "ckprof_make"))]
)
def test_whatever_a_hook_returns_wrongly_is_reported(hook):
    for value in (3, "text", ["text"], Odd(), {1: 2}):
        with pytest.raises(PluginError, match=f"plugin hostile: {hook} returned an object of type"):
            call(hook, lambda value=value: value)


def call(hook, function):
    def implementation(self):
        return function()

    # a hook is recognised by the names of its parameters
    implementation.__name__ = hook
    manager = PluginManager()
    manager.register(type("Hostile", (), {hook: hookimpl(implementation)})(), "hostile")
    names = inspect.signature(getattr(hookspecs, hook)).parameters
    manager.call(hook, **{name: [] if name == "instances" else None for name in names})
