"""Problems in every form come back as they were."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckprof.errors import InputError, UsageError
from ckprof.model.problem_case import ProblemCase
from ckprof.model.problem_line import ProblemLine
from ckprof.model.types import DataType
from ckprof.problems.list_file import parse_problem_list, render_problems
from ckprof.problems.parse_line import parse_problem
from ckprof_plugins.directions._convolution.direction import Direction
from ckprof_plugins.directions._convolution.sample import SampleSpec, sample

DRAWN = sample(SampleSpec(count=60, seed=5, edges=0.5)) + sample(SampleSpec(count=20, seed=6, ndim=3))
DRAWN += sample(SampleSpec(count=10, seed=7, ndim=1))


def line_of(one: ProblemCase, form: str, directions: tuple[Direction, ...]) -> str:
    text = render_problems([one], form, directions).text
    return next(line for line in text.splitlines() if not line.startswith("#"))


def parsed(line: str, direction: Direction, directions: tuple[Direction, ...]) -> ProblemCase:
    return parse_problem(ProblemLine(text=line, path="p"), direction, directions)


@given(
    one=st.sampled_from(DRAWN),
    number=st.integers(0, 2),
    dtype=st.sampled_from([DataType.FP16, DataType.BF16, None]),
)
def test_lines_parse_back(
    one: ProblemCase, number: int, dtype: DataType | None, directions: tuple[Direction, ...]
) -> None:
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


def test_a_miopen_line_asks_for_its_direction_only(directions: tuple[Direction, ...]) -> None:
    line = line_of(replace(DRAWN[-1], direction=directions[0].id), "miopen", directions)
    with pytest.raises(InputError, match="does not ask for"):
        parsed(line, directions[1], directions)


@given(st.lists(st.sampled_from(DRAWN), max_size=5), st.integers(1, 99))
def test_json_keeps_everything(some: list[ProblemCase], count: int) -> None:
    some = [
        replace(
            one,
            **{"count": count, "direction": "fwd", "dtype": DataType.BF16, "layout": "x", "splits": (2, 4)},
            unsupported="a reason",
        )
        for one in some
    ]
    text = render_problems(some, "json", (), origin="a test").text
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
def test_splits_are_kept(name: str, splits: tuple[int, ...], directions: tuple[Direction, ...]) -> None:
    direction = next(one for one in directions if one.id == name)
    one = replace(DRAWN[0], direction=direction.id, dtype=DataType.FP16, layout="nhwgc", splits=splits)
    back = parsed(line_of(one, "ckprofiler", directions), direction, directions)
    assert back.splits == (splits or (1,))


def test_what_a_form_has_no_word_for_is_reported(directions: tuple[Direction, ...]) -> None:
    direction = next(one for one in directions if "split_k" in one.positional_form.trailing)
    one = replace(DRAWN[0], direction=direction.id, dtype=DataType.FP16, layout="nhwgc", splits=(2, 3))
    assert "one number of splits" in render_problems([one], "ckprofiler", directions).inexpressible[0][1]
    # backward data does not choose, so its line has no word for that
    data = next(one for one in directions if one.id == "bwd_data")
    chosen = replace(one, direction=data.id, splits=(-1,))
    assert "not (-1,)" in render_problems([chosen], "ckprofiler", directions).inexpressible[0][1]
    odd = replace(DRAWN[-1], layout="gnhwc")
    assert "no layout gnhwc" in render_problems([odd], "miopen", directions).inexpressible[0][1]


def test_what_is_not_supported_has_no_line(directions: tuple[Direction, ...]) -> None:
    one = replace(DRAWN[0], direction="fwd", dtype=DataType.FP16, layout="nhwgc", unsupported="it is clamped")
    for form in ("miopen", "ckprofiler"):
        rendered = render_problems([one], form, directions)
        assert not rendered.text
        assert rendered.inexpressible[0][1].endswith("it is clamped; only json holds it")


def test_what_ckprofiler_has_no_code_for_has_no_line(directions: tuple[Direction, ...]) -> None:
    data = next(one for one in directions if one.id == "bwd_data")
    one = ProblemCase(problem=data.default_problem[1], direction=data.id, dtype=DataType.FP16, layout="nwgc")
    ((_, why),) = render_problems([one], "ckprofiler", directions).inexpressible
    assert why.startswith("ckProfiler's grouped_conv_bwd_data has no code for fp16 in nwgc: 1D")


def test_a_type_without_a_miopen_line_is_reported(directions: tuple[Direction, ...]) -> None:
    one = replace(DRAWN[-1], dtype=DataType.INT8, layout=None)
    ((_, why),) = render_problems([one], "miopen", directions).inexpressible
    assert why == "MIOpenDriver lines of type int8 are not supported (conv, convfp16, convbfp16)"


def test_unequal_pads_are_reported_not_dropped_in_silence(directions: tuple[Direction, ...]) -> None:
    uneven = next(one for one in DRAWN if one.problem.left_pads != one.problem.right_pads)
    rendered = render_problems([uneven, DRAWN[-1]], "miopen", directions)
    assert [one for one, _ in rendered.inexpressible] == [uneven]
    assert "same pads on both sides" in rendered.inexpressible[0][1]
    assert "conv " in rendered.text


def test_names_and_counts_stand_in_comments(directions: tuple[Direction, ...]) -> None:
    text = render_problems([replace(DRAWN[-1], name="a", count=3)], "miopen", directions, "origin").text
    assert text.splitlines()[:2] == ["# origin", "# a, 3 times"]


def test_unknown_forms(directions: tuple[Direction, ...]) -> None:
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
def test_wrong_lists(change: dict[str, object], message: str) -> None:
    data = json.loads(render_problems([replace(DRAWN[-1], name="")], "json", ()).text)
    data["problems"][0] |= change
    with pytest.raises(InputError, match=message):
        parse_problem_list(json.dumps(data).encode(), "p.json")


@pytest.mark.parametrize(("key", "value"), [("schema", "x"), ("version", 9)])
def test_lists_of_another_kind(key: str, value: object) -> None:
    data = json.loads(render_problems(DRAWN, "json", ()).text)
    with pytest.raises(InputError, match="expected"):
        parse_problem_list(json.dumps(data | {key: value}).encode(), "p.json")
