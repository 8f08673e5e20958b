"""Forward convolutions with an element-wise operation: sizes, tensors, reference, lines."""

import itertools
import math
import random
from dataclasses import replace
from fractions import Fraction

import msgspec
import numpy as np
import pytest

from ckprof.errors import InputError
from ckprof.measure.verify.operands import InitKind, OperandValues, make_operand
from ckprof.measure.verify.storage import decode
from ckprof.model.problem_case import OtherOperationError, ProblemLine
from ckprof.model.problem_types import exact_problem, know_problem_type, problem_from, problem_of_cells, sizes
from ckprof.model.types import DataType
from ckprof_plugins.directions._convolution.convolution import sizes_of
from ckprof_plugins.directions._convolution.csv_problems import cells_of_problem
from ckprof_plugins.directions._convolution.fused_problem import FusedConvProblem, FusedGradientProblem
from ckprof_plugins.directions._convolution.layout import LAYOUTS
from ckprof_plugins.directions._convolution.problem import ConvProblem
from ckprof_plugins.directions.bwd_data import BackwardData
from ckprof_plugins.directions.bwd_weight import BackwardWeight
from ckprof_plugins.directions.fwd import Forward
from ckprof_plugins.elementwise.combination import Combination
from ckprof_plugins.elementwise.operation import DExtent
from ckprof_plugins.elementwise.operations import ElementwiseOp
from tests.convolutions import convolution

FORWARD = Forward()
DIRECTIONS = (FORWARD, BackwardData(), BackwardWeight())
PLAIN = convolution("2 2 3 4 5 2 3 5 6 2 1 1 2 0 1 1 2")


def fused(text, plain=PLAIN):
    return FusedConvProblem.of(plain, Combination.parse(text))


def layout_of(problem):
    return next(one for one in LAYOUTS if one.ndim == problem.ndim and one.output.endswith("GK"))


def triples(problem):
    """Every product of a convolution: where its factors and its sum lie, by the letters of their axes."""
    image, window = "DHW"[3 - problem.ndim :], "ZYX"[3 - problem.ndim :]
    channels = itertools.product(
        *map(range, (problem.groups, problem.batch, problem.out_channels, problem.in_channels))
    )
    for g, n, k, c in channels:
        for place in itertools.product(*map(range, problem.output)):
            for tap in itertools.product(*map(range, problem.filter)):
                position = [
                    p * s + t * d - left
                    for p, s, t, d, left in zip(
                        place, problem.strides, tap, problem.dilations, problem.left_pads, strict=True
                    )
                ]
                if all(0 <= x < size for x, size in zip(position, problem.input, strict=True)):
                    at = {"G": g, "N": n, "K": k, "C": c}
                    yield {
                        "input": at | dict(zip(image, position, strict=True)),
                        "weight": at | dict(zip(window, tap, strict=True)),
                        "output": at | dict(zip(image, place, strict=True)),
                    }


def naive(problem, operands, layout):
    """Each element of the result by its definition; D tensors by the letters of their axes."""

    def place(name, at):
        return tuple(at[letter] for letter in layout.order(name))

    sums = np.zeros(problem.tensor(problem.result, layout).shape)
    first, second = (name for name in ("input", "weight", "output") if name != problem.result)
    for triple in triples(problem):
        product = (
            operands[first][place(first, triple[first])] * operands[second][place(second, triple[second])]
        )
        sums[place(problem.result, triple[problem.result])] += product
    result = np.zeros_like(sums)
    for index in np.ndindex(sums.shape):
        at = dict(zip(layout.order(problem.result), index, strict=True))
        d = [
            operands[name][tuple(at[letter] for letter in problem.tensor(name, layout).axes)]
            for name in problem.elementwise.d_tensors
        ]
        # the table itself is tested elsewhere
        results = problem.elementwise.apply(sums[index][np.newaxis], tuple(np.array([one]) for one in d))
        result[index] = results[0]
    return result


