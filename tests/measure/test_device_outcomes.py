"""Runs whose results are verified on the device, in real worker processes; the device is the host."""

import re
from dataclasses import replace

import pytest

from ckprof.errors import UsageError
from ckprof.measure.baselines import Baselines
from ckprof.measure.options import CacheMode, ReferencePlace, RunOptions
from ckprof.measure.worker.messages import BaselineSource
from ckprof.model.computation import Contraction
from ckprof.model.outcome import DEVICE_REFERENCE, HOST_REFERENCE, Status

from .fakes import ARCH, HERE, ScaleDirection, make_instance, make_problem
from .run_instances import run_instances
from .test_kernel_measurement import EXPECTED

pytestmark = pytest.mark.compiler

OPTIONS = RunOptions(rounds=1, timeout_s=10.0, max_time_s=0.1, cache=CacheMode.WARM)
JUDGED = [name for name, (status, _) in EXPECTED.items() if status is Status.WRONG_RESULT]


class ContractedScale(ScaleDirection):
    """Scaling that says which products it adds up: one."""

    def contraction(self, problem):
        return Contraction(summed=(("C", 1), ("Y", 1), ("X", 1)))


@pytest.fixture
def run(checking_library, tmp_path):
    def run(operation, kernels, options=OPTIONS, baselines=None, library=checking_library):
        instances = [make_instance(kernel) for kernel in kernels]
        return list(
            run_instances(
                library,
                ARCH,
                operation,
                instances,
                [make_problem()],
                options,
                lock_dir=tmp_path,
                baselines=baselines,
            )
        )

    return run


@pytest.mark.thorough
def test_devices_judge_as_the_host_does(run):
    operation = ContractedScale()
    kernels = ["ok", *JUDGED, "segfault", "ok"]
    for kernel, outcome in zip(kernels, run(operation, kernels), strict=True):
        status, pattern = EXPECTED[kernel]
        assert outcome.status is status, (kernel, outcome.reason)
        assert re.search(pattern, outcome.reason), outcome.reason
        if outcome.verification is not None:
            assert outcome.verification.reference == DEVICE_REFERENCE
            assert outcome.verification.elements == 192
    assert operation.references == 0


def test_rounds_verify_on_the_device_each_time(run):
    outcomes = run(ContractedScale(), ["ok", "slow"], replace(OPTIONS, rounds=3))
    assert [one.status for one in outcomes] == [Status.OK, Status.OK]
    assert {one.verification.reference for one in outcomes} == {DEVICE_REFERENCE}


def test_the_host_is_used_where_it_is_asked_for_or_nothing_else_can(run, library):
    host = replace(OPTIONS, reference=ReferencePlace.HOST)
    for operation, options, built in (
        (ContractedScale(), host, None),
        (ScaleDirection(), OPTIONS, None),
        (ContractedScale(), OPTIONS, library),
    ):
        extra = {} if built is None else {"library": built}
        (outcome,) = run(operation, ["ok"], options, **extra)
        assert outcome.verification.reference == HOST_REFERENCE
        assert operation.references > 0


def test_a_device_reference_that_cannot_be_had_is_an_error(run, library):
    device = replace(OPTIONS, reference=ReferencePlace.DEVICE)
    with pytest.raises(UsageError, match="does not describe its sums"):
        run(ScaleDirection(), ["ok"], device)
    with pytest.raises(UsageError, match="does not verify on its device"):
        run(ContractedScale(), ["ok"], device, library=library)


@pytest.mark.parametrize(("on_host", "place"), [(True, HOST_REFERENCE), (False, DEVICE_REFERENCE)])
def test_baselines_are_verified_on_the_device_as_well(run, on_host, place):
    operation = ContractedScale()
    source = BaselineSource(id="good", entry=f"{HERE / 'engine.py'}:make_good", on_host=on_host)
    baselines = Baselines([source])
    (outcome,) = run(operation, ["ok"], baselines=baselines)
    (baseline,) = baselines.outcomes
    assert outcome.verification.reference == DEVICE_REFERENCE
    assert baseline.outcome.status is Status.OK
    assert baseline.outcome.verification.reference == place
    assert bool(operation.references) is on_host
