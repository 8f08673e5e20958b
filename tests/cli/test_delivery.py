"""What fails on the way of a report costs that form alone."""

from __future__ import annotations

import io
from pathlib import Path
from types import SimpleNamespace

import pytest

from ckprof.cli.console import Console
from ckprof.cli.main import StopSignals
from ckprof.cli.outputs import Delivery, check_report
from ckprof.errors import InputError, PluginError


def fail() -> str:
    raise ValueError("broken format")


OUT, ERR = "out", "err"


@pytest.fixture
def streams() -> dict[str, io.StringIO]:
    return {OUT: io.StringIO(), ERR: io.StringIO()}


@pytest.fixture
def delivery(streams: dict[str, io.StringIO]) -> Delivery:
    console = Console(out=streams[OUT], err=streams[ERR])
    return Delivery(SimpleNamespace(console=console, signals=StopSignals()))


def test_a_failing_format_costs_itself(
    delivery: Delivery, tmp_path: Path, streams: dict[str, io.StringIO]
) -> None:
    assert delivery.write(tmp_path / "out.json", lambda: "{}")
    delivery.show(fail, lambda: "the table")
    assert (tmp_path / "out.json").read_text() == "{}"
    assert "the table" in streams[ERR].getvalue() and not streams[OUT].getvalue()
    with pytest.raises(PluginError, match="ValueError: broken format"):
        delivery.finish()


def test_a_failing_file_leaves_the_table(
    delivery: Delivery, tmp_path: Path, streams: dict[str, io.StringIO]
) -> None:
    assert not delivery.write(tmp_path / "absent" / "out.json", lambda: "{}")
    delivery.show(lambda: "the table", fail)
    assert "the table" in streams[OUT].getvalue()
    with pytest.raises(InputError, match="make it first"):
        delivery.finish()


def test_reports_that_cannot_be_written_are_found_first(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no folder"):
        check_report(tmp_path / "absent" / "out.json")
    assert not (tmp_path / "absent").exists()
    with pytest.raises(InputError, match="this is a folder"):
        check_report(tmp_path)
    check_report(tmp_path / "out.json")
    check_report(Path("/dev/null"))
    assert not list(tmp_path.iterdir())
