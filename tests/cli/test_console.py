"""Where text goes, and how far something is: one line on a terminal, few lines elsewhere."""

import io
import json
import time

import pytest

from ckprof.cli import console
from ckprof.cli.console import Console, ProgressLine
from ckprof.errors import InputError
from ckprof.report.table import Column, Table
from tests.kernel_names import kernel_name

NAME = kernel_name(
    *("grouped_conv_fwd", "fp16", "nhwgc", "2d", "compv3", "cshuffle", "intrawave", "256x256x32"),
    *("2x2x1", "32x32x16", "filter1x1_stride1_pad0"),
)


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


def of_width(monkeypatch, width):
    monkeypatch.setattr(console, "terminal_width", lambda stream: width)
    stream = io.StringIO()
    return ProgressLine(stream, rewritten=True), stream


@pytest.mark.parametrize("width", [20, 80, 120])
def test_a_terminal_gets_one_line_that_fits(monkeypatch, width):
    line, stream = of_width(monkeypatch, width)
    for attempt in range(50):
        line.show(f"sweep: 0/3 rankings, {attempt} attempts; at most 46 left, 2 s; best 0.03 ms", NAME)
        line.show_bar("build", attempt, 50, NAME + "\n", eta_s=7200)
    line.clear()
    drawn = stream.getvalue().split("\r\x1b[K")[1:]
    assert "\n" not in stream.getvalue() and len(drawn) == 101 and drawn[-1] == ""
    assert max(map(len, drawn)) < width
    if width == 120:
        assert drawn[0].endswith(" nhwgc_2d_compv3_256x256x32_filter1x1_stride1_pad0")


def test_it_is_cleared_once(monkeypatch):
    line, stream = of_width(monkeypatch, 80)
    line.clear()
    assert stream.getvalue() == ""


@pytest.mark.parametrize(("seconds", "most"), [(60, 7), (3600, 361)])
def test_a_pipe_gets_few_lines_with_whole_names(seconds, most):
    clock, stream = Clock(), io.StringIO()
    line = ProgressLine(stream, rewritten=False, clock=clock)
    line.begin("build", at_once=True)
    for attempt in range(seconds):
        line.show(f"sweep: {attempt} attempts", NAME)
        clock.now += 1
    lines = stream.getvalue().splitlines()
    assert lines[0] == f"sweep: 0 attempts {NAME}"
    assert most - 2 < len(lines) <= most, "a line every ten seconds"
    assert "\x1b" not in stream.getvalue() and "\r" not in stream.getvalue()


@pytest.mark.parametrize("rewritten", [False, True])
def test_a_step_that_takes_long_is_repeated_with_its_time(monkeypatch, rewritten):
    monkeypatch.setattr("ckprof.cli.console._BEAT_S", 0.001)
    clock, stream = Clock(), io.StringIO()
    line = ProgressLine(stream, rewritten=rewritten, clock=clock)
    line.begin("build")
    for now, shown in ((1042, "build (42 s)"), (1090, "build (2 min)")):
        clock.now = now
        while shown not in stream.getvalue():
            time.sleep(0.001)
    line.show_bar("build", 1, 2)
    line.end()
    before = stream.getvalue()
    time.sleep(0.05)
    assert stream.getvalue() == before, "nothing after the end"
    assert rewritten or before == "build (42 s)\nbuild (2 min)\n", "ten seconds apart"


def test_what_is_over_soon_is_not_worth_a_line():
    clock, stream = Clock(), io.StringIO()
    line = ProgressLine(stream, rewritten=False, clock=clock)
    line.begin("build", at_once=False)
    for step in range(10):
        clock.now += 0.4
        line.show_bar("build", step, 10, NAME)
    assert stream.getvalue() == ""
    clock.now += 2
    line.show_bar("build", 10, 10, NAME)
    assert stream.getvalue() == "", "the summary follows"
    line.show_bar("build", 9, 10, NAME, eta_s=90)
    assert stream.getvalue() == "build: 9/10, at most 2 min left\n"


def printed(verbosity, do):
    """Return what is printed on standard output and standard error."""
    out, err = io.StringIO(), io.StringIO()
    do(Console(verbosity, out=out, err=err))
    return out.getvalue(), err.getvalue()


def test_results_and_messages_go_where_they_belong():
    def say(console):
        console.detail("detail")
        console.info("info")
        console.warning("warn\x1bed")
        console.error("failed")
        console.progress.show("half way")
        console.result("a\x1b[2J")
        console.result_in("json", {"a": [1]}, "shown")
        console.result_in("table", {"a": [1]}, "shown")

    out = 'a\\u001b[2J\n{\n "a": [\n  1\n ]\n}\nshown\n'
    quiet = "warning: warn\\u001bed\nckprof: failed\n"
    assert printed(-1, say) == (out, quiet)
    assert printed(0, say) == (out, f"info\n{quiet}half way\n")
    assert printed(1, say) == (out, f"detail\ninfo\n{quiet}half way\n")


def test_a_table_has_its_raw_values_in_json_and_results_are_collected():
    table = Table([Column("ms", lambda row: row, align="decimal", form=".2g")], [1.2345])
    out, _ = printed(0, lambda console: console.table(table, "json"))
    assert json.loads(out) == [{"ms": 1.2345}]
    assert printed(0, lambda console: console.table(table, "table"))[0].split() == ["ms", "----", "1.2"]

    def collect(console):
        with console.collected() as parts:
            console.result("inside")
        console.result(f"collected {parts.getvalue()}")

    assert printed(0, collect) == ("collected inside\n", "")


def test_a_full_disk_is_an_error_of_results_but_not_of_messages():
    full = io.TextIOWrapper(io.FileIO("/dev/full", "w"), write_through=True)
    console = Console(out=full, err=full)
    console.info("nobody reads this")
    with pytest.raises(InputError, match="standard output: cannot write: No space left on device"):
        console.exact("result")
    # what is written from now on is lost, and no further error
    full.close()
