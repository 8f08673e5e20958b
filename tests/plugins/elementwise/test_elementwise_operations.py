"""The table of element-wise operations, against definitions written down a second time."""

import math
import random
import struct
from fractions import Fraction

import numpy as np
import pytest

from ckprof.errors import InputError
from ckprof.measure.verify.tolerance import Sums, derive_tolerance
from ckprof.model.types import DataType
from ckprof_plugins.elementwise.combination import Combination
from ckprof_plugins.elementwise.operation import LARGEST, DExtent
from ckprof_plugins.elementwise.operations import ElementwiseOp
from tests.plugins.elementwise.settings import SETTINGS, with_settings

UNARY = {
    "Relu": lambda x, a, b, g: max(x, 0.0),
    "PassThrough": lambda x, a, b, g: x,
    "UnaryAbs": lambda x, a, b, g: abs(x),
    "Sigmoid": lambda x, a, b, g: 1 / (1 + math.exp(-x)),
    "TanH": lambda x, a, b, g: math.tanh(x),
    "Swish": lambda x, a, b, g: x / (1 + math.exp(-b * x)),
    "SoftRelu": lambda x, a, b, g: math.log(1 + math.exp(a * x)) / a,
    "Power": lambda x, a, b, g: (a + b * x) ** int(g),
    "ClippedRelu": lambda x, a, b, g: min(max(x, a), b),
    "LeakyRelu": lambda x, a, b, g: x if x >= 0 else a * x,
    "Elu": lambda x, a, b, g: x if x > 0 else a * (math.exp(x) - 1),
    "Logistic": lambda x, a, b, g: a / (1 + a * math.exp(-x)),
}


def unary(x, function, a, b, g):
    return list(UNARY.values())[int(function)](x, a, b, g)


#: one element at a time: (sum, *D tensors), then parameters in order
DEFINITIONS = {
    "MultiDAdd": lambda x, d: x + sum(d),
    "MultiDMultiply": lambda x, d: x * math.prod(d),
    "Add": lambda x, d: x + d[0],
    "Clamp": lambda x, d, low, high: min(max(x, low), high),
    "AddClamp": lambda x, d, low, high: min(max(x + d[0], low), high),
    "BiasNormalizeInInferClamp": lambda x, d, low, high, epsilon: min(
        max((x + d[0] - d[1]) / math.sqrt(d[2] + epsilon) * d[3] + d[4], low), high
    ),
    "Scale": lambda x, d, scale: x * scale,
    "Bilinear": lambda x, d, alpha, beta: alpha * x + beta * d[0],
    "ScaleAddScaleAddRelu": lambda x, d, first, second: max(first * x + second * d[0] + d[1], 0.0),
    "ConvScale": lambda x, d, i, w, o: x * i * w * o,
    "ConvScaleRelu": lambda x, d, i, w, o: max(x * i * w, 0.0) * o,
    "ConvScaleAdd": lambda x, d, i, w, o: (x * i * w + d[0]) * o,
    "ConvInvscale": lambda x, d, i, w, o: x / i / w / o,
    "DynamicUnaryOp": lambda x, d, function, a, b, g: unary(x, function, a, b, g),
    "ScaleAdd": lambda x, d, i, w: x,
}
#: of both operands: (element, that of the further tensor), then parameters
OPERANDS = {"ScaleAdd": (lambda x, d, i, w: i * x + d, lambda x, d, i, w: w * x + d)}


def drawn(draw, parameter):
    if parameter.choices:
        return float(draw.randrange(len(parameter.choices)))
    ranges = {"floor": (-2, 0), "ceiling": (0.5, 3), "epsilon": (0.01, 1)}
    if parameter.name == "gamma":
        return float(draw.randrange(4))
    return draw.uniform(*ranges.get(parameter.name, (0.25, 2)))


def single(value):
    return struct.unpack("f", struct.pack("f", value))[0]


