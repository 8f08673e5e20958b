"""Every member of every kind of objects, and every hook, misbehaving: always one error that says where.

The cases are made from the contracts themselves, so that a new member is covered as soon as it is declared.
"""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import pkgutil
from functools import cache
from pathlib import Path

import pytest

import ckprof.model
import ckprof.plugin
from ckprof import hookimpl
from ckprof.errors import ExitCode, InputError, PluginError
from ckprof.plugin import hookspecs
from ckprof.plugin.boundary import traceback_lines
from ckprof.plugin.manager import PluginManager
from ckprof.plugin.members import STRUCTURAL, check_of, function_result, members_of
from ckprof.plugin.protocols import Operation, ProblemSetFile
from ckprof.plugin.registry import KINDS, Registry

from .stubs import StubOperation


class Unexpected(BaseException):
    """No ``Exception``, as a test framework or an event loop may raise."""


class Unreadable(Exception):
    """Its text cannot be had."""

    def __str__(self):
        raise RuntimeError("no text")


def raising(error):
    def function(*arguments, **named):
        raise error

    return function


#: misbehaviour -> (what the member does when it is called, what the message says)
RAISED = {
    "raises": (raising(KeyError("oops")), "raised KeyError: 'oops'"),
    "exits": (raising(SystemExit(0)), "called sys.exit(0)"),
    "exits silently": (raising(SystemExit()), "called sys.exit("),
    "raises no Exception": (raising(Unexpected("far out")), "raised Unexpected: far out"),
    "raises without text": (raising(Unreadable()), "raised Unreadable: (its text cannot be read)"),
    "recurses": (lambda *arguments: forever(), "raised RecursionError"),
    "stops iteration": (raising(StopIteration()), "raised StopIteration"),
}


def forever():
    return forever()


class Odd:
    """Fits no annotation, and cannot be shown."""

    def __repr__(self):
        raise RuntimeError("no repr")


KIND_OF = {kind.hook: kind for kind in KINDS if kind.hook}


@cache
def provided(hook, name=""):
    """Of what ckprof's own plugins register with a hook and has a member: the object with most abilities."""
    manager = PluginManager()
    manager.load_all()
    objects = [item for _, items in manager.call(hook) for item in items]
    if KIND_OF[hook].protocol is Operation:
        objects.append(StubOperation())
    if KIND_OF[hook].protocol is ProblemSetFile:
        objects.append(ProblemSetFile(id="stub", path=Path("stub.json")))
    abilities = [m.name for ability in KIND_OF[hook].abilities for m in members_of(ability)]
    return max(objects, key=lambda item: (hasattr(item, name), sum(hasattr(item, one) for one in abilities)))


class Changed:
    """An object with one member replaced, or without it."""

    def __init__(self, original, name, value):
        self.__dict__.update(_original=original, _name=name, _value=value)

    def __getattr__(self, name):
        if name == self._name:
            if self._value is MISSING:
                raise AttributeError(name)
            return self._value
        return getattr(self._original, name)


MISSING = object()


def changed(hook, name, value):
    original = provided(hook, name)
    if dataclasses.is_dataclass(original):
        copy = dataclasses.replace(original)
        object.__setattr__(copy, name, value)
        return copy
    return Changed(original, name, value)


def registered(hook, item):
    """The entry of the registry that stands for an object."""
    manager = PluginManager()
    plugin = type("Hostile", (), {hook: hookimpl(lambda self: [item])})()
    manager.register(plugin, "hostile")
    (entry,) = Registry(manager).entries(KIND_OF[hook])
    return entry


def all_members(kind):
    for protocol in (kind.protocol, *kind.abilities):
        for member in members_of(protocol):
            if not (
                dataclasses.is_dataclass(protocol) and isinstance(vars(protocol).get(member.name), property)
            ):
                yield member


FUNCTIONS = [
    pytest.param(hook, member.name, id=f"{kind.name}-{member.name}")
    for hook, kind in KIND_OF.items()
    for member in all_members(kind)
    if member.parameters is not None or function_result(member.annotation)
    # called while the registry is made
    if member.name not in {"use_families", "use_directions"}
]
ATTRIBUTES = [
    pytest.param(hook, member.name, id=f"{kind.name}-{member.name}")
    for hook, kind in KIND_OF.items()
    for member in all_members(kind)
    if member.parameters is None and member.name != kind.identifier
]


