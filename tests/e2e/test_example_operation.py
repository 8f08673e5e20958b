"""An operation of a package outside of ckprof, neither a convolution nor a product: softmax over rows."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import scipy

import ckprof
from tests.e2e.conftest import ROOT
from tests.places import belongs_to_tests

pytestmark = [pytest.mark.compiler, pytest.mark.thorough]

EXAMPLE = ROOT / "examples" / "row_softmax"
LIST = str(EXAMPLE / "softmax.conf")
PLUGIN = ("--plugin", "ckprof_row_softmax.plugin")
#: one row, and sizes that only some kernels take
PROBLEMS = ("--problem", "1x32", "--problem", "row_softmax 33x40")

#: the family with kernels that divide by a little too much
BROKEN = """
from dataclasses import replace
from ckprof import hookimpl
from ckprof_row_softmax.pipeline import RowSoftmaxPipeline
from ckprof.plugin.protocols import CatalogVariant
from ckprof_row_softmax.operation import RowSoftmax
from ckprof_row_softmax.problem import LAYOUTS
from ckprof_row_softmax.record import FAMILY, VARIANT, RowSoftmaxRecord

class Broken(RowSoftmaxPipeline):
    def render(self, instance, arch, api_level):
        source = super().render(instance, arch, api_level)
        assert "/= sum;" in source.header
        return replace(source, header=source.header.replace("/= sum;", "/= sum * 1.0001f;"))

@hookimpl
def ckprof_register(registry):
    registry.add(
        RowSoftmax(), Broken(), FAMILY,
        CatalogVariant(
            name=VARIANT, direction="row_softmax", record_type=RowSoftmaxRecord, layouts=LAYOUTS,
            pipeline=Broken.id,
        ),
    )
"""


@pytest.fixture
def call(monkeypatch, ckprof_within):
    monkeypatch.syspath_prepend(str(EXAMPLE))

    def run(command, *arguments, plugin=PLUGIN):
        return ckprof_within(command, *plugin, *arguments)

    return run


def test_run_verifies_and_times(call):
    called = call("run", "row_softmax", "--conf", LIST, *PROBLEMS, "--max-time", "0.02", "--format", "json")
    assert called.code == 0, called.err
    first, second = json.loads(called.out)["problems"]
    assert (first["rows"], first["columns"]) == (1, 32)
    statuses = [
        {outcome["instance"]: outcome["status"] for outcome in problem["outcomes"]}
        for problem in (first, second)
    ]
    assert statuses[0] == {0: "ok", 1: "ok", 2: "ok", 3: "unsupported"}
    # 40 columns are no multiple of 32
    assert statuses[1] == {0: "ok", 1: "ok", 2: "unsupported", 3: "unsupported"}
    checks = [outcome["verification"] for outcome in first["outcomes"] if outcome["status"] == "ok"]
    # the operation's own tolerance: 42 and 64 units of fp32
    assert {check["rtol"] for check in checks} == {2.0**-24 * (2 * 4 + 32 + 2 + 64)}
    assert all(0 < check["max_error"] < 1e-6 for check in checks)


def test_a_wrong_kernel_is_caught(call, tmp_path):
    (tmp_path / "broken.py").write_text(BROKEN)
    called = call(
        *("run", "row_softmax", "--conf", LIST, "--instance", "0", "--problem", "4x64", "--max-time", "0.02"),
        plugin=("--plugin", "broken.py"),
    )
    assert called.code == 1
    assert "wrong_result" in called.out


def test_sweep_and_results(call):
    sweep = ("sweep", "row_softmax", "--conf", LIST, *PROBLEMS, "--store", "s.db", "--round-time", "0.01")
    done = call(*sweep)
    assert done.code == 0, done.err
    assert "2 of 2 rankings are finished" in done.out
    shown = call("results", "show", "s.db")
    assert shown.code == 0 and "33 rows of 40" in shown.out and "1 rows of 32" in shown.out
    same = call("compare", "s.db", "s.db")
    assert same.code == 0, same.err


def test_generate_and_parity(call, tmp_path):
    generated = call("generate", "row_softmax", "--conf", LIST, "--build-dir", "tree")
    assert (generated.code, "excluded" in generated.err) == (1, True), "the instance that breaks a rule"
    assert len(list((tmp_path / "tree").rglob("row_softmax_*.hpp"))) == 3
    assert call("parity", "row_softmax", "--conf", LIST, "--generated", "both").code == 0


def test_a_program_computes_with_its_library(call, tmp_path):
    """Reference, types and interface are held against another implementation."""
    assert call("build", "row_softmax", "--conf", LIST, "--build-dir", "tree").code == 0
    from ckprof_row_softmax.operation import RowSoftmax
    from ckprof_row_softmax.problem import LAYOUTS, RowSoftmaxProblem

    (path,) = (tmp_path / "tree").rglob("librow_softmax.so")
    library = ckprof.KernelLibrary(path, operation=RowSoftmax())
    problem = RowSoftmaxProblem(rows=5, columns=24)
    x = np.random.default_rng(3).normal(scale=8, size=(5, 24)).astype(np.float16)
    expected = scipy.special.softmax(x.astype(np.float64), axis=1)
    result = library.run(problem, {"x": x}, "row_softmax_fp16_4_8").output
    assert result.dtype == np.float32
    np.testing.assert_allclose(result, expected, rtol=1e-5)
    np.testing.assert_allclose(
        RowSoftmax().reference(problem, LAYOUTS[0], {"x": x.astype(np.float64)}), expected, rtol=1e-12
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("0x4", "rows is 0, expected 1 to"),
        ("4", "expected [row_softmax] ROWSxCOLUMNS"),
        ("conv -n 1", "conv is an operation of bwd_data"),
    ],
)
def test_wrong_problems(call, line, message):
    called = call("run", "row_softmax", "--conf", LIST, "--problem", line)
    assert called.code == 3 and message in called.err


def test_ckprof_does_not_know_it():
    for folder in ("ckprof", "plugins", "converters"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in (".py", ".hpp", ".h", ".cpp", ".j2", ".json") and not belongs_to_tests(path):
                assert "softmax" not in path.read_text(), Path(path)
