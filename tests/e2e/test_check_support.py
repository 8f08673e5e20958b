"""Answers about support: of the real headers at the older API level, and every condition is named."""

import json

import pytest

from ckprof.measure.worker.abi import AbiStatus, CProblem
from ckprof.model.requirement import UNTESTED
from ckprof_plugins.directions._convolution.problem import ConvProblem
from ckprof_plugins.pipelines.gemm_families import ImplicitGemmPipeline, StreamKPipeline, TwoStagePipeline
from tests.convolutions import convolution
from tests.e2e.generated_kernels import build_kernels
from tests.e2e.support_cases import FORWARD, V4, WEIGHT, answers_of, expected, write_case
from tests.e2e.test_numerics import ODD, PLAIN, TREE, UNIT

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


WIDE = {"vector_size_a": 2, "vector_size_b": 2, "vector_size_c": 2}
#: name -> direction, what is special about an instance
KERNELS = {
    "forward": ("fwd", {**PLAIN, **UNIT, **WIDE}),
    "data": ("bwd_data", {**PLAIN, **WIDE}),
    "weight": ("bwd_weight", {**PLAIN, **WIDE, "num_groups_to_merge": 2}),
    "two_stage": ("bwd_weight", {**ODD, **WIDE, "family": TwoStagePipeline, "two_stage": True}),
    "stream_k": ("bwd_weight", {**ODD, **WIDE, "family": StreamKPipeline, **TREE}),
}


@pytest.fixture(scope="module")
def kernels(tmp_path_factory, make_instance):
    """One kernel of each kind."""
    found = {}
    for direction in ("fwd", "bwd_data", "bwd_weight"):
        names = [name for name, (of, _) in KERNELS.items() if of == direction]
        instances = [
            make_instance(**{"family": ImplicitGemmPipeline, "direction": direction, **KERNELS[name][1]})
            for name in names
        ]
        root = tmp_path_factory.mktemp(direction)
        built = build_kernels(root, direction, instances)
        found.update({name: kernel for name, (_, kernel) in zip(names, built, strict=True)})
    return found


def problem(channels, taps=3, groups=1, size=5):
    pad = taps // 2
    return ConvProblem(
        groups=groups, batch=1, out_channels=channels, in_channels=channels, filter=(taps, taps),
        input=(size, size), strides=(1, 1), dilations=(1, 1), left_pads=(pad, pad), right_pads=(pad, pad),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "asked", "split_k", "conditions"),
    [
        ("forward", problem(8, taps=1), 1, ""),
        ("forward", problem(7), 1, "specialization vector-a vector-b vector-c"),
        # what the launcher rejects does not keep the kernel from being asked
        ("forward", problem(7), 2, "split-k specialization vector-a vector-b vector-c"),
        ("forward", problem(7), 0, "split-k untested"),
        ("data", problem(8), 4, ""),
        ("data", problem(7), 4000, "split-k vector-b vector-c vector-a"),
        ("data", problem(7), -1, "split-k untested"),
        ("weight", problem(7, groups=3), 64, "split-k vector-b vector-c vector-a merged-groups"),
        ("two_stage", problem(7), 1, "vector-b vector-c vector-a"),
        ("stream_k", problem(7), 2, "split-k vector-b vector-c vector-a"),
        # the rows of one group do not fill its tiles
        ("stream_k", problem(7, groups=2), 2, "split-k stream-k-groups vector-b vector-c vector-a"),
        # and with indices beyond 32 bits
        ("forward", problem(7, size=30000), 1, "index-range specialization vector-a vector-b vector-c"),
    ],
)
def test_every_condition_is_named(kernels, name, asked, split_k, conditions):
    answer = kernels[name].is_supported(CProblem.of(asked, split_k))
    named = dict.fromkeys(unmet.rule for unmet in answer.unmet_requirements)
    assert " ".join(named) == conditions
    assert (answer.status is AbiStatus.OK) == (not conditions)


def test_a_problem_of_other_dimensions_is_not_asked_about(kernels):
    line = convolution("1 1 1 7 7 3 5 1 1 1 1")
    answer = kernels["forward"].is_supported(CProblem.of(line, 1))
    assert [unmet.rule for unmet in answer.unmet_requirements] == ["dimensions", UNTESTED]
