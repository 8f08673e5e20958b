"""Types and layouts that problem lines name choose the instances; what does not fit is counted."""

from collections import Counter

import pytest

import ckprof
from ckprof.errors import ExitCode, InputError
from ckprof.events import Level, Message
from ckprof.kernels.fitting import Fitting, needed_for
from ckprof.model.conversion import ListReading
from ckprof_plugins.directions._convolution.miopen import FORM

MIOPEN = "-n 4 -c 64 -H 28 -W 28 -k 64 -y 3 -x 3 -p 1 -q 1 -F 1"
POSITIONAL = "grouped_conv_fwd {dtype} {layout} 0 1 2 0 1 2 1 4 64 64 3 3 28 28 1 1 1 1 1 1 1 1"
BOTH = ("forward/tests/nhwgc_fp16", "forward/tests/nhwgc_bf16")


@pytest.fixture
def opened():
    told = []

    def note(event):
        if isinstance(event, Message) and event.level is Level.INFO:
            told.append(event.text)

    return ckprof.Profiler(on_event=note), told


def test_a_type_selects_instances(opened):
    profiler, told = opened
    plan = profiler.plan(ckprof.InstanceQuery(conf=BOTH), [f"convbfp16 {MIOPEN}", f"conv {MIOPEN}"])
    taken = [
        {one.instance.dtype.value for one in plan.selection.candidates if problem.takes(one.instance)}
        for problem in plan.problems
    ]
    assert taken == [{"bf16"}, {"bf16", "fp16"}]
    assert told == [
        "1 problem line names no type, which means fp32 to MIOpen: all instances (bf16, fp16) are run"
    ]


def test_kernels_that_no_problem_may_run_on_need_not_be_built(opened):
    profiler, _ = opened
    lists = (*BOTH, "forward/tests/ndhwgc_fp16")
    candidates = profiler.instances(ckprof.InstanceQuery(conf=lists)).candidates

    def needed(*lines):
        problems = profiler.plan(ckprof.InstanceQuery(conf=lists), lines).problems
        found = needed_for(problems, candidates)
        assert [one for one in candidates if one in found] == list(found)
        return Counter((one.instance.dtype.value, one.instance.ndim) for one in found)

    every = Counter((one.instance.dtype.value, one.instance.ndim) for one in candidates)
    assert len(every) == 3
    bf16, fp16, fp16_3d = ("bf16", 2), ("fp16", 2), ("fp16", 3)
    assert needed(f"convbfp16 {MIOPEN}") == {bf16: every[bf16]}
    assert needed(f"conv {MIOPEN}") == {bf16: every[bf16], fp16: every[fp16]}
    three = f"convfp16 {MIOPEN} --spatial_dim 3 --in_d 4 --fil_d 1"
    assert needed(f"convbfp16 {MIOPEN}", three) == {bf16: every[bf16], fp16_3d: every[fp16_3d]}


def test_a_layout_that_no_instance_has(opened):
    profiler, told = opened
    query = ckprof.InstanceQuery(conf=BOTH[0])
    lines = [
        f"convfp16 {MIOPEN} -I NCHW",
        f"convfp16 {MIOPEN} -I NHWC",
        f"convfp16 {MIOPEN} --out_layout NCHW",
    ]
    plan = profiler.plan(query, lines)
    assert [problem.layout for problem in plan.problems] == [None, "nhwgc", None]
    assert told == ["2 problem lines say ngchw, all instances have nhwgc: the sizes are used"]
    with pytest.raises(InputError, match="says ngchw, the list has nhwgc instances"):
        profiler.plan(query, lines, strict_layout=True)


def test_a_named_problem_must_fit(opened):
    profiler, _ = opened
    with pytest.raises(InputError, match="says bf16, the list has fp16 instances"):
        profiler.plan(ckprof.InstanceQuery(conf=BOTH[0]), [f"convbfp16 {MIOPEN}"])


