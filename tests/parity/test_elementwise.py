"""Element-wise operations and D tensors: catalogs hold them, or both sides leave the line out by one rule."""

import json
from xml.etree import ElementTree

import pytest

from ckprof import Profiler
from ckprof.errors import ExitCode, ListError
from ckprof.paths import conf_root
from tests.parity.samples import BACKWARD_DATA, BACKWARD_WEIGHT, FORWARD, first_line

#: a line of each kind of kernel that prints the fields in question
LINES = {
    "fwd": first_line("forward/tests/nhwgc_fp16"),
    "fwd v3": next(line for n in range(40) if "_V3<" in (line := first_line("forward/tests/nhwgc_fp16", n))),
    "bwd_data": first_line("backward_data/tests/nhwgc_fp16"),
    "bwd_weight": first_line("backward_weight/tests/nhwgc_fp16"),
    "native fwd": FORWARD.replace("bf16", "fp16"),
    "native bwd_data": BACKWARD_DATA.replace("bf16", "fp16"),
    "native bwd_weight": BACKWARD_WEIGHT.replace("bf16", "fp16"),
}
PLAIN = "PassThrough,PassThrough,PassThrough"
#: where the accumulator's type stands in each
ACCUMULATORS = {
    "fwd": ("fp16,fp16,fp32", "fp16,fp16,fp16"),
    "fwd v3": ("fp16,fp16,fp32", "fp16,fp16,fp16"),
    "bwd_data": ("fp16,fp16,fp32", "fp16,fp16,fp16"),
    "bwd_weight": ("fp16,fp16,fp16,fp32", "fp16,fp16,fp16,fp16"),
    **dict.fromkeys(
        ("native fwd", "native bwd_data", "native bwd_weight"),
        ("fp32,fp16,EmptyTuple", "fp16,fp16,EmptyTuple"),
    ),
}


def replaced(line, old, new):
    assert line.count(old) == 1, (old, line)
    return line.replace(old, new)


def changed(kind):
    """Lines that say more than a catalog, with the rule under which that is lost."""
    line = LINES[kind]
    yield "accumulator", replaced(line, *ACCUMULATORS[kind])
    if kind.startswith("native"):
        yield "result-type", replaced(line, "fp32,fp16,EmptyTuple", "fp32,bf16,EmptyTuple")
        return
    if "fp16,fp16,false,1>" in line:
        yield "compute-type", replaced(line, "fp16,fp16,false,1>", "fp8,fp16,false,1>")


CASES = [(kind, rule, line) for kind in LINES for rule, line in changed(kind)]


def comparison_of(called):
    return json.loads(called.out)["comparisons"][0]


def direction_of(kind):
    return kind.removeprefix("native ").split()[0]


def converted(tmp_path, *lines):
    """Write a list, and return what the converter says of its lines."""
    path = tmp_path / "nhwgc_fp16.conf"
    path.write_text("\n".join([*lines, ""]))
    return [*Profiler().read(path).lossy.items()]


@pytest.mark.parametrize(("kind", "rule", "line"), CASES)
def test_both_say_which_line_is_lossy(ckprof, tmp_path, kind, rule, line):
    other = LINES[kind].replace("Default", "Filter1x1Pad0", 1)
    (lost,) = converted(tmp_path, line, other)
    parity = ckprof("parity", direction_of(kind), "--conf", "nhwgc_fp16.conf", "--format", "json").ok()
    found = comparison_of(parity)
    assert (found["counts"]["missing"], found["counts"]["extra"], found["counts"]["duplicate"]) == (0, 0, 0)
    (lossy,) = found["lossy"]
    # the same line, in the same words
    assert lossy["rule"] == rule
    assert lossy["sources"] == [f"nhwgc_fp16.conf:{lost[0]}"] == ["nhwgc_fp16.conf:1"]
    assert lossy["reason"] == f"catalogs have no place for {lost[1]}"
    strict = ("--fail-on", "missing,extra,duplicate,lossy")
    assert ckprof("parity", direction_of(kind), "--conf", "nhwgc_fp16.conf", *strict).code == ExitCode.FAILED


