import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckprof.measure.verify.storage import decode, encode
from ckprof.measure.verify.tolerance import Sums, derive_tolerance, exact_tolerance, spacing, unit_roundoff
from ckprof.model.computation import Tolerance
from ckprof.model.types import ComputeType, DataType, SplitSum, TypeSet

magnitudes = st.floats(min_value=-(2.0**100), max_value=2.0**100, width=32)


@pytest.mark.parametrize("length", [10**4, 10**6, 1_605_632])
@pytest.mark.parametrize("dtype", [DataType.FP32, DataType.FP16, DataType.BF16])
def test_long_sums_err_like_a_walk(dtype, length):
    """One unit of fp32 per product would be 9.6 % at 1.6 million of them."""
    sums = Sums(reduction_length=length, magnitude=6.0, deviation=1.0)
    tolerance = derive_tolerance(dtype, sums)
    rounding = derive_tolerance(dtype, replace(sums, reduction_length=1)).rtol
    lost = math.sqrt(1 / 128)
    if dtype is DataType.FP32:
        assert tolerance.atol < 3e-4 and tolerance.rtol < 3e-4
    assert tolerance.atol < lost / 3 and tolerance.rtol - rounding < 0.007


@pytest.mark.parametrize("dtype", [DataType.FP8, DataType.BF8])
def test_products_of_8_bits_are_exact(dtype):
    """What operands of 8 bits stand for is known: their precision widens nothing."""
    types = TypeSet(operands=(dtype, dtype), acc=DataType.FP32, result=DataType.FP16)
    tolerance = derive_tolerance(types, Sums(reduction_length=512, magnitude=12.0, deviation=2.0))
    assert tolerance.rtol < 0.01 and tolerance.atol < 0.01 * 12
    # one unit of the operands is 6 and 12 % of the largest element
    assert tolerance.atol < unit_roundoff(dtype) * 12 / 10


def test_two_rounded_products_that_nearly_cancel_pass():
    """Without a fused multiply-add, what is left of them has the rounding errors of both."""
    draw = np.random.default_rng(2)
    large = np.float32(1) - draw.random((2, 200_000), dtype=np.float32) / 8
    b = draw.random(200_000, dtype=np.float32) / 16 - np.float32(0.5)
    a = np.stack([large[0], np.minimum(large[0] * large[1], 1)])
    b = np.stack([b, -b / large[1]])
    reference = (a.astype(float) * b).sum(axis=0)
    total = (a[0] * b[0]) + (a[1] * b[1])
    # of decimals from 0 to 1 and from -0.5 to 0.5
    deviation = math.sqrt(2 / 3 / 12)
    assert within(total, reference, deviation, DataType.FP32, 2, 1, SplitSum.ACCUMULATOR).all()


def test_all_zero_reference_must_be_met_exactly():
    for types in (DataType.FP16, DataType.FP32, DataType.BF16):
        assert derive_tolerance(types, Sums(reduction_length=9, magnitude=0.0, deviation=0.0)).atol == 0
    for one, other in ((0.0, 1e-30), (1e-30, 0.0)):
        sums = Sums(reduction_length=9, magnitude=one, deviation=other)
        assert derive_tolerance(DataType.FP16, sums).atol > 2.0**-14, "subnormal numbers may cost as much"


@given(
    st.lists(magnitudes, min_size=1, max_size=20),
    st.sampled_from([DataType.FP16, DataType.BF16]),
)
def test_covers_rounding_to_nearest(values, dtype):
    reference = np.clip(np.array(values), -6e4, 6e4) if dtype is DataType.FP16 else np.array(values)
    assert_covered(reference, decode(encode(reference, dtype), dtype), dtype)


@given(st.lists(magnitudes, min_size=1, max_size=20))
def test_covers_truncation_to_bf16(values):
    reference = np.array(values, dtype=np.float32)
    truncated = (reference.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)
    assert_covered(reference.astype(float), truncated.astype(float), DataType.BF16)