def test_lines_of_a_file_are_counted_by_reason(opened, tmp_path):
    profiler, told = opened
    path = tmp_path / "problems.txt"
    path.write_text(
        "\n".join(
            [
                f"convfp16 {MIOPEN} -t 1 -V 0",
                f"convbfp16 {MIOPEN} -t 1",
                f"convfp16 {MIOPEN.replace('-F 1', '-F 2')}",
                POSITIONAL.format(dtype=1, layout=1),
            ]
        )
    )
    query = ckprof.InstanceQuery(conf=BOTH[0])
    assert len(profiler.plan(query, files=[path]).problems) == 2
    other = (
        f"{path}:3:62: -F 2 does not ask for fwd (that is 1; 0 asks for all); 'ckprof run bwd_data' runs it"
    )
    assert told[:2] == [
        f"excluded 1 problem line: not for fwd, the first in {other}",
        "excluded 1 problem line: the problem line says bf16, the list has fp16 instances",
    ]
    assert told[2] == "ignored arguments: -t (2 lines), -V, index_type, verify, init, log, time"
    path.write_text(f"convbfp16 {MIOPEN}\n")
    with pytest.raises(InputError, match="no problem is left"):
        profiler.plan(query, files=[path])


def test_four_notes_are_told_and_the_others_are_details(opened, tmp_path):
    """MIOpen's defaults that were filled in, and wrong lines that are left out."""
    profiler, told = opened
    query = ckprof.InstanceQuery(conf=BOTH[0], reading=ListReading(lenient=True))
    path = tmp_path / "problems.txt"
    sizes = ("-n 4", "-H 28", "-W 28", "-y 3", "-x 3")
    lines = [f"convfp16 {MIOPEN.replace(f'{size} ', '')}" for size in sizes]
    path.write_text("\n".join([*lines, lines[0], "conv -Q 1", f"convfp16 -_ 3 -! 4 {MIOPEN}"]))
    assert len(profiler.plan(query, files=[path]).problems) == 6
    assert [text.partition(": ")[2] for text in told[:2]] == [
        f"{path}:7:6: unknown MIOpenDriver flag '-Q'; form: {FORM}",
        "the problem is 3D, the list has 2D instances",
    ]
    said = "MIOpenDriver's defaults are used for what the line does not say: "
    assert told[2:] == [
        f"{said}-n 100 (2 problem lines)",
        *(f"{said}{name} {value}" for name, value in (("-H", 32), ("-W", 32), ("-y", 3))),
        "2 more notes on problem lines: -v",
    ]


def test_each_line_keeps_its_own_splits(opened):
    profiler, _ = opened
    query = ckprof.InstanceQuery(conf="backward_weight/tests/nhwgc_fp16")
    line = "grouped_conv_bwd_weight 1 2 1 2 0 1 2 1 4 64 64 3 3 28 28 1 1 1 1 1 1 1 1 {}"
    plan = profiler.plan(query, [line.format(2), line.format("all"), line.format(-1)])
    assert [len(problem.splits) for problem in plan.problems] == [1, 9, 1]
    assert plan.problems[2].splits == (-1,)
    plan = profiler.plan(query, [line.format(2), line.format(4)], splits=(1, 8))
    assert [problem.splits for problem in plan.problems] == [(), ()] and plan.options.splits == (1, 8)


def test_dimensions_that_no_instance_has_are_a_misfit(opened):
    profiler, _ = opened
    selection = profiler.instances(ckprof.InstanceQuery(conf=BOTH[0]))
    (parsed,) = profiler.problems("fwd", ["3 1 1 8 8 1 1 1 4 4 4 1 1 1 1 1 1 0 0 0 0 0 0"])
    said = "the problem is 3D, the list has 2D instances"
    assert Fitting(selection.candidates).misfit_of(parsed) == said


def test_the_direction_comes_from_the_list(tmp_path, capsys, monkeypatch):
    from ckprof.cli.main import main

    monkeypatch.chdir(tmp_path)
    path = tmp_path / "problems.txt"
    path.write_text(f"conv {MIOPEN}\nconv {MIOPEN.replace('-F 1', '-F 4')}\n")
    arguments = ["run", "--conf", "backward_weight/tests/nhwgc_fp16", "--problems", str(path), "--dry-run"]
    assert main(arguments) == ExitCode.OK
    seen = capsys.readouterr()
    assert "bwd_weight kernels" in seen.out and "and run on 1 problem:" in seen.out
    assert f"excluded 1 problem line: not for bwd_weight, the first in {path}:1" in seen.err
