"""``ckprof check-support`` on the host model at the older API level, against answers of the real headers."""

import json

import pytest

from tests.e2e.support_cases import FORWARD, V4, WEIGHT, answers_of, expected, write_case

pytestmark = [pytest.mark.compiler, pytest.mark.thorough]


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


def test_wrong_tails_of_splits_are_rejected(ckprof, tmp_path):
    """compv4 of July 2025: ceil(GemmK / (split * 32)) blocks along K, of which 1 and 3 are wrong."""
    case = write_case(tmp_path, "bwd_weight", (({**V4, "vector_size_a": 8, "vector_size_b": 8}, ""),))
    images = (1, 2, 3, 4, 5, 6, 8)
    (tmp_path / "problems.txt").write_text(
        "".join(f"2 1 {n} 64 64 1 1 8 8 1 1 1 1 0 0 0 0\n" for n in images)
    )
    splits = (1, 2, 4)
    case[-1] = ",".join(map(str, splits))
    called = ckprof(
        *("check-support", "bwd_weight", *case, "--arch", "gfx942", "--api-level", "2025-07"),
        *("--format", "json"),
    )
    assert called.out, called.err
    (kernel,) = json.loads(called.out)["kernels"]
    blocks = [-(-64 * n // (32 * split)) for n in images for split in splits]
    wrong = [split > 1 and count in (1, 3) for count, split in zip(blocks, splits * len(images), strict=True)]
    assert [not supported for supported in kernel["supported"]] == wrong
