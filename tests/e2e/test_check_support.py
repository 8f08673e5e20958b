"""``ckprof check-support`` on the host model at the older API level, against answers of the real headers."""

from __future__ import annotations

import json

import pytest

from tests.e2e.support_cases import FORWARD, WEIGHT, answers_of, expected, write_case

pytestmark = pytest.mark.compiler


@pytest.mark.parametrize(
    ("direction", "variant", "kernels"),
    [("fwd", "forward", FORWARD), ("bwd_weight", "bwd_weight", WEIGHT)],
    ids=["fwd", "bwd_weight"],
)
def test_the_model_gives_the_answers_of_the_real_headers(ckprof, tmp_path, direction, variant, kernels):
    case = write_case(tmp_path, variant, kernels)
    level = ("--arch", "gfx942", "--api-level", "2025-07", "--format", "json")
    called = ckprof("check-support", direction, *case, *level)
    assert called.out, called.err
    found = json.loads(called.out)
    answers = [answers_of(kernel["supported"]) for kernel in found["kernels"]]
    assert answers == expected(kernels)
    assert found["api_level"] == "2025-07"


def test_bad_calls(ckprof, tmp_path):
    case = write_case(tmp_path, "forward", FORWARD[:1])
    ckprof("check-support", "fwd", *case[:2]).fails_with(2, "nothing to ask")
