"""Synthetic problems."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckprof.errors import InputError, UsageError
from ckprof_plugins.directions._convolution.sample import SampleSpec, sample


def test_the_seed_decides():
    assert sample(SampleSpec(count=30, seed=3)) == sample(SampleSpec(count=30, seed=3))
    assert sample(SampleSpec(count=30, seed=3)) != sample(SampleSpec(count=30, seed=4))


@given(st.integers(0, 10**6), st.integers(1, 3), st.floats(0, 1))
def test_as_many_distinct_problems_as_asked_for(seed, ndim, edges):
    drawn = sample(SampleSpec(count=20, seed=seed, ndim=ndim, edges=edges))
    assert len({one.problem for one in drawn}) == 20
    assert all(one.problem.ndim == ndim for one in drawn)
    assert sum(one.name != "" for one in drawn) == round(20 * edges)


def test_ranges_and_limits_hold():
    spec = SampleSpec(
        count=200, edges=0, batch=(2, 8), channels=(16, 64), size=(7, 28), groups=(1, 4), max_flop=1e8
    )
    for one in sample(spec):
        problem = one.problem
        assert 2 <= problem.batch <= 8
        assert 16 <= problem.in_channels <= 64
        assert 16 <= problem.out_channels <= 64
        assert all(7 <= size <= 28 for size in problem.input)
        assert 1 <= problem.groups <= 4
        assert problem.flop <= 1e8


def test_sizes_are_log_uniform():
    drawn = sample(SampleSpec(count=2000, edges=0, batch=(1, 127), multiples=(1,)))
    octaves = Counter(one.problem.batch.bit_length() for one in drawn)
    # 7 octaves with 286 each; 5 standard deviations are 78
    assert set(octaves) == set(range(1, 8))
    assert all(abs(count - 2000 / 7) < 78 for count in octaves.values())


def test_divisibility_classes_are_drawn():
    drawn = sample(SampleSpec(count=500, edges=0, multiples=(1, 8, 64), channels=(1, 512)))
    share = sum(one.problem.in_channels % 64 == 0 for one in drawn) / 500
    assert 0.25 < share < 0.5
    assert sum(one.problem.in_channels % 2 for one in drawn) > 50


def test_all_kinds_of_edge_cases_come():
    kinds = {one.name for one in sample(SampleSpec(count=9, edges=1))}
    assert len(kinds) == 9
    by_kind = {one.name: one.problem for one in sample(SampleSpec(count=9, edges=1))}
    assert by_kind["unequal pads"].left_pads != by_kind["unequal pads"].right_pads
    assert by_kind["a group per channel"].in_channels == by_kind["a group per channel"].out_channels == 1
    assert by_kind["filter as large as the image"].output == (1, 1)
    assert (
        by_kind["stride larger than the filter"].strides[0]
        > by_kind["stride larger than the filter"].filter[0]
    )


def test_limits_that_exclude_too_much_are_errors():
    with pytest.raises(InputError, match="only 0 of 3 problems"):
        sample(SampleSpec(count=3, max_flop=1))
    spec = SampleSpec(count=50, batch=(1, 1), channels=(1, 1), size=(1, 1), edges=0)
    with pytest.raises(InputError, match="of 50 problems"):
        sample(spec)


@pytest.mark.parametrize(
    "wrong",
    [{"count": 0}, {"ndim": 4}, {"edges": 2.0}, {"multiples": ()}, {"batch": (5, 4)}, {"channels": (0, 4)}],
)
def test_wrong_specifications(wrong):
    with pytest.raises(UsageError):
        SampleSpec(**{"count": 1, **wrong})  # type: ignore[arg-type]