def combinations(operation, draw):
    properties = operation.properties
    counts = (1, 2) if properties.variadic else (len(properties.d_tensors),)
    repeats = 3 * len(UNARY) if operation is ElementwiseOp.DYNAMIC_UNARY_OP else 8
    for index in range(repeats):
        extents = tuple(draw.choice(list(DExtent)) for _ in range(counts[index % len(counts)]))
        parameters = tuple(drawn(draw, parameter) for parameter in properties.parameters)
        if operation is ElementwiseOp.DYNAMIC_UNARY_OP:
            parameters = (float(index % len(UNARY)), *parameters[1:])
        yield Combination(operation=operation, parameters=parameters, extents=extents)


def test_every_operation_has_a_second_definition():
    assert DEFINITIONS.keys() == {operation.value for operation in ElementwiseOp}
    (function, *_) = ElementwiseOp.DYNAMIC_UNARY_OP.properties.parameters
    assert function.choices == tuple(UNARY)


@pytest.mark.parametrize("operation", ElementwiseOp, ids=lambda one: one.value)
def test_formulas(operation):
    draw = random.Random(operation.value)
    for combination in combinations(operation, draw):
        sums = np.array([draw.uniform(-3, 3) for _ in range(40)])
        tensors = [np.array([draw.uniform(0, 2) for _ in range(40)]) for _ in combination.extents]
        expected = [
            DEFINITIONS[operation.value](x, d, *map(single, combination.parameters))
            for x, *d in zip(sums, *tensors, strict=True)
        ]
        np.testing.assert_allclose(combination.apply(sums, tuple(tensors)), expected, rtol=1e-12, atol=1e-12)
        if operation.properties.exact:
            whole = combination.apply(np.round(sums), tuple(map(np.round, tensors)))
            assert np.all(whole == np.float32(whole)) or combination.parameters


@pytest.mark.parametrize("operation", ElementwiseOp, ids=lambda one: one.value)
def test_operands_are_changed_with_one_rounding(operation):
    """Definitions are computed with fractions, so that nothing is rounded but the result."""
    changes = OPERANDS.get(operation.value, ())
    assert len(operation.properties.operands) == len(changes)
    draw = random.Random(13)
    for combination in combinations(operation, draw):
        assert combination.changes_operands is bool(changes)
        for number, definition in enumerate(changes):
            pairs = np.array([[draw.uniform(-3, 3), draw.uniform(-3, 3)] for _ in range(200)])
            pairs = pairs.astype(np.float16).astype(np.float64)
            scales = [Fraction(single(one)) for one in combination.parameters]
            exact = [definition(Fraction(x), Fraction(d), *scales) for x, d in pairs]
            changed = combination.changed_operand(number, pairs[:, 0], pairs[:, 1])
            assert changed.dtype == np.float32
            assert [single(float(one)) for one in exact] == list(changed)


@pytest.mark.parametrize("operation", ElementwiseOp, ids=lambda one: one.value)
def test_deviations_are_no_less_than_what_is_drawn(operation):
    """They may be larger: they bound tolerances."""
    draw, random_numbers = random.Random(3), np.random.default_rng(5)
    for combination in combinations(operation, draw):
        sums = random_numbers.normal(0, 4, 20000)
        tensors = [random_numbers.uniform(-0.5, 0.5, 20000) for _ in combination.extents]
        if operation is ElementwiseOp.BIAS_NORMALIZE_CLAMP:
            tensors[2] = abs(tensors[2])
        result = combination.apply(sums, tuple(tensors))
        said = combination.deviation(4.0, [float(np.mean(one**2)) for one in tensors])
        assert np.std(result) <= 1.1 * said


