"""Every member of every kind of objects, misbehaving: always one error that says where.

The cases are made from the contracts themselves, so that a new member is covered as soon as it is declared.
"""

import dataclasses
import importlib
from functools import cache
from itertools import product
from pathlib import Path

import pytest

from ckprof import hookimpl
from ckprof.errors import ExitCode, InputError, PluginError
from ckprof.plugin.additions import objects_of
from ckprof.plugin.boundary import Boundary, has_member, import_failure, traceback_lines
from ckprof.plugin.hookspecs import Command
from ckprof.plugin.manager import PluginManager
from ckprof.plugin.members import check_of, function_result, members_of, protocol_named
from ckprof.plugin.protocols import (
    InspectionView,
    NamedDevice,
    Observer,
    Operation,
    ProblemSetFile,
    ResultsView,
)
from ckprof.plugin.registry import KINDS, Registry
from ckprof.testing.plugins import Registering
from tests.cases import Cases

from .hostile import MyDevice
from .stubs import StubObserver, StubOperation, registry_of


class Unexpected(BaseException):
    """No ``Exception``, as a test framework or an event loop may raise."""


class Unreadable(Exception):
    """Its text cannot be had."""

    def __str__(self):
        raise RuntimeError("no text")


def raising(error):
    def function(*arguments, **named):
        # without the frames of where it was raised before
        raise error.with_traceback(None)

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


def all_kinds():
    """Return the kinds of objects by name: the core's, and those that plugins bring with objects."""
    manager = PluginManager()
    manager.load_all()
    registry = Registry(manager)
    return {kind.name: kind for kind in registry.kinds if kind in KINDS or registry._added[kind]}


KIND_OF = all_kinds()


@cache
def provided(kind, name=""):
    """Of what ckprof's own plugins register of a kind and has a member: the object with most abilities."""
    manager = PluginManager()
    manager.load_all()
    added = Registry(manager)._added[KIND_OF[kind]]
    objects = [
        item for plugin, one in added for item in objects_of(one, KIND_OF[kind], plugin, manager.culprit)
    ]
    if KIND_OF[kind].protocol is Operation:
        objects.append(StubOperation())
    if KIND_OF[kind].protocol is Command:
        objects.append(Command(name="stub", add_arguments=print, run=lambda *_: 0))
    if KIND_OF[kind].protocol is ProblemSetFile:
        objects.append(ProblemSetFile(id="stub", path=Path("stub.json")))
    # feature packages bring these, and may not be there
    if KIND_OF[kind].protocol is Observer:
        objects.append(StubObserver("stub"))
    if KIND_OF[kind].protocol is ResultsView:
        objects.append(ResultsView(id="stub", label="stub", make=len))
    if KIND_OF[kind].protocol is InspectionView:
        objects.append(InspectionView(id="stub", label="stub", options=(), prepare=lambda *_: None))
    if KIND_OF[kind].protocol is NamedDevice:
        objects.append(MyDevice())
    protocol = KIND_OF[kind].protocol

    def members(item):
        owned = [m.name for m in members_of(protocol) if has_member(item, Boundary("", ""), m, protocol)]
        return name in owned, len(owned)

    return max(objects, key=members)


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


def changed(kind, name, value):
    original = provided(kind, name)
    if dataclasses.is_dataclass(original):
        copy = dataclasses.replace(original)
        object.__setattr__(copy, name, value)
        return copy
    return Changed(original, name, value)


#: what :func:`registered` registers
ITEMS = []


def registered(kind, item):
    """The entry of the registry that stands for an object."""
    ITEMS[:] = [item]

    class Hostile:
        @hookimpl
        def ckprof_register(self, registry):
            if KIND_OF[kind] not in KINDS:
                registry.add(KIND_OF[kind])
            registry.add_lazy(KIND_OF[kind].protocol, f"{__name__}:ITEMS")

    manager = PluginManager()
    manager.register(Hostile(), "hostile")
    (entry,) = Registry(manager).entries(KIND_OF[kind])
    return entry


