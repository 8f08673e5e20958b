"""The old library's conditions, against the kernels of CK Tile that are made of the same list lines.

Both reject the same convolutions, but for what the old library alone demands: more steps than a pipeline
reads ahead, one channel per group where groups are merged, whole tiles of products without padding. Splits
differ too.
"""

import random
from collections import Counter
from dataclasses import replace

import pytest

from ckprof.kernels.requests import BuildOptions, InstanceQuery
from ckprof.lists.list_files import find_list
from ckprof.measure.requests import SupportRequest
from ckprof.profiler import Profiler
from ckprof_plugins.consumers._old_ck.kernels import AUTOMATIC, kernels_of
from ckprof_plugins.consumers._old_ck.support import demands_of, support, wrong_elements
from ckprof_plugins.directions._convolution.problem import ConvProblem
from plugins.consumers.tests.databases import index


def problem(**changes):
    sizes = {
        "groups": 2,
        "batch": 32,
        "out_channels": 64,
        "in_channels": 64,
        "filter": (1, 1),
        "input": (14, 14),
        "strides": (1, 1),
        "dilations": (1, 1),
        "left_pads": (0, 0),
        "right_pads": (0, 0),
    }
    return ConvProblem(**{**sizes, **changes})


def first(family, kind, **values):
    """A kernel of a class whose parameters are these."""
    return next(
        kernel
        for kernel in index().all_of(family)
        if kernel.kind == kind and all(kernel.values.get(name) == text for name, text in values.items())
    )


V3 = "DeviceGroupedConvFwdMultipleABD_Xdl_CShuffle_V3"
CLASSIC = "DeviceGroupedConvFwdMultipleABD_Xdl_CShuffle"
DATA = "DeviceGroupedConvBwdDataMultipleD_Xdl_CShuffle_v1"
WEIGHT = "DeviceGroupedConvBwdWeight_Xdl_CShuffle"
TWO_STAGE = "DeviceGroupedConvBwdWeightTwoStage_Xdl_CShuffle"


@pytest.mark.parametrize(
    ("direction", "kind", "values", "changes", "splits", "arch", "part"),
    [
        ("fwd", V3, {"ConvForwardSpecialization": "Filter1x1Pad0"}, {"filter": (3, 3)}, 1, "", "filter of 1"),
        (
            "fwd",
            V3,
            {"ConvForwardSpecialization": "Filter1x1Stride1Pad0"},
            {"strides": (2, 2)},
            1,
            "",
            "strides",
        ),
        (
            "fwd",
            CLASSIC,
            {"ConvForwardSpecialization": "Filter3x3"},
            {"filter": (3, 3)},
            1,
            "",
            "one input channel",
        ),
        (
            "fwd",
            CLASSIC,
            {"NumGroupsToMerge": "8"},
            {"in_channels": 1, "filter": (3, 3)},
            1,
            "",
            "do not divide 2",
        ),
        ("fwd", V3, {"ABlockTransferSrcScalarPerVector": "8"}, {"in_channels": 12}, 1, "", "vectors of 8"),
        ("fwd", V3, {"BlkGemmPipelineVer": "v3", "KPerBlock": "64"}, {}, 1, "", "prefetches 2 steps of 64"),
        ("fwd", V3, {"DirectLoad": "true"}, {}, 1, "gfx942", "direct loads need gfx950"),
        ("fwd", CLASSIC, {}, {}, 1, "gfx1100", "XDL"),
        ("bwd_data", DATA, {}, {}, 0, "", "at least 1"),
        ("bwd_data", DATA, {"BBlockTransferSrcScalarPerVector": "8"}, {"in_channels": 4}, 1, "", "vectors"),
        ("bwd_weight", WEIGHT, {}, {}, AUTOMATIC, "", "do not choose the number of splits"),
        ("bwd_weight", WEIGHT, {}, {}, 0, "", "expected at least 1"),
        ("bwd_weight", TWO_STAGE, {"NumGroupsToMerge": "8"}, {}, 1, "", "one input and one output channel"),
    ],
)
def test_the_condition_that_is_not_met_is_named(direction, kind, values, changes, splits, arch, part):
    kernel = first((direction, 2, "fp16"), kind, **values)
    if part == "vectors of 8":
        assert kernel.specialization == "Default"
    unmet = support(kernel, problem(**changes), "fp16", splits, arch).unmet
    assert part in unmet


def test_two_stages_choose_splits_and_atomics_of_bf16_need_an_architecture():
    assert not support(
        first(
            ("bwd_weight", 2, "fp16"),
            TWO_STAGE,
            NumGroupsToMerge="1",
            ConvBackwardWeightSpecialization="Default",
        ),
        problem(batch=64),
        "fp16",
        AUTOMATIC,
        "gfx942",
    ).unmet
    kernel = first(
        ("bwd_data", 2, "bf16"), DATA, CDEBlockTransferScalarPerVector_NPerBlock="4",
        ConvBackwardDataSpecialization="Default",
    )  # fmt: skip
    assert not support(kernel, problem(), "bf16", 2, "gfx942").unmet
    assert "gfx90a cannot add bf16" in support(kernel, problem(), "bf16", 2, "gfx90a").unmet
    # what is done to a sum cannot be done to its parts
    scaling = replace(kernel, values={**kernel.values, "CDEElementwiseOp": "Scale"})
    assert "Scale would be done for each" in support(scaling, problem(), "bf16", 2, "gfx942").unmet
    assert not support(scaling, problem(), "bf16", 1, "gfx942").unmet
    assert demands_of(scaling) != demands_of(kernel)
    weight = first(("bwd_weight", 2, "bf16"), WEIGHT, ConvBackwardWeightSpecialization="Default")
    assert "gfx90a cannot add bf16" in support(weight, problem(), "bf16", 1, "gfx90a").unmet
    with_d = replace(weight, kind="DeviceGroupedConvBwdWeightMultipleD_Xdl_CShuffle")
    assert not support(with_d, problem(), "bf16", 2, "gfx90a").unmet