@pytest.mark.parametrize("kind", LINES)
def test_neither_says_it_of_a_plain_line(ckprof, tmp_path, kind):
    plain = LINES[kind].replace("PassThrough", "UnaryConvert")
    assert not converted(tmp_path, plain)
    found = comparison_of(
        ckprof("parity", direction_of(kind), "--conf", "nhwgc_fp16.conf", "--format", "json")
    )
    assert not found["lossy"]
    assert found["counts"]["matched"] == 1


def test_the_string_says_what_is_lost(ckprof, tmp_path):
    converted(tmp_path, replaced(LINES["fwd"], *ACCUMULATORS["fwd"]))
    done = ckprof("parity", "fwd", "--conf", "nhwgc_fp16.conf")
    assert "lossy: accumulator: catalogs have no place for type_accumulator fp16" in done.out
    assert "type_accumulator (fp16 -> fp32)" in done.out
    junit = ElementTree.fromstring(  # noqa: S314  # our own output
        ckprof("parity", "fwd", "--conf", "nhwgc_fp16.conf", "--format", "junit", "--fail-on", "lossy").out
    )
    (failure,) = junit.iter("failure")
    assert failure.get("type") == "lossy"
    assert "type_accumulator fp16" in failure.get("message")


def test_two_lines_that_a_catalog_cannot_tell_apart_are_lossy_for_both(ckprof, tmp_path):
    line = LINES["fwd"]
    assert converted(tmp_path, line, replaced(line, *ACCUMULATORS["fwd"])) == [
        (2, "type_accumulator fp16 of fp16 operands")
    ]
    done = ckprof("parity", "fwd", "--conf", "nhwgc_fp16.conf", "--format", "json")
    (lossy,) = comparison_of(done)["lossy"]
    assert (lossy["rule"], lossy["sources"][-1]) == ("collapsed", "nhwgc_fp16.conf:2")


def test_a_log_that_alone_accumulates_in_another_type_is_no_match(ckprof, tmp_path):
    """What a list does not say is not lost by its conversion."""
    converted(tmp_path, LINES["fwd"])
    said = json.loads(ckprof("list", "instances", "--conf", "nhwgc_fp16.conf", "--format", "json").out)
    (tmp_path / "printed.txt").write_text(
        replaced(said[0]["instance string"], "1,fp32,fp16,E", "1,fp16,fp16,E")
    )
    against = ("parity", "fwd", "--conf", "nhwgc_fp16.conf", "--against", "printed.txt")
    done = ckprof(*against)
    assert done.code == ExitCode.FAILED
    assert "differs in type_accumulator (fp16 -> fp32)" in done.out
    # if the list says it as well, it is
    converted(tmp_path, replaced(LINES["fwd"], *ACCUMULATORS["fwd"]))
    done = ckprof(*against).ok()
    assert "1 matched, 0 missing, 0 extra, 0 duplicate, 1 lossy" in done.out


def test_a_folder_says_how_many_lines_are_lossy(ckprof, tmp_path):
    folder = tmp_path / "lists" / "forward" / "tests"
    folder.mkdir(parents=True)
    (folder / "nhwgc_fp16.conf").write_text(replaced(LINES["fwd"], *ACCUMULATORS["fwd"]) + "\n")
    done = ckprof("convert", "lists", "-o", "catalogs").ok()
    assert "lossy lines: 1" in done.out
    assert "first in line 1: type_accumulator fp16 of fp16 operands" in done.err


BOTH = "EmptyTuple,fp16,PassThrough,PassThrough,"


def with_operation(kind, operation, layouts, types="fp16"):
    """Return a line whose result is changed by an operation with as many D tensors as layouts."""
    line = LINES[kind]
    count = layouts.count(",") + 1 if layouts else 0
    layout_text = f"Tuple({layouts})" if layouts else "EmptyTuple"
    type_text = f"Tuple({','.join((types,) * count)})" if count else "EmptyTuple"
    if kind.startswith("native"):
        line = replaced(line, "EmptyTuple,PassThrough", f"{type_text},{operation}")
        return line.replace("EmptyTuple", layout_text, 1)
    if kind == "bwd_weight":
        # its result comes second, and it has no D tensors
        return replaced(line, PLAIN, f"PassThrough,{operation},PassThrough")
    line = replaced(line, PLAIN, f"PassThrough,PassThrough,{operation}")
    first, second, third = line.split("EmptyTuple")
    return f"{first}{layout_text}{second}{type_text}{third}"


