"""Problems in every form come back as they were."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckprof.errors import ExitCode, InputError, ListError, UsageError
from ckprof.model.problem_case import ProblemCase, ProblemLine
from ckprof.model.types import DataType
from ckprof.problems.problem_file import parse_problem, parse_problem_list, read_problem_file, render_problems
from ckprof_plugins.directions import shipped_directions
from ckprof_plugins.directions._convolution.sample import SampleSpec, sample
from tests.convolutions import convolution

DRAWN = sample(SampleSpec(count=60, seed=5, edges=0.5)) + sample(SampleSpec(count=20, seed=6, ndim=3))
DRAWN += sample(SampleSpec(count=10, seed=7, ndim=1))


def line_of(one, form, directions):
    text = render_problems([one], form, directions)[0]
    return next(line for line in text.splitlines() if not line.startswith("#"))


def parsed(line, direction, directions):
    return parse_problem(ProblemLine(text=line, path="p"), direction, directions)


@given(
    one=st.sampled_from(DRAWN),
    number=st.integers(0, 2),
    dtype=st.sampled_from([DataType.FP16, DataType.BF16, None]),
)
def test_lines_parse_back(one, number, dtype, directions):
    direction = directions[number]
    asked = replace(
        one, direction=direction.id, dtype=dtype, layout="nhwgc" if one.problem.ndim == 2 else None
    )
    back = parsed(line_of(asked, "ckprofiler", directions), direction, directions)
    assert back.problem == one.problem
    if asked.layout and dtype:
        assert (back.dtype, back.layout) == (dtype, "nhwgc")
    if one.problem.left_pads == one.problem.right_pads:
        back = parsed(line_of(asked, "miopen", directions), direction, directions)
        assert (back.problem, back.dtype, back.layout) == (one.problem, dtype, asked.layout)
        assert not back.ignored


def test_a_miopen_line_asks_for_its_direction_only(directions):
    line = line_of(replace(DRAWN[-1], direction=directions[0].id), "miopen", directions)
    with pytest.raises(InputError, match="does not ask for"):
        parsed(line, directions[1], directions)


@given(st.lists(st.sampled_from(DRAWN), max_size=5), st.integers(1, 99))
def test_json_keeps_everything(some, count):
    some = [
        replace(
            one,
            **{"count": count, "direction": "fwd", "dtype": DataType.BF16, "layout": "x", "splits": (2, 4)},
            unsupported="a reason",
        )
        for one in some
    ]
    text = render_problems(some, "json", (), origin="a test")[0]
    assert json.loads(text)["origin"] == "a test"
    assert parse_problem_list(text.encode(), "p.json") == some


SWEEP = (1, 2, 4, 8, 16, 32, 64, 128)


@pytest.mark.parametrize(
    ("name", "splits"),
    [
        *(("bwd_weight", splits) for splits in [(), (4,), (-1,), (-1, *SWEEP)]),
        *(("bwd_data", splits) for splits in [(), (4,), SWEEP]),
    ],
)
def test_splits_are_kept(name, splits, directions):
    direction = next(one for one in directions if one.id == name)
    one = replace(DRAWN[0], direction=direction.id, dtype=DataType.FP16, layout="nhwgc", splits=splits)
    back = parsed(line_of(one, "ckprofiler", directions), direction, directions)
    assert back.splits == (splits or (1,))


def test_what_a_form_has_no_word_for_is_reported(directions):
    direction = next(one for one in directions if "split_k" in one.positional_form.trailing)
    one = replace(DRAWN[0], direction=direction.id, dtype=DataType.FP16, layout="nhwgc", splits=(2, 3))
    assert "one number of splits" in render_problems([one], "ckprofiler", directions)[1][0][1]
    # backward data does not choose, so its line has no word for that
    data = next(one for one in directions if one.id == "bwd_data")
    chosen = replace(one, direction=data.id, splits=(-1,))
    assert "not (-1,)" in render_problems([chosen], "ckprofiler", directions)[1][0][1]
    odd = replace(DRAWN[-1], layout="gnhwc")
    assert "no layout gnhwc" in render_problems([odd], "miopen", directions)[1][0][1]


def test_what_has_no_line_is_reported(directions):
    one = replace(DRAWN[0], direction="fwd", dtype=DataType.FP16, layout="nhwgc", unsupported="it is clamped")
    for form in ("miopen", "ckprofiler"):
        text, inexpressible = render_problems([one], form, directions)
        assert not text
        assert inexpressible[0][1].endswith("it is clamped; only json holds it")
    data = next(one for one in directions if one.id == "bwd_data")
    one = ProblemCase(problem=data.default_problem[1], direction=data.id, dtype=DataType.FP16, layout="nwgc")
    ((_, why),) = render_problems([one], "ckprofiler", directions)[1]
    assert why.startswith("ckProfiler's grouped_conv_bwd_data has no code for fp16 in nwgc: 1D")
    one = replace(DRAWN[-1], dtype=DataType.INT32, layout=None)
    ((_, why),) = render_problems([one], "miopen", directions)[1]
    bases = "conv, convfp16, convbfp16, convint8, convfp8, convbfp8"
    assert why == f"MIOpenDriver lines of type int32 are not supported ({bases})"
    uneven = next(one for one in DRAWN if one.problem.left_pads != one.problem.right_pads)
    text, inexpressible = render_problems([uneven, DRAWN[-1]], "miopen", directions)
    assert [one for one, _ in inexpressible] == [uneven]
    assert "same pads on both sides" in inexpressible[0][1]
    assert "conv " in text


def test_names_counts_and_unknown_forms(directions):
    text = render_problems([replace(DRAWN[-1], name="a", count=3)], "miopen", directions, "origin")[0]
    assert text.splitlines()[:2] == ["# origin", "# a, 3 times"]
    with pytest.raises(UsageError, match="unknown form 'yaml'"):
        render_problems(DRAWN, "yaml", directions)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"count": 0}, "problem 0: count is 0"),
        ({"dtype": "fp99"}, "problem 0: unknown data type 'fp99'"),
        ({"batch": 0}, "problem 0: batch is 0"),
        ({"colour": 1}, "problem 0: wrong fields of a problem: unknown colour"),
    ],
)
def test_wrong_lists(change, message):
    data = json.loads(render_problems([replace(DRAWN[-1], name="")], "json", ())[0])
    data["problems"][0] |= change
    with pytest.raises(InputError, match=message):
        parse_problem_list(json.dumps(data).encode(), "p.json")


@pytest.mark.parametrize(("key", "value"), [("schema", "x"), ("version", 9)])
def test_lists_of_another_kind(key, value):
    data = json.loads(render_problems(DRAWN, "json", ())[0])
    with pytest.raises(InputError, match="expected"):
        parse_problem_list(json.dumps(data | {key: value}).encode(), "p.json")


MIOPEN = "conv -n 4 -c 64 -H 28 -W 28 -k 64 -y 3 -x 3 -p 1 -q 1 -u 1 -v 1 -l 1 -j 1 -g 1 -F 1"
POSITIONAL = "grouped_conv_fwd 1 1 0 1 2 0 1 2 1 4 64 64 3 3 28 28 1 1 1 1 1 1 1 1"
SAME = convolution("2 1 4 64 64 3 3 28 28 1 1 1 1 1 1 1 1")


@pytest.fixture(scope="module")
def directions():
    return shipped_directions()


@pytest.fixture(scope="module")
def direction(directions):
    return next(one for one in directions if one.id == "fwd")


def parse(text, direction):
    return parse_problem(ProblemLine(text=text, path="p.txt", line=7), direction, [direction])


@pytest.mark.parametrize(
    "text",
    [
        *(MIOPEN, f"./bin/MIOpenDriver {MIOPEN}", f"  {MIOPEN}  ", f"MIOpenDriver: {MIOPEN}"),
        *(f"{MIOPEN} # layer 3", f"{MIOPEN}  #-n 5"),
    ],
)
def test_miopen_lines(text, direction):
    assert parse(text, direction).problem == SAME


@pytest.mark.parametrize(
    "text",
    [
        *(POSITIONAL, f"ckProfiler {POSITIONAL}", "2 1 4 64 64 3 3 28 28 1 1 1 1 1 1 1 1 # alone"),
        *(f"ckProfiler --raw-invocation {POSITIONAL}", f"ckProfiler --instance 7 {POSITIONAL}"),
        POSITIONAL.replace("fwd ", "fwd --list-instances --instance 3 "),
        f"{POSITIONAL} --raw-invocation --instance 3",
    ],
)
def test_positional_lines(text, direction):
    assert parse(text, direction).problem == SAME


def test_long_flags_and_defaults(direction):
    text = (
        "conv --batchsize 4 --in_channels 64 --in_h 28 --in_w 28 --out_channels 64 --fil_h 3 --fil_w 3 "
        "--pad_h 1 --pad_w 1"
    )
    assert parse(text, direction).problem == SAME


def test_channels_are_totals_in_miopen_and_per_group_in_ckprofiler(direction):
    miopen = parse(MIOPEN.replace("-g 1", "-g 4"), direction).problem
    assert (miopen.groups, miopen.in_channels, miopen.out_channels) == (4, 16, 16)
    positional = parse("2 4 4 16 16 3 3 28 28 1 1 1 1 1 1 1 1", direction).problem
    assert positional == miopen


def test_three_dimensions(direction):
    text = (
        "conv -_ 3 -n 2 -c 8 -! 5 -H 6 -W 7 -k 16 -@ 3 -y 2 -x 1 -# 2 -u 1 -v 1 -$ 1 -p 0 -q 0 -^ 2 -l 1 -j 1"
    )
    expected = convolution("3 1 2 16 8 3 2 1 5 6 7 2 1 1 2 1 1 1 0 0 1 0 0")
    assert parse(text, direction).problem == expected
    positional = "3 1 2 16 8 3 2 1 5 6 7 2 1 1 2 1 1 1 0 0 1 0 0"
    assert parse(positional, direction).problem == expected


def test_one_dimension(direction):
    parsed = parse("conv -_ 1 -n 2 -c 8 -W 7 -k 16 -x 3 -q 1", direction).problem
    assert parsed == parse("1 1 2 16 8 3 7 1 1 1 1", direction).problem
    assert parsed.output == (7,)


@pytest.mark.parametrize("number", [2, 3])
def test_channels_first_layouts_are_for_two_dimensions(number, direction):
    depthwise = f"grouped_conv_fwd_tile 1 {number} 0 1 2 0 1 2 64 8 1 1 3 3 28 28 1 1 1 1 1 1 1 1"
    parsed = parse(depthwise, direction)
    assert parsed.layout == "ngchw"
    assert (parsed.problem.groups, parsed.problem.in_channels) == (64, 1)
    # in one dimension, ckProfiler has no code for them
    (note,) = parse(f"grouped_conv_fwd 1 {number} 0 1 2 0 1 1 64 8 1 1 3 28 1 1 1 1", direction).notes
    assert "does not implement fp16 in NGCHW" in note


def test_types_layouts_and_what_has_no_meaning(direction):
    assert parse(MIOPEN, direction).dtype is None
    assert parse(MIOPEN.replace("conv", "convbfp16"), direction).dtype is DataType.BF16
    parsed = parse(POSITIONAL, direction)
    assert (parsed.dtype, parsed.layout) == (DataType.FP16, "nhwgc")
    assert parse(f"{MIOPEN} -t 1 -f KCHW", direction).ignored == ("-t 1", "-f KCHW")
    assert parse(f"{MIOPEN} -f NCHW -I NHWC", direction).ignored == ("-f NCHW",)
    assert not parse(f"{MIOPEN} --fil_layout nhwc -I NHWC", direction).ignored
    assert "verify 1" in parse(POSITIONAL, direction).ignored


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "p.txt:7: the problem is empty"),
        ("conv -n 4 -c", "p.txt:7:11: -c needs a value; form: conv -n N"),
        (f"{MIOPEN} -z reflect", "p.txt:7:88: -z reflect is not supported, only default, same and valid"),
        (f"{MIOPEN} --trans_output_pad_h 1", "p.txt:7: pads of the output, -% -Y -X, go with -m trans"),
        (f"{MIOPEN} -I CHWN", "p.txt:7:88: unknown layout CHWN"),
        (f"{MIOPEN} -I NCHW -O NHWC", "p.txt:7:96: input and output have different layouts: NCHW and NHWC"),
        (MIOPEN.replace("-k 64", "-k 6_4"), "p.txt:7:32: expected an integer for -k, got '6_4'"),
        (MIOPEN.replace("-k 64", "-k \u0666\u0664"), "expected an integer for -k"),
        ("2 1 4 6_4 64 3 3 28 28 1 1 1 1 1 1 1 1", "p.txt:7:7: expected an integer for K, got '6_4'"),
        (MIOPEN.replace("-k 64", "-k x64"), "p.txt:7:32: expected an integer for -k, got 'x64'"),
        (MIOPEN.replace("-k 64", "--K 64"), "p.txt:7:29: unknown MIOpenDriver flag '--K'"),
        (MIOPEN + " -n 4", "p.txt:7:85: -n is given twice"),
        (
            MIOPEN.replace("-F 1", "-F 2"),
            "7:83: -F 2 does not ask for fwd (that is 1; 0 asks for all); 'ckprof run bwd_data' runs it",
        ),
        (
            MIOPEN.replace("-g 1", "-g 3"),
            "p.txt:7:14: -c 64 (in_channels of all groups) is not a multiple of -g 3",
        ),
        (MIOPEN.replace("-g 1", "-g 0"), "is not a multiple of -g 0"),
        (MIOPEN + " -m deep", "p.txt:7:88: -m deep is not supported, only conv and trans"),
        (MIOPEN + " -b 2", "p.txt:7:88: -b 2 is not supported, only 0 and 1"),
        (
            MIOPEN + " -m trans",
            "p.txt:7:83: -F 1 of -m trans does not ask for fwd (that is 2; 0 asks for all); "
            "'ckprof run bwd_data' runs it",
        ),
        (
            MIOPEN.replace("-F 1", "-F 2 -m trans -Y 1"),
            "an output pad of -m trans is 1, expected less than the stride, 1",
        ),
        (
            "depthwise_conv_fwd 1 1",
            "p.txt:7:1: a depthwise convolution is grouped_conv_fwd with G channels, K = 1 and C = 1;",
        ),
        (
            "conv2d_bwd_data 1",
            "a convolution of two dimensions is grouped_conv_bwd_data with NDIM = 2; expected",
        ),
        (
            "conv_fwd 1",
            "a convolution without groups is grouped_conv_fwd with G = 1; expected grouped_conv_fwd",
        ),
        ("conv3d -n 4", "p.txt:7:1: expected MIOpenDriver's 'conv -_ 3 ...' for 3 dimensions, got 'conv3d'"),
        (MIOPEN.replace("-n 4", "-n 0"), "p.txt:7: batch is 0, expected 1 to 2147483647"),
        (MIOPEN.replace("-H 28", "-H -28"), "p.txt:7: input along H is -28, expected 1"),
        (MIOPEN.replace("-p 1", "-p -1"), "p.txt:7: left_pads along H is -1, expected 0"),
        (MIOPEN.replace("-n 4", "-n 99999999999"), "batch is 99999999999, expected 1 to 2147483647"),
        (MIOPEN.replace("-y 3", "-y 33"), "the output is empty along H"),
        (
            "MIOpenDriver pool -n 1",
            "expected one of conv, convfp16, convbfp16, convint8, convfp8, convbfp8, CBAInfer, CBAInferfp16",
        ),
        ("hello world", "p.txt:7:1: expected a MIOpenDriver conv line or grouped_conv_fwd"),
        (
            "-n 4 -c 64",
            "p.txt:7:1: expected an operation of MIOpenDriver in front of its flags, such as 'conv -n ...'",
        ),
        ("DeviceFoo<1,2>", "NDIM values each, got 'DeviceFoo<1,2>'; --conf takes lists of instances"),
        (__file__, f"; --problems {__file__} reads problems from the file"),
        ("2 1 4 64 64 3 3 28", "input W is missing: 7 of 16 convolution parameters of a 2D problem"),
        ("2 1 4 64 64 3 3 28 28 1 1 1 1 1 1 1 1 9", "p.txt:7:39: unexpected '9': a 2D problem has 16"),
        ("2 1 4 64 64 3x3 28 28 1 1 1 1 1 1 1 1", "p.txt:7:13: expected an integer for filter H, got '3x3'"),
        ("2 1 4 64 64 3x3 28 28 1 1 1 1 1 1 1 1 9 9", "p.txt:7:13: expected an integer for filter H"),
        ("4 1 4 64 64", "p.txt:7:1: the number of spatial dimensions must be 1, 2 or 3, not 4"),
        ("grouped_conv_fwd 1 1 0", "is missing; form: grouped_conv_fwd"),
        (
            POSITIONAL.replace("fwd 1 1", "fwd 9 1"),
            "p.txt:7:18: data type 9 is not supported for grouped_conv_fwd (known: 0 fp32",
        ),
        (
            POSITIONAL.replace("fwd 1 1", "fwd 1 7"),
            "p.txt:7:20: layout 7 is not supported for grouped_conv_fwd (known",
        ),
        ("ckProfiler", "nothing after ckProfiler"),
    ],
)
def test_wrong_lines(text, message, direction):
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        parse(text, direction)
    assert caught.value.exit_code is ExitCode.INPUT


@given(st.lists(st.sampled_from([*MIOPEN.split(), *POSITIONAL.split(), "-1", "x", "é", "-_", "9" * 30])))
def test_any_words_give_a_problem_or_an_input_error(direction, words):
    try:
        parsed = parse(" ".join(words), direction)
    except InputError:
        return
    assert all(length >= 1 for length in parsed.problem.output)


def test_files(tmp_path, direction):
    path = tmp_path / "problems.txt"
    two = f"{MIOPEN}\r\n{POSITIONAL} # ".encode()
    mark = b"\xef\xbb\xbf"
    remarks = mark + b"# two forms\r\n" + mark + b"# in any encoding: caf\xe9\r\n\r\n"
    path.write_bytes(remarks + mark + two + b"\xe9t\xe9")
    problems, skipped = read_problem_file(path, direction, [direction])
    assert [p.problem for p in problems] == [SAME, SAME] and not skipped


@pytest.mark.parametrize(
    "item", ['"{}",', "- {}", "* {} # tuned", "12) `{}`", "'{}' ,  # tuned", "{}, # tuned"]
)
def test_items_of_lists_are_lines(tmp_path, direction, item):
    path = tmp_path / "problems.txt"
    path.write_text(f"{item.format(MIOPEN)}\n{item.format(POSITIONAL)}\n")
    problems, _ = read_problem_file(path, direction, [direction])
    assert [one.problem for one in problems] == [SAME, SAME]
    path.write_text(item.format(MIOPEN.replace("-n 4", "-n x")))
    with pytest.raises(ListError) as caught:
        read_problem_file(path, direction, [direction])
    column = item.index("{") + MIOPEN.index("4") + 1
    assert str(caught.value) == f"{path}:1:{column}: expected an integer for -n, got 'x'"


def test_a_json_list_for_what_does_not_exist(tmp_path, directions):
    path = tmp_path / "problems.json"
    cases = [ProblemCase(problem=SAME, direction=name) for name in ("fwd", "bwd_data", "fwdd")]
    path.write_text(render_problems(cases, "json", (), "")[0])
    problems, counts = read_problem_file(path, directions[0], directions)
    assert len(problems) == 1 and set(counts) == {
        "not for fwd; 'ckprof run bwd_data' runs it", "not for fwd; unknown fwdd",
    }  # fmt: skip


def test_lines_for_other_directions_are_counted(tmp_path, directions):
    path = tmp_path / "problems.txt"
    path.write_text(
        "\n".join([MIOPEN, MIOPEN.replace("-F 1", "-F 2"), MIOPEN.replace("-F 1", "-F 5"), MIOPEN])
    )
    counts = {one.id: read_problem_file(path, one, directions) for one in directions}
    assert {name: len(problems) for name, (problems, _) in counts.items()} == {
        "fwd": 3, "bwd_data": 1, "bwd_weight": 1,
    }  # fmt: skip
    ((reason, number),) = counts["fwd"][1].items()
    assert reason.startswith(f"not for fwd, the first in {path}:2:") and number == 1
    assert reason.endswith("'ckprof run bwd_data' runs it")


def test_every_line_of_miopens_own_lists(directions):
    path = Path(__file__).parent / "miopen_lines.txt"
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    assert len(lines) == 100
    found = [read_problem_file(path, one, directions) for one in directions]
    assert sum(len(problems) for problems, _ in found) == 100
    for problems, _ in found:
        for parsed in problems:
            assert parsed.layout in {"ngchw", "ngcdhw", "nhwgc"} and parsed.dtype in (
                None,
                DataType.FP16,
                DataType.BF16,
            )
            assert min(parsed.problem.output) > 0


def test_all_wrong_lines_are_reported(tmp_path, direction):
    path = tmp_path / "problems.txt"
    path.write_text(f"{MIOPEN} -k\n{MIOPEN}\nhello\n2 1\n")
    with pytest.raises(ListError) as caught:
        read_problem_file(path, direction, [direction])
    assert [one.line for one in caught.value.diagnostics] == [1, 3, 4]
    assert [one.column for one in caught.value.diagnostics] == [85, 1, None]
    # a line of problems cannot be explained
    assert caught.value.advice.startswith(f"'ckprof problems from-log {path}' finds")
    problems, skipped = read_problem_file(path, direction, [direction], lenient=True)
    assert [one.problem for one in problems] == [SAME]
    assert sorted(skipped) == sorted(map(str, caught.value.diagnostics)), "counted with what is wrong"


def test_a_transposed_convolution_is_the_gradient_of_one(directions):
    """The lengths are those of torch.nn.ConvTranspose2d."""
    line = "conv -n 4 -c 64 -H {} -W {} -k 32 -y 3 -x 5 -u 2 -v 3 -p 1 -l 2 -Y 1 -X 2 -m trans -F {}"
    for flag, number in ((1, "bwd_data"), (2, "fwd"), (4, "bwd_weight")):
        (one,) = (one for one in directions if one.id == number)
        case = parsed(line.format(7, 9, flag), one, directions)
        assert (case.problem.in_channels, case.problem.out_channels, case.direction) == (32, 64, number)
        assert case.problem.input == (2 * 6 + 2 * 2 + 1 - 2 + 1, 3 * 8 + 4 + 1 + 2)
        assert case.problem.output == (7, 9), "what the line calls its input"
        assert case.notes == (f"-m trans is computed as {number} of the convolution that is transposed",)
    assert parsed(line.format(7, 9, 0), directions[0], directions).direction is None


def test_a_bias_is_that_of_the_fused_forward_convolution(directions):
    for one in directions:
        line = MIOPEN.replace("-F 1", "-F 0 -b 1")
        case = parsed(line, one, directions)
        assert case.direction == one.id, "not all directions alike"
        _, _, fused = case.problem.describe().partition("pad 1x1")
        assert fused == (" AddClamp,floor=-max,ceiling=max,bias=channel" if one.id == "fwd" else "")
    data = next(one for one in directions if one.id == "bwd_data")
    case = parsed(f"{MIOPEN} -b 1 -m trans", data, directions)
    assert case.unsupported == "it asks for a bias behind a transposed convolution, which no kernel has"


def test_a_pipe_that_never_ends_is_bounded(direction):
    with pytest.raises(InputError, match=r"a line of more than|no regular file"):
        read_problem_file(Path("/dev/zero"), direction, [direction])


def test_the_drivers_defaults(direction):
    parsed = parse("MIOpenDriver conv", direction)
    assert parsed.problem == convolution("2 1 100 32 3 3 3 32 32 1 1 1 1 0 0 0 0")
    assert parsed.usual_dtype is DataType.FP32 and parsed.dtype is None
    said = "MIOpenDriver's defaults are used for what the line does not say: "
    assert parsed.notes == (f"{said}-n 100, -c 3, -k 32, -H 32, -W 32, -y 3, -x 3",)
    assert parse(MIOPEN.replace("-W 28 ", ""), direction).notes == (f"{said}-W 32",)
    assert not parse(MIOPEN, direction).notes


@pytest.mark.parametrize(
    ("base", "dtype", "note"),
    [
        ("convint8", DataType.INT8, "MIOpenDriver's convint8 has results of int32"),
        ("convfp8", DataType.FP8, ""),
        ("convbfp8", DataType.BF8, ""),
    ],
)
def test_types_of_8_bits(base, dtype, note, direction):
    case = parse(MIOPEN.replace("conv", base), direction)
    assert (case.problem, case.dtype, len(case.notes)) == (SAME, dtype, bool(note))
    assert all(text.startswith(note) for text in case.notes)
    assert render_problems([case], "miopen", [direction])[0].startswith(f"{base} -n 4 -c 64")


@pytest.mark.parametrize(
    "prefix",
    [
        "MIOpen(HIP): Command [LogCmdConvolution] ./bin/MIOpenDriver ",
        "[2026-01-02 03:04:05] MIOpen(HIP): Command [LogCmdFindConvolution] /opt/rocm/bin/MIOpenDriver ",
        "C:\\tools\\MIOpenDriver.exe ",
        "MIOpenDriver.exe ",
    ],
)
def test_log_lines_and_program_names(prefix, direction):
    assert parse(prefix + MIOPEN, direction).problem == SAME


@given(st.integers(1, 40), st.integers(1, 7), st.integers(1, 4))
def test_same_pads_give_the_rounded_up_output(direction, length, size, stride):
    text = f"conv -n 1 -c 1 -k 1 -H {length} -W {length} -y {size} -x {size} -u {stride} -v {stride}"
    problem = parse(f"{text} -p 9 -q 9 --pad_mode same", direction).problem
    if size >= stride:
        assert problem.output == (-(-length // stride),) * 2
    assert all(
        0 <= right - left <= 1 for left, right in zip(problem.left_pads, problem.right_pads, strict=True)
    )


def test_no_pads(direction):
    assert parse(f"{MIOPEN} -z valid", direction).problem.left_pads == (0, 0)
    assert parse(f"{MIOPEN} -z default", direction).problem == SAME


@pytest.mark.parametrize(
    ("text", "splits"),
    [("all", (-1, 1, 2, 4, 8, 16, 32, 64, 128)), ("-9", (-1,)), ("-1", (-1,)), ("7", (7,))],
)
def test_splits(text, splits, directions):
    weight = next(one for one in directions if one.id == "bwd_weight")
    line = f"{weight.positional_form.operations[0]} 1 2 1 2 0 1 2 1 4 64 64 3 3 28 28 1 1 1 1 1 1 1 1 {text}"
    parsed = parse_problem(ProblemLine(text=line, path="p"), weight, directions)
    assert parsed.splits == splits and parsed.split_k == splits[0]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"# nothing\n\n", ": no problem in this file"),
        (b"\xff\xfe2\x00", ":1:1: not UTF-8 text: save the file as UTF-8"),
        (b"# caf\xe9\n2 1 4 \xb2", ":2:7: not UTF-8 text: save the file as UTF-8"),
        (f"# comment\n{MIOPEN} -k".encode(), ":2:85: -k needs a value"),
    ],
)
def test_wrong_files(tmp_path, direction, content, message):
    path = tmp_path / "problems.txt"
    path.write_bytes(content)
    with pytest.raises(InputError, match=re.escape(f"{path}")) as caught:
        read_problem_file(path, direction, [direction])
    assert message in str(caught.value)


def test_missing_file_and_directory(tmp_path, direction):
    for path in (tmp_path / "none.txt", tmp_path):
        with pytest.raises(InputError, match="cannot read"):
            read_problem_file(path, direction, [direction])
