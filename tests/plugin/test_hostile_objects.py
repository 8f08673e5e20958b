"""Objects of every kind that fail wherever Python itself asks them something, and names that mean harm."""

import dataclasses
import re

import pytest

from ckprof.errors import PluginError
from ckprof.plugin.members import members_of
from ckprof.plugin.registry import KINDS
from ckprof.testing.plugins import Registering
from tests.cases import Cases

from .stubs import registry_of
from .test_boundary import provided, registered
from .test_hostile_commands import (  # noqa: F401 - a fixture
    CASES,
    KIND_OF,
    Acting,
    command,
    is_record,
    member_of,
)

CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def fails(*arguments, **named):
    raise ValueError("boom")


def exits(*arguments, **named):
    raise SystemExit(0)


#: asked by operators, by containers, by tests for types and for truth
SPECIAL = (
    *("__eq__", "__ne__", "__lt__", "__hash__", "__bool__", "__len__", "__iter__", "__contains__"),
    *("__repr__", "__str__", "__format__", "__dir__", "__call__", "__index__", "__float__", "__getitem__"),
    *("__reduce_ex__", "__sizeof__", "__fspath__", "__enter__"),
)


class Passing:
    """An object that works, by what another one does."""

    def __init__(self, original):
        object.__setattr__(self, "original", original)

    def __getattr__(self, name):
        return getattr(self.original, name)


def special(name, act):
    return lambda original: type("Passing", (Passing,), {name: act})(original)


def lying(original):
    """Says that it is of a class that it is not of."""
    return type("Lying", (Passing,), {"__class__": property(lambda self: str)})(original)


def without_class(original):
    return type("Classless", (Passing,), {"__class__": property(fails)})(original)


def without_attributes(original):
    return type("Closed", (), {"__getattribute__": fails})()


def slowly(original):
    """Answers with another object each time."""
    return type("Changing", (Passing,), {"__getattr__": lambda self, name: object()})(original)


class Meta(type):
    def __instancecheck__(cls, item):
        raise ValueError("boom")

    def __getattr__(cls, name):
        raise ValueError("boom")


def of_a_hostile_class(original):
    return Meta("Hostile", (Passing,), {})(original)


def a_class(original):
    return type("Passing", (Passing,), {})


def an_exception(original):
    return ValueError("boom")


OBJECTS = {
    **{f"{name} raises": special(name, fails) for name in SPECIAL},
    **{f"{name} exits": special(name, exits) for name in ("__repr__", "__eq__", "__dir__", "__bool__")},
    "__class__ lies": lying,
    "__class__ raises": without_class,
    "nothing can be read": without_attributes,
    "changes": slowly,
    "metaclass raises": of_a_hostile_class,
    "a class": a_class,
    "an exception": an_exception,
}


@pytest.mark.parametrize("kind", KIND_OF)
def test_an_object_works_or_is_reported(kind):
    with Cases() as cases:
        for name, make in OBJECTS.items():
            with cases.case(name):
                try:
                    entry = registered(kind, make(provided(kind)))
                    for member in members_of(KIND_OF[kind].protocol):
                        getattr(entry, member.name, None)
                except PluginError as exc:
                    assert str(exc).startswith("plugin hostile: ")
                # its kind is recognised, or is not
                try:
                    registry_of(hostile=Registering(make(provided(kind))))
                except PluginError as exc:
                    assert str(exc).startswith("plugin hostile: ")


class OddText(str):
    """A text that fails when it is used."""

    __eq__ = __hash__ = __str__ = __repr__ = __format__ = __lt__ = __len__ = fails


#: ids and other texts of objects
NAMES = (
    "a\x1b[31mred\x1b[0m",
    "a\nb\n::error::c",
    "\u202ea\u2066b",
    "\x00\x85\x9b",
    "a" * 100_000,
    "../../etc/passwd",
    "a b|c`d`<img src=x onerror=alert(1)>",
    "\ud800",
)


@pytest.mark.parametrize("case", [case for case in CASES if case.values[0].within is None])
def test_names_are_text_wherever_they_are_shown(case, command):  # noqa: F811 - a fixture
    identifier = KIND_OF[case.kind].identifier
    with Cases() as cases:
        for name in NAMES:
            with cases.case(ascii(name)[:16]):
                item = case.make()
                if is_record(case):
                    object.__setattr__(item, identifier, name)
                    object.__setattr__(item, case.member, 3)
                else:
                    acting = member_of(case)
                    item = Acting(item, identifier, lambda name=name: name, when_read=True)
                    item = Acting(item, case.member, fails, when_read=acting.parameters is None)
                done = command(dataclasses.replace(case, code=None), item)
                assert not CONTROL.search(done.out + done.err)
                assert not re.search(r"(?m)^\s*::", done.out + done.err)


@pytest.mark.parametrize("case", [case for case in CASES if case.values[0].within is None])
def test_an_id_that_fails_when_it_is_used_is_a_text(case, command):  # noqa: F811 - a fixture
    item, identifier = case.make(), KIND_OF[case.kind].identifier
    if is_record(case):
        object.__setattr__(item, identifier, OddText("mine"))
    else:
        item = Acting(item, identifier, lambda: OddText("mine"), when_read=True)
    done = command(dataclasses.replace(case, code=None), item)
    assert done.code == case.code, done.err


def test_objects_of_every_kind_are_hostile():
    """Counts what this file, and the matrices beside it, put in the place of one that works."""
    assert len(OBJECTS) * len(KIND_OF) >= 600
    assert {case.values[0].kind for case in CASES} >= {kind.name for kind in KINDS} - {
        "observer",
        "conf family",
        # a record of an id and a path: no command calls anything of it
        "problem set",
        # test_results.py and test_cmd_inspect.py call these
        "view of results",
        "view of inspections",
    }