def test_an_operation_can_be_on_what_8_bits_hold_of_sums():
    problem = fused("Bilinear,alpha=0.5,beta=2")
    layout = layout_of(problem)
    numbers = np.random.default_rng(5)
    *names, result = FORWARD.tensors_of(problem)
    operands = {
        name: numbers.integers(-120, 120, problem.tensor(name, layout).shape).astype(float) for name in names
    }
    sums = naive(fused("Scale,scale=1"), operands, layout)
    types = FORWARD.types(DataType.INT8)
    found, narrowed = (
        FORWARD.reference(problem, layout, operands, replace(types, narrowed=to))
        for to in (None, DataType.INT8)
    )
    low = (sums + 128) % 256 - 128
    assert result == "output" and (low != sums).any()
    np.testing.assert_array_equal(found, 0.5 * sums + 2 * operands["d0"])
    np.testing.assert_array_equal(narrowed, 0.5 * low + 2 * operands["d0"])


@pytest.mark.parametrize(
    "text",
    [
        "AddClamp,floor=-1,ceiling=2",
        "AddClamp,bias=channel",
        "ScaleAddScaleAddRelu,alpha1=0.5,alpha2=-2",
        "ScaleAddScaleAddRelu,d0=channel,bias=full",
        "BiasNormalizeInInferClamp,floor=-max,gamma=channel,variance=channel",
        "DynamicUnaryOp,function=TanH",
        "MultiDMultiply,d0=full,d1=channel",
    ],
)
@pytest.mark.parametrize("ndim", [1, 2, 3])
@pytest.mark.parametrize("direction", DIRECTIONS, ids=lambda one: one.id)
def test_the_reference(direction, text, ndim):
    plain = ConvProblem(
        groups=2,
        batch=2,
        out_channels=3,
        in_channels=2,
        filter=(2, 1, 3)[:ndim],
        input=(4, 3, 5)[:ndim],
        strides=(1, 2, 1)[:ndim],
        dilations=(2, 1, 1)[:ndim],
        left_pads=(1, 0, 1)[:ndim],
        right_pads=(0, 1, 0)[:ndim],
    )
    combination = Combination.parse(text)
    if direction.id == "bwd_weight":
        full = (DExtent.FULL,) * len(combination.extents)
        combination = replace(combination, extents=full)
    problem = FusedConvProblem.of(plain, combination, direction.tensors[-1])
    layout = layout_of(problem)
    names = direction.tensors_of(problem)
    assert names == (*direction.tensors[:2], *problem.elementwise.d_tensors, direction.tensors[2])
    numbers = np.random.default_rng(11)
    operands = {name: numbers.uniform(-1, 1, problem.tensor(name, layout).shape) for name in names[:-1]}
    if "d2" in operands:
        operands["d2"] = abs(operands["d2"])
    np.testing.assert_allclose(
        direction.reference(problem, layout, operands),
        naive(problem, operands, layout),
        rtol=1e-12,
        atol=1e-12,
    )


#: type -> what a number of fp32 is as one of the type
ROUNDED = {
    DataType.FP32: lambda x: float(x),
    DataType.FP16: lambda x: float(np.float16(x)),
    # 7 bits of the fraction, ties to even
    DataType.BF16: lambda x: math.ldexp(round(math.ldexp(math.frexp(x)[0], 8)), math.frexp(x)[1] - 8),
    # the low bits of what is left of the point
    DataType.INT8: lambda x: float((int(x) + 128) % 256 - 128),
}


@pytest.mark.parametrize("dtype", ROUNDED, ids=lambda one: one.value)
@pytest.mark.parametrize("scales", [(1.0, 1.0), (0.37, -2.6), (-90.3, 55.5)])
def test_operands_are_made_of_two_tensors_each(dtype, scales):
    problem = fused(f"scaleadd_ab,scale_in={scales[0]},scale_wei={scales[1]}")
    layout = layout_of(problem)
    names = FORWARD.tensors_of(problem)
    assert names == ("input", "weight", "input1", "weight1", "output")
    specs = [problem.tensor(name, layout) for name in names]
    assert [one.position for one in specs] == [0, 1, 3, 4, 2]
    wanted = OperandValues(kind=InitKind.DECIMAL, seed=3, reduction_length=9)
    types = FORWARD.types(dtype)
    operands = {one.name: decode(make_operand(one, dtype, wanted), dtype) for one in specs[:-1]}
    assert not np.array_equal(operands["input"], operands["input1"])
    made = FORWARD.multiplied(problem, operands, types)
    assert made.keys() == {"input", "weight"}
    for (name, values), scale in zip(made.items(), scales, strict=True):
        assert values.shape == operands[name].shape
        single = Fraction(float(np.float32(scale)))
        pairs = zip(operands[name].flat, operands[f"{name}1"].flat, strict=True)
        sums = [np.float32(float(single * Fraction(x) + Fraction(d))) for x, d in pairs]
        assert [ROUNDED[dtype](float(one)) for one in sums] == list(values.flat)
    np.testing.assert_allclose(
        FORWARD.reference(problem, layout, made), naive(problem, made, layout), rtol=1e-12, atol=1e-12
    )