def assert_covered(reference, values, dtype):
    magnitude = float(np.abs(reference).max())
    tolerance = derive_tolerance(dtype, Sums(reduction_length=1, magnitude=magnitude, deviation=magnitude))
    smallest_normal = 2.0**-126 if dtype is DataType.BF16 else 2.0**-14
    if magnitude >= smallest_normal * 2**9:
        assert (np.abs(values - reference) <= tolerance.atol + tolerance.rtol * np.abs(reference)).all()


#: elements of a simulated result
ELEMENTS = 4000
#: products in each of them
LENGTH = 896


def simulated(dtype, length, splits, seed):
    """Return reference, parts in fp32 and the deviation of sums of products as operands give them."""
    draw = np.random.default_rng(seed)
    per_split = length // splits
    exact = np.empty((splits, ELEMENTS))
    parts = np.empty((splits, ELEMENTS), dtype=np.float32)
    squares = np.zeros(2)
    for split in range(splits):
        a = decode(encode(draw.random((per_split, ELEMENTS), dtype=np.float32), dtype), dtype)
        b = decode(encode(draw.random((per_split, ELEMENTS), dtype=np.float32) - 0.5, dtype), dtype)
        exact[split] = (a * b).sum(axis=0)
        parts[split] = (a.astype(np.float32) * b.astype(np.float32)).sum(axis=0, dtype=np.float32)
        squares += [np.mean(a * a), np.mean(b * b)]
    deviation = float(np.sqrt(length * np.prod(squares / splits)))
    return exact.sum(axis=0), parts, deviation


def stored(values, dtype, *, truncated):
    if not truncated:
        return decode(encode(values, dtype), dtype)
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32) & np.uint32(0xFFFF0000)
    return bits.view(np.float32).astype(float)


def added_in_the_results_type(parts, dtype, *, truncated, seed=0):
    total = np.zeros(parts.shape[1])
    for part in np.random.default_rng(seed).permutation(parts):
        total = stored(total + stored(part, dtype, truncated=truncated), dtype, truncated=truncated)
    return total


def within(values, reference, deviation, dtype, length, splits, split_sum):
    tolerance = derive_tolerance(
        dtype,
        Sums(reduction_length=length, magnitude=float(np.abs(reference).max()), deviation=deviation),
        split_k=splits,
        split_sum=split_sum,
    )
    return np.abs(values - reference) <= tolerance.atol + tolerance.rtol * np.abs(reference)


WAYS = [(DataType.FP16, False), (DataType.BF16, False), (DataType.BF16, True)]


@settings(max_examples=12, deadline=None)
@given(
    st.sampled_from(WAYS),
    st.sampled_from([2, 3, 8, 32, 64, 128]),
    st.sampled_from([1, 9]),
    st.integers(0, 99),
)
def test_right_results_pass_however_they_are_added_up(way, splits, per_split, seed):
    dtype, truncated = way
    length = splits * per_split
    reference, parts, deviation = simulated(dtype, length, splits, seed)
    many = added_in_the_results_type(parts, dtype, truncated=truncated, seed=seed)
    assert within(many, reference, deviation, dtype, length, splits, SplitSum.RESULT_TYPE).all()
    once = stored(parts.sum(axis=0, dtype=np.float32), dtype, truncated=truncated)
    assert within(once, reference, deviation, dtype, length, splits, SplitSum.ACCUMULATOR).all()


@pytest.mark.parametrize("way", WAYS)
def test_a_single_element_does_not_narrow_it(way):
    """One element may be close to 0 by chance; its running sums are not."""
    dtype, truncated = way
    reference, parts, deviation = simulated(dtype, 576, 64, seed=5)
    computed = added_in_the_results_type(parts, dtype, truncated=truncated)
    for at in np.argsort(np.abs(reference))[:100]:
        one = slice(at, at + 1)
        args = (reference[one], deviation, dtype, 576, 64, SplitSum.RESULT_TYPE)
        assert within(computed[one], *args).all()


