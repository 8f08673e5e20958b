"""Raw samples are compressed without loss."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckprof.store.rows import pack_samples, unpack_samples


@given(st.lists(st.floats(allow_nan=False) | st.integers(0, 10**15).map(lambda ns: ns / 1_000_000)))
def test_samples_come_back_exactly(samples):
    assert unpack_samples(pack_samples(samples)) == tuple(samples)


def test_nanoseconds_take_less_than_half_of_doubles():
    noise = random.Random(1)
    samples = [round(noise.gauss(5e6, 2e4)) / 1_000_000 for _ in range(100)]
    assert len(pack_samples(samples)) < 100 * 8 / 2


@pytest.mark.parametrize("data", [b"", b"x\x08", b"n\x03", b"d\x08not zlib", b"n\x04" + b"\x00" * 9])
def test_damaged_samples_are_an_error(data):
    with pytest.raises(ValueError, match="samples"):
        unpack_samples(data)
