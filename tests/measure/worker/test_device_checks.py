"""What devices compute, run as plain C++, against what the CPU computes."""

from __future__ import annotations

import ctypes
import math
import re
import subprocess
import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from ckprof.errors import InputError, PluginError, UsageError
from ckprof.measure.kernel_measurement import KernelMeasurement, KernelRequest
from ckprof.measure.options import ReferencePlace, RunOptions, timing_settings
from ckprof.measure.prepare import prepare_problem
from ckprof.measure.verify.comparison import compare, reason_of, verification_of
from ckprof.measure.verify.exact import ExactKind
from ckprof.measure.verify.operands import InitKind
from ckprof.measure.verify.storage import decode, encode, rounded, storage_type
from ckprof.measure.worker import check_work, device_checks, messages
from ckprof.measure.worker.audit import sign_bits, word_type
from ckprof.measure.worker.check_work import NotExpressibleError, element_number, lower
from ckprof.measure.worker.guards import POISON_BYTE
from ckprof.measure.worker.messages import AbiStatus
from ckprof.model.computation import AffineIndex, Contraction, Rounding, Tolerance
from ckprof.model.device import DeviceIdentity
from ckprof.model.outcome import DEVICE_REFERENCE, Status
from ckprof.model.requirement import UnmetRequirement
from ckprof.model.tensor import TensorSpec
from ckprof.model.types import ComputeType, DataType, TypeSet
from ckprof_plugins.directions._convolution.layout import LAYOUTS, find_layout
from ckprof_plugins.directions._convolution.problem import ConvProblem
from ckprof_plugins.directions.bwd_data import BackwardData
from ckprof_plugins.directions.bwd_weight import BackwardWeight
from ckprof_plugins.directions.fwd import Forward
from ckprof_plugins.elementwise.operations import ElementwiseOp
from ckprof_plugins.operations.gemm.operation import Gemm
from ckprof_plugins.operations.gemm.problem import LAYOUTS as MATRIX_LAYOUTS
from ckprof_plugins.operations.gemm.problem import GemmProblem, MultiDProblem, StridedBatchProblem

from ..device_checks import FLAGS, CheckedWorker, build_checks
from ..fakes import ScaleDirection, find_compiler, make_problem
from ..local_worker import KEY, HostTarget

#: C name -> mirror
MIRRORS = {
    "ckprof_integers": check_work.CIntegers,
    "ckprof_operand": check_work.COperand,
    "ckprof_loop": check_work.CLoop,
    "ckprof_checked_index": check_work.CCheckedIndex,
    "ckprof_contraction": check_work.CContraction,
    "ckprof_comparison": device_checks.CComparison,
    "ckprof_findings": device_checks.CFindings,
    "ckprof_checks": device_checks.CChecks,
}
EXACT = Tolerance(rtol=0.0, atol=0.0)

DIRECTIONS = {one.id: one for one in (Forward(), BackwardData(), BackwardWeight())}
ANYWHERE = RunOptions()
ON_DEVICE = RunOptions(reference=ReferencePlace.DEVICE)
ON_HOST = RunOptions(reference=ReferencePlace.HOST)
FLOATS = (DataType.FP32, DataType.FP16, DataType.BF16)
SCALE = ConvProblem(
    groups=1, batch=2, out_channels=3, in_channels=5, filter=(3, 3), input=(6, 5), strides=(1, 1),
    dilations=(1, 1), left_pads=(1, 1), right_pads=(1, 1),
)  # fmt: skip
FEW = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def checks(tmp_path_factory):
    if find_compiler() is None:
        pytest.skip("no C++ compiler")
    return build_checks(tmp_path_factory.mktemp("checks"))


def test_mirrors_have_the_layout_of_the_header(tmp_path):
    if find_compiler() is None:
        pytest.skip("no C++ compiler")
    lines = []
    for name, mirror in MIRRORS.items():
        lines.append(f'std::printf("{name} %zu\\n", sizeof({name}));')
        lines += [
            f'std::printf("{name}.{field} %zu\\n", offsetof({name}, {field}));'
            for field, *_ in mirror._fields_
        ]
    program = tmp_path / "layout.cpp"
    program.write_text(
        '#include <cstddef>\n#include <cstdio>\n#include "ckprof_checks.h"\nint main() {'
        + "".join(lines)
        + f"static_assert(CKPROF_CHECKS_VERSION == {device_checks.CHECKS_VERSION});}}"
    )
    executable = tmp_path / "layout"
    flags = [flag for flag in FLAGS if flag not in ("-shared", "-Werror")]
    subprocess.run([find_compiler(), *flags, str(program), "-o", str(executable)], check=True, timeout=120)
    seen = subprocess.run([str(executable)], check=True, capture_output=True, text=True, timeout=20).stdout
    expected = []
    for name, mirror in MIRRORS.items():
        expected.append(f"{name} {ctypes.sizeof(mirror)}")
        expected += [f"{name}.{field} {getattr(mirror, field).offset}" for field, *_ in mirror._fields_]
    assert seen.split("\n")[:-1] == expected


