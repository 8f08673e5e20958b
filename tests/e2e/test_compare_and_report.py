"""Comparing, settling and reporting what real kernels were measured to take, as a new user does it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ckprof.errors import ExitCode
from ckprof.store.store import Store
from ckprof.store.writer import StoreWriter
from tests.e2e.conftest import Ckprof

pytestmark = pytest.mark.compiler

PROBLEM = "2 1 1 16 16 3 3 10 10 1 1 1 1 1 1 1 1"
ROUNDS = ("--round-time", "0.02", "--exhaustive", "--max-rounds", "4")


@pytest.fixture
def swept(ckprof: Ckprof, short_list: Path) -> Path:
    done = ckprof(
        *("sweep", "fwd", "--conf", short_list, "--problem", PROBLEM, "--store", "old.db", *ROUNDS),
    )
    assert done.code == ExitCode.OK, done.err
    return short_list


def scaled(old: Path, new: Path, factor: float) -> None:
    """Copy a store as if another sweep had measured everything slower, by a factor that differs per round."""
    from dataclasses import replace

    with Store(old) as store, StoreWriter(new) as writer:
        for one in store:
            measured = one.measurement
            if measured is not None:
                by = factor * (1 + 0.5 * (one.conditions.round % 3))
                measured = replace(measured, median_ms=measured.median_ms * by)
            session = replace(one.session, uid="e" * 32)
            writer.append(replace(one, session=session, measurement=measured))


def test_unclear_rows_are_measured_again(ckprof: Ckprof, swept: Path, tmp_path: Path) -> None:
    scaled(tmp_path / "old.db", tmp_path / "new.db", 1.3)
    first = ckprof("compare", "old.db", "new.db", "--format", "json")
    unclear = json.loads(first.out)["verdicts"]["unclear"]
    assert unclear, first.out
    again = ckprof(
        *("compare", "old.db", "new.db", "--settle", "--conf", swept, "--settle-rounds", "4"),
        *("--format", "json"),
    )
    assert again.code in (ExitCode.OK, ExitCode.FAILED), again.err
    compared = json.loads(again.out)
    assert compared["settled"] == unclear
    assert f"settling {unclear} of {unclear} unclear rows" in again.err
    measured = [row for row in compared["rows"] if row["old_rounds"] == 4 and row["verdict"]]
    assert len(measured) >= unclear
    # the stores are as they were
    assert json.loads(ckprof("compare", "old.db", "new.db", "--format", "json").out) == json.loads(first.out)


def test_other_code_is_not_taken_for_what_was_measured(ckprof: Ckprof, swept: Path, tmp_path: Path) -> None:
    from dataclasses import replace

    with Store(tmp_path / "old.db") as store, StoreWriter(tmp_path / "new.db") as writer:
        for one in store:
            toolchain = replace(one.key.toolchain, compiler="clang version 22.0")
            measured = one.measurement
            if measured is not None:
                by = 1 + 0.7 * (one.conditions.round % 3)
                measured = replace(measured, median_ms=measured.median_ms * by)
            writer.append(
                replace(
                    one,
                    key=replace(one.key, toolchain=toolchain),
                    session=replace(one.session, uid="e" * 32),
                    measurement=measured,
                )
            )
    done = ckprof("compare", "old.db", "new.db", "--settle", "--conf", swept)
    done.fails_with(
        ExitCode.USAGE, "new.db cannot be measured again here", "clang version 22.0", "--compiler"
    )


def test_a_report_of_a_sweep(ckprof: Ckprof, swept: Path, tmp_path: Path) -> None:
    done = ckprof("report", "old.db", "-o", "report.html")
    assert done.code == ExitCode.OK, done.err
    assert "report.html: 1 problems, 4 instances" in done.err
    assert "Best per problem" in (tmp_path / "report.html").read_text()