def all_members(kind):
    is_record = dataclasses.is_dataclass(kind.protocol)
    for member in members_of(kind.protocol):
        if not (is_record and isinstance(vars(kind.protocol).get(member.name), property)):
            yield member


FUNCTIONS = [
    (kind.name, member.name)
    for kind in KIND_OF.values()
    for member in all_members(kind)
    if member.parameters is not None or function_result(member.annotation)
    # called while the registry is made
    if member.name not in {"use_families", "use_directions"}
]
ATTRIBUTES = [
    (kind.name, member.name)
    for kind in KIND_OF.values()
    for member in all_members(kind)
    if member.parameters is None and member.name != kind.identifier
]


def reported(error, kind, member):
    """Check that an error names plugin, kind, object and member."""
    assert error.exit_code is ExitCode.PLUGIN
    message = str(error)
    identifier = getattr(provided(kind, member), KIND_OF[kind].identifier)
    assert message.startswith(f"plugin hostile: {kind} '{identifier}': ")
    assert member in message
    return message


def of_kind(kind, members):
    """The names of members of one kind."""
    return [name for owner, name in members if owner == kind]


@pytest.mark.parametrize("kind", dict(FUNCTIONS))
def test_whatever_a_member_raises_is_reported(kind):
    with Cases() as cases:
        for name, misbehaviour in product(of_kind(kind, FUNCTIONS), RAISED):
            with cases.case(name, misbehaviour):
                function, said = RAISED[misbehaviour]
                entry = registered(kind, changed(kind, name, function))
                with pytest.raises(PluginError) as caught:
                    getattr(entry, name)(*[None] * arity(kind, name))
                assert said in reported(caught.value, kind, name)
                if misbehaviour == "raises":
                    lines = traceback_lines(caught.value)
                    assert __file__ in lines[1] and lines[-1] == "KeyError: 'oops'"


def test_a_family_that_fails_on_directions_is_reported():
    def fails(*arguments):
        raise KeyError("oops")

    kind = "pipeline"
    with pytest.raises(PluginError, match="use_directions raised KeyError: 'oops'") as caught:
        registered(kind, changed(kind, "use_directions", fails))
    reported(caught.value, kind, "use_directions")


def member_of(kind, name):
    return next(member for member in all_members(KIND_OF[kind]) if member.name == name)


def arity(kind, name):
    return len(member_of(kind, name).parameters or ())


def returned_by(kind, name):
    annotation = member_of(kind, name).annotation
    return function_result(annotation) or annotation


WRONG_RESULTS = [
    (*member, value)
    for member in FUNCTIONS
    for value in (None, 3.5, Odd(), Odd, [Odd()], b"bytes")
    if not check_of(returned_by(*member), member_of(*member).module)(value)
]


def test_each_result_can_be_wrong():
    checked = [member for member in FUNCTIONS if returned_by(*member) != "Any"]
    assert {(kind, name) for kind, name, _ in WRONG_RESULTS} == {*checked}


@pytest.mark.parametrize("kind", {kind: None for kind, _, _ in WRONG_RESULTS})
def test_whatever_a_member_returns_wrongly_is_reported(kind):
    with Cases() as cases:
        for name, value in [(name, value) for owner, name, value in WRONG_RESULTS if owner == kind]:
            with cases.case(name, type(value)):
                expected = returned_by(kind, name)
                entry = registered(kind, changed(kind, name, lambda *arguments, value=value: value))
                with pytest.raises(PluginError) as caught:
                    getattr(entry, name)(*[None] * arity(kind, name))
                message = reported(caught.value, kind, name)
                if protocol_named(expected, member_of(kind, name).module) is not None and value is not None:
                    assert f"{name}(): lacks " in message
                else:
                    assert "returned " in message and message.endswith(f"expected {expected}")