@st.composite
def convolutions(draw):
    ndim = draw(st.integers(1, 3))
    most = {1: 12, 2: 7, 3: 5}[ndim]

    def each(low, high):
        return tuple(draw(st.integers(low, high)) for _ in range(ndim))

    try:
        return ConvProblem(
            groups=draw(st.integers(1, 3)),
            batch=draw(st.integers(1, 3)),
            out_channels=draw(st.sampled_from((1, 2, 5, 17, 70))),
            in_channels=draw(st.sampled_from((1, 3, 8, 20, 66))),
            filter=each(1, 3),
            input=each(1, most),
            strides=each(1, 3),
            dilations=each(1, 3),
            left_pads=each(0, 2),
            right_pads=each(0, 2),
        )
    except InputError:
        assume(False)


def same_on_both(checks, operation, problem, layout, types, folder, options=ANYWHERE, exact=None):
    """Have host and device make operands and reference, and compare all of it."""
    device = prepare_problem(
        operation,
        problem,
        layout,
        types,
        replace(options, reference=ReferencePlace.DEVICE),
        folder,
        can_check=True,
        exact=exact,
    )
    host = prepare_problem(
        operation,
        problem,
        layout,
        types,
        replace(options, reference=ReferencePlace.HOST),
        folder,
        exact=exact,
    )
    worker = CheckedWorker(checks)
    loaded = worker.load(device)
    assert device.on_device and not host.on_device
    for tensor, dtype in zip(host.tensors[:-1], host.types.of_tensors, strict=False):
        stored = worker.values(tensor.name, storage_type(dtype))
        assert np.array_equal(stored.view(np.uint8), tensor.values[0 : stored.size].view(np.uint8))
    expected = host.reference[0 : host.reference.size]
    # sums of doubles in another order
    sums = host.sums
    bound = 1e-14 * max(1.0, sums.reduction_length) * max(sums.magnitude, 1e-30)
    np.testing.assert_allclose(worker.reference, expected, rtol=0, atol=bound)
    assert loaded.sums.magnitude == pytest.approx(sums.magnitude, abs=bound)
    assert loaded.sums.deviation == pytest.approx(sums.deviation, rel=1e-12)
    return worker, loaded


@FEW
@given(
    problem=convolutions(),
    direction=st.sampled_from(sorted(DIRECTIONS)),
    dtype=st.sampled_from(FLOATS),
    transposed=st.booleans(),
)
def test_references_of_convolutions_agree(checks, tmp_path, problem, direction, dtype, transposed):
    layouts = [one for one in LAYOUTS if one.ndim == problem.ndim]
    same_on_both(checks, DIRECTIONS[direction], problem, layouts[-transposed], dtype, tmp_path)


@FEW
@given(
    m=st.integers(1, 90),
    n=st.integers(1, 90),
    k=st.integers(1, 70),
    batch=st.integers(1, 3),
    gaps=st.tuples(*(st.integers(0, 3),) * 3),
    layout=st.sampled_from(MATRIX_LAYOUTS),
    dtype=st.sampled_from((*FLOATS, DataType.FP8, DataType.BF8, DataType.INT8)),
    ocp=st.booleans(),
)
def test_references_of_products_agree(checks, tmp_path, m, n, k, batch, gaps, layout, dtype, ocp):
    packed = GemmProblem(m=m, n=n, k=k, batch=batch)
    strides = {
        f"stride_{name}": packed.tensor(name, layout).shape[-1] + gap
        for name, gap in zip("abe", gaps, strict=True)
    }
    operation = Gemm()
    types = replace(operation.types(dtype), ocp=ocp)
    same_on_both(checks, operation, replace(packed, **strides), layout, types, tmp_path)


