"""Arguments of a wrong type are named before anything is done with them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

import ckprof
from ckprof.argument_types import check_arguments
from ckprof.errors import UsageError


@pytest.fixture(scope="module")
def profiler():
    return ckprof.Profiler()


WRONG_TYPES = (
    ("read", (5,), "name is 5, expected str or Path"),
    (
        "instances",
        ("forward/tests/nhwgc_fp16",),
        "query is 'forward/tests/nhwgc_fp16', expected InstanceQuery",
    ),
    ("explain", (Path("list.conf"),), "line is .*, expected str"),
    ("build", (None,), "selection is None, expected Selection"),
    ("run", (ckprof.InstanceQuery(),), "library is InstanceQuery.*, expected BuiltLibrary"),
    ("plan", (ckprof.InstanceQuery(), "conv -n 1"), "problems is 'conv -n 1', expected Sequence"),
    ("plan", ({"conf": "list.conf"},), "query is {'conf': 'list.conf'}, expected InstanceQuery"),
    ("execute", ("fwd",), "request is 'fwd', expected RunRequest"),
    ("problems", (ckprof,), "direction is <module .*, expected str"),
    ("call", ("lib.so", "fwd", 7), "problem is 7, expected str or Problem"),
    ("parity", ("list.conf",), "request is 'list.conf', expected ParityRequest"),
)


@pytest.mark.parametrize(("method", "given", "message"), WRONG_TYPES)
def test_wrong_types_are_named(profiler, method, given, message):
    with pytest.raises(UsageError, match=f"^Profiler.{method}: {message}"):
        getattr(profiler, method)(*given)


class Shop:
    def sell(self, names: Sequence[str | Path], *, until: int | None = None, to: Iterable[int] = ()) -> str:
        """Say what is sold."""
        return " ".join(map(str, names))

    def _count(self, number: int) -> int:
        return number


def test_what_fits_is_passed_on():
    check_arguments(Shop)
    shop = Shop()
    assert shop.sell(("a", "b"), until=3, to=iter((1,))) == "a b"
    assert shop.sell([], until=None, to={5}) == "" and shop._count("7") == "7"
    assert Shop.sell.__doc__ == "Say what is sold."
    for given, named in ((("ab",), {}), ((("a",),), {"until": 3.5}), ((["a"],), {"to": 5}), ((None,), {})):
        with pytest.raises(UsageError, match=r"^Shop.sell: (names|until|to) is .*, expected"):
            shop.sell(*given, **named)
    with pytest.raises(TypeError, match="unexpected keyword argument 'when'"):
        shop.sell((), when=3)