@pytest.mark.parametrize(
    ("splits", "split_sum"),
    [(64, SplitSum.RESULT_TYPE), (64, SplitSum.ACCUMULATOR), (128, SplitSum.ACCUMULATOR)],
)
def test_an_error_of_a_quarter_of_the_largest_value_is_found(splits, split_sum):
    """It is what one unit of roundoff per split allows with 64 splits: about 4.4 here."""
    reference, _, deviation = simulated(DataType.BF16, LENGTH, splits, seed=1)
    error = np.abs(reference).max() / 4
    assert 4 < error < 5.5
    typical = np.abs(reference) < deviation / 2
    passed = within(reference + error, reference, deviation, DataType.BF16, LENGTH, splits, split_sum)
    assert not passed[typical].any()
    if split_sum is SplitSum.ACCUMULATOR:
        # not even a twentieth of that
        assert not within(
            reference + error / 20, reference, deviation, DataType.BF16, 640, splits, split_sum
        ).any()


def test_a_lost_part_is_found():
    reference, parts, deviation = simulated(DataType.FP16, LENGTH, 64, seed=2)
    computed = added_in_the_results_type(parts[1:], DataType.FP16, truncated=False)
    passed = within(computed, reference, deviation, DataType.FP16, LENGTH, 64, SplitSum.RESULT_TYPE)
    assert np.mean(passed) < 0.15
    for dtype in (DataType.FP16, DataType.BF16):
        once = stored(parts[1:].sum(axis=0, dtype=np.float32), dtype, truncated=False)
        passed = within(once, reference, deviation, dtype, LENGTH, 64, SplitSum.ACCUMULATOR)
        assert np.mean(passed) < 0.2


def test_no_number_of_splits_excuses_everything():
    limits = [
        derive_tolerance(
            DataType.FP16, Sums(reduction_length=10**9, magnitude=1.0, deviation=0.2), split_k=splits
        ).atol
        for splits in (1024, 2**20, 2**30)
    ]
    assert limits[0] == limits[1] == limits[2]


def sums_of_rounded(mantissa_bits_dropped, length, seed):
    """Return exact sums of products, those of rounded operands, and what derives the tolerance."""
    draw = np.random.default_rng(seed)
    a, b = (draw.uniform(low, 1 + low, (2000, length)).astype(np.float32) for low in (0.0, -0.5))
    exact = np.einsum("ij,ij->i", a.astype(float), b.astype(float))
    half, odd = np.uint32((1 << mantissa_bits_dropped - 1) - 1), np.uint32(mantissa_bits_dropped)
    mask = np.uint32(0xFFFFFFFF << mantissa_bits_dropped & 0xFFFFFFFF)
    a, b = (
        ((one.view(np.uint32) + half + (one.view(np.uint32) >> odd & 1)) & mask).view(np.float32)
        for one in (a, b)
    )
    found = np.einsum("ij,ij->i", a.astype(float), b.astype(float))
    deviation = float(np.sqrt(length * (a.astype(float) ** 2).mean() * (b.astype(float) ** 2).mean()))
    return exact, found, deviation


@pytest.mark.parametrize("length", [1, 8, 64, 576])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_covers_operands_that_are_rounded_to_tf32(length, seed):
    types = TypeSet(
        operands=(DataType.FP32,) * 2, acc=DataType.FP32, result=DataType.FP32, compute_type=ComputeType.TF32
    )

    def within(dropped):
        exact, found, deviation = sums_of_rounded(dropped, length, seed)
        tolerance = derive_tolerance(
            types, Sums(reduction_length=length, magnitude=float(np.abs(exact).max()), deviation=deviation)
        )
        assert 2.0**-10 == 2 * unit_roundoff(ComputeType.TF32) < tolerance.rtol < 1.1 * 2.0**-10
        return np.abs(found - exact) <= tolerance.atol + tolerance.rtol * np.abs(exact)

    assert within(13).all()
    # bf16 drops three bits more
    assert not within(16).all()


