"""Operations of a problem: those inside of the image are counted."""

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from ckprof_plugins.directions._convolution.problem import ConvProblem


@st.composite
def problems(draw):
    axes = draw(st.integers(1, 3))
    lengths = {name: [] for name in ("filter", "input", "strides", "dilations", "left_pads", "right_pads")}
    for _ in range(axes):
        taps, dilation = draw(st.integers(1, 4)), draw(st.integers(1, 3))
        left, right = draw(st.integers(0, 5)), draw(st.integers(0, 5))
        least = max(1, (taps - 1) * dilation + 1 - left - right)
        values = (taps, draw(st.integers(least, least + 6)), draw(st.integers(1, 3)), dilation, left, right)
        for name, value in zip(lengths, values, strict=True):
            lengths[name].append(value)
    counts = draw(st.tuples(*[st.integers(1, 3)] * 4))
    names = ("groups", "batch", "out_channels", "in_channels")
    return ConvProblem(
        **dict(zip(names, counts, strict=True)), **{name: tuple(values) for name, values in lengths.items()}
    )


@given(problems())
def test_real_operations_are_those_inside_the_image(problem):
    inside = 0
    for output in product(*map(range, problem.output)):
        for taps in product(*map(range, problem.filter)):
            inside += all(
                0 <= at * stride + tap * dilation - left < size
                for at, stride, tap, dilation, left, size in zip(
                    output,
                    problem.strides,
                    taps,
                    problem.dilations,
                    problem.left_pads,
                    problem.input,
                    strict=True,
                )
            )
    per_place = 2 * problem.groups * problem.batch * problem.out_channels * problem.in_channels
    assert problem.real_flop == per_place * inside <= problem.flop
