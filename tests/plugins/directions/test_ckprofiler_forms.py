"""The argument tables of ckProfiler's operations, against what its sources of November 2025 do.

``tests/e2e/test_ckprofiler_lines.py`` compiles those sources, and writes the golden table.
"""

import pytest

from ckprof.errors import InputError
from ckprof.model.problem_case import ALL_SPLITS, AUTO, ProblemLine
from ckprof.model.types import DataType
from ckprof.problems.from_log import LogProblems
from ckprof.problems.problem_file import parse_problem
from ckprof_plugins.directions import shipped_directions
from tests.places import GOLDEN

DIRECTIONS = shipped_directions()
FORMS = {form.operations[0]: form for direction in DIRECTIONS for form in direction.all_forms}
SIZES = "2 1 4 64 64 3 3 28 28 1 1 1 1 1 1 1 1"


def parse(text):
    fwd, *others = DIRECTIONS
    asked = next(
        (one for one in others if text.split()[0] in one.line_words and "grouped_conv_b" in text), fwd
    )
    return parse_problem(ProblemLine(text=text, path="p"), asked, DIRECTIONS)


def spatial(tags, ndim):
    image, window = "DHW"[3 - ndim :], "ZYX"[3 - ndim :]
    return tags.replace("HW", image).replace("YX", window)


def test_what_has_code():
    """Rows: operation, dimensions, layout, types of input, weight and output, what is multiplied."""
    rows = {
        f"{word} {ndim}D layout {layout} {spatial(form.layouts[layout], ndim)} "
        f"type {number} {types.input}*{types.weight}*{types.output} by {multiplied(word, types)}"
        for word, form in FORMS.items()
        for (ndim, layout), numbers in form.implemented.items()
        for number in numbers
        for types in [form.dtypes[number]]
    }
    text = (GOLDEN / "ckprofiler" / "2025-11.txt").read_text()
    assert rows == set(text.splitlines())


def multiplied(word, types):
    other = types.output if word == "grouped_conv_bwd_weight" else types.weight
    first, *last = (types.compute or f"{types.input}*{other}").split("*")
    return f"{first}*{(last or [first])[0]}"


@pytest.mark.parametrize(
    ("line", "asked"),
    [
        (f"grouped_conv_fwd_clamp 1 1 0 1 2 0 1 {SIZES}", "Clamp,floor=0,ceiling=max"),
        (f"ckProfiler grouped_conv_fwd_bias_clamp 1 1 0 1 2 0 1 {SIZES}", "AddClamp,floor=0,ceiling=256"),
        ("grouped_conv_fwd_outelementop 0 1 1 1 2 0 1 3 1 4 64 64 3 3 3 9 9 9 " + "1 " * 12, "ConvInvscale"),
    ],
)
def test_what_follows_the_convolution_is_part_of_the_problem(line, asked):
    case = parse(line)
    problem = case.problem
    assert (problem.batch, problem.out_channels, problem.filter[-1]) == (4, 64, 3)
    assert case.dtype in (DataType.FP16, DataType.FP8) and case.layout in ("nhwgc", "ndhwgc")
    assert problem.elementwise.text == asked and not case.unsupported


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (f"grouped_conv_bwd_weight 2 2 1 2 0 1 {SIZES} 1", "asks for bf16*fp32->bf16: kernels of these"),
        ("grouped_conv_bwd_weight 3 2 1 2 0 1 3 1 4 64 64 3 3 3 9 9 9 " + "1 " * 13, "fp16 by bf8*fp8"),
        (f"grouped_conv_fwd 8 1 0 1 2 0 1 {SIZES}", "fp32 by tf32"),
    ],
)
def test_types_without_kernels_are_named(line, reason):
    case = parse(line)
    assert case.dtype is None and reason in case.unsupported
    assert not case.notes


def test_what_ckprofiler_has_no_code_for_is_read_with_a_note():
    case = parse(f"grouped_conv_bwd_weight 0 3 1 2 0 1 {SIZES} 1")
    assert (case.dtype, case.layout, case.unsupported) == (DataType.FP32, "ngchw_gkyxc_ngkhw", "")
    assert case.notes == (
        "ckProfiler's grouped_conv_bwd_weight itself does not implement fp32 in NGCHW/GKYXC/NGKHW in 2D",
    )
    # those of CK Tile's kernels have tables of their own, which no sources are known of
    assert not parse(f"grouped_conv_bwd_weight_tile 0 3 1 2 0 1 {SIZES} 1").notes


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (f"grouped_conv_fwd 1 1 2 1 2 0 1 {SIZES}", "index type 2 is not supported for grouped_conv_fwd"),
        (f"grouped_conv_fwd_clamp 1 1 1 1 2 0 1 {SIZES}", "index type 1 is not supported"),
        (f"grouped_conv_fwd_outelementop 1 2 1 1 2 0 1 {SIZES}", "known: 0 ConvScale, 1 ConvInvscale"),
        (f"grouped_conv_fwd 1 1 0 2147483648 2 0 1 {SIZES}", "verify 2147483648 has more than 32 bits"),
        (f"grouped_conv_bwd_data 1 1 1 2 0 1 {SIZES}", "split_k, the last argument, is missing"),
        (f"grouped_conv_bwd_data 1 1 1 2 0 1 {SIZES} all", "expected an integer for split_k, got 'all'"),
        (f"grouped_conv_bwd_weight 1 2 1 2 0 1 {SIZES} 0", "which ckProfiler takes literally"),
    ],
)
def test_what_is_refused(line, message):
    with pytest.raises(InputError, match=message):
        parse(line)


def test_backward_data_sweeps_where_it_is_given_no_number_of_splits():
    for text in ("0", "-1", "-7"):
        assert parse(f"grouped_conv_bwd_data 1 1 1 2 0 1 {SIZES} {text}").splits == (
            *(1, 2, 4, 8, 16, 32, 64, 128),
        )
    assert parse(f"grouped_conv_bwd_weight 1 2 1 2 0 1 {SIZES} -7").splits == (-1,)


def test_logs_hold_what_is_not_supported_with_the_reason():
    lines = ("grouped_conv_fwd 8 1 0 1 2 0 1", "grouped_conv_fwd 1 1 0 1 2 0 1")
    text = "".join(f"ckProfiler {line} {SIZES}\n" for line in lines)
    log = LogProblems(text, "app.log", DIRECTIONS)
    assert not log.errors and not log.other_commands
    assert ["tf32" in case.unsupported for case in log.problems] == [True, False]


@pytest.mark.parametrize("place", [0, 1, 5, 25])
def test_options_that_choose_kernels_leave_the_problem(place):
    words = f"grouped_conv_fwd 1 1 0 1 1 0 1 {SIZES}".split()
    plain = parse(" ".join(words))
    case = parse(" ".join([*words[:1], *words[1 : place + 1], "--instance", "17", *words[place + 1 :]]))
    assert (case.problem, case.dtype, case.layout) == (plain.problem, plain.dtype, plain.layout)
    assert case.ignored == (*plain.ignored, "--instance 17")
    assert parse(" ".join([*words, "--list-instances"])).problem == plain.problem


def test_the_splits_of_the_tile_profiler():
    line = f"grouped_conv_bwd_data_tile 1 1 1 1 0 1 {SIZES}"
    assert [parse(f"{line} {text}").splits for text in ("-1", "4")] == [(AUTO,), (4,)]
    assert parse(f"{line} all").splits == ALL_SPLITS
    assert AUTO not in parse(line.replace("_tile", "") + " -1").splits