def lists(tmp_path, *lines):
    (tmp_path / "nhwgc_fp16.conf").write_text("\n".join([*lines, ""]))
    return Profiler().read(tmp_path / "nhwgc_fp16.conf")


KEPT = [
    ("Clamp", ""),
    ("AddClamp", "NHWGK"),
    ("AddClamp", "G_K"),
    ("ScaleAddScaleAddRelu", "NHWGK, G_K"),
    ("BiasNormalizeInInferClamp", "NHWGK,NHWGK,NHWGK,NHWGK,NHWGK"),
    ("DynamicUnaryOp", ""),
]


#: the same of gradients
KEPT_OF_GRADIENTS = [
    ("bwd_data", "Bilinear", "NHWGC"),
    ("bwd_data", "Add", "G_C"),
    ("native bwd_data", "Scale", ""),
    ("native bwd_data", "Bilinear", "NHWGC"),
    ("bwd_weight", "Scale", ""),
    ("native bwd_weight", "Bilinear", "GKYXC"),
]


@pytest.mark.parametrize(
    ("kind", "operation", "layouts"),
    [*((kind, *kept) for kind in ("fwd", "fwd v3", "native fwd") for kept in KEPT), *KEPT_OF_GRADIENTS],
)
def test_what_kernels_have_is_kept_and_compared(ckprof, tmp_path, kind, operation, layouts):
    line = with_operation(kind, operation, layouts)
    conversion = lists(tmp_path, LINES[kind], line)
    assert not conversion.lossy and not conversion.dropped
    plain, fused = conversion.catalogs[0].records
    assert (plain.elementwise_op, plain.d_layouts) == (None, None)
    assert (fused.elementwise_op, fused.d_layouts or "") == (operation, layouts.replace(" ", ""))
    done = ckprof("parity", direction_of(kind), "--conf", "nhwgc_fp16.conf", "--format", "json").ok()
    found = json.loads(done.out)["comparisons"][0]
    assert found["counts"]["matched"] == 2 and not found["lossy"]


LEFT_OUT = [
    ("fwd", "elementwise", {"operation": "ConvertBF16RTN", "layouts": ""}),
    ("fwd", "elementwise", {"operation": "AddClamp", "layouts": "NHWGK,NHWGK"}),
    ("fwd", "elementwise", {"operation": "PassThrough", "layouts": "NHWGK"}),
    ("native fwd", "elementwise", {"operation": "PassThrough", "layouts": "NHWGK"}),
    ("fwd v3", "d-tensor-type", {"operation": "ConvScaleAdd", "layouts": "NHWGK", "types": "fp32"}),
    ("bwd_data", "elementwise", {"operation": "Bilinear", "layouts": "NHWGC,NHWGC"}),
    ("bwd_data", "d-tensor-type", {"operation": "Bilinear", "layouts": "NHWGC", "types": "fp32"}),
    ("native bwd_data", "elementwise", {"operation": "UnaryAbs", "layouts": ""}),
]


@pytest.mark.parametrize(("kind", "rule", "change"), LEFT_OUT)
def test_what_no_kernel_has_is_left_out_by_one_rule(ckprof, tmp_path, kind, rule, change):
    conversion = lists(tmp_path, LINES[kind], with_operation(kind, **change))
    assert [why.rule for why in conversion.dropped.values()] == [rule] and not conversion.lossy
    assert any(rule in note for note in conversion.notes)
    direction = direction_of(kind)
    done = ckprof("parity", direction, "--conf", "nhwgc_fp16.conf", "--format", "json").ok()
    found = json.loads(done.out)["comparisons"][0]
    assert found["counts"]["matched"] == 1
    assert [one["rule"] for one in found["skipped"]] == [rule]