def reported(error, hook, member):
    """Check that an error names plugin, kind, object and member."""
    kind = KIND_OF[hook]
    assert error.exit_code is ExitCode.PLUGIN
    message = str(error)
    identifier = getattr(provided(hook, member), kind.identifier)
    assert message.startswith(f"plugin hostile: {kind.name} '{identifier}': ")
    assert member in message
    return message


@pytest.mark.parametrize("misbehaviour", RAISED)
@pytest.mark.parametrize(("hook", "name"), FUNCTIONS)
def test_whatever_a_member_raises_is_reported(hook, name, misbehaviour):
    function, said = RAISED[misbehaviour]
    entry = registered(hook, changed(hook, name, function))
    with pytest.raises(PluginError) as caught:
        getattr(entry, name)(*[None] * arity(hook, name))
    assert said in reported(caught.value, hook, name)
    if misbehaviour == "raises":
        lines = traceback_lines(caught.value)
        assert __file__ in lines[1] and lines[-1] == "KeyError: 'oops'"


def test_a_family_that_fails_on_directions_is_reported():
    def fails(*arguments):
        raise KeyError("oops")

    hook = "ckprof_register_pipelines"
    with pytest.raises(PluginError, match="use_directions raised KeyError: 'oops'") as caught:
        registered(hook, changed(hook, "use_directions", fails))
    reported(caught.value, hook, "use_directions")


def member_of(hook, name):
    return next(member for member in all_members(KIND_OF[hook]) if member.name == name)


def arity(hook, name):
    return len(member_of(hook, name).parameters or ())


def returned_by(hook, name):
    annotation = member_of(hook, name).annotation
    return function_result(annotation) or annotation


WRONG_RESULTS = [
    pytest.param(*case.values, value, id=f"{case.id}-{type(value).__name__}")
    for case in FUNCTIONS
    for value in (None, 3.5, Odd(), Odd, [Odd()], b"bytes")
    if not check_of(returned_by(*case.values))(value)
]


def test_each_result_can_be_wrong():
    checked = [case.values for case in FUNCTIONS if returned_by(*case.values) != "Any"]
    assert {case.values[:2] for case in WRONG_RESULTS} == {*checked}


@pytest.mark.parametrize(("hook", "name", "value"), WRONG_RESULTS)
def test_whatever_a_member_returns_wrongly_is_reported(hook, name, value):
    expected = returned_by(hook, name)
    entry = registered(hook, changed(hook, name, lambda *arguments: value))
    with pytest.raises(PluginError) as caught:
        getattr(entry, name)(*[None] * arity(hook, name))
    message = reported(caught.value, hook, name)
    if expected in {"EngineSession", "Search"} and value is not None:
        assert f"{name}(): lacks " in message
    else:
        assert "returned " in message and message.endswith(f"expected {expected}")


@pytest.mark.parametrize(("hook", "name"), FUNCTIONS)
def test_what_is_no_such_function_is_reported(hook, name):
    count = arity(hook, name)
    for value in (too_long(count), 3):
        with pytest.raises(PluginError) as caught:
            getattr(registered(hook, changed(hook, name, value)), name)(*[None] * count)
        reported(caught.value, hook, name)


def too_long(count):
    """A function with one parameter more than it should have."""
    scope = {}
    exec(f"def function({', '.join(f'p{n}' for n in range(count + 1))}): pass", scope)  # noqa: S102
    return scope["function"]


@pytest.mark.parametrize(
    ("hook", "name"),
    # a dataclass has all its fields
    [
        case
        for case in (*FUNCTIONS, *ATTRIBUTES)
        if not dataclasses.is_dataclass(KIND_OF[case.values[0]].protocol)
    ],
)
def test_a_missing_member_is_named(hook, name):
    kind = KIND_OF[hook]
    abilities = [ability for ability in kind.abilities if name in {m.name for m in members_of(ability)}]
    if abilities and all(len(members_of(ability)) == 1 for ability in abilities):
        registered(hook, changed(hook, name, MISSING))
        return
    with pytest.raises(PluginError) as caught:
        registered(hook, changed(hook, name, MISSING))
    assert f"lacks {name}" in reported(caught.value, hook, name)


