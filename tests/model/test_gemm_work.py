"""How lengths fit stages of 64 elements."""

from math import log2

import pytest

from ckprof.model.gemm_work import alignment, stage_padding


@pytest.mark.parametrize(
    ("length", "stages", "divisor"),
    [(1, 1, 1), (48, 1, 16), (63, 1, 1), (64, 1, 64), (65, 2, 1), (96, 2, 32), (128, 2, 64), (640, 10, 64)],
)
def test_padding_and_alignment(length, stages, divisor):
    assert stage_padding(length) == pytest.approx(log2(64 * stages / length))
    assert alignment(length) == log2(divisor)