@pytest.mark.parametrize("kind", ["fwd", "fwd v3", "bwd_data", "bwd_weight"])
@pytest.mark.parametrize("place", [0, 1])
def test_operands_are_multiplied_as_they_are(ckprof, tmp_path, kind, place):
    words = ["PassThrough"] * 3
    if kind == "bwd_weight":
        place *= 2  # its result comes second
    words[place] = "ScaleAdd"
    conversion = lists(tmp_path, LINES[kind], replaced(LINES[kind], PLAIN, ",".join(words)))
    assert [why.rule for why in conversion.dropped.values()] == ["operand-operation"]
    assert ckprof("parity", direction_of(kind), "--conf", "nhwgc_fp16.conf").code == ExitCode.OK


MADE = (conf_root() / "forward/scaleadd_ab/profiler/ndhwgc_fp16.conf").read_text().splitlines()[0]
PAIR = "Tuple(fp16,fp16)"
LIST = "ndhwgc_fp16.conf"


def with_operands(operations, result="PassThrough"):
    """Return a line whose operands are made of two tensors each, with other operations on them."""
    return replaced(MADE, "ScaleAdd,ScaleAdd,PassThrough", ",".join((*operations, result)))


def made(tmp_path, *lines):
    (tmp_path / LIST).write_text("\n".join([*lines, ""]))
    return Profiler().read(tmp_path / LIST)


def test_operands_may_be_made_of_two_tensors(ckprof, tmp_path):
    """Strings say nothing of it: both sides have that of the plain kernel, and each its own instance."""
    from ckprof_converters.native import to_native

    plain_line = replaced(MADE, "ScaleAdd,ScaleAdd", "PassThrough,PassThrough").replace(PAIR, "fp16")
    conversion = made(tmp_path, plain_line, MADE)
    assert not conversion.lossy and not conversion.dropped
    first, second = conversion.catalogs[0].records
    assert (first.elementwise_op, second.elementwise_op, second.d_layouts) == (None, "ScaleAdd", None)
    done = ckprof("parity", "fwd", "--conf", LIST, "--format", "json").ok()
    assert json.loads(done.out)["comparisons"][0]["counts"]["matched"] == 2
    said = json.loads(ckprof("list", "instances", "--conf", LIST, "--format", "json").out)
    assert said[0]["instance string"] == said[1]["instance string"]
    assert said[1]["name"] == f"{said[0]['name']}_ScaleAdd"
    lines = to_native(conversion.catalogs[0])
    assert lines[1].endswith('PassThrough>  # ckprof: elementwise_op="ScaleAdd"')
    assert made(tmp_path, *lines).catalogs[0].records == conversion.catalogs[0].records


@pytest.mark.parametrize(
    ("line", "rule", "reason"),
    [
        (with_operands(["ScaleAdd", "PassThrough"]), "operand-operation", "operation_b is PassThrough, of 2"),
        (with_operands(["ScaleAdd", "Relu"]), "operand-operation", "operation_b is Relu"),
        (with_operands(["Relu", "Relu"]), "operand-operation", "operation_a is Relu"),
        (with_operands(["ScaleAdd"] * 2, "Clamp"), "operand-operation", "do nothing else"),
        (with_operands(["PassThrough"] * 2), "operand-operation", "of 2 tensors each"),
        (MADE.replace(PAIR, "fp16"), "operand-operation", "of one tensor each"),
        (
            with_operands(["PassThrough"] * 2, "ScaleAdd").replace(PAIR, "fp16"),
            "elementwise",
            "ScaleAdd is an operation on operands",
        ),
    ],
)
def test_what_else_is_done_with_operands_is_left_out_by_one_rule(ckprof, tmp_path, line, rule, reason):
    conversion = made(tmp_path, line, MADE)
    ((said, why),) = [(why.rule, why.message) for why in conversion.dropped.values()]
    assert said == rule and reason in why
    done = ckprof("parity", "fwd", "--conf", LIST, "--format", "json").ok()
    found = json.loads(done.out)["comparisons"][0]
    assert found["counts"]["matched"] == 1
    assert [(one["rule"], one["reason"]) for one in found["skipped"]] == [(rule, why)]


