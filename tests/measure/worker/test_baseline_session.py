"""Engines of baselines, served as libraries with one kernel."""

import ctypes
from types import SimpleNamespace

import numpy as np
import pytest

from ckprof.measure.worker.abi import AbiStatus, CBuffers, LibraryError
from ckprof.measure.worker.baseline_session import (
    BaselineRejection,
    BaselineUnusable,
    EngineKernel,
    EngineLibrary,
    load_engine,
)
from ckprof.measure.worker.messages import BaselineSource, DeviceChoice
from ckprof.model.requirement import UnmetRequirement
from tests.cases import Cases

from .. import engine
from ..fakes import HERE

ENGINE = HERE / "engine.py"
VIEWS = tuple(SimpleNamespace(name=name, lengths=lengths) for name, lengths in (
    ("input", (3,)), ("weight", (1,)), ("output", (3,)),
))  # fmt: skip
WORK = SimpleNamespace(operation="scale", tensors=VIEWS)


def library_of(name, entry=None, **changes):
    source = BaselineSource(id=name, entry=entry or f"{ENGINE}:make_{name}", on_host=True, **changes)
    return EngineLibrary(source, DeviceChoice(index=2))


def test_an_engine_is_a_library_with_one_kernel():
    library = library_of("good")
    assert library.description == "numpy on the host 2"
    assert [*library.kernels] == ["good"] and library.kernels["good"] is library.kernel
    assert (library.kernel.key, library.kernel.name) == ("good", "good")
    # it says nothing of what only libraries of kernels know
    assert (library.info, library.identity, library.checks, library.units_used()) == (None, None, None, ())
    assert library.measure_peak(None, 2**20, 0.1) == 0
    assert library.kernel.instance_string()[0] is AbiStatus.FAILED


def test_an_engine_that_cannot_be_used_is_an_error_that_says_why():
    given = {
        "unusable": (None, BaselineUnusable, "no such library; install it"),
        "broken": (None, LibraryError, "OSError: libsomething.so is missing"),
        "an attribute": (f"{ENGINE}:make_gone", BaselineUnusable, "has no attribute 'make_gone'"),
        "a module": ("no_such_module:make", BaselineUnusable, "No module named 'no_such_module'"),
        "a file": ("/no/such/file.py:make", BaselineUnusable, "No such file"),
    }
    with Cases() as cases:
        for name, (entry, error, reason) in given.items():
            with cases.case(name), pytest.raises(error) as raised:
                library_of(name, entry)
            with cases.case(name, "text"):
                assert reason in str(raised.value) and type(raised.value) is error


def test_an_engine_is_found_in_modules_and_files():
    assert load_engine("math:sqrt")(9) == 3
    assert load_engine(f"{ENGINE}:make_good") is not engine.make_good, "a file is a module of its own"
    assert load_engine("tests.measure.engine:make_good") is engine.make_good


def test_results_are_verified_by_the_device_only_where_its_library_can(tmp_path):
    missing = str(tmp_path / "none.so")
    assert library_of("good", checks=missing).checks is None
    source = BaselineSource(id="good", entry=f"{ENGINE}:make_good", on_host=False, checks=missing)
    assert EngineLibrary(source, DeviceChoice()).checks is None


def supported(**changes):
    kernel = EngineKernel("mine", SimpleNamespace(**{"operations": ("scale",), **changes}))
    kernel.set_work(WORK, ("input", "weight", "output"))
    return kernel.is_supported(None)


def test_what_an_engine_cannot_do_is_rejected():
    other = supported(operations=("add",))
    assert other.status is AbiStatus.REJECTED
    assert other.unmet_requirements == (
        UnmetRequirement(rule="baseline-operation", message="mine has nothing for the operation scale"),
    )
    odd = UnmetRequirement(rule="baseline-odd", message="nothing odd")
    rejected = supported(unmet_requirements=lambda work: [odd])
    assert (rejected.status, rejected.unmet_requirements) == (AbiStatus.REJECTED, (odd,))
    right = supported(unmet_requirements=lambda work: [])
    assert (right.status, right.split_k, right.roundings) == (AbiStatus.OK, 1, 0)
    stepping = supported(unmet_requirements=lambda work: [], roundings=lambda work: 9)
    assert stepping.roundings == 9


def test_nothing_is_computed_before_a_problem_is_loaded():
    with pytest.raises(ValueError, match="no problem is loaded"):
        EngineKernel("mine", SimpleNamespace(operations=())).is_supported(None)


def test_tensors_are_those_of_the_names_in_order():
    kernel = library_of("good").kernel
    kernel.set_work(WORK, ("weight", "output", "input"))
    values = {name: np.full(size, 2.5, np.float32) for name, size in (("weight", 1), ("input", 3))}
    values["input"][:] = (1, 2, 4)
    values["output"] = np.zeros(3, np.float32)
    addresses = (values[name].ctypes.data for name in ("weight", "output", "input"))
    status, reason, time_ms = kernel.run(None, CBuffers.of(*addresses))
    assert (status, reason) == (AbiStatus.OK, "") and time_ms > 0
    assert values["output"].tolist() == [2.5, 5, 10]


def test_whatever_an_engine_raises_is_the_outcome():
    buffers = CBuffers.of(*map(ctypes.addressof, [ctypes.c_int()] * 3))
    for raised, expected in (
        (BaselineRejection("too large"), (AbiStatus.REJECTED, "baseline-library: too large", 0.0)),
        (ZeroDivisionError("by 0"), (AbiStatus.FAILED, "ZeroDivisionError: by 0", 0.0)),
    ):

        def fail(work, addresses, raised=raised):
            raise raised

        kernel = EngineKernel("mine", SimpleNamespace(run=fail))
        kernel.set_work(WORK, ("input", "weight", "output"))
        assert kernel.run(None, buffers) == expected
