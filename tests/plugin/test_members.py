"""What protocols ask for: their members, and values of the types that annotations name."""

from __future__ import annotations

import ast
import importlib
import pkgutil
from concurrent.futures import Future
from pathlib import Path
from typing import Protocol

import numpy as np
import pytest

import ckprof.model
import ckprof.plugin
from ckprof.errors import CkprofError, InputError
from ckprof.plugin.members import (
    _STRUCTURAL,
    check_of,
    function_result,
    members_of,
    offers,
    optional,
    optional_with,
    protocol_named,
    required_members,
)
from tests.cases import Cases
from tests.report.conftest import PROBLEM

from .test_boundary import ATTRIBUTES, FUNCTIONS, member_of, returned_by


def test_every_annotation_names_something_that_can_be_recognised():
    """Protocols have no instances that derive from them; a class is there under the name that is written."""
    modules = [
        importlib.import_module(module.name)
        for package in (ckprof.model, ckprof.plugin)
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    ]
    for kind, name in (*FUNCTIONS, *ATTRIBUTES):
        for node in ast.walk(ast.parse(returned_by(kind, name))):
            of_module = protocol_named(ast.unparse(node), member_of(kind, name).module)
            if isinstance(node, ast.Name) and node.id not in _STRUCTURAL and of_module is None:
                classes = {vars(module)[node.id] for module in modules if node.id in vars(module)}
                assert not any(getattr(one, "_is_protocol", False) for one in classes), node.id
                assert all(one.__name__ == node.id for one in classes if isinstance(one, type))


class Thing(Protocol):
    """A protocol with one member of each sort."""

    size: int

    @property
    def id(self) -> str: ...

    @property
    @optional_with("close")
    def open(self) -> bool:
        return False

    def close(self, first: int, *, force: bool) -> list[int]:
        """Close.

        :raises InputError: it is open.
        :raises Exploded: no error of ckprof.
        """
        ...

    @optional
    def shake(self) -> None: ...

    def _inner(self) -> None: ...


def test_members_of_a_protocol_in_their_order():
    members = members_of(Thing)
    assert [(one.spelling, one.annotation, one.optional, one.together) for one in members] == [
        ("size", "int", False, ()),
        ("id", "str", False, ()),
        ("open", "bool", True, ("close",)),
        ("close(first, force)", "list[int]", False, ()),
        ("shake()", "None", True, ()),
    ]
    # where docstrings were stripped, nothing says what may be raised
    assert [one.raises for one in members] == [(), (), (), (InputError,), (CkprofError,)]
    assert [one.name for one in required_members(Thing)] == ["size", "id", "close"]


def test_what_an_object_has_of_its_own_is_told_from_what_it_inherits():
    class Bare(Thing): ...

    class Own(Thing):
        def shake(self) -> None: ...

    given = type("Given", (), {})()
    assert [offers(one, Thing.shake) for one in (Bare(), Own(), given)] == [False, True, False]
    given.shake = print
    assert offers(given, Thing.shake)


#: annotation -> values that are of it, and values that are not
VALUES = {
    "int": ([3, np.int64(3)], [True, 3.0, "3", None]),
    "float": ([3.0], [3, "3", None]),
    "bool": ([True], [1, 0, None]),
    "str": (["x"], [b"x", None]),
    "str | None": (["x", None], [3]),
    "object": ([None, 3], []),
    "Path": ([Path("x")], ["x"]),
    "Sequence[int]": ([[], [1, 2], (1,)], [[1, "x"], {1}, "12", iter([1])]),
    "list[str]": ([["x"]], [("x",), [1]]),
    "frozenset[str]": ([frozenset("x")], [{"x"}, frozenset([1])]),
    "tuple[int, ...]": ([(), (1, 2)], [(1, "x"), [1]]),
    "tuple[int, str]": ([(1, "x")], [(1,), (1, "x", 2), ("x", 1), [1, "x"]]),
    "Mapping[str, int]": ([{}, {"a": 1}], [{"a": "b"}, {1: 1}, [("a", 1)]]),
    "Callable[[int], str]": ([print, str], [3, "print"]),
    "type[object]": ([int], [3]),
    "Iterator[int]": ([iter([]), (x for x in "a")], [[1]]),
    "Future[int]": ([Future()], [3]),
    "Problem": ([PROBLEM], [3, object()]),
    "NDArray[float64]": ([np.zeros(1)], [[0.0]]),
}


def test_values_are_of_the_type_that_an_annotation_names():
    with Cases() as cases:
        for annotation, (right, wrong) in VALUES.items():
            for value, expected in (*((one, True) for one in right), *((one, False) for one in wrong)):
                with cases.case(annotation, repr(value)):
                    assert check_of(annotation)(value) is expected


@pytest.mark.parametrize(
    ("annotation", "result"),
    [
        ("Callable[[int, str], Path]", "Path"),
        ("Callable[..., list[int]] | None", "list[int]"),
        ("int | Callable[[], None] | None", "None"),
        ("Sequence[Callable[[], int]]", ""),
        ("int", ""),
    ],
)
def test_what_functions_return(annotation, result):
    assert function_result(annotation) == result
