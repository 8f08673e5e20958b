"""ckProfiler's lines are read as its own sources read them, in the tree ``$CK_BUILDER_ROOT``.

The sources of its operations are compiled as they are, on the host alone; the functions below them, which
need a GPU, say what they were called with (``tests/e2e/ckprofiler``).
"""

import itertools
import json
import os
import random
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ckprof.errors import InputError
from ckprof.model.problem_case import AUTO, ProblemLine
from ckprof.problems.problem_file import parse_problem
from ckprof_converters.lines import instance_in
from ckprof_converters.reflection.program import host_compilation
from ckprof_converters.reflection.tree import find_tree
from ckprof_plugins.directions import shipped_directions
from ckprof_plugins.directions._convolution.fused_problem import elementwise_of
from ckprof_plugins.directions._convolution.layout import name_of_tags

ROOT = os.environ.get("CK_BUILDER_ROOT")
pytestmark = [
    pytest.mark.amd,
    pytest.mark.timeout(900),
    pytest.mark.skipif(not ROOT, reason="needs $CK_BUILDER_ROOT"),
]

DIRECTIONS = {direction.id: direction for direction in shipped_directions()}
STAND_INS = Path(__file__).parent / "ckprofiler"
DIRECTION = {
    "grouped_conv_fwd": "fwd",
    "grouped_conv_fwd_clamp": "fwd",
    "grouped_conv_fwd_bias_clamp": "fwd",
    "grouped_conv_fwd_outelementop": "fwd",
    "grouped_conv_bwd_data": "bwd_data",
    "grouped_conv_bwd_weight": "bwd_weight",
}
NOT_IMPLEMENTED = "this data_type & layout is not implemented"


@pytest.fixture(scope="module")
def tree():
    return find_tree(Path(ROOT))


@pytest.fixture(scope="module")
def ask(tree, tmp_path_factory):
    """Give lines to ckProfiler's operations, and return what each answered."""
    folder = tmp_path_factory.mktemp("ckprofiler")
    compiler, flags = host_compilation(
        # the macro is set where ckProfiler is built with products in TF32
        tree,
        (STAND_INS, tree.root / "profiler" / "src"),
        ("CK_USE_XDL", "__gfx942__"),
    )
    sources = [
        *(tree.root / "profiler" / "src" / f"profile_{word}.cpp" for word in DIRECTION),
        tree.root / "library" / "src" / "utility" / "convolution_parameter.cpp",
        STAND_INS / "main.cpp",
    ]

    def compiled(source):
        result = folder / f"{source.stem}.o"
        # without an id of its own, each object of host code defines the same symbol
        own_id = ("-Xclang", f"-cuid={source.stem}")
        subprocess.run([*compiler.command, *flags, *own_id, "-c", source, "-o", result], check=True)
        return result

    with ThreadPoolExecutor(2) as pool:
        objects = [*pool.map(compiled, sources)]
    program = folder / "parse"
    subprocess.run([*compiler.command, *objects, "-o", program, "-no-hip-rt"], check=True)

    def answers(lines):
        text = "".join(f"{line}\n" for line in lines)
        done = subprocess.run([program], input=text, capture_output=True, text=True, check=True)
        parts = done.stdout.split("line\t")[1:]
        assert [part.split("\n")[0] for part in parts] == lines
        return [part.split("\n", 1)[1].strip() for part in parts]

    return answers


def parsed(line):
    direction = DIRECTIONS[DIRECTION[line.split()[0]]]
    return parse_problem(ProblemLine(text=line, path="p"), direction, tuple(DIRECTIONS.values()))


def form_of(word):
    return next(form for form in DIRECTIONS[DIRECTION[word]].all_forms if word in form.operations)


def line_of(word, ndim, *, rest=None, **leading):
    form = form_of(word)
    values = {**dict.fromkeys(form.leading, 0), "ndim": ndim, **leading}
    sizes = (1, 2, 8, 4, *[3] * ndim, *[9] * ndim, *[1] * ndim * 4)
    trailing = () if rest is not None else (1,) * len(form.trailing)
    words = (word, *(values[name] for name in form.leading), *(rest or sizes), *trailing)
    return " ".join(map(str, words))