@pytest.mark.parametrize("value", [Odd(), 3.5, [Odd()]], ids=type)
@pytest.mark.parametrize(("hook", "name"), ATTRIBUTES)
def test_an_attribute_of_a_wrong_type_is_reported(hook, name, value):
    with pytest.raises(PluginError) as caught:
        getattr(registered(hook, changed(hook, name, value)), name)
    said = "spelling: lacks recognises(text), " if name == "spelling" else f"{name} is an object of type"
    assert said in reported(caught.value, hook, name)


@pytest.mark.parametrize("hook", KIND_OF)
@pytest.mark.parametrize("item", [None, 3, Odd(), object, "text"], ids=type)
def test_things_that_are_no_such_objects_are_rejected(hook, item):
    with pytest.raises(PluginError, match=f"plugin hostile: .*{hook}|plugin hostile: .*expected"):
        registered(hook, item)


def test_every_annotation_names_something_that_can_be_recognised():
    """Protocols have no instances that derive from them; a class is there under the name that is written."""
    modules = [
        importlib.import_module(module.name)
        for package in (ckprof.model, ckprof.plugin)
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    ]
    for hook, name in (case.values for case in (*FUNCTIONS, *ATTRIBUTES)):
        for node in ast.walk(ast.parse(returned_by(hook, name))):
            if isinstance(node, ast.Name) and node.id not in STRUCTURAL:
                classes = {vars(module)[node.id] for module in modules if node.id in vars(module)}
                assert not any(getattr(one, "_is_protocol", False) for one in classes), node.id
                assert all(one.__name__ == node.id for one in classes if isinstance(one, type))


HOOKS = [name for name, _ in inspect.getmembers(hookspecs, inspect.isfunction) if name.startswith("ckprof_")]


@pytest.mark.parametrize("misbehaviour", RAISED)
@pytest.mark.parametrize("hook", HOOKS)
def test_whatever_a_hook_raises_is_reported(hook, misbehaviour):
    function, said = RAISED[misbehaviour]
    with pytest.raises(PluginError) as caught:
        call(hook, function)
    assert str(caught.value).startswith(f"plugin hostile: {hook} {said}")
    assert caught.value.exit_code is ExitCode.PLUGIN


@pytest.mark.parametrize(
    "hook", [hook for hook in HOOKS if hook.startswith(("ckprof_register", "ckprof_make"))]
)
def test_whatever_a_hook_returns_wrongly_is_reported(hook):
    for value in (3, "text", Odd(), {1: 2}):
        with pytest.raises(PluginError, match=f"plugin hostile: {hook} returned an object of type"):
            call(hook, lambda value=value: value)


def test_a_hook_may_change_a_list_but_not_spoil_it():
    with pytest.raises(
        PluginError,
        match=r"ckprof_modify_instances left something else in instances, expected list\[Instance\]",
    ):
        call("ckprof_modify_instances", lambda instances=(): None, spoil=True)


def call(hook, function, spoil=False):
    names = inspect.signature(getattr(hookspecs, hook)).parameters
    given = ["instances"] if spoil else []

    def implementation(self, *values):
        if spoil:
            values[0].append("no instance")
        return function()

    scope = {"implementation": implementation}
    exec(  # noqa: S102 - a hook is recognised by the names of its parameters
        f"def {hook}(self{''.join(', ' + name for name in given)}): "
        f"return implementation(self{''.join(', ' + name for name in given)})",
        scope,
    )
    manager = PluginManager()
    manager.register(type("Hostile", (), {hook: hookimpl(scope[hook])})(), "hostile")
    arguments = {name: [] if name == "instances" else None for name in names}
    manager.call(hook, **arguments)


def test_errors_that_a_docstring_allows_pass_through():
    hook = "ckprof_register_pipelines"
    entry = registered(hook, changed(hook, "make_instance", raising(InputError("bad value"))))
    with pytest.raises(InputError, match="bad value"):
        entry.make_instance(None, None, None)
    entry = registered(hook, changed(hook, "kernel_name", raising(InputError("bad value"))))
    with pytest.raises(PluginError, match="kernel_name raised InputError: bad value"):
        entry.kernel_name(None)


def test_interrupts_pass_through():
    hook = "ckprof_register_targets"
    entry = registered(hook, changed(hook, "findings", raising(KeyboardInterrupt())))
    with pytest.raises(KeyboardInterrupt):
        entry.findings()
