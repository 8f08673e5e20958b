"""Batched matrix products and those with D tensors: what the engines lack of them."""

import json

import pytest

from tests.e2e.test_gemm_variants import catalog

pytestmark = [pytest.mark.compiler, pytest.mark.thorough]


@pytest.mark.slow
def test_the_cuda_target_says_what_its_engines_lack(ckprof_process, tmp_path):
    """The answers are computed by the host: no device is needed."""
    called = ckprof_process(
        "check-support", "gemm", "--target", "cuda", "--conf", catalog(tmp_path, "rcr", "fp16"),
        "--problem", "-m=64 -n=64 -k=64", "--problem", "-m=64 -n=64 -k=64 -batch=2",
        "--problem", "-m=64 -n=64 -k=64 -elementwise_op=MultiDMultiply", "--format", "json",
    )  # fmt: skip
    found = {
        kernel["name"].rpartition("16x16x16")[2]: (kernel["supported"], kernel["model"])
        for kernel in json.loads(called.out)["kernels"]
    }
    assert found == {
        "": ([True, False, False], [True, False, False]),
        # one product is computed as by any other kernel
        "_batched": ([True, False, False], [True, True, False]),
        "_multid_MultiDAdd_d2": ([False] * 3, [False] * 3),
        "_multid_MultiDMultiply_d1": ([False] * 3, [False, False, True]),
    }
