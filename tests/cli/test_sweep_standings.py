"""What the summary of a sweep says of its bests."""

from __future__ import annotations

from ckprof.cli.cmd_sweep import standing_lines
from ckprof.model.problem import brief
from ckprof.model.problem_case import ProblemCase
from ckprof.model.ranking import Order, Standing
from ckprof_plugins.operations.gemm.problem import GemmProblem


def test_the_summary_says_which_bests_are_open_and_what_it_would_take() -> None:
    clear = Standing(order=Order.CLEAR, first=1, processes=1)
    tie = Standing(order=Order.TIE, first=3, processes=1)
    rounds = Standing(order=Order.OPEN, first=4, processes=1, rounds=17)
    never = Standing(order=Order.OPEN, first=2, processes=1)
    problem = GemmProblem(m=8, n=16, k=32)
    problems = [ProblemCase(problem=problem, name=f"layer{n}" if n < 3 else "") for n in range(9)]
    lines = standing_lines(
        [(0, clear), (1, rounds), (2, tie), (3, never), *((n, never) for n in range(4, 9))], problems
    )
    assert lines[0] == "winner resolved: 2 of 9 finished rankings"
    assert lines[1] == "unresolved: layer1: 4 kernels may be the fastest; about 17 rounds would tell"
    assert lines[2].startswith(
        f"unresolved: {brief(problem)}: 2 kernels may be the fastest; more worker processes"
    )
    assert len(lines) == 7 and lines[-1] == "unresolved: 2 more, which ckprof report shows"
    assert standing_lines([], problems) == []
