"""What the texts of options are read as."""

import pytest

from ckprof.compare.options import ChangePolicy, FailOn
from ckprof.errors import UsageError
from ckprof.option import (
    above_zero,
    command,
    duration,
    least_of,
    limits,
    limits_text,
    members,
    numbers,
    percent,
    percentage,
    positive,
    share,
    time_above_zero,
)


@pytest.mark.parametrize(
    ("read", "text", "value"),
    [
        (positive, "3", 3),
        (above_zero, "0.5", 0.5),
        (duration, "90", 90),
        (duration, "1h30m", 5400),
        (duration, "2min", 120),
        (duration, "0s", 0),
        (time_above_zero, "5m", 300),
        (share, "0.25", 0.25),
        (share, "25%", 0.25),
        (numbers, "0", (0,)),
        (numbers, "3,7-9", (3, 7, 8, 9)),
    ],
)
def test_texts_are_read(read, text, value):
    assert read(text) == value


@pytest.mark.parametrize("text", ["0", "-1", "x", ""])
def test_what_is_not_positive_is_refused(text):
    with pytest.raises(ValueError):
        positive(text)


@pytest.mark.parametrize("text", ["0", "0s"])
def test_no_time_is_not_above_zero(text):
    with pytest.raises(ValueError):
        time_above_zero(text)


@pytest.mark.parametrize("text", ["-1", "5 min 3", "x", ""])
def test_what_is_not_a_time_is_refused(text):
    with pytest.raises(UsageError, match="expected a time such as 90s, 30m or 2h, got"):
        duration(text)


@pytest.mark.parametrize("text", ["0", "-1", "inf", "nan"])
def test_what_is_no_time_limit_is_refused(text):
    with pytest.raises(ValueError):
        above_zero(text)


@pytest.mark.parametrize(
    ("read", "text", "message"),
    [
        (duration, "", "such as 90s, 30m or 2h, got ''"),
        (duration, "2d", "such as 90s, 30m or 2h, got '2d'"),
        (share, "much", "such as 0.25 or 25%, got 'much'"),
        (numbers, "a", "several such as 3,7-9, got 'a'"),
        (numbers, "1,", "several such as 3,7-9, got '1,'"),
        (numbers, "1-²", "several such as 3,7-9"),
        (numbers, "12345678", "several such as 3,7-9"),
        (numbers, "3-1", "the range 3-1 is empty"),
    ],
)
def test_messages_say_what_is_expected(read, text, message):
    with pytest.raises(UsageError, match=message):
        read(text)


def test_a_share_is_shown_as_it_can_be_typed():
    assert share(percent(0.02)) == percentage(percent(0.02)) == percentage("2") == 0.02


@pytest.mark.parametrize(
    ("text", "message"),
    [("no-such-tool -x", "no command 'no-such-tool'"), ("", "no command ''"), ("'", "cannot be read")],
)
def test_the_option_is_checked_before_anything_is_built(text, message):
    with pytest.raises(UsageError, match=message):
        command(text)


def test_words_are_split_as_a_shell_does():
    assert command("env 'A B'=1 nice") == ("env", "A B=1", "nice")


def test_members_of_an_enumeration_may_have_a_percentage():
    graded = (FailOn.SLOWER, FailOn.FASTER)
    chosen = limits(FailOn, " status, slower=2.5%,shift ", graded)
    assert chosen == {FailOn.SLOWER: 0.025, FailOn.STATUS: 0, FailOn.SHIFT: 0}
    assert limits_text(chosen) == ["slower=2.5%", "status", "shift"]
    assert (least_of(chosen, FailOn.SLOWER), least_of(chosen, FailOn.FASTER)) == (0.025, 0)
    usual = ChangePolicy().fail_on
    assert (limits_text(usual), least_of(usual, FailOn.SLOWER)) == (["slower", "status", "shift"], 0)
    assert (limits(FailOn, "none", graded), members(FailOn, "none")) == ({}, ())
    assert members(FailOn, "shift,slower") == (FailOn.SLOWER, FailOn.SHIFT)
    for text in ("", ",", "slow", "status=3%", "slower=3", "slower=-3%", "slower=", "slower,none"):
        with pytest.raises(UsageError, match=r"expected slower\[=N%\], status, .*faster\[=N%\] or none, got"):
            limits(FailOn, text, graded)
    with pytest.raises(UsageError, match=r"expected slower, status, .* or none, got 'slower=3%'"):
        members(FailOn, "slower=3%")