def test_numbers_beyond_those_of_32_bits_are_the_largest_of_them():
    """As in kernels: what a processor makes of them is its own affair."""
    problem = fused("scaleadd_ab,scale_in=1e10,scale_wei=-1e10")
    ones = {name: np.ones((2, 2)) for name in ("input", "weight", "input1", "weight1")}
    made = FORWARD.multiplied(problem, ones, FORWARD.types(DataType.INT8))
    # 2^31 - 128 and -2^31
    assert set(made["input"].flat) == {-128.0} and set(made["weight"].flat) == {0.0}


def test_operations_and_bytes_are_counted():
    outputs = 2 * 3 * 4 * PLAIN.output[0] * PLAIN.output[1]
    for text, operations, tensors in (
        ("Clamp", 2, 0),
        ("AddClamp", 3, outputs),
        ("AddClamp,bias=channel", 3, 2 * 4),
        ("ScaleAddScaleAddRelu", 5, outputs + 2 * 4),
        ("MultiDAdd,d0=full,d1=channel", 2, outputs + 2 * 4),
        ("ScaleAdd", 0, 0),
    ):
        problem = fused(text)
        of_operands = 0
        if problem.operand_tensors:
            tensors = PLAIN.input_elements + PLAIN.weight_elements
            of_operands = 2 * tensors
        assert problem.flop == PLAIN.flop + operations * outputs + of_operands
        assert problem.real_flop == PLAIN.real_flop + operations * outputs + of_operands
        assert problem.traffic_bytes(DataType.FP16) == PLAIN.traffic_bytes(DataType.FP16) + 2 * tensors
        assert FORWARD.product(problem, DataType.FP16).tensor_bytes == problem.moved_bytes(2)


def test_operations_and_bytes_of_gradients_are_counted():
    inputs, weights = 2 * 3 * 5 * 5 * 6, 2 * 4 * 5 * 2 * 3
    for result, elements in (("input", inputs), ("weight", weights)):
        problem = FusedConvProblem.of(PLAIN, Combination.parse("Bilinear"), result)
        assert problem.flop == PLAIN.flop + 3 * elements
        assert problem.real_flop == PLAIN.real_flop + 3 * elements
        assert problem.traffic_bytes(DataType.FP16) == PLAIN.traffic_bytes(DataType.FP16) + 2 * elements


def test_tensors_lie_as_the_output_or_by_channel():
    layout = layout_of(PLAIN)
    problem = fused("ScaleAddScaleAddRelu")
    output, full, channel = (problem.tensor(name, layout) for name in ("output", "d0", "d1"))
    assert (full.axes, full.shape) == (output.axes, output.shape)
    assert (channel.axes, channel.shape) == ("GK", (2, 4))
    assert [one.position for one in (output, full, channel)] == [2, 3, 4]


def test_variances_are_drawn_without_their_signs_and_not_next_to_zero():
    problem = fused("BiasNormalizeInInferClamp")
    layout = layout_of(problem)
    wanted = OperandValues(kind=InitKind.DECIMAL, seed=1, reduction_length=9)
    drawn = [make_operand(problem.tensor(f"d{n}", layout), DataType.FP32, wanted) for n in range(5)]
    assert [bool((one < 0).any()) for one in drawn] == [True, True, False, True, True]
    assert drawn[2].min() == 2.0**-4 and drawn[2].max() > 0.4
    zeros = replace(wanted, kind=InitKind.ZEROS)
    assert not make_operand(problem.tensor("d2", layout), DataType.FP32, zeros).any()