def assert_same(line, answer):
    """Assert that a line means here what it means to ckProfiler."""
    try:
        case = parsed(line)
    except InputError as error:
        if answer.startswith("{"):
            # what it would compute is no convolution, or none that anyone can
            assert_no_convolution(json.loads(answer), error)
        else:
            assert answer.startswith(("arg1: ", "exception: ", "signal: ", "this ")), answer
        return
    if answer == NOT_IMPLEMENTED:
        assert "does not implement" in "".join(case.notes), line
        return
    assert answer.startswith("{"), f"{line}: read, but not by ckProfiler: {answer}"
    assert not case.notes, line
    said = json.loads(answer)
    problem = case.problem
    sizes = [problem.groups, problem.batch, problem.out_channels, problem.in_channels]
    assert (said["sizes"], said["ndim"]) == (sizes, problem.ndim)
    for name in ("filter", "input", "strides", "dilations", "left_pads", "right_pads", "output"):
        assert said[name] == list(getattr(problem, name)), line
    form = form_of(line.split()[0])
    numbers = dict(zip(form.leading, line.split()[1:], strict=False))
    orders = [
        order.replace("DHW", "HW").replace("ZYX", "YX")
        if problem.ndim == 3
        else order
        if problem.ndim == 2
        else order.replace("W", "HW").replace("X", "YX")
        for order in said["layouts"]
    ]
    assert case.layout == name_of_tags("/".join(orders), problem)
    assert "/".join(orders) == form.layouts[int(numbers["layout"])]
    only = {*said["types"], *said["compute"]}
    assert (case.dtype.value if case.dtype else None) == (only.pop() if len(only) == 1 else None)
    assert bool(case.unsupported) == (case.dtype is None), line
    combination = elementwise_of(problem)
    # ckProfiler spells ConvInvScale, the library ConvInvscale
    read = combination.operation.value if combination else ""
    assert said["element_op"].lower() == read.lower(), line
    verify, init, log, time = said["switches"]
    ignored = dict(text.split() for text in case.ignored)
    assert [bool(int(ignored[name])) for name in ("verify", "log", "time")] == [verify, log, time]
    assert int(ignored["init"]) == init
    assert said["index_bytes"] == (8 if ignored.get("index_type") == "1" else 4)
    assert case.splits == expected_splits(said["split_k"], form)


def row_of(line, said):
    """Return the row of the table of what has code."""
    word, *arguments = line.split()
    numbers = dict(zip(form_of(word).leading, arguments, strict=False))
    return (
        f"{word} {said['ndim']}D layout {numbers['layout']} {'/'.join(said['layouts'])} "
        f"type {numbers['dtype']} {'*'.join(said['types'])} by {'*'.join(said['compute'])}"
    )


def assert_no_convolution(said, error):
    lengths = [*said["sizes"], *said["filter"], *said["input"], *said["strides"], *said["dilations"]]
    pads = [*said["left_pads"], *said["right_pads"]]
    impossible = min(lengths) < 1 or min(pads) < 0 or max(*lengths, *pads) > 2**31 - 1
    # where the filter is longer than the image by less than a stride, division in C++ gives one output
    axes = zip(
        *(said[name] for name in ("filter", "dilations", "input", "left_pads", "right_pads")), strict=True
    )
    too_long = any((taps - 1) * step + 1 > size + left + right for taps, step, size, left, right in axes)
    # the text is read further below, where what is no number of 32 bits ends the process, and 0 divides
    splits = said["split_k"]
    is_number = re.fullmatch(r"[+-]?\d+", splits) and -(2**31) <= int(splits) < 2**31
    no_splits = splits not in ("", "all") and (not is_number or int(splits) == 0)
    assert impossible or too_long or no_splits, error


def expected_splits(text, form):
    if not text:
        return ()
    if text == "all":
        return form.split_k.sweep
    number = int(text)
    if number > 0:
        return (number,)
    return (AUTO,) if form.split_k.word else form.split_k.sweep


def test_types_and_layouts_are_what_the_numbers_stand_for(ask, golden):
    """Every combination, also of numbers that stand for nothing; what has code is the golden table."""
    lines = [
        line_of(word, ndim, layout=layout, dtype=dtype)
        for word in DIRECTION
        for ndim in range(5)
        for layout in range(-1, 6)
        for dtype in range(-1, 10)
    ]
    table = []
    for line, answer in zip(lines, ask(lines), strict=True):
        assert_same(line, answer)
        if answer.startswith("{"):
            table.append(row_of(line, json.loads(answer)))
    golden("ckprofiler/2025-11.txt", "".join(f"{row}\n" for row in table))


def test_other_leading_arguments(ask):
    lines = [
        line_of(word, ndim, layout=layout, dtype=dtype, **{name: value})
        for word in DIRECTION
        for name in form_of(word).leading
        if name not in ("dtype", "layout", "ndim")
        for value in range(-1, 4)
        for ndim, layout, dtype in itertools.product((2, 3), (1, 2), (1,))
    ]
    for line, answer in zip(lines, ask(lines), strict=True):
        assert_same(line, answer)