@pytest.mark.parametrize("kind", InitKind)
@pytest.mark.parametrize("dtype", FLOATS)
def test_all_kinds_of_operands_are_the_same_on_devices(checks, tmp_path, kind, dtype):
    options = RunOptions(init=kind, seed=7)
    same_on_both(checks, Forward(), SCALE, find_layout("nhwgc"), dtype, tmp_path, options)


@pytest.mark.parametrize("length", [1, 50, 3000])
@pytest.mark.parametrize("ocp", [True, False])
@pytest.mark.parametrize("dtype", [*FLOATS, DataType.FP8, DataType.BF8, DataType.INT8])
def test_operands_with_exact_sums_are_the_same_on_devices(checks, tmp_path, dtype, ocp, length):
    types = replace(Gemm().types(dtype), ocp=ocp)
    if dtype is DataType.FP32:
        types = replace(types, compute_type=ComputeType.TF32)
    problem = GemmProblem(m=20, n=12, k=length, batch=2, stride_a=length + 3)
    for kind in ExactKind:
        same_on_both(checks, Gemm(), problem, MATRIX_LAYOUTS[0], types, tmp_path, exact=kind)
    same_on_both(
        checks, Forward(), SCALE, find_layout("nhwgc"), DataType.BF16, tmp_path, exact=ExactKind.WIDE
    )


@pytest.mark.parametrize(
    ("dtype", "rounding"),
    [
        *((dtype, rounding) for dtype in (*FLOATS, DataType.INT32) for rounding in list(Rounding)[:2]),
        (DataType.BF16, Rounding.CUT_OFF),
    ],
)
def test_a_device_rounds_references_as_the_host_does(checks, dtype, rounding):
    draw = np.random.default_rng(5)
    reference = np.ldexp(np.rint(draw.normal(size=4000) * 2**20), draw.integers(-165, 110, 4000))
    # ties, what is subnormal in fp16, and what overflows
    reference[:8] = 2049.0, 2051.0, -(2.0**-25), 3 * 2.0**-25, 65520.0, -65519.0, 2.0**-140, 3.0
    if dtype is DataType.INT32:
        reference = np.rint(reference).clip(-(2**31), 2**31 - 1)
    with np.errstate(over="ignore"):
        expected = rounded(reference, dtype, rounding)
        raw = encode(expected, dtype)
    element = element_number(dtype, ocp=True)
    seen = checks.compare(element, raw.ctypes.data, reference.ctypes.data, raw.size, EXACT, rounding)
    on_host = compare([raw], reference, dtype, EXACT, rounding)
    assert seen.wrong == on_host.wrong
    assert (seen.wrong == 0) is (rounding is not Rounding.NONE or dtype is DataType.INT32)
    raw.view(np.uint8)[7 * raw.itemsize] ^= 1
    seen = checks.compare(element, raw.ctypes.data, reference.ctypes.data, raw.size, EXACT, rounding)
    if rounding is not Rounding.NONE:
        assert (seen.wrong, seen.first, float(seen.expected)) == (1, 7, expected[7])


@pytest.mark.parametrize("direction", ["fwd", "bwd_weight"])
def test_long_sums_in_slices_agree(checks, tmp_path, direction):
    long = ConvProblem(
        groups=1, batch=3, out_channels=4, in_channels=2500 if direction == "fwd" else 3, filter=(2,),
        input=(1200 if direction == "bwd_weight" else 9,), strides=(1,), dilations=(1,), left_pads=(1,),
        right_pads=(0,),
    )  # fmt: skip
    layout = find_layout("nwgc")
    worker, _ = same_on_both(checks, DIRECTIONS[direction], long, layout, DataType.BF16, tmp_path)
    assert worker.session._references.work.slices > 1


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    size=st.integers(1, 700),
    dtype=st.sampled_from((*FLOATS, DataType.INT32)),
    tolerance=st.sampled_from(((0.0, 0.0), (1e-3, 0.0), (0.0, 1e-2), (1e-2, 1e-2))),
    seed=st.integers(0, 2**32),
    spoiled=st.lists(
        st.tuples(st.integers(0, 699), st.sampled_from(("little", "much", "poison", "inf", "nan", "gap"))),
        max_size=6,
    ),
)
def test_a_device_finds_what_the_host_finds(checks, size, dtype, tolerance, seed, spoiled):
    generator = np.random.default_rng(seed)
    reference = np.rint(generator.normal(size=size) * 64)
    raw = encode(reference, dtype)
    reference = decode(raw, dtype)
    for at, how in spoiled:
        at %= size
        value = {
            "little": reference[at] * (1 + 9e-3) + 5e-3,
            "much": 3 * reference[at] + 1,
            "inf": np.inf,
            "nan": np.nan,
        }.get(how)
        if how == "gap":
            reference[at] = np.nan
        if how in ("poison", "gap"):
            raw.view(np.uint8).reshape(size, -1)[at] = POISON_BYTE
        elif not (dtype is DataType.INT32 and not math.isfinite(value)):
            raw[at] = encode(np.array([value]), dtype)[0]
    rtol, atol = tolerance
    expected = compare([raw], reference, dtype, Tolerance(rtol=rtol, atol=atol))
    element = element_number(dtype, ocp=True)
    found = checks.compare(
        element, raw.ctypes.data, reference.ctypes.data, size, Tolerance(rtol=rtol, atol=atol)
    )
    # there is no result without elements
    assume(found.gaps < size)
    seen, on_host = (
        verification_of(one, size - found.gaps, Tolerance(rtol=rtol, atol=atol), DEVICE_REFERENCE)
        for one in (found, expected)
    )
    assert seen == on_host
    assert (found.unwritten, found.non_finite, found.in_gaps) == (
        expected.unwritten,
        expected.non_finite,
        expected.in_gaps,
    )
    if found.first is not None:
        assert (found.first, found.got, found.expected) == (expected.first, expected.got, expected.expected)
    line = spec("e", "N", (size,))
    assert reason_of(found, seen, line) == reason_of(expected, on_host, line)


