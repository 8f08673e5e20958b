"""What failed comes first, then what says how long things take, then what has the most to come after it."""

import math
import random
from functools import partial
from statistics import median

from ckprof_plugins.cluster.sharding import Pace, ShardSchedule, expected_last


def drained(schedule):
    units = []
    while (unit := schedule.pop()) is not None:
        units.append(unit)
    return units


def test_the_order_of_what_is_handed_out():
    schedule = ShardSchedule(["begin 1", "begin 2"], [(30.0, "whole 60 s"), (5.0, "whole 10 s")])
    schedule.pace.corrected(1, 10.0, 10.0)
    schedule.put_last("last step", 1.0, 5)
    schedule.put_part("part", 1.0, 15, 5)
    schedule.put_part("later part", 1.0, 15, 5)
    schedule.put_last("short", 0.05, 5)
    schedule.put_first("lost")
    schedule.put_first("lost later")
    assert len(schedule) == 10
    # efforts are guesses: they count twice
    wanted = ["lost", "lost later", "begin 1", "begin 2", "whole 60 s", "part", "later part", "last step"]
    assert drained(schedule) == [*wanted, "whole 10 s", "short"]
    assert schedule.pop() is None and len(schedule) == 0


def test_whole_problems_wait_for_nothing_where_nobody_knows_how_long_they_take():
    schedule = ShardSchedule([], [(3.0, "long"), (1.0, "short")])
    assert drained(schedule) == ["long", "short"]


def test_what_is_not_wanted_any_more_is_dropped_wherever_it_is():
    schedule = ShardSchedule([1, 2], [(2.0, 3), (1.0, 4)])
    for unit in (5, 6, 7, 8):
        (schedule.put_last if unit < 7 else partial(schedule.put_part, kernels=1))(unit, float(unit), last=1)
    schedule.put_first(9)
    schedule.put_first(10)
    schedule.keep(lambda unit: unit % 2 == 0)
    assert drained(schedule) == [10, 2, 8, 6, 4]


def test_the_pace_is_the_median_of_what_was_seen():
    chance, pace, seen = random.Random(0), Pace(), []
    assert pace.usual is None
    for _ in range(101):
        seconds, effort = chance.uniform(1, 9), chance.uniform(1, 9)
        seen.append(seconds / effort)
        parts = pace.corrected(1000, seconds, effort)
    assert pace.usual == median(seen)
    assert parts == math.ceil(1000 * (seen[-1] / median(seen)))


def test_a_part_comes_before_the_last_step_of_its_problem_and_after_longer_problems():
    last = expected_last(3000)
    schedule = ShardSchedule([], [])
    schedule.put_part("short", 0.05, 48, last)
    schedule.put_last("last step", 0.1, last)
    schedule.put_part("part", 0.1, 48, last)
    assert drained(schedule) == ["part", "last step", "short"]


def test_what_may_hang_comes_before_what_takes_less_than_a_time_out_where_last_steps_can_fill_one():
    for share, hangs, hang_s, order in (
        (1e5, 0, 60.0, ["whole", "part", "last step"]),
        (10.0, 0, 0.5, ["last step", "whole", "part"]),
        (10.0, 3, 60.0, ["whole", "part", "last step"]),
    ):
        schedule = ShardSchedule([], [(1.0, "whole")], 60.0, share)
        schedule.pace.corrected(1, 10.0, 10.0)
        schedule.hangs = hangs
        schedule.put_last("last step", 1.0, 14)
        schedule.put_part("part", 0.01, 48, 14)
        assert schedule.hang_s == hang_s
        assert drained(schedule) == order, (share, hangs)