WORDS = ("0", "1", "2", "3", "5", "16", "-1", "all", "x", "+4", "99999999999", "2147483648", "9" * 25)


def random_line(draw):
    """Return a line that is mostly in order."""
    word = draw.choice([*DIRECTION])
    form = form_of(word)
    ndim, layout = draw.choice([*form.implemented])
    dtype = draw.choice([*form.implemented[ndim, layout]])
    if draw.random() < 0.2:
        ndim, layout, dtype = (
            draw.choice([1, 2, 3]),
            draw.choice([*form.layouts]),
            draw.choice([*form.dtypes]),
        )
    sizes = [draw.randint(1, 8), draw.randint(1, 4), draw.randint(1, 99), draw.randint(1, 99)]
    for least, largest in ((1, 5), (4, 30), (1, 3), (1, 2), (0, 3), (0, 3)):
        sizes += [draw.randint(least, largest) for _ in range(ndim)]
    rest = [*sizes, *(draw.choice(["-1", "0", "1", "7", "128", "all"]) for _ in form.trailing)]
    leading = {
        "dtype": dtype,
        "layout": layout,
        **{name: draw.randint(0, 1) for name in ("index_type", "verify", "log", "time", "element_op")},
        "init": draw.randint(0, 2),
    }
    words = line_of(
        word, ndim, rest=tuple(rest), **{name: leading[name] for name in form.leading if name in leading}
    ).split()
    for _ in range(draw.choice([0, 0, 0, 1, 1, 2])):
        place = draw.randrange(1, len(words))
        match draw.randrange(3):
            case 0:
                words[place] = draw.choice(WORDS)
            case 1:
                del words[place]
            case _:
                words.insert(place, draw.choice(WORDS))
    return " ".join(words)


def test_random_lines(ask):
    draw = random.Random(28)
    lines = [random_line(draw) for _ in range(1000)]
    answers = ask(lines)
    for line, answer in zip(lines, answers, strict=True):
        assert_same(line, answer)
    kinds = [answer[:5] for answer in answers]
    # most lines are read, and each way of refusing them occurs
    assert kinds.count('{"ndi') > 250, kinds
    assert {"arg1:", "excep", "this "} <= set(kinds)


@pytest.mark.parametrize("word", ["grouped_conv_bwd_data", "grouped_conv_bwd_weight"])
def test_sweeps_of_splits(word, tree):
    text = (tree.root / "profiler" / "include" / "profiler" / f"profile_{word}_impl.hpp").read_text()
    (listed,) = re.findall(r"std::vector<ck::index_t> split_k_list = \{([^}]*)\}", text)
    numbers = re.sub(r"/\*.*?\*/", "", listed)
    assert form_of(word).split_k.sweep == tuple(map(int, numbers.split(",")))


def test_every_operation_of_grouped_convolutions_is_known(tree):
    sources = (tree.root / "profiler" / "src").glob("profile_grouped_conv_*.cpp")
    words = {re.search(r'#define OP_NAME "(\w+)"', path.read_text())[1] for path in sources}
    assert words == set(DIRECTION)


NAME = "DeviceGroupedConvBwdWeight_Xdl_CShuffle<64, 64, 64, 4, Default, 8, 2, 2, 2, 4, 2, 4, 1, 1, 2>"
VALUES = {
    **dict.fromkeys(("op_name", "best_op_name", "op_ptr->GetTypeString()"), NAME),
    **dict.fromkeys(("split_k_for_run", "best_split_k"), "4"),
    "split_k_param_str": "7 (best occupancy)",
    "std::endl": "",
}


def test_lines_that_the_profiler_prints_name_their_instances(tree):
    """Statements of its sources that print an instance are carried out on one."""
    headers = sorted((tree.root / "profiler" / "include" / "profiler").glob("profile_grouped_conv_*.hpp"))
    named = 0
    for header in headers:
        for statement in re.findall(r"std::cout <<(?:[^;\"]|\"[^\"]*\")*;", header.read_text()):
            if not re.search(r"op_name|GetTypeString", statement):
                continue
            parts = re.findall(r'"((?:[^"\\]|\\.)*)"|<<\s*([^<"]+?)\s*(?=<<|;)', statement)
            text = "".join(
                literal.replace("\\n", "\n") or VALUES.get(value, "" if "setw" in value else "0.05")
                for literal, value in parts
            )
            found = [instance_in(line) for line in text.splitlines()]
            assert None not in found, text
            assert [one[0] for one in found if one and one[0]] == [NAME], text
            named += 1
    assert named >= 3 * len(headers)
