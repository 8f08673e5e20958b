"""Arguments of a wrong type are named before anything is done with them."""

# ruff: noqa: F811 - fixtures are parameters

from __future__ import annotations

import pickle
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

import ckprof
from ckprof.argument_types import check_arguments
from ckprof.compare.options import FailOn
from ckprof.errors import CkprofError, UsageError
from ckprof.results import Results
from ckprof.store.writer import StoreWriter
from tests.report.conftest import results  # noqa: F401 - a fixture
from tests.store.samples import make_attempt


@pytest.fixture(scope="module")
def profiler():
    return ckprof.Profiler()


WRONG_TYPES = (
    ("read", (5,), r"name is 5, expected str \| Path"),
    (
        "instances",
        ("forward/tests/nhwgc_fp16",),
        "query is 'forward/tests/nhwgc_fp16', expected InstanceQuery",
    ),
    ("explain", (Path("list.conf"),), "line is .*, expected str"),
    ("build", (None,), "selection is None, expected Selection"),
    ("run", (ckprof.InstanceQuery(),), "library is InstanceQuery.*, expected BuiltLibrary"),
    (
        "plan",
        (ckprof.InstanceQuery(), "conv -n 1"),
        "problems is 'conv -n 1', expected Sequence.*; put it in a list$",
    ),
    ("plan", ({"conf": "list.conf"},), "query is {'conf': 'list.conf'}, expected InstanceQuery"),
    ("execute", ("fwd",), "request is 'fwd', expected RunRequest"),
    ("problems", (ckprof,), "direction is <module .*, expected str"),
    ("call", ("lib.so", "fwd", 7), r"problem is 7, expected str \| Problem"),
    ("parity", ("list.conf",), "request is 'list.conf', expected ParityRequest"),
    (
        "profile",
        (ckprof.InstanceQuery(), [3]),
        r"problems is \[3\], expected Sequence\[str \| Problem\] \| None$",
    ),
)
#: what is made or called with arguments of wrong types, or items of them
WRONG_CALLS = (
    (
        lambda _: ckprof.InstanceQuery(indices="12"),
        r"InstanceQuery: indices is '12', expected tuple\[int, ...",
    ),
    (
        lambda _: ckprof.InstanceQuery(indices=[1, 2]),
        r"indices is \[1, 2\], expected tuple\[int, ...\]; make it a tuple: \(1, 2\)$",
    ),
    (lambda _: ckprof.InstanceQuery(indices=11), r"make it a tuple: \(11,\)$"),
    (lambda _: ckprof.SweepOptions(store=3), r"SweepOptions: store is 3, expected str \| Path"),
    (lambda _: ckprof.RunOptions(timeout_s="5"), "RunOptions: timeout_s is '5', expected float"),
    (lambda _: ckprof.Store(3), r"Store: path is 3, expected Path \| str"),
    (lambda _: ckprof.Profiler(on_event=3), "Profiler: on_event is 3, expected Listener"),
    (lambda _: ckprof.Problem.parse(None), "Problem.parse: line is None, expected str"),
    (lambda store: store.attempts(3), "Store.attempts: query is 3, expected StoreQuery"),
    (lambda store: store.query(statuses="okay"), "results.db: statuses: 'okay' is not a valid Status"),
    (lambda store: (store.close(), len(store)), "results.db: the store was closed: open it again to read it"),
    (
        lambda _: pickle.dumps(ckprof.Profiler()),
        "a Profiler cannot be pickled: make one in the other process",
    ),
    (
        lambda _: pickle.dumps(ckprof.Profiler().registry.pipelines.find("implicit_gemm")),
        "implicit_gemm.* cannot be pickled: make it in the other process",
    ),
)


@pytest.mark.parametrize(("method", "given", "message"), WRONG_TYPES)
def test_wrong_types_are_named(profiler, method, given, message):
    with pytest.raises(UsageError, match=f"^Profiler.{method}: {message}"):
        getattr(profiler, method)(*given)


@pytest.mark.parametrize(("call", "message"), WRONG_CALLS)
def test_wrong_calls_are_named(tmp_path, call, message):
    with StoreWriter(tmp_path / "results.db") as writer:
        writer.append(make_attempt(0, 0))
    with pytest.raises(CkprofError, match=message):
        call(ckprof.Store(tmp_path / "results.db"))


def copy(given):
    return pickle.loads(pickle.dumps(given))  # noqa: S301 - our own


def test_what_can_be_pickled(tmp_path, results):
    with StoreWriter(tmp_path / "results.db") as writer:
        writer.append(make_attempt(0, 0))
    options = (
        ckprof.InstanceQuery(indices=(1,)),
        ckprof.SweepOptions(store="x.db"),
        ckprof.RunOptions(timeout_s=5),
        ckprof.ChangePolicy(fail_on=(FailOn.SLOWER,)),
    )
    for given in (*options, ckprof.Problem.parse("2 1 4 64 64 3 3 28 28 1 1 1 1 1 1 1 1")):
        assert copy(given) == given
    with ckprof.Store(tmp_path / "results.db") as store, copy(store) as other:
        assert [*other] == [*store] and len(other) == 1
    found = Results(results)
    assert copy(found).to_dicts() == found.to_dicts()


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