@pytest.mark.parametrize("kind", dict(FUNCTIONS))
def test_what_is_no_such_function_is_reported(kind):
    with Cases() as cases:
        for name in of_kind(kind, FUNCTIONS):
            count = arity(kind, name)
            for value in (too_long(count), 3):
                with cases.case(name, value), pytest.raises(PluginError) as caught:
                    getattr(registered(kind, changed(kind, name, value)), name)(*[None] * count)
                with cases.case(name, value):
                    reported(caught.value, kind, name)


def too_long(count):
    """A function with one parameter more than it should have."""
    scope = {}
    exec(f"def function({', '.join(f'p{n}' for n in range(count + 1))}): pass", scope)  # noqa: S102
    return scope["function"]


@pytest.mark.parametrize(
    "kind",
    # a dataclass has all its fields
    [kind for kind, of in KIND_OF.items() if not dataclasses.is_dataclass(of.protocol)],
)
def test_a_missing_member_is_named(kind):
    together = {name for one in all_members(KIND_OF[kind]) for name in one.together}
    with Cases() as cases:
        for name in of_kind(kind, (*FUNCTIONS, *ATTRIBUTES)):
            with cases.case(name):
                if member_of(kind, name).optional and name not in together:
                    registered(kind, changed(kind, name, MISSING))
                    continue
                with pytest.raises(PluginError) as caught:
                    registered(kind, changed(kind, name, MISSING))
                assert f"lacks {name}" in reported(caught.value, kind, name)


@pytest.mark.parametrize("kind", dict(ATTRIBUTES))
def test_an_attribute_of_a_wrong_type_is_reported(kind):
    with Cases() as cases:
        for name, value in product(of_kind(kind, ATTRIBUTES), (Odd(), 3.5, [Odd()])):
            with cases.case(name, type(value)):
                with pytest.raises(PluginError) as caught:
                    getattr(registered(kind, changed(kind, name, value)), name)
                structural = "spelling: lacks recognises(text), "
                said = structural if name == "spelling" else f"{name} is an object of type"
                assert said in reported(caught.value, kind, name)


@pytest.mark.parametrize("kind", KIND_OF)
def test_things_that_are_no_such_objects_are_rejected(kind):
    of_no_kind = r"plugin hostile: ckprof_register: added (a class|.* has no member of any)"
    with Cases() as cases:
        for item in (None, 3, Odd(), object, "text"):
            with cases.case(type(item)):
                with pytest.raises(PluginError, match=f"plugin hostile: .*{kind}|plugin hostile: .* has no "):
                    registered(kind, item)
                with pytest.raises(PluginError, match=of_no_kind):
                    registry_of(hostile=Registering(item))


def test_errors_that_a_docstring_allows_pass_through():
    kind = "pipeline"
    entry = registered(kind, changed(kind, "make_instance", raising(InputError("bad value"))))
    with pytest.raises(InputError, match="bad value"):
        entry.make_instance(None, None, None)
    entry = registered(kind, changed(kind, "kernel_name", raising(InputError("bad value"))))
    with pytest.raises(PluginError, match="kernel_name raised InputError: bad value"):
        entry.kernel_name(None)


def test_interrupts_pass_through():
    kind = "target"
    entry = registered(kind, changed(kind, "findings", raising(KeyboardInterrupt())))
    with pytest.raises(KeyboardInterrupt):
        entry.findings()


def test_a_package_is_to_be_installed_and_a_module_of_it_is_not():
    said = {}
    for name in ("no_such_package", "ckprof.no_such_module"):
        with pytest.raises(ModuleNotFoundError) as caught:
            importlib.import_module(name)
        said[name] = import_failure(caught.value)
    assert "install it (your own: pip install -e FOLDER)" in said["no_such_package"]
    assert said["ckprof.no_such_module"] == "ModuleNotFoundError: No module named 'ckprof.no_such_module'"