def test_an_error_as_large_as_the_tolerance_passes_and_a_larger_one_does_not(checks):
    reference = np.array([0.0, 8.0, -8.0, 1.0])
    tolerance = Tolerance(rtol=0.25, atol=1.0)
    bound = tolerance.atol + tolerance.rtol * np.abs(reference)
    above = np.nextafter((reference + bound).astype(np.float32), np.float32(np.inf))
    for result, wrong in (((reference + bound), 0), ((reference - bound), 0), (above, 4)):
        stored = result.astype(np.float32)
        seen = checks.compare(0, stored.ctypes.data, reference.ctypes.data, 4, tolerance)
        assert seen.wrong == wrong and seen.first == (0 if wrong else None)


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 1000, 300_001])
def test_digests_and_counts_see_each_byte(checks, size):
    memory = np.full(size + 16, 0xA5, dtype=np.uint8)
    address = memory.ctypes.data
    whole = checks.digest(address, size)
    assert checks.count_others(address, 0xA5, size) == 0
    for at in {0, size // 2, size - 1} if size else ():
        memory[at] ^= 4
        assert checks.digest(address, size) != whole
        assert checks.count_others(address, 0xA5, size) == 1
        memory[at] ^= 4
    memory[size:] = 0
    assert checks.digest(address, size) == whole
    checks.fill(address, 3, size)
    assert (memory[:size] == 3).all() and not memory[size:].any()


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
            Forward(),
            SCALE,
            layout,
            DataType.FP16,
            options,
            tmp_path,
            can_check=True,
            exact=exact,
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


def test_the_cpu_serves_where_the_device_cannot(tmp_path):
    layout = find_layout("nhwgc")

    def prepared(operation, problem, options, can_check=True):
        return prepare_problem(
            operation,
            problem,
            layout,
            DataType.FP32,
            options,
            tmp_path,
            can_check=can_check,
        )

    assert prepared(Forward(), SCALE, RunOptions()).on_device
    assert not prepared(Forward(), SCALE, ON_HOST).on_device
    assert not prepared(Forward(), SCALE, RunOptions(), can_check=False).on_device
    assert not prepared(ScaleDirection(), make_problem(), RunOptions()).on_device
    with pytest.raises(UsageError, match=r"--reference device: operation scale does not describe its sums"):
        prepared(ScaleDirection(), make_problem(), ON_DEVICE)
    with pytest.raises(UsageError, match="the target of the kernels does not verify on its device"):
        prepared(Forward(), SCALE, ON_DEVICE, can_check=False)


def test_a_reference_that_is_not_finite_is_reported(tmp_path):
    layout = find_layout("nhwgc")
    prepared = prepare_problem(Forward(), SCALE, layout, DataType.FP32, ON_DEVICE, tmp_path, can_check=True)
    for facts in ({"magnitude": None, "gaps": 0}, {"magnitude": 1.0, "gaps": 3}):
        made = messages.ReferenceFacts(squares=(1.0, 1.0), digests=(1, 2, 3), **facts)
        with pytest.raises(PluginError, match="the device's reference is not finite"):
            prepared.loaded(made)


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


@pytest.mark.parametrize(
    ("memory_bytes", "available", "rule"),
    [
        (0, None, "memory"),
        (2**30, None, "device-memory"),
        # nobody else holds much of it; others do; it is too small for the problem
        (2**30, 0.95 * 2**30, "device-memory"),
        (2**30, 2**20, "memory-in-use"),
        (2**10, 0, "device-memory"),
    ],
)
def test_memory_of_the_device_is_told_apart(checks, tmp_path, monkeypatch, memory_bytes, available, rule):
    worker = CheckedWorker(checks)

    def allocate(self, size_bytes):
        raise MemoryError("none left")

    identity = DeviceIdentity(model="one", memory_bytes=memory_bytes)
    monkeypatch.setattr(HostTarget, "allocate", allocate)
    monkeypatch.setattr(HostTarget, "identify_device", lambda self: identity)
    monkeypatch.setattr(HostTarget, "available_bytes", lambda self: available)
    prepared = prepare_problem(
        Forward(),
        SCALE,
        find_layout("nhwgc"),
        DataType.FP32,
        ON_DEVICE,
        tmp_path,
        can_check=True,
    )
    lacking = worker.remote.load(1.0, prepared.request)
    assert lacking == UnmetRequirement(rule=rule, message="none left")


def spec(name, axes, shape):
    return TensorSpec(name=name, axes=axes, shape=shape, drawing_order=axes, position=0)


@pytest.mark.parametrize(
    ("contraction", "text"),
    [
        (Contraction(summed=(("M", 4),)), "summed as well"),
        (Contraction(summed=()), "reached from no axis K"),
        (
            Contraction(
                summed=(("K", 4),),
                indices={"a": {"M": AffineIndex(terms=(("M", 1),), offset=2**31)}},
            ),
            "too large",
        ),
    ],
)
def test_what_devices_cannot_be_told_is_said(contraction, text):
    specs = spec("a", "MK", (3, 4)), spec("b", "KN", (4, 5)), spec("e", "MN", (3, 5))
    with pytest.raises(NotExpressibleError, match=text):
        lower(contraction, specs, TypeSet.shared(DataType.FP32))


def test_products_that_devices_cannot_be_told_of_are_verified_by_the_host(tmp_path):
    sizes = {"m": 4, "n": 5, "k": 6}
    with_d = MultiDProblem(**sizes, elementwise_op=ElementwiseOp.MULTI_D_ADD, strides_d=(0,))
    apart = StridedBatchProblem(**sizes, batch=3, batch_stride_b=40)
    for problem, said in ((with_d, "combined with d0"), (apart, "at distances of their own")):
        given = (Gemm(), problem, MATRIX_LAYOUTS[0], Gemm().types(DataType.FP16))
        with pytest.raises(UsageError, match=f"--reference device: .*{said}"):
            prepare_problem(*given, ON_DEVICE, tmp_path, can_check=True)
        anywhere = replace(ON_DEVICE, reference=ReferencePlace.AUTO)
        assert prepare_problem(*given, anywhere, tmp_path, can_check=True).reference is not None


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


@pytest.mark.parametrize("dtype", [*FLOATS, DataType.FP8, DataType.BF8])
@given(outer=st.integers(1, 4), length=st.integers(1, 9), step=st.integers(1, 70), seed=st.integers(0, 99))
@FEW
def test_negation_is_that_of_the_host(checks, dtype, outer, length, step, seed):
    random = np.random.default_rng(seed)
    words = word_type(dtype.properties.size_bytes)
    before = random.integers(0, np.iinfo(words).max, outer * length * step, dtype=words, endpoint=True)
    before[:: random.integers(1, 5)] = 0
    signs = random.integers(0, 2, length, dtype=np.uint8)
    after = before.copy()
    element = element_number(dtype, ocp=True)
    checks.negate(after.ctypes.data, element, after.size, (length, step), signs.ctypes.data)
    chosen = np.repeat(np.tile(signs, (outer, 1)), step, axis=1).reshape(-1).astype(bool)
    expected = np.where(chosen, before ^ sign_bits(before), before)
    assert np.array_equal(after, expected)
    checks.negate(after.ctypes.data, element, after.size, (length, step), signs.ctypes.data)
    assert np.array_equal(after, before)
    checks.wait()
