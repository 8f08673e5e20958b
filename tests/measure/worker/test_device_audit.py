import ctypes
import re
import time
from dataclasses import replace

import numpy as np
import pytest

from ckprof.measure.kernel_measurement import KernelMeasurement, KernelRequest
from ckprof.measure.options import timing_settings
from ckprof.measure.prepare import prepare_problem
from ckprof.measure.verify.exact import ExactKind
from ckprof.measure.verify.storage import encode
from ckprof.measure.worker import messages
from ckprof.measure.worker.guards import POISON_BYTE
from ckprof.measure.worker.messages import AbiStatus
from ckprof.model.computation import Tolerance
from ckprof.model.outcome import DEVICE_REFERENCE, Status
from ckprof.model.types import DataType
from ckprof_plugins.directions._convolution.layout import find_layout
from ckprof_plugins.directions.fwd import Forward

from ..device_checks import ON_DEVICE, SCALE, CheckedWorker, array_at
from ..local_worker import KEY, HostTarget


class Kernel:
    """Computes its result from its operands, and may do harm."""

    def __init__(self, worker=None, harm=None):
        self.worker, self.harm, self.values = worker, harm, None

    def is_supported(self, problem):
        return messages.Support(status=AbiStatus.OK, split_k=1)

    def run(self, problem, buffers, launches=1):
        start = time.perf_counter()
        result = self.worker.values("output", np.dtype(np.float16))
        layout = find_layout("nhwgc")
        operands = {}
        for name in ("input", "weight"):
            stored = self.worker.values(name, np.dtype(np.float16)).astype(np.float64)
            operands[name] = stored.reshape(SCALE.tensor(name, layout).shape)
        exact = Forward().reference(SCALE, layout, operands)
        result[...] = encode(exact, DataType.FP16).reshape(-1)
        if self.harm is not None:
            self.harm(self.worker, result)
        return AbiStatus.OK, "", (time.perf_counter() - start) * 1e3


def measured(*given, **changes):
    return measurement(*given, **changes).measure()


def measurement(
    checks, tmp_path, harm=None, exact=None, *, kernel=None, tolerance=None, lacking=lambda: None, **changes
):
    kernel = kernel or Kernel(harm=harm)
    kernel.worker = worker = CheckedWorker(checks, kernel)
    options = replace(ON_DEVICE, **({"min_samples": 1, "max_time_s": 0.0} | changes))
    layout = find_layout("nhwgc")
    prepared = worker.load(
        prepare_problem(Forward(), SCALE, layout, DataType.FP16, options, tmp_path, can_check=True)
    )
    request = KernelRequest(
        key=KEY,
        split_k=1,
        split_sum=None,
        timing=timing_settings(options),
        own_limit_s=10.0,
        exact=exact
        and prepare_problem(
            Forward(), SCALE, layout, DataType.FP16, options, tmp_path, can_check=True, exact=exact
        ),
    )
    prepared = replace(prepared, tolerance=tolerance)
    lacking()
    return KernelMeasurement(worker.remote, prepared, request)


def test_a_right_kernel_is_verified_on_the_device(checks, tmp_path):
    outcome = measured(checks, tmp_path)
    assert outcome.status is Status.OK and outcome.measurement is not None
    seen = outcome.verification
    assert seen.passed and seen.elements == 2 * 3 * 6 * 5 and seen.reference == DEVICE_REFERENCE
    assert 0 < seen.max_error < 0.001


@pytest.mark.parametrize("kind", ExactKind)
def test_a_device_compares_exact_sums_as_well(checks, tmp_path, kind):
    assert measured(checks, tmp_path, exact=kind).status is Status.OK

    def next_number(worker, result):
        result.view(np.uint16)[100] += 1

    outcome = measured(checks, tmp_path, next_number, exact=kind)
    assert outcome.status is Status.WRONG_RESULT
    assert outcome.reason.startswith("1 of 180 elements differ")
    assert outcome.reason.endswith("rtol 0, atol 0 (with exact operands)")
    for harm in (change_operand, change_reference):
        under_way = measurement(checks, tmp_path, harm, exact=kind)
        under_way.measure()
        assert under_way.tainted


def spoil_one(worker, result):
    result[17] = 99


def leave_some(worker, result):
    result.view(np.uint8)[40:44] = POISON_BYTE


def write_before(worker, result):
    tensor = worker.session._tensors["output"]
    ctypes.memset(tensor.address - 3, 1, 3)


def write_behind_operand(worker, result):
    tensor = worker.session._tensors["weight"]
    ctypes.memset(tensor.address + tensor.size_bytes + 100, 1, 1)


def change_operand(worker, result):
    worker.values("input", np.dtype(np.uint8))[5] ^= 1


def change_reference(worker, result):
    worker.reference[5] = 0


@pytest.mark.parametrize(
    ("harm", "text", "tainted"),
    [
        (spoil_one, r"1 of 180 elements differ \(0.556 %\), first at \[n=0,h=1,w=0,g=0,k=2\]: got 99", False),
        (leave_some, r"2 of 180 elements differ \(1.11 %, 2 never written\)", False),
        (write_before, "wrote outside the output tensor, before its memory", True),
        (write_behind_operand, "wrote outside the weight tensor, after its memory", True),
        (change_operand, "changed its operand, the input tensor", True),
        (change_reference, "into the reference that its result is compared with", True),
    ],
)
def test_a_wrong_kernel_is_found_on_the_device(checks, tmp_path, harm, text, tainted):
    under_way = measurement(checks, tmp_path, harm)
    outcome = under_way.measure()
    assert outcome.status is Status.WRONG_RESULT
    assert re.search(text, outcome.reason), outcome.reason
    assert under_way.tainted is tainted