@pytest.mark.parametrize("limits", [(-0.5, 1.6), (-2.0, 2.0), (-LARGEST, LARGEST)])
@pytest.mark.parametrize("spread", [0.1, 1.0, 6.0])
def test_tolerances_hold_what_small_variances_make_of_roundings(limits, spread):
    """A million sums that are rounded to fp16, as in kernels, with tensors that are drawn as in runs."""
    numbers = np.random.default_rng(20261127)
    operation = ElementwiseOp.BIAS_NORMALIZE_CLAMP
    least = operation.properties.d_tensors[2].least
    combination = Combination(operation=operation, parameters=(*limits, 1e-4), extents=(DExtent.CHANNEL,) * 5)
    d = [numbers.uniform(-0.5, 0.5, (1, 4000)).astype(np.float16).astype(np.float64) for _ in range(5)]
    d[2] = np.maximum(abs(d[2]), least)
    sums = numbers.normal(0, spread, (250, 4000))
    exact = combination.apply(sums, tuple(d))
    rounded = combination.apply(sums.astype(np.float16).astype(np.float64), tuple(d))
    found = rounded.astype(np.float16).astype(np.float64)
    deviation = combination.deviation(spread, [float(np.mean(one**2)) for one in d])
    magnitude = float(abs(exact).max())
    told = Sums(reduction_length=40, magnitude=magnitude, deviation=deviation, roundings=2)
    allowed = derive_tolerance(DataType.FP16, told)
    assert np.all(abs(found - exact) <= allowed.atol + allowed.rtol * abs(exact))


def test_every_parameter_and_tensor_is_said_in_lines():
    draw = random.Random(7)
    for operation in ElementwiseOp:
        for combination in combinations(operation, draw):
            assert Combination.parse(combination.text) == combination
        usual = Combination.usual(operation)
        assert usual.text == operation.value or operation.properties.variadic
        for alias in operation.properties.aliases:
            assert Combination.parse(alias) == usual


def test_what_lines_can_say():
    clamped = Combination.parse("bias_clamp,floor=-max,ceiling=7,bias=channel")
    assert clamped.parameters == (-LARGEST, 7.0) and clamped.extents == (DExtent.CHANNEL,)
    assert clamped.text == "AddClamp,floor=-max,ceiling=7,bias=channel"
    relu = Combination.parse("scaleadd_scaleadd_relu")
    assert relu.extents == (DExtent.FULL, DExtent.CHANNEL)
    assert Combination.parse("dynamic_op,function=TanH").values["function"] == 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Foo", "operation Foo is unknown, expected one of MultiDAdd"),
        ("AddClamp,foo=1", "AddClamp has no 'foo', expected floor, ceiling, bias"),
        ("AddClamp,floor=1,floor=2", "floor is given twice"),
        ("AddClamp,floor=7,ceiling=6", "floor is 7.0, more than ceiling, which is 6.0"),
        ("AddClamp,bias=all", "bias is 'all', expected one of full, channel"),
        ("Scale,scale=nan", "scale is nan, expected a number that fp32 holds"),
        ("Scale,scale=1e39", "expected a number that fp32 holds"),
        ("Scale,scale", "scale is , expected a number"),
        ("Scale,d0=full", "Scale has no 'd0', expected scale"),
        ("ScaleAdd,d0=channel", "ScaleAdd has no 'd0', expected scale_in, scale_wei"),
        ("ConvInvscale,scale_out=0", "scale_out is 0, which results are divided by"),
        ("dynamic_op,function=Gelu", "function is Gelu, expected one of Relu"),
        ("dynamic_op,function=Power,gamma=0.5", "gamma is 0.5, expected an integer from 0 on"),
        ("dynamic_op,function=Logistic,alpha=-1", "alpha is -1.0, with which Logistic has a pole"),
        ("bias_bnorm_clamp,epsilon=0", "epsilon is 0.0, expected more than 0"),
    ],
)
def test_what_is_wrong(text, message):
    with pytest.raises(InputError, match=message):
        Combination.parse(text)


def test_libraries_are_told_by_numbers():
    number, tensors, channels, *bits = Combination.parse("AddClamp,ceiling=7,bias=channel").numbers()
    assert (number, tensors, channels) == (list(ElementwiseOp).index(ElementwiseOp.ADD_CLAMP) + 1, 1, 1)
    assert [struct.unpack("d", struct.pack("q", one))[0] for one in bits] == [-2.0, 7.0]
    # one further tensor for each operand
    assert Combination.parse("scaleadd_ab").numbers()[1:3] == (2, 0)


