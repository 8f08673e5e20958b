"""How wide accesses are where kernels choose: against widths that the real headers were measured with."""

import pytest

from ckprof_plugins.pipelines.universal_gemm.reading import native_vectors
from tests.plugins.pipelines.universal_gemm.products import make_product

LANES = 64


@pytest.mark.parametrize(
    ("changes", "vectors"),
    [
        ({"layout": "rcr"}, (8, 8, 8)),
        ({"layout": "rrr"}, (8, 8, 8)),
        ({"layout": "crr"}, (8, 8, 8)),
        ({"dtype": "fp8"}, (16, 16, 8)),
        ({"tile": (256, 16, 64), "waves": (4, 1, 1), "mma": (16, 16, 32)}, (8, 4, 8)),
        ({"tile": (32, 16, 64), "waves": (2, 1, 1), "mma": (16, 16, 32)}, (8, 8, 8)),
        ({"tile": (16, 16, 128), "waves": (1, 1, 1), "mma": (16, 16, 32)}, (8, 8, 8)),
        ({"tile": (224, 256, 64), "mma": (16, 16, 32)}, (8, 8, 8)),
        ({"pipeline": "compv1", "pads": (True, True, True)}, (1, 1, 8)),
        ({"pipeline": "compv1"}, (8, 8, 8)),
    ],
)
def test_widths_of_the_real_headers(changes, vectors):
    assert native_vectors(make_product(**changes), LANES) == vectors


@pytest.mark.parametrize(
    ("layout", "pads", "vectors"),
    [
        # A's fast axis is K or M; of B the other one counts: N where K is the fast one, K where N is
        ("rcr", (False, False, True), (1, 8)),
        ("rcr", (True, True, False), (8, 1)),
        ("rrr", (False, False, True), (1, 1)),
        ("rrr", (True, True, False), (8, 8)),
        ("ccr", (True, False, False), (1, 8)),
        ("crr", (False, True, True), (8, 1)),
    ],
)
def test_the_first_pipeline_looks_at_one_pad_for_each_operand(layout, pads, vectors):
    kernel = make_product(pipeline="compv1", layout=layout, pads=pads)
    assert native_vectors(kernel, LANES)[:2] == vectors