def test_problems_are_kept_as_json():
    know_problem_type(FusedConvProblem)
    know_problem_type(FusedGradientProblem)
    know_problem_type(ConvProblem)
    draw = random.Random(1)
    for operation in ElementwiseOp:
        results = ("output",) if operation.properties.operands else ("output", "input")
        for result in results:
            problem = FusedConvProblem.of(PLAIN, Combination.usual(operation), result)
            values = msgspec.json.decode(msgspec.json.encode(sizes(problem)))
            assert exact_problem(values) == problem == problem_from({**values, "more": draw.random()})
            assert hash(exact_problem(values)) == hash(problem)
    assert exact_problem(sizes(PLAIN)) == PLAIN


def test_problems_are_kept_as_cells_of_a_table():
    know_problem_type(FusedConvProblem)
    problem = fused("ScaleAddScaleAddRelu,alpha1=-0.75,bias=full")
    cells = {name: str(value) for name, value in cells_of_problem(problem).items()}
    assert '"alpha1"' not in cells["elementwise"]
    assert problem_of_cells({**cells, "split_k": "1"}, ["split_k"]) == problem
    plain = {name: text for name, text in cells.items() if name != "elementwise"}
    assert problem_of_cells({**plain, "elementwise": ""}, []) == problem.convolution


def test_parts_have_the_operation():
    problem = fused("AddClamp,bias=channel")
    parts = problem.parts(1)
    assert len(parts) == 3 and all(part.elementwise is problem.elementwise for _, part in parts)


def test_devices_are_told_that_results_are_no_sums():
    assert FORWARD.contraction(fused("Clamp")).is_changed
    assert not FORWARD.contraction(PLAIN).is_changed
    assert (FORWARD.roundings(PLAIN), FORWARD.roundings(fused("Clamp"))) == (1, 2)
    assert FORWARD.is_exact(fused("AddClamp")) and not FORWARD.is_exact(fused("Scale,scale=0.3"))
    # the sums are the result, but not of what is stored
    assert FORWARD.roundings(fused("ScaleAdd")) == 1
    assert FORWARD.contraction(fused("ScaleAdd")).is_changed and not FORWARD.is_exact(fused("ScaleAdd"))


def parse(text, direction=FORWARD):
    return direction.parse_problem(ProblemLine(text=text, path="--problem"))


MIOPEN = "conv -n 4 -c 8 -k 16 -H 9 -W 9 -p 1 -q 1 -F 1"
SIZES = "2 1 4 16 8 3 3 9 9 1 1 1 1 1 1 1 1"


@pytest.mark.parametrize("line", [MIOPEN, SIZES, f"ckProfiler grouped_conv_fwd 1 1 0 1 1 0 1 {SIZES}"])
def test_any_line_can_ask_for_an_operation(line):
    case = parse(f"{line} --elementwise-op bias_clamp,ceiling=6")
    assert case.problem == FusedConvProblem.of(parse(line).problem, Combination.parse("AddClamp,ceiling=6"))
    assert case.direction == "fwd"
    # at any place of MIOpenDriver's
    if line is MIOPEN:
        assert parse(f"conv --elementwise-op bias_clamp,ceiling=6{MIOPEN[4:]}").problem == case.problem
    for form in FORWARD.line_forms:
        assert parse(FORWARD.problem_line(case, form)).problem == case.problem


@pytest.mark.parametrize(
    ("rest", "message"),
    [
        ("--elementwise-op", "--elementwise-op needs a value"),
        ("--elementwise-op Foo", r"Foo is unknown, .*\(column 64 "),
        ("--elementwise-op Clamp --elementwise-op Clamp", "--elementwise-op is given twice"),
    ],
)
def test_wrong_options_are_named_with_their_places(rest, message):
    with pytest.raises(InputError, match=message):
        parse(f"{MIOPEN} {rest}")