def test_tensors_of_an_operand_have_one_type(tmp_path):
    message = r"expected a pair of one type, such as Tuple\(fp16,fp16\) for type_a"
    with pytest.raises(ListError, match=message):
        made(tmp_path, MADE.replace(PAIR, "Tuple(fp16,fp32)", 1))


def test_a_kernel_with_another_operation_is_no_match(ckprof, tmp_path):
    lists(tmp_path, with_operation("fwd", "AddClamp", "NHWGK"))
    said = json.loads(ckprof("list", "instances", "--conf", "nhwgc_fp16.conf", "--format", "json").out)
    text = said[0]["instance string"]
    assert text.endswith("fp32,fp16,tuple(fp16),AddClamp>") and "GKYXC,tuple(NHWGK),NHWGK" in text
    (tmp_path / "printed.txt").write_text(text.replace("AddClamp", "Bilinear"))
    done = ckprof("parity", "fwd", "--conf", "nhwgc_fp16.conf", "--against", "printed.txt")
    assert done.code == ExitCode.FAILED and "operation_result (Bilinear -> AddClamp)" in done.out


def test_native_lines_are_written_and_read_again(tmp_path):
    from ckprof_converters.native import to_native

    first = lists(tmp_path, with_operation("fwd", "ScaleAddScaleAddRelu", "NHWGK,G_K"), LINES["fwd v3"])
    lines = to_native(first.catalogs[0])
    assert "tuple(NHWGK,G_K)" in lines[0] and lines[0].endswith("tuple(fp16,fp16),ScaleAddScaleAddRelu>")
    assert lists(tmp_path, *lines).catalogs[0].records == first.catalogs[0].records


@pytest.mark.parametrize("direction", ["backward_data", "backward_weight"])
@pytest.mark.parametrize("name", ["bilinear", "scale"])
def test_lists_of_gradients_give_what_the_builder_would(ckprof, direction, name):
    """Two kernels of backward data have two K1; those of backward weight have a second stage."""
    for dtype in ("fp16", "fp32"):
        path = f"{direction}/{name}/profiler/ndhwgc_{dtype}"
        short = direction.replace("backward", "bwd")
        done = ckprof("parity", short, "--conf", path, "--format", "json").ok()
        found = json.loads(done.out)["comparisons"][0]
        assert found["counts"]["matched"] >= 32 and not found["skipped"]
        # two lines of fp32 differ in nothing but how they fill local memory
        assert {one["rule"] for one in found["lossy"]} <= {"collapsed"}


@pytest.mark.parametrize("direction", ["backward_data", "backward_weight"])
def test_native_lines_of_gradients_are_written_and_read_again(tmp_path, direction):
    from ckprof.paths import conf_root
    from ckprof_converters.native import to_native

    first = Profiler().read(conf_root() / direction / "bilinear" / "tests" / "ndhwgc_fp16.conf")
    lines = to_native(first.catalogs[0])
    assert len(lines) == 6 and all("tuple(fp16),Bilinear" in line for line in lines)
    (tmp_path / "ndhwgc_fp16.conf").write_text("\n".join([*lines, ""]))
    again = Profiler().read(tmp_path / "ndhwgc_fp16.conf")
    assert again.catalogs[0].records == first.catalogs[0].records


def test_strings_of_gradients_tell_the_second_stage(tmp_path):
    """What kernels print is read as what they are, where an operation shows that the stages differ."""
    line = with_operation("native bwd_weight", "Bilinear", "GKYXC")
    stored_as_sums = replaced(line, "fp32,fp16,Tuple", "fp32,fp32,Tuple")
    (records,) = (one.records for one in lists(tmp_path, line, stored_as_sums).catalogs)
    assert [record.two_stage for record in records] == [False, True]


def test_samples_are_what_they_seem():
    assert "PassThrough" in FORWARD and PLAIN in first_line("forward/tests/nhwgc_fp16")
