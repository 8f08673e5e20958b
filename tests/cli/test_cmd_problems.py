"""``ckprof problems`` and ``--problem-set``."""

import json

import pytest

from ckprof.problems.problem_set import find_set

CONV = "conv -n 4 -c 64 -H 28 -W 28 -k 64 -y 3 -x 3 -p 1 -q 1 -m conv -g 1"
LOG = "MIOpen(HIP): Command [LogCmdConvolution] ./bin/MIOpenDriver "


def test_sets_are_listed_and_shown(ckprof):
    called = ckprof("problems", "list", "--format", "json")
    rows = {row["set"]: row for row in json.loads(called.out)}
    assert rows["resnet50"]["layers"] == 53
    assert "resnet50" in ckprof("problems", "list").out
    called = ckprof("problems", "show", "vgg16", "--batch", 2).ok()
    assert "Simonyan" in called.out
    assert "2D G1 N2 K64 C3 in 224x224" in called.out
    listed = json.loads(ckprof("problems", "show", "vgg16", "--batch", "2", "--format", "json").out)
    assert sum(one["count"] for one in listed["problems"]) == 13
    called = ckprof("problems", "show", "resnet51")
    assert (called.code, called.out) == (2, "")
    assert "did you mean 'resnet50'?" in called.err


@pytest.mark.parametrize("form", ["miopen", "ckprofiler", "json"])
def test_what_is_written_can_be_read(ckprof, tmp_path, form):
    problems = ("--problem-set", "resnet50", "--batch", "4", "--direction", "fwd")
    assert ckprof("problems", "convert", *problems, "--to", form, "-o", "a.txt").code == 0
    assert ckprof("problems", "convert", "a.txt", "--to", "json", "-o", "b.json").code == 0
    found = json.loads((tmp_path / "b.json").read_text())["problems"]
    sizes = {
        (one["batch"], one["in_channels"], one["out_channels"], *one["input"], *one["filter"])
        for one in found
    }
    expected = {
        (4, one.problem.in_channels, one.problem.out_channels, *one.problem.input, *one.problem.filter)
        for one in find_set("resnet50").problems(4)
    }
    assert sizes == expected


def test_a_log_of_one_direction_is_one_file(ckprof, tmp_path):
    (tmp_path / "app.log").write_text(f"{LOG}{CONV} -F 1\nhello\n{LOG}{CONV} -F 1\n")
    called = ckprof("problems", "from-log", "app.log", "-o", "out.txt").ok()
    assert "2 problems, 1 distinct" in called.err
    text = (tmp_path / "out.txt").read_text()
    assert "2 times" in text
    assert text.count("conv -n 4") == 1


def test_a_log_of_several_directions_is_a_file_each(ckprof, tmp_path):
    (tmp_path / "app.log").write_text(f"{LOG}{CONV} -F 1\n{LOG}{CONV} -F 2\n")
    called = ckprof("problems", "from-log", "app.log", "-o", "out.txt").ok()
    assert sorted(path.name for path in tmp_path.glob("out*")) == ["out.bwd_data.txt", "out.fwd.txt"]
    assert "out.bwd_data.txt: 1 problem of bwd_data" in called.err
    assert ckprof("problems", "from-log", "app.log", "--direction", "fwd", "-o", "one.txt").code == 0
    assert "-F 1" in (tmp_path / "one.txt").read_text()


def test_bad_lines_are_reported_and_the_others_written(ckprof, tmp_path):
    (tmp_path / "app.log").write_text(f"{LOG}{CONV} -F 1\n{LOG}conv -n\n")
    ckprof("problems", "from-log", "app.log", "-o", "out.txt").fails_with(
        1, "warning: app.log:2: -n needs a value"
    )
    assert (tmp_path / "out.txt").is_file()


def test_wrong_lines_of_a_problem_file_are_excluded_on_demand(ckprof, tmp_path):
    (tmp_path / "plain.txt").write_text(f"2 1 4 64 64 3 3 28 28 1 1 1 1 1 1 1 1\nbogus\n{CONV} -l 2\n")
    for command in (
        ("problems", "convert", "plain.txt"),
        ("run", "fwd", "--rule-set", "tiny", "--problems", "plain.txt"),
    ):
        wrong = ckprof(*command)
        wrong.fails_with(3, "plain.txt:2:")
        assert wrong.err.endswith("--lenient excludes wrong lines\n")
    called = ckprof("problems", "convert", "plain.txt", "--lenient", "-o", "out.txt").ok()
    assert "warning: plain.txt:2: expected a command of " in called.err
    assert (tmp_path / "out.txt").read_text().count("conv -n 4") == 2


def test_a_log_without_problems(ckprof, tmp_path):
    (tmp_path / "app.log").write_text("hello\n")
    called = ckprof("problems", "from-log", "app.log", "-o", "out.txt")
    assert called.code == 3
    assert not (tmp_path / "out.txt").exists()


def test_samples(ckprof):
    first = ckprof("problems", "sample", "20", "--seed", "3", "--max-gflop", "1").ok()
    assert first.out.count("conv -n") + first.err.count("same pads") == 20
    assert first.out == ckprof("problems", "sample", "20", "--seed", "3", "--max-gflop", "1").out


@pytest.mark.parametrize(
    "wrong",
    [
        ("sample", "0"),
        ("sample", "3", "--batch", "x"),
        ("show", "vgg16", "--batch", "0"),
        ("sample", "3", "--multiples", "a,b"),
        ("convert",),
        ("convert", "--batch", "4"),
        ("convert", "--problem", CONV, "--dtype", "fp99"),
    ],
)
def test_wrong_usage(ckprof, wrong):
    called = ckprof("problems", *wrong)
    assert called.code == 2
    assert called.err.startswith("ckprof: ")


@pytest.mark.parametrize("text", ["conv -n 4 -c", "nonsense", "2 1 1"])
def test_wrong_problems(ckprof, text):
    called = ckprof("problems", "convert", "--problem", text)
    assert (called.code, called.out) == (3, "")
    assert "--problem" in called.err


def test_problems_of_an_operation_that_is_no_convolution(ckprof, tmp_path):
    called = ckprof(
        "problems", "convert", "--problem", "64x48x100", "--problem", "1 2 3", "--direction", "gemm"
    ).ok()
    assert called.out.splitlines()[1:] == ["-m=64 -n=48 -k=100", "-m=1 -n=2 -k=3"]
    called = ckprof("problems", "convert", "--problem", "64x48x100", "--direction", "gemm", "--dtype", "fp16",
                    "--layout", "rcr")  # fmt: skip
    assert called.out.splitlines()[1:] == ["ckProfiler gemm 1 1 1 1 0 1 64 48 100 -1 -1 -1"]
    wrong = ckprof("problems", "convert", "--problem", "64x48", "--direction", "gemm")
    assert wrong.code == 3 and "expected gemm dtype" in wrong.err


def test_synthetic_problems_of_an_operation(ckprof):
    first, again, other = (
        ckprof("problems", "sample", "20", "--direction", "gemm", "--seed", seed).out.splitlines()
        for seed in "112"
    )
    assert first == again != other
    assert len([line for line in first if line.startswith("-m=")]) == 20
    wrong = ckprof("problems", "sample", "2", "--direction", "gemm", "--channels", "1:8")
    assert wrong.code == 2 and "--channels does not apply to problems of gemm" in wrong.err
