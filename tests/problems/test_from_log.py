"""Problems out of logs, scripts and tables, of convolutions and of other operations."""

import json
from dataclasses import replace

import pytest

from ckprof.errors import InputError, ListError
from ckprof.plugin.manager import PluginManager
from ckprof.plugin.registry import Registry
from ckprof.problems.from_log import LogProblems, problems_from_log, read_any
from ckprof.problems.problem_file import parse_problem_list, render_problems

CONV = "conv -n 4 -c 64 -H 28 -W 28 -k 64 -y 3 -x 3 -p 1 -q 1 -u 1 -v 1 -l 1 -j 1 -m conv -g 1"
PREFIX = "MIOpen(HIP): Command [LogCmdConvolution] ./bin/MIOpenDriver "
POSITIONAL = "grouped_conv_fwd 1 1 0 1 2 0 1 2 1 4 64 64 3 3 28 28 1 1 1 1 1 1 1 1"


@pytest.fixture
def read(directions):
    def reader(*lines):
        return LogProblems("\n".join(lines), "app.log", directions)

    return reader


def test_a_log_with_everything(read):
    log = read(
        "starting up",
        f"{PREFIX}{CONV} -F 1 -t 1",
        "MIOpen(HIP): Command [LogCmdBNorm] ./bin/MIOpenDriver bnormfp16 -n 4 -c 64 -H 28 -W 28 -m 1",
        f"{PREFIX}{CONV} -F 1 -t 1",
        f"{PREFIX}{CONV.replace('conv -n', 'convfp16 -n', 1)} -F 1 -t 1",
        f"{PREFIX}{CONV} -F 4",
    )
    assert [(one.direction, one.dtype and one.dtype.value, one.count, one.name) for one in log.problems] == [
        ("fwd", None, 2, "line 2"),
        ("fwd", "fp16", 1, "line 5"),
        ("bwd_weight", None, 1, "line 6"),
    ]
    assert (log.commands, log.other_commands) == (5, {"MIOpenDriver bnormfp16": 1})
    assert not log.errors


@pytest.mark.parametrize(
    "line",
    [
        f"./bin/MIOpenDriver {CONV} -F 1 > out.txt 2>&1",
        f"HIP_VISIBLE_DEVICES=1 /opt/rocm/bin/MIOpenDriver {CONV} -F 1 | grep stats",
        f"./bin/MIOpenDriver {CONV} -F 1 # layer 3",
        f'"$ROCM/bin/MIOpenDriver" {CONV} -F 1; sleep 1',
        f"{CONV} -F 1",
        f"ckProfiler {POSITIONAL}",
        f"ckProfiler --raw-invocation {POSITIONAL}",
        f"MIOpenDriver: {CONV} -F 1",
        f"  build/bin/ckProfiler {POSITIONAL} && echo done",
        POSITIONAL,
    ],
)
def test_commands_of_scripts(line, read):
    log = read("#!/bin/bash", "set -e", "", line)
    assert not log.errors
    (one,) = log.problems
    assert one.problem.describe().startswith("2D G1 N4 K64 C64 in 28x28 filter 3x3 out 28x28")
    assert one.direction == "fwd"


def test_directions_and_places_of_commands(read):
    log = read("echo", "MIOpenDriver conv -n 4 \\", f"  {CONV[10:]} \\", "  -F 2")
    assert [(one.direction, one.name) for one in log.problems] == [("bwd_data", "line 2")]
    assert [one.direction for one in read(f"MIOpenDriver {CONV} -F 0", f"MIOpenDriver {CONV}").problems] == [
        None
    ]
    log = read(f"MIOpenDriver {CONV} -F 5")
    assert [one.direction for one in log.problems] == ["bwd_weight", "fwd"]