@pytest.mark.parametrize("direction", ["fwd", "bwd_data", "bwd_weight"])
def test_kernels_with_equal_demands_support_the_same(direction):
    family = (direction, 2, "fp16")
    alike = {}
    for kernel in index().all_of(family):
        alike.setdefault(demands_of(kernel), []).append(kernel)
    draw = random.Random(direction)
    problems = [
        problem(
            groups=draw.choice((1, 2, 8)),
            in_channels=draw.choice((1, 4, 8, 60)),
            out_channels=draw.choice((1, 2, 8, 64)),
            filter=(draw.choice((1, 3)),) * 2,
            batch=draw.choice((1, 64)),
        )
        for _ in range(12)
    ]
    for kernels in alike.values():
        for one in problems:
            assert len({support(kernel, one, "fp16", 1, "gfx942").unmet for kernel in kernels}) == 1
    assert 1 < len(alike) < sum(map(len, alike.values()))


def test_what_a_type_string_does_not_say_is_passed_over():
    (_, kernel), = kernels_of(
        "DeviceGroupedConvBwdDataMultipleD_Xdl_CShuffle_v1"
        "<64, 16, 64, 32, 8, 8, Default, 16, 16, 1, 4, 8, 8, 1, 1>",
        "nhwgc_fp16.conf",
        1,
    )  # fmt: skip
    verdict = support(kernel, problem(), "fp16", 1, "")
    assert (verdict.unmet, verdict.partial) == ("", True)
    assert "vectors of 8" in support(kernel, problem(in_channels=4), "fp16", 1, "").unmet


#: parts of conditions that the old library alone has
_OLD_ALONE = ("prefetches", "merged groups need", "without padding")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("direction", "name"),
    [
        ("fwd", "forward/tests/nhwgc_fp16"),
        pytest.param("bwd_data", "backward_data/tests/nhwgc_fp16", marks=pytest.mark.slow),
        pytest.param("bwd_weight", "backward_weight/tests/nhwgc_fp16", marks=pytest.mark.slow),
    ],
)
def test_kernels_of_ck_tile_support_the_same(direction, name):
    profiler = Profiler()
    path = find_list(name)
    selection = profiler.instances(InstanceQuery(directions=(direction,), conf=(name,))).require()
    build = BuildOptions(target="cpu", arch="gfx950")
    report = profiler.check_support(SupportRequest(selection=selection, build=build, random=80))
    lines = path.read_text().splitlines()
    counts = Counter()
    for candidate in report.candidates:
        line = lines[int(candidate.source.rpartition(":")[2]) - 1]
        ((_, old),) = kernels_of(line, path, 1)
        for query, answer in zip(report.queries, report.answers[candidate.instance.key], strict=True):
            if query.split_k != 1:
                continue
            unmet = support(old, query.problem, "fp16", 1, "gfx950").unmet
            if not any(part in unmet for part in _OLD_ALONE):
                assert answer.supported == (not unmet), (line, query.problem, unmet, answer.reason)
                counts[answer.supported] += 1
    assert min(counts[True], counts[False]) > 20


def test_steps_of_parts_that_the_device_decides_on_are_passed_over():
    for version, splits, passed_over in (("v1", AUTOMATIC, False), ("v2", AUTOMATIC, True), ("v2", 1, False)):
        values = {"NumGroupsToMerge": "1", "BlkGemmPipelineVer": version}
        kernel = first(("bwd_weight", 2, "fp16"), TWO_STAGE, **values)
        verdict = support(kernel, problem(), "fp16", splits, "gfx942")
        assert (verdict.unmet, verdict.partial) == ("", passed_over)


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        ({"dilations": (1, 2)}, True),
        ({"dilations": (2, 1)}, False),
        ({"dilations": (1, 2), "in_channels": 33}, False),
    ],
)
def test_vectors_that_go_on_in_the_next_column_are_wrong_where_dilated(changes, wrong):
    """As the emulated device had it: 2D G1 N1 K12 C32 in 11x15, filter 2x3, dilation 1x2."""
    kernel = first(("bwd_weight", 2, "bf16"), TWO_STAGE, BBlockTransferSrcScalarPerVector="3")
    sizes = {"groups": 1, "batch": 1, "out_channels": 12, "in_channels": 32, "filter": (2, 3)}
    asked = support(kernel, problem(**{**sizes, "input": (11, 15), **changes}), "bf16", 1, "gfx942")
    assert asked.unmet == ""
    assert ("input's next one, although the dilation is 2" in wrong_elements(asked)) is wrong