class LimitedMemory:
    """Lets the references of some sets of operands be allocated, and no others."""

    def __init__(self, monkeypatch, wanted):
        #: whether each reference that is asked for fits, in order
        self.wanted, self.asked = wanted, 0
        monkeypatch.setattr(HostTarget, "allocate", self._allocate(HostTarget.allocate))
        self.limited = False

    def begin(self):
        self.limited = True

    def _allocate(self, allocate):
        def limited(target, size_bytes):
            if self.limited:
                self.asked += 1
                if not self.wanted[self.asked - 1]:
                    raise MemoryError("another set does not fit")
            return allocate(target, size_bytes)

        return limited


def test_without_memory_for_exact_operands_a_kernel_is_checked_with_one_set(checks, tmp_path, monkeypatch):
    # for the exact ones: beside the usual reference, and in its place; then that one again
    memory = LimitedMemory(monkeypatch, [False, False, True])
    under_way = measurement(checks, tmp_path, exact=ExactKind.WIDE, lacking=memory.begin)
    outcome = under_way.measure()
    assert outcome.status is Status.OK and outcome.verification.passed and memory.asked == 3
    assert outcome.one_set == "not enough memory: another set does not fit"
    assert not under_way.tainted


def test_a_wrong_kernel_is_found_with_one_set_as_well(checks, tmp_path, monkeypatch):
    memory = LimitedMemory(monkeypatch, [False, False, True])

    def spoil(worker, result):
        result[:] = 0

    outcome = measured(checks, tmp_path, spoil, exact=ExactKind.WIDE, lacking=memory.begin)
    assert outcome.status is Status.WRONG_RESULT and "with exact operands" not in outcome.reason


@pytest.mark.parametrize("fitting", [[False, False, False], [False, True, False, False]])
def test_without_memory_for_any_operands_a_kernel_is_not_supported(checks, tmp_path, monkeypatch, fitting):
    memory = LimitedMemory(monkeypatch, fitting)
    under_way = measurement(checks, tmp_path, exact=ExactKind.WIDE, lacking=memory.begin)
    outcome = under_way.measure()
    assert outcome.status is Status.UNSUPPORTED and outcome.reason.startswith("not enough memory: ")
    # the worker has operands without a reference: it must load the problem again
    assert under_way.tainted


class PassesOffReference(Kernel):
    """Takes the reference, which is in the same memory, for its result."""

    def run(self, problem, buffers, launches=1):
        start = time.perf_counter()
        result = self.worker.values("output", np.dtype(np.float16))
        result[...] = encode(self.worker.reference, DataType.FP16)
        return AbiStatus.OK, "", (time.perf_counter() - start) * 1e3


def test_a_kernel_that_copies_the_reference_is_found(checks, tmp_path):
    outcome = measured(checks, tmp_path, kernel=PassesOffReference())
    assert outcome.status is Status.WRONG_RESULT
    assert "(in a timed run)" in outcome.reason


@pytest.mark.parametrize("after", [2, 3, 4])
def test_one_wrong_launch_is_found_on_the_device(checks, tmp_path, after):
    runs = []

    def spoil_later(worker, result):
        runs.append(None)
        # one launch is not compared: what it writes late is looked for
        if len(runs) in (after, after + 1):
            result[7] += np.float16(50)

    outcome = measured(checks, tmp_path, spoil_later, min_samples=4, max_time_s=5.0)
    assert outcome.status is Status.WRONG_RESULT
    assert "1 of 180 elements differ" in outcome.reason


def test_launches_with_other_roundings_are_right(checks, tmp_path):
    runs = []

    def round_otherwise(worker, result):
        runs.append(None)
        words = result.view(np.uint16)
        words[len(runs) % 5 :: 5] ^= 1

    loose = Tolerance(rtol=0.01, atol=0.0)
    outcome = measured(checks, tmp_path, round_otherwise, tolerance=loose, min_samples=4, max_time_s=5.0)
    assert outcome.status is Status.OK, outcome.reason
    assert outcome.verification.checked == outcome.verification.launches > 4


def test_a_result_with_the_bits_of_the_verified_one_is_not_compared_again(checks, tmp_path, monkeypatch):
    under_way = measurement(checks, tmp_path, min_samples=4, max_time_s=5.0)
    assert under_way.measure().status is Status.OK
    request = replace(under_way._request, verified=under_way.verified)
    again = KernelMeasurement(under_way._library, under_way._prepared, request)
    monkeypatch.setattr(type(checks), "compare", lambda *_: pytest.fail("it was compared"))
    assert again.measure().status is Status.OK


def test_what_is_negated_has_its_signs_back_in_the_end(checks, tmp_path):
    under_way = measurement(checks, tmp_path, min_samples=4, max_time_s=5.0)
    worker = under_way._library._line._session
    names = ("input", "weight", "output")
    seen = []

    def values():
        return [array_at(worker._tensors[name], np.dtype(np.uint8)).copy() for name in names]

    run = Kernel.run
    kernel = worker._library.kernels[KEY]
    kernel.run = lambda *given, **named: (run(kernel, *given, **named), seen.append(values()))[0]
    assert under_way.measure().status is Status.OK
    first, *others = seen
    # operands were negated meanwhile
    assert any(not np.array_equal(first[0], one[0]) for one in others)
    assert all(map(np.array_equal, first, values()))
