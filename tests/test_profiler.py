"""The library does what the commands do."""

import doctest
import pydoc
import re
import subprocess
import sys
from pathlib import Path

import pytest

import ckprof
import ckprof.profiler
import ckprof_plugins.directions._convolution.problem
from ckprof.compare.change import Verdict
from ckprof.errors import InputError, NothingLeftError, UsageError
from ckprof.measure.options import CacheMode
from ckprof.parity.request import ParityRequest
from tests.measured import SLOW, Made, stored

LIST = "forward/tests/nhwgc_fp16"
ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def profiler():
    return ckprof.Profiler()


def test_help_shows_the_names():
    text = pydoc.render_doc(ckprof, renderer=pydoc.plaintext)
    for name in set(ckprof.__all__) - {"__version__"}:
        assert re.search(rf"\b(class )?{name}\b", text), name
        assert getattr(ckprof, name).__doc__


def test_nothing_heavy_is_imported_before_it_is_needed():
    code = "import sys, ckprof; print(sorted({'numpy', 'jinja2', 'pandas'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "module", [ckprof.profiler, ckprof_plugins.directions._convolution.problem], ids=lambda m: m.__name__
)
def test_examples_in_docstrings(module):
    found = doctest.testmod(module, globs={"ckprof": ckprof, "Problem": ckprof.Problem})
    assert found.attempted > 0 and found.failed == 0


def test_lists_are_read_explained_and_compared(profiler):
    conversion = profiler.read(LIST, direction="fwd")
    assert sum(len(catalog.records) for catalog in conversion.catalogs) == 58
    with pytest.raises(InputError, match="expected bwd_data"):
        profiler.read(LIST, direction="bwd_data")
    with pytest.raises(InputError, match="no such file"):
        profiler.read("nowhere.conf")
    assert profiler.explain(f"{LIST}:3").record
    report = profiler.parity(ParityRequest(direction="fwd", conf=(LIST,)))
    assert report.passed and report.comparisons[0].compared
    assert profiler.diff(LIST, LIST).passed
    assert {target for target, _ in profiler.doctor()} == set(profiler.registry.targets.ids)


def test_events_tell_what_is_read():
    told = []
    ckprof.Profiler(on_event=told.append).instances(ckprof.InstanceQuery(conf=LIST))
    assert [type(event).__name__ for event in told] == ["ListRead"]


@pytest.mark.parametrize(
    ("line", "direction"),
    [
        ("conv -n 4 -c 64 -H 28 -W 28 -k 32 -y 3 -x 3 -p 1 -q 1 -F 1", "fwd"),
        ("conv -n 4 -c 64 -H 28 -W 28 -k 32 -y 3 -x 3 -p 1 -q 1 -F 2", "bwd_data"),
        ("2 1 4 32 64 3 3 28 28 1 1 1 1 1 1 1 1", "fwd"),
    ],
)
def test_problems_of_any_line(line, direction):
    problem = ckprof.Problem.parse(line)
    assert (problem.direction, problem.batch, problem.out_channels, problem.in_channels) == (
        direction, 4, 32, 64,
    )  # fmt: skip
    assert problem.output == (28, 28)
    assert problem.convolution == ckprof.Problem.parse(line).convolution
    assert type(problem.convolution) is ckprof.ConvProblem


def test_wrong_lines_and_lines_of_files(profiler, tmp_path):
    for text, message in (("2 1 4 8", "C is missing"), ("2 1 4 x", "an integer for K, got 'x'")):
        with pytest.raises(InputError, match=message):
            ckprof.Problem.parse(text)
    with pytest.raises(UsageError, match="sideways"):
        ckprof.Problem.parse("2 1 4 32", direction="sideways")
    (tmp_path / "p.txt").write_text("# layers\n2 1 2 8 4 1 1 7 6 1 1 1 1 0 0 0 0\n")
    given = ["conv -n 4 -c 64 -H 28 -W 28 -k 32 -y 3 -x 3 -p 1 -q 1 -F 1"]
    first, second = profiler.problems("forward", given, files=[tmp_path / "p.txt"])
    assert (first.problem.batch, second.problem.batch, second.problem.in_channels) == (4, 2, 4)
    for measure in (profiler.profile, profiler.plan):
        with pytest.raises(UsageError, match="problems is empty; without the argument"):
            measure(ckprof.InstanceQuery(conf=LIST), [])
    with pytest.raises(UsageError, match=r"^instance 99: there are 58 instances, from 0$"):
        profiler.instances(ckprof.InstanceQuery(conf=LIST, indices=(99,)))
    with pytest.raises(InputError, match="-F 2 does not ask for fwd"):
        profiler.problems("fwd", [given[0].replace("-F 1", "-F 2")])