LENGTH, ELEMENTS = 432, 60_000


@pytest.fixture(scope="module")
def sums():
    """Sums of products in fp32, one after the other, the same in double precision, and their deviation."""
    draw = np.random.default_rng(32)
    single, double = np.zeros(ELEMENTS, np.float32), np.zeros(ELEMENTS)
    squares = np.zeros(2)
    for _ in range(LENGTH):
        a, b = draw.random(ELEMENTS, np.float32), draw.random(ELEMENTS, np.float32) - np.float32(0.5)
        single = single + a * b
        double += a.astype(float) * b
        squares += np.square(a, dtype=float).mean(), np.square(b, dtype=float).mean()
    return single, double, math.sqrt(LENGTH * np.prod(squares / LENGTH))


@pytest.mark.parametrize("operation", [one for one in ElementwiseOp if not one.properties.operands])
def test_the_tolerance_is_for_what_operations_make_of_errors(sums, operation):
    single, double, of_sum = sums
    row = operation.properties
    values = {parameter.name: parameter.default for parameter in row.parameters}
    least = [one.least for one in row.d_tensors] or [0.0] * (2 if row.variadic else 0)
    draw = np.random.default_rng(23)
    decimals = (draw.random(ELEMENTS, np.float32) - np.float32(0.5) for _ in least)
    d_tensors = tuple(
        np.maximum(abs(one), np.float32(bound)) if bound else one
        for one, bound in zip(decimals, least, strict=True)
    )
    expected = row.formula(double, tuple(one.astype(float) for one in d_tensors), values)
    deviation = row.deviation(of_sum, tuple(float(np.square(one).mean()) for one in d_tensors), values)
    tolerance = derive_tolerance(
        DataType.FP32,
        Sums(reduction_length=LENGTH, magnitude=abs(expected).max(), deviation=deviation, roundings=2),
    )
    errors = abs(row.formula(single, d_tensors, values) - expected)
    shares = errors / (tolerance.atol + tolerance.rtol * abs(expected))
    assert 0.05 < shares.max() < 0.8, shares.max()


@pytest.mark.parametrize("operation", ElementwiseOp, ids=lambda operation: operation.value)
def test_tests_set_every_parameter_of_what_has_some(operation):
    assert (operation.value in SETTINGS) is bool(operation.properties.parameters)
    values = Combination.parse(with_settings(operation.value)).parameters
    defaults = Combination.parse(operation.value).parameters
    assert values != defaults or not values


@pytest.mark.parametrize("operation", [one for one in ElementwiseOp if one.properties.parameters])
def test_defaults_show_whether_they_are_used(operation):
    properties, values = operation.properties, Combination.usual(operation).values
    free = {one.name: one.default for one in properties.parameters if not one.choices}
    assert 1.0 not in free.values()
    assert len(set(free.values())) == len(free) or operation is ElementwiseOp.DYNAMIC_UNARY_OP
    sums, *further = np.random.default_rng(1).normal(0, 4, (6, 64)) ** 2 * [[1], *[[0.1]] * 5]
    sums[::2] *= -1

    def result(values):
        operands = [change.formula(sums, further[0], values).sum() for change in properties.operands]
        return [*operands, *properties.formula(sums, tuple(further[: len(properties.d_tensors)]), values)]

    # a function that is chosen when it runs need not use all of them
    for name in () if operation is ElementwiseOp.DYNAMIC_UNARY_OP else free:
        assert result({**values, name: free[name] + 1}) != result(dict(values)), name


def test_only_powers_of_two_are_exact():
    texts = ("Scale", "Scale,scale=0.25", "ConvScale", "ConvInvscale,scale_out=-8", "Clamp,floor=0.3")
    assert all(Combination.parse(text).is_exact for text in texts)
    for text in (
        "Scale,scale=3",
        "ConvScaleAdd,scale_out=0.3",
        "Bilinear,beta=0",
        "ScaleAdd",
        "DynamicUnaryOp",
    ):
        assert not Combination.parse(text).is_exact