def test_operands_of_fp32_are_held_to_more_unless_they_are_rounded():
    plain = TypeSet.shared(DataType.FP32)
    rounded = replace(plain, compute_type=ComputeType.TF32)
    given = {"reduction_length": 9, "magnitude": 1.0, "deviation": 0.5}
    assert derive_tolerance(plain, Sums(**given)).atol < derive_tolerance(rounded, Sums(**given)).atol / 100
    assert derive_tolerance(rounded, Sums(reduction_length=9, magnitude=0.0, deviation=0.0)).atol == 0


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.parametrize("length", [16, 72])
def test_no_element_of_a_large_fp32_result_is_refused(length):
    """Of many elements some have sums that went far on their way, and err by more than most."""
    rng = np.random.default_rng(length)
    elements, at_once = 4_000_000, 500_000
    sums = Sums(reduction_length=length, magnitude=6 * math.sqrt(length), deviation=math.sqrt(length))
    tolerance = derive_tolerance(DataType.FP32, sums)
    worst = 0.0
    for _ in range(elements // at_once):
        exact, rounded = np.zeros(at_once), np.zeros(at_once, np.float32)
        for _ in range(length):
            product = rng.standard_normal(at_once, np.float32).astype(np.float64)
            product *= rng.standard_normal(at_once, np.float32)
            exact += product
            rounded = (rounded + product).astype(np.float32)
        error = np.abs(rounded - exact) - tolerance.rtol * np.abs(exact)
        worst = max(worst, float(error.max()) / tolerance.atol)
    # six deviations of the mean area would have been passed at two fifths
    assert 0.3 < worst < 0.9


@pytest.mark.parametrize(("text", "smallest"), [("fp8,fp8,fp8", 2.0**-9), ("bf8,bf8,bf8", 2.0**-16)])
def test_tolerance_next_to_zero(text, smallest):
    """Half of the smallest number of the type, of the OCP variant and of the other one."""
    sums = Sums(reduction_length=1, magnitude=1e-9, deviation=1e-9)
    for ocp, least in ((True, smallest), (False, smallest / 2)):
        found = derive_tolerance(replace(TypeSet.parse(text), ocp=ocp), sums)
        assert found.atol == pytest.approx(least / 2, rel=1e-6)


U32, U16, UB, U8, UTF = 2.0**-24, 2.0**-11, 2.0**-8, 2.0**-14, 2.0**-11
TF32 = TypeSet(
    operands=(DataType.FP32,) * 2, acc=DataType.FP32, result=DataType.FP32, compute_type=ComputeType.TF32
)


def parts_of(types, length, **changes):
    """Return ``rtol`` and what ``atol`` is of a deviation of 2, and of sums up to 3."""
    splits = {name: changes.pop(name) for name in ("split_k", "split_sum") if name in changes}
    sums = Sums(reduction_length=length, magnitude=3.0, deviation=2.0, **changes)
    found = derive_tolerance(types, sums, **splits)
    return [found.rtol, found.atol]


def close(*values):
    return pytest.approx(values, rel=1e-12)


def test_each_type_has_the_terms_of_its_sums():
    """The formulas of the module's text, with the numbers filled in."""
    # no steps: 12 products, sqrt(12 / 3) is 2
    assert parts_of(DataType.FP32, 12) == close(
        U32 * (1 + 2 * 6 * math.sqrt(1 / 3 + 1 / 144)), 2 * U32 * 2 * math.sqrt(35.4025 + 36 / 12) + 2**-126
    )
    # steps of 8 products: 48 and 49 products take 6 and 7, sqrt(48 / 3) is 4
    for length, steps in ((48, 6), (49, 7)):
        root = math.sqrt(length / 3)
        rtol = 2 * root * 6 / math.sqrt(3) + steps / 2 + 1
        atol = 2 * (2 * root * 5.95 + 6 * steps / math.sqrt(12))
        subnormal = 2**-14 * (1 + 3 + 6 * math.sqrt(length * 2**-13))
        assert parts_of(DataType.FP16, length) == close(U16 + U32 * rtol, U32 * atol + subnormal)
        # cut off, which errs by twice as much
        assert parts_of(DataType.BF16, length) == close(2 * UB + U32 * rtol, U32 * atol + 2**-126)
    # steps of 32 products to 14 bits, and half of the smallest number of 8 bits
    rtol = 2 * 8 * 6 / math.sqrt(3) + 6 / 2 + 1
    atol = 2 * (2 * 8 * 5.95 + 6 * 6 / math.sqrt(12))
    assert parts_of(DataType.FP8, 192) == close(2**-4 + U8 * rtol, U8 * atol + 2**-10)
    # steps of 4, and operands that err by the unit of TF32
    rtol, steps = 2 * 2 * 6 / math.sqrt(3) + 3 / 2 + 1, 3
    atol = 2 * (2 * 2 * 5.95 + 6 * steps / math.sqrt(12))
    of_operands = 2 * 6 * math.sqrt(2 / 3) * UTF
    assert parts_of(TF32, 12) == close(U32 + U32 * rtol + 2 * UTF, U32 * atol + of_operands + 2**-126)


def test_what_splits_add_is_that_of_their_roundings():
    for dtype, unit, cut in ((DataType.FP32, U32, 0), (DataType.FP16, U16, 0), (DataType.BF16, UB, 1)):
        none = np.array(parts_of(dtype, 4800))
        four = np.array(parts_of(dtype, 4800, split_k=4)) - none
        walk = (35.4025 * 4 + 36) / 3 + cut * 36 * 16 / 12
        expected = unit * (cut * 3 + 6 * math.sqrt(7 / 9)), 2 * unit * math.sqrt(walk)
        assert four == pytest.approx(expected, rel=1e-9)
        most = parts_of(dtype, 4800, split_k=1024)
        assert most == parts_of(dtype, 4800, split_k=5000) != parts_of(dtype, 4800, split_k=1023)
        assert parts_of(dtype, 4, split_k=9) == parts_of(dtype, 4, split_k=4) != parts_of(dtype, 4, split_k=3)
        for count in (1, 0, -1):  # a kernel may choose the number, and has no less than one
            assert parts_of(dtype, 4800, split_k=count) == [*none]
        assert parts_of(dtype, 4800, split_k=4, split_sum=SplitSum.ACCUMULATOR) == [*none]


def test_each_further_rounding_adds_its_unit():
    for dtype, rounding in ((DataType.FP32, U32), (DataType.BF16, 2 * UB)):
        once, thrice = (np.array(parts_of(dtype, 48, roundings=count)) for count in (1, 3))
        assert thrice - once == pytest.approx([2 * rounding, 2 * rounding * max(3.0, 6 * 2.0)])
    large = Sums(reduction_length=48, magnitude=100.0, deviation=2.0)
    once, twice = (derive_tolerance(DataType.FP16, replace(large, roundings=count)).atol for count in (1, 2))
    assert twice - once == pytest.approx(U16 * 100)


def test_integers_that_something_was_made_of_err_by_their_cut_and_roundings_in_fp32():
    types = TypeSet.parse("int8,int8,int8")
    assert parts_of(types, 48, is_changed=True) == close(16 * U32, 1 + 16 * U32 * 6 * 2)
    assert parts_of(types, 48) == [0, 0]


def test_exact_operands_need_a_tolerance_for_tf32_alone():
    sums = Sums(reduction_length=12, magnitude=3.0, deviation=2.0)
    assert exact_tolerance(TypeSet.shared(DataType.FP16), sums) == Tolerance(rtol=0.0, atol=0.0)
    plain = derive_tolerance(replace(TF32, compute_type=None), sums)
    found = exact_tolerance(TF32, sums)
    assert [found.rtol, found.atol] == close(plain.rtol + 2**-16, plain.atol + 2 * 2**-16)


def test_spacing_is_that_of_numpy():
    for dtype, kind in ((DataType.FP32, np.float32), (DataType.FP16, np.float16)):
        for magnitude in (0.75, 1.0, 3.9, 1024.0):
            assert spacing(dtype, magnitude) == np.spacing(kind(magnitude))
    assert spacing(DataType.BF16, 3.0) == 2.0**-6
    assert (spacing(DataType.INT8, 100.0), spacing(DataType.FP16, 0.0)) == (1.0, 0.0)
