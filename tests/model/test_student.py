"""The distributions agree with scipy's."""

import math

import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from ckprof.model.student import beta_quantile, quick_t_quantile, t_quantile, t_tail


@given(st.floats(-40, 40), st.floats(0.5, 400))
def test_tails(t, df):
    assert t_tail(t, df) == pytest.approx(scipy.stats.t.sf(t, df), rel=1e-8, abs=1e-14)


@given(st.floats(0.001, 0.999), st.floats(1, 200))
def test_quantiles(probability, df):
    assert t_quantile(probability, df) == pytest.approx(
        scipy.stats.t.ppf(probability, df), rel=1e-7, abs=1e-9
    )


@given(st.floats(1e-9, 1e-3), st.floats(0.5, 1e5))
def test_quantiles_far_out(beyond, df):
    assert t_quantile(1 - beyond, df) == pytest.approx(scipy.stats.t.isf(1 - (1 - beyond), df), rel=1e-6)
    assert t_quantile(beyond, df) == pytest.approx(scipy.stats.t.ppf(beyond, df), rel=1e-6)


@given(st.floats(1e-6, 1 - 1e-6), st.floats(0.5, 500), st.floats(0.5, 500))
def test_quantiles_of_beta(probability, a, b):
    assert beta_quantile(probability, a, b) == pytest.approx(
        scipy.stats.beta.ppf(probability, a, b), abs=1e-9
    )


@given(st.floats(0.001, 0.999), st.floats(8, 1000))
def test_quick_quantiles_are_close(probability, df):
    assert quick_t_quantile(probability, df) == pytest.approx(
        scipy.stats.t.ppf(probability, df), rel=0.05, abs=1e-3
    )


@given(st.floats(-8, 8))
def test_the_normal_distribution_is_the_limit(z):
    assert t_tail(z, math.inf) == pytest.approx(scipy.stats.norm.sf(z), rel=1e-9)
