"""Problems of operations that are no convolutions: out of logs, into lists, and back."""

import json
from dataclasses import replace

import pytest

from ckprof.errors import InputError
from ckprof.plugin.manager import PluginManager
from ckprof.plugin.registry import Registry
from ckprof.problems.from_log import LogProblems, read_any
from ckprof.problems.problem_file import parse_problem_list, render_problems

CONVOLUTION = "grouped_conv_fwd 1 1 0 1 2 0 1 2 1 4 64 64 3 3 28 28 1 1 1 1 1 1 1 1"
LOG = f"""\
+ ./bin/ckProfiler gemm_universal 1 1 1 1 0 1 3840 4096 2048 -1 -1 -1 4 > out.txt
a_m_k: dim 2, lengths {{3840, 2048}}, strides {{2048, 1}}
Perf: 1.5 ms, 42.9 TFlops, 42.6 GB/s, DeviceGemmXdlUniversal<Default, RCR> BlkSize: 256, KBatch 4
ckProfiler gemm_universal 1 1 1 1 0 1 3840 4096 2048 -1 -1 -1 4
ckProfiler gemm 0 0 1 1 0 1 64 48 100 112 -1 -1
ckProfiler gemm 0 0 1 1 0 1 64 48 100 0 -1 -1
ckProfiler softmax 1 1
ckProfiler {CONVOLUTION}
"""


@pytest.fixture(scope="module")
def operations():
    manager = PluginManager()
    manager.load_all()
    return tuple(Registry(manager).operations)


@pytest.fixture(scope="module")
def log(operations):
    return LogProblems(LOG, "app.log", operations)


def test_a_log(log):
    found = [(one.direction, one.problem.describe().split(" in ")[0], one.count) for one in log.problems]
    assert found == [
        ("gemm", "M3840 N4096 K2048", 2),
        ("gemm", "M64 N48 K100 lda 112", 1),
        ("fwd", "2D G1 N4 K64 C64", 1),
    ]
    first = log.problems[0]
    assert (first.dtype.value, first.layout, first.splits, first.name) == ("fp16", "rcr", (4,), "line 1")
    assert (log.commands, log.other_lines) == (6, 2)
    assert dict(log.other_commands) == {"ckProfiler softmax": 1}
    (error,) = log.errors
    assert str(error).startswith("app.log:6: StrideA is 0")


def test_lists_hold_them(log, operations):
    text = render_problems(log.problems, "json", operations)[0]
    # lists do not hold what lines say without a meaning here
    cases = [replace(case, ignored=(), notes=(), usual_dtype=None) for case in log.problems]
    assert parse_problem_list(text.encode(), "p.json") == cases


@pytest.mark.parametrize("form", [None, "ckprofiler"])
def test_lines_are_read_as_the_same_problems(form, log, operations, tmp_path):
    text, inexpressible = render_problems(log.problems, form, operations)
    assert not inexpressible
    path = tmp_path / "problems.txt"
    path.write_text(text)
    read = [(one.direction, one.problem, one.dtype, one.layout) for one in read_any(path, operations)]
    assert read == [(one.direction, one.problem, one.dtype, one.layout) for one in log.problems]


def test_miopen_computes_convolutions_only(log, operations):
    _, inexpressible = render_problems(log.problems, "miopen", operations)
    assert [why for _, why in inexpressible] == [
        "problems of gemm cannot be written as miopen, only as ckprofiler, json"
    ] * 2


def test_wrong_sizes_in_a_list(log, operations):
    data = json.loads(render_problems(log.problems, "json", operations)[0])
    data["problems"][0]["m"] = 0
    with pytest.raises(InputError, match=r"p.json: problem 0 \(line 1\): m is 0"):
        parse_problem_list(json.dumps(data).encode(), "p.json")
    del data["problems"][0]["m"]
    with pytest.raises(InputError, match=r"problem 0 \(line 1\): wrong fields of a problem: missing m$"):
        parse_problem_list(json.dumps(data).encode(), "p.json")