def test_gradients_have_operations_on_what_they_compute():
    case = parse(f"{MIOPEN.replace('-F 1', '-F 2')} --elementwise-op bilinear,alpha=2", BackwardData())
    assert (case.direction, case.problem.gradient_of) == ("bwd_data", "input")
    assert case.problem.elementwise == Combination.parse("Bilinear,alpha=2")
    for form in BackwardData().line_forms:
        assert parse(BackwardData().problem_line(case, form), BackwardData()).problem == case.problem
    assert parse(f"{SIZES} --elementwise-op scale", BackwardWeight()).problem.gradient_of == "weight"
    assert parse(f"{SIZES} --elementwise-op Add,bias=channel", BackwardData()).problem.further_elements == 8
    with pytest.raises(InputError, match=r"bias is channel: the gradient of the weight has no channels"):
        parse(f"{SIZES} --elementwise-op Add,bias=channel", BackwardWeight())
    with pytest.raises(InputError, match=r"ScaleAdd changes operands before .* only forward convolutions do"):
        parse(f"{SIZES} --elementwise-op scaleadd_ab", BackwardData())
    with pytest.raises(InputError, match=r"gradient_of is 'output', expected input or weight"):
        FusedGradientProblem(**sizes_of(PLAIN), elementwise=Combination.parse("Scale"), gradient_of="output")


def test_lines_ask_for_one_operation():
    with pytest.raises(InputError, match=r"the line asks for AddClamp.* already"):
        parse(f"grouped_conv_fwd_bias_clamp 1 1 0 1 1 0 1 {SIZES} --elementwise-op Clamp")


FUSION = "CBAInfer -n 2 -c 16 -k 8 -H 10 -W 10"


@pytest.mark.parametrize(
    ("flags", "asked"),
    [
        ("-J 4", "AddClamp,floor=0,ceiling=max,bias=channel"),
        ("-J 4 -m 7 -A 7", "AddClamp,floor=0,ceiling=7,bias=channel"),
        ("--fusion_mode 4 --activMode 10 --alpha -1 --beta 2", "AddClamp,floor=-1,ceiling=2,bias=channel"),
        ("-J 4 -m 0", "AddClamp,floor=-max,ceiling=max,bias=channel"),
        ("-J 6", "AddClamp,floor=-max,ceiling=max,bias=channel"),
        ("-J 5", "Clamp,floor=0,ceiling=max"),
        ("-J 5 -m 1", "DynamicUnaryOp,function=Sigmoid,alpha=1,beta=1"),
        ("-J 5 -m 9 -A 2", "DynamicUnaryOp,function=Elu,alpha=2,beta=1"),
        (
            "-J 0 -M 1",
            "BiasNormalizeInInferClamp,floor=0,ceiling=max,epsilon=1e-06,bias=channel,mean=channel,variance=channel,"
            "gamma=channel,beta=channel",
        ),
    ],
)
def test_fusions_of_miopen(flags, asked):
    case = parse(f"MIOpenDriver {FUSION} {flags}")
    assert case.problem.elementwise.text == asked and not case.unsupported
    assert (case.direction, case.dtype) == ("fwd", DataType.FP32)
    assert (case.problem.batch, case.problem.out_channels, case.problem.filter) == (2, 8, (3, 3))


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        ("", "per activation (-M 0, MIOpenDriver's default); give -M 1 for that per channel"),
        ("-J 1 -M 1", "batch normalisation without a bias"),
        ("-J 0 -M 1 -m 2", "batch normalisation and tanh"),
        ("-J 4 -m 1", "a bias and logistic"),
        ("-J 5 -m 6", "power, which kernels do not have as MIOpen has it"),
        ("-J 5 -m 2", "tanh with numbers that kernels do not have"),
    ],
)
def test_fusions_without_kernels_are_named(flags, reason):
    assert reason in parse(f"{FUSION} {flags}").unsupported


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (f"{FUSION} -J 2", "-J 2 asks for no convolution"),
        (f"{FUSION} -J 5 -m 11", "-m 11 is not an activation"),
        (f"{FUSION} -J 5 -A x", "expected a number for alpha, got 'x'"),
        (f"{MIOPEN} -J 4", "unknown MIOpenDriver flag '-J'"),
    ],
)
def test_wrong_fusions(line, message):
    with pytest.raises(InputError, match=message):
        parse(line)


def test_fusions_are_forward():
    with pytest.raises(OtherOperationError, match="CBAInfer asks for a forward convolution"):
        parse(FUSION, BackwardData())
    assert parse("CBAInferfp16 -J 4").problem.batch == 32
