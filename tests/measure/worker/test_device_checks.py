"""What devices compute, run as plain C++, against what the CPU computes."""

import ctypes
import math
import subprocess

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from ckprof.measure.options import ReferencePlace, RunOptions
from ckprof.measure.verify.comparison import compare, reason_of, verification_of
from ckprof.measure.verify.storage import decode, encode, rounded
from ckprof.measure.worker import check_work, device_checks
from ckprof.measure.worker.audit import sign_bits, word_type
from ckprof.measure.worker.check_work import element_number
from ckprof.measure.worker.device_checks import CPiece
from ckprof.measure.worker.guards import POISON_BYTE
from ckprof.model.computation import Rounding, Tolerance
from ckprof.model.outcome import DEVICE_REFERENCE
from ckprof.model.tensor import TensorSpec
from ckprof.model.types import DataType

from ..device_checks import FLAGS, FLOATS
from ..fakes import find_compiler


def spec(name, axes, shape):
    return TensorSpec(name=name, axes=axes, shape=shape, drawing_order=axes, position=0)


#: C name -> mirror
MIRRORS = {
    "ckprof_integers": check_work.CIntegers,
    "ckprof_operand": check_work.COperand,
    "ckprof_loop": check_work.CLoop,
    "ckprof_checked_index": check_work.CCheckedIndex,
    "ckprof_contraction": check_work.CContraction,
    "ckprof_comparison": device_checks.CComparison,
    "ckprof_findings": device_checks.CFindings,
    "ckprof_signs": device_checks.CSigns,
    "ckprof_piece": device_checks.CPiece,
    "ckprof_checks": device_checks.CChecks,
}
#: ``CKPROF_MAX_PIECES``
MOST_PIECES = 16
EXACT = Tolerance(rtol=0.0, atol=0.0)

ON_HOST = RunOptions(reference=ReferencePlace.HOST)
FEW = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


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


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 17, 1000, 300_001])
def test_digests_and_counts_see_each_byte(checks, size):
    memory = np.full(size + 16, 0xA5, dtype=np.uint8)
    address = memory.ctypes.data
    piece = CPiece.of(address, size)
    others = [CPiece.of(address, size, others=value) for value in (0xA5, 0xA1)]
    (whole,) = checks.survey(piece)
    # as many pieces as a call takes, each by itself
    several = [piece, *others] * (MOST_PIECES // 3)
    assert checks.survey(*several) == (whole, 0, size) * (MOST_PIECES // 3)
    for at in {0, size // 2, size - 1} if size else ():
        memory[at] ^= 4
        digest, *counts = checks.survey(piece, *others)
        assert digest != whole and counts == [1, size - 1]
        memory[at] ^= 4
    memory[size:] = 0
    assert checks.survey(piece) == (whole,)
    checks.fill(address, 3, size)
    assert (memory[:size] == 3).all() and not memory[size:].any()


def test_digests_depend_on_the_order(checks):
    words = np.arange(64, dtype=np.uint64)
    (before,) = checks.survey(CPiece.of(words.ctypes.data, words.nbytes))
    words[[3, 40]] = words[[40, 3]]
    assert checks.survey(CPiece.of(words.ctypes.data, words.nbytes)) != (before,)


def random_bits(key, index):
    """Return the upper 32 bits of what splitmix64 gives for a number of a sequence."""
    word = (key + (index + 1) * 0x9E3779B97F4A7C15) % 2**64
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        word = (word ^ word >> shift) * factor % 2**64
    return (word ^ word >> 31) >> 32


def negated_by_hand(words, signs):
    """Return a tensor with what some sets of indices of an axis negate."""
    chosen = np.array(
        [
            sum(random_bits(key, index) < share for key, share in zip(signs.key, signs.share, strict=True))
            % 2
            for index in range(signs.length)
        ]
    )
    lines = np.repeat(chosen.astype(bool), signs.step)
    return np.where(np.resize(lines, words.size), words ^ sign_bits(words), words)


@pytest.mark.parametrize("dtype", [*FLOATS, DataType.FP8, DataType.BF8])
@given(
    outer=st.integers(1, 4),
    lengths=st.lists(st.sampled_from((1, 2, 5, 9)), min_size=1, max_size=2),
    steps=st.lists(st.sampled_from((1, 3, 8, 70)), min_size=2, max_size=2),
    seed=st.integers(0, 99),
)
@FEW
def test_negation_is_that_of_the_host(checks, dtype, outer, lengths, steps, seed):
    check_negation(checks, dtype, outer * math.lcm(*lengths) * math.lcm(*steps), lengths, steps, seed)


def test_axes_may_be_longer_than_what_a_block_lists(checks):
    check_negation(checks, DataType.FP16, 12_345, [5000, 3], [2, 1], 1)


def check_negation(checks, dtype, size, lengths, steps, seed):
    random = np.random.default_rng(seed)
    words = word_type(dtype.properties.size_bytes)
    before = random.integers(0, np.iinfo(words).max, size, dtype=words, endpoint=True)
    before[:: random.integers(1, 5)] = 0
    after, expected = before.copy(), before
    piece = CPiece.of(after.ctypes.data, after.nbytes)
    piece.element, piece.axes = element_number(dtype, ocp=True), len(lengths)
    for signs, length, step in zip(piece.signs, lengths, steps, strict=False):
        signs.length, signs.step = length, step
        signs.key[:] = random.integers(0, 2**63, 2)
        signs.share[:] = random.choice([0, 2**31, 2**32 - 1], 2)
        expected = negated_by_hand(expected, signs)
    (digest,) = checks.survey(CPiece.of(after.ctypes.data, after.nbytes))
    checks.negate(piece)
    assert np.array_equal(after, expected)
    # the digest is that of what it would be without signs, and looking changes nothing
    assert checks.survey(piece) == (digest,) and np.array_equal(after, expected)
    checks.negate(piece)
    assert np.array_equal(after, before)
    checks.wait()