def test_sources_are_written_and_kernels_become_a_list_again(profiler, tmp_path):
    chosen = profiler.instances(ckprof.InstanceQuery(conf=LIST, indices=(2, 9), arch="gfx942"))
    tree, rejected = profiler.generate(chosen, ckprof.BuildOptions(build_dir=tmp_path / "out"))
    assert (len(tree.kernels), rejected, tree.root) == (2, [], tmp_path / "out")
    again = tmp_path / "nhwgc_fp16.conf"
    again.write_text(profiler.list_text(chosen, [chosen.candidates[1].name]).text)
    (found,) = profiler.instances(ckprof.InstanceQuery(conf=again)).candidates
    assert found.instance.key == chosen.candidates[1].instance.key
    with pytest.raises(InputError, match="no_such_kernel"):
        profiler.list_text(chosen, ["no_such_kernel"])


def test_files_that_are_not_there_are_named(profiler, tmp_path):
    with pytest.raises(InputError, match="no such file, expected a kernel library"):
        profiler.call(tmp_path / "none.so", "fwd", "2 1 1 16 16 1 1 6 5 1 1 1 1 0 0 0 0")
    with pytest.raises(InputError, match="none"):
        list(profiler.batch(tmp_path / "none"))


@pytest.mark.thorough
@pytest.mark.compiler
def test_iteration_is_by_problem_best_first(tmp_path, monkeypatch):
    monkeypatch.setenv("CKPROF_WORK_DIR", str(tmp_path))
    query = ckprof.InstanceQuery(
        rule_set="tiny",
        directions="fwd",
        arch="gfx942",
        filters='tile_m <= 64 and dtype == "fp16" and ndim == 2',
    )
    lines = ["2 1 1 16 16 1 1 6 5 1 1 1 1 0 0 0 0", "2 1 1 16 3 1 1 6 5 1 1 1 1 0 0 0 0"]
    results = ckprof.Profiler().profile(
        query,
        [lines[0], ckprof.Problem.parse(lines[1], direction="fwd")],
        run=ckprof.RunOptions(cache=CacheMode.WARM, max_time_s=0.02),
    )
    rows = list(results)
    assert len(rows) == len(results) == 2 * len(results.data.instances)
    assert [row.problem_index for row in rows] == sorted(row.problem_index for row in rows)
    ranked = [row for row in rows if row.problem_index == 0 and row.rank]
    # those that are tied with the fastest share its rank
    tied = sum(row.rank == 1 for row in ranked)
    assert [row.rank for row in ranked] == [1] * tied + list(range(tied + 1, len(ranked) + 1)) and tied
    for group in (ranked[:tied], ranked[tied:]):
        assert [row.time_ms for row in group] == sorted(row.time_ms for row in group)


def test_measurements_are_compared(profiler, tmp_path):
    old, slow = stored(tmp_path / "old.db", Made(seed=1, noise=0.004)), stored(tmp_path / "slow.db", SLOW)
    assert profiler.compare(old, slow).verdicts[Verdict.SLOWER] == 1
    options = ckprof.CompareOptions(policy=ckprof.ChangePolicy(min_change=0.5), direction="fwd")
    assert profiler.compare(old, slow, options).verdicts[Verdict.SLOWER] == 0
    with pytest.raises(NothingLeftError, match="measured in 4 passes"):
        profiler.self_test(old)