def test_bad_commands_are_reported_with_their_place_and_the_others_kept(read):
    log = read(
        f"{PREFIX}{CONV} -F 1",
        f"{PREFIX}conv -n 4 -c",
        "ckProfiler $OP $TYPE",
        "ckProfiler grouped_conv_fwd 1 1 0",
        "ckProfiler gemm 1 2 3",
    )
    assert [(str(error.path), error.line) for error in log.errors] == [
        ("app.log", 2),
        ("app.log", 3),
        ("app.log", 4),
    ]
    assert "shell variables" in str(log.errors[1])
    assert len(log.problems) == 1
    assert log.other_commands == {"ckProfiler gemm": 1}


def test_a_comment_is_no_command(read):
    assert not read(f"# ./bin/MIOpenDriver {CONV} -F 1").commands


SWEEP = "kernel,problem_idx,N,C,K,G,Hi,Wi,Y,X,stride_h,stride_w,pad_h,pad_w,latency_ms,tflops,non_zero"


def test_the_table_of_ck_tiles_sweep(read):
    log = read(
        SWEEP,
        "a,0,2,32,64,2,14,14,3,3,1,1,1,1,0.5,1.0,10",
        "b,0,2,32,64,2,14,14,3,3,1,1,1,1,0.6,0.9,10",
        "b,1,2,32,64,3,14,14,3,3,1,1,1,1,0.6,0.9,10",
        "b,1,2,32,sixty,1,14,14,3,3,1,1,1,1,0.6,0.9,10",
        "b,1,2",
    )
    (one,) = log.problems
    assert one.count == 2
    assert one.problem.describe().startswith("2D G2 N2 K32 C16 in 14x14 filter 3x3 out 14x14 stride 1x1")
    assert [error.line for error in log.errors] == [4, 5, 6]
    assert "not a multiple of the number of groups 3" in str(log.errors[0])


def test_a_table_with_depth_direction_and_counts(read):
    log = read(
        "# exported",
        "direction,dtype,count,N,C,K,Di,Hi,Wi,Z,Y,X,pad_d,dilation_w",
        "forward,bf16,7,1,8,8,4,5,6,3,3,3,1,2",
        "sideways,bf16,7,1,8,8,4,5,6,3,3,3,1,2",
    )
    (one,) = log.problems
    assert (one.direction, one.count, one.dtype and one.dtype.value) == ("fwd", 7, "bf16")
    assert one.problem.describe().startswith("3D G1 N1 K8 C8 in 4x5x6 filter 3x3x3 out 4x3x2")
    assert "unknown direction 'sideways'" in str(log.errors[0])


def test_a_file_that_cannot_be_read(tmp_path, directions):
    with pytest.raises(InputError, match="cannot read"):
        problems_from_log(tmp_path / "no.log", directions)


def test_bytes_that_are_no_text_cost_no_problem(tmp_path, directions):
    path = tmp_path / "app.log"
    path.write_bytes(b"\xff\xfe broken\n" + f"{PREFIX}{CONV} -F 1\n".encode())
    assert len(problems_from_log(path, directions).problems) == 1


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
    assert log.commands == 6
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
    read = [(one.direction, one.problem, one.dtype, one.layout) for one in read_any(path, operations)[0]]
    assert read == [(one.direction, one.problem, one.dtype, one.layout) for one in log.problems]


def test_wrong_lines_of_a_file_of_bare_ones(operations, tmp_path):
    path = tmp_path / "plain.txt"
    good = b"2 1 4 64 64 3 3 28 28 1 1 1 1 1 1 1 1 # caf\xe9\n"
    path.write_bytes(good + b"bogus\n" + good + b"2 1 4 64 64 3x3 28 28 1 1 1 1 1 1 1 1\n")
    with pytest.raises(ListError) as caught:
        read_any(path, operations)
    told = [str(one) for one in caught.value.diagnostics]
    assert [one.line for one in caught.value.diagnostics] == [2, 4]
    assert "MIOpenDriver, " in told[0] and told[0].endswith(", or its arguments, got 'bogus'")
    cases, errors = read_any(path, operations, lenient=True)
    assert (*map(str, errors),) == (*told,) and [one.count for one in cases] == [2]
    path.write_text("bogus\n")
    with pytest.raises(ListError) as caught:
        read_any(path, operations, lenient=True)
    assert caught.value.advice == "no line is left"


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
