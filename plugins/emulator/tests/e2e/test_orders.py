"""Kernels run in several orders of workgroups and waves: right ones give the same bits, wrong ones do not."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckprof import Problem
from ckprof.measure.worker.abi import Library
from ckprof_plugins.emulator.orders import Orders
from plugins.emulator.tests.e2e.conftest import PROBLEM, TARGET
from tests.e2e.catalogs import write_catalog

pytestmark = [pytest.mark.amd, pytest.mark.usefixtures("amd_toolchain"), pytest.mark.timeout(1500)]

#: direction -> command lines of problems, and splits
CASES = {
    "fwd": (PROBLEM, 1),
    "bwd_weight": ("convfp16 -n 3 -c 40 -H 9 -W 7 -k 24 -y 3 -x 3 -p 1 -q 1 -F 4", 2),
}


@pytest.fixture(params=CASES)
def built(ckprof, tmp_path, request):
    """Build one kernel of a direction; return its library, its key, a problem and splits."""
    direction = request.param
    variant = {"fwd": "forward", "bwd_weight": "bwd_weight"}[direction]
    catalog = write_catalog(tmp_path / "one.json", variant, [{"pipeline": "compv1"}])
    called = ckprof("build", direction, "--conf", catalog, *TARGET, "--device", "emulated", timeout=1200).ok()
    library = Path(called.out.strip())
    (key,) = Library.load(library).kernels
    line, splits = CASES[direction]
    return library, key, Problem.parse(line), splits


def test_the_same_bits_in_all_orders(built):
    library, key, problem, splits = built
    with Orders(library, "gfx942", {"CKPROF_EMULATED_THREADS": "1"}) as orders:
        run = orders.run(key, problem, split_k=splits)
    # three orders beside the first one, with exact and with usual operands
    assert (run.found, run.unsupported, run.compared) == ("", "", 6)


def test_a_missing_barrier_shows_in_the_result(built):
    library, key, problem, splits = built
    variables = {"CKPROF_EMULATED_THREADS": "1", "CKPROF_EMULATED_OMIT": "s_barrier:2:grouped_conv"}
    with Orders(library, "gfx942", variables) as orders:
        run = orders.run(key, problem, split_k=splits)
    assert "operands, workgroups and waves" in run.found and "elements differ, the first at" in run.found
