"""Reports of what real kernels were measured to take, as a new user makes them."""

import re

import pytest

from ckprof.errors import ExitCode
from ckprof.store.store import Store
from tests.e2e.test_compare_and_report import NETWORK, PROBLEM, ROUNDS, swept
from tests.e2e.test_example_operation import LIST, PROBLEMS, call
from tests.e2e.test_gemm_tool import LINE, NAME, QUICK

__all__ = ["call", "swept"]

pytestmark = [pytest.mark.compiler, pytest.mark.thorough]


@pytest.fixture
def ckprof(ckprof_process):
    return ckprof_process


@pytest.mark.slow
def test_a_report_of_a_sweep(ckprof, swept, tmp_path):
    done = ckprof("report", "old.db", "-o", "report.html").ok()
    assert "report.html: 1 problem, 4 instances" in done.err
    assert "Best per problem" in (tmp_path / "report.html").read_text()
    again = ("sweep", "fwd", "--conf", swept, "--problem", PROBLEM, "--store", "old.db", "--tag", "flags")
    assert ckprof(*again, *ROUNDS, "--cxx-flags=-fno-tree-vectorize").code == ExitCode.OK
    assert "-fno-tree-vectorize" in ckprof("report", "old.db@flags", "--format", "md").out


def test_a_report_of_a_run_names_its_winner(ckprof, short_list, tmp_path):
    run = ("run", "fwd", "--conf", short_list, "--problem", PROBLEM, "--max-time", "0.1", "--store", "r.db")
    assert ckprof(*run).code == ExitCode.OK
    with Store(tmp_path / "r.db") as store:
        (best,) = store.best()
    page = ckprof("report", "r.db", "--format", "md").ok()
    (line,) = (line for line in page.out.splitlines() if re.match(r"\|\s*P1 ", line))
    cells = [cell.strip() for cell in line.split("|")]
    assert best.kernel.name in cells[3] and cells[5] == f"{best.time_ms:.4g}"
    header = next(line for line in page.out.splitlines() if "best instance" in line)
    named = dict(zip((cell.strip() for cell in header.split("|")), cells, strict=True))
    assert named["order"] in ("clear", "tie", "open")


def test_layers_lines_and_ceilings_are_shown(ckprof, short_list, tmp_path):
    (tmp_path / "network.json").write_text(NETWORK)
    ckprof(
        "sweep", "fwd", *ROUNDS, "--conf", short_list, "--problems", "network.json", "--store", "r.db"
    ).ok()
    ckprof("report", "r.db", "--box-plots", "-o", "report.html").ok()
    page = (tmp_path / "report.html").read_text()
    assert "2 problems, which occur as 4 layers in all" in page
    assert "P2 block" in page and ">measured ceiling</text>" in page
    text = ckprof("report", "r.db", "--format", "md").out
    (row,) = [line for line in text.splitlines() if "| best kernel per layer" in line]
    assert "4 of 4" in row
    with Store(tmp_path / "r.db") as store:
        lines = {attempt.kernel.source.rpartition(":")[2] for attempt in store}
    assert all(f"{short_list.name}:{line}" in page for line in lines)


def test_products_are_reported(ckprof, tmp_path):
    (tmp_path / "rcr_fp32.conf").write_text(LINE + "\n")
    sweep = ("sweep", "gemm", "--conf", "rcr_fp32.conf", "--problem", "16x16x16", "--problem", "32x32x32")
    assert ckprof(*sweep, "--store", "s.db", *QUICK).code == ExitCode.OK
    assert ckprof("report", "s.db", "-o", "r.html").code == ExitCode.OK
    assert NAME.removeprefix("gemm_fp32_rcr_") in (tmp_path / "r.html").read_text()


def test_an_operation_of_another_package_is_reported(call, tmp_path):
    sweep = ("sweep", "row_softmax", "--conf", LIST, *PROBLEMS, "--store", "s.db", "--round-time", "0.01")
    done = call(*sweep)
    assert done.code == 0, done.err
    assert call("report", "s.db", "-o", "report.html").code == 0
    assert "33 rows of 40" in (tmp_path / "report.html").read_text()
