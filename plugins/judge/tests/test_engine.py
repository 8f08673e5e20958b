from __future__ import annotations

import numpy as np

from ckprof_plugins.judge.engine import _negate


def test_slices_are_negated_as_numbers_are_and_poison_stays():
    """The middle axis of three has four indices, two elements apart."""
    values = np.arange(-8, 16, dtype=np.float32).reshape(3, 4, 2)
    values[0, 1, 0] = 0.0
    words = values.reshape(-1).view(np.uint32).copy()
    words[13] = 0xFFFFFFFF
    expected = values.copy()
    expected[:, [1, 3]] *= -1
    expected[0, 1, 0] = 0.0
    expected = expected.reshape(-1).view(np.uint32)
    expected[13] = 0xFFFFFFFF
    _negate(words, 4, 2, np.array([1, 3]))
    assert np.array_equal(words, expected)
    _negate(words, 4, 2, np.array([1, 3]))
    words[13] = values.reshape(-1).view(np.uint32)[13]
    assert np.array_equal(words, values.reshape(-1).view(np.uint32))
