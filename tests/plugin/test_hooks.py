"""Hooks keep their promises in every front end: each is called once, and what it changes is what is done."""

import dataclasses
from collections import Counter
from pathlib import Path

import pytest

import ckprof
from ckprof.errors import NothingLeftError, PluginError, UsageError
from ckprof.kernels.inspection import inspecting_target
from ckprof.measure.options import CacheMode
from ckprof.measure.requests import SupportRequest
from ckprof.measure.worker.messages import SupportQuery

#: two small kernels that other tests compile as well
QUERY = ckprof.InstanceQuery(
    rule_set="tiny", directions="fwd", arch="gfx942", filters='tile_m <= 64 and dtype == "fp16" and ndim == 2'
)
LINE = "2 1 1 16 16 1 1 6 5 1 1 1 1 0 0 0 0"
QUICK = ckprof.RunOptions(cache=CacheMode.WARM, max_time_s=0.02)


class Recorder:
    """Counts the hooks of the flow and changes the list of instances."""

    def __init__(self, change=None):
        self.calls = Counter()
        self.instances = []
        self.change = change or (lambda instances: None)

    @ckprof.hookimpl
    def ckprof_after_conversion(self, request, conversion):
        self.calls["after_conversion"] += 1

    @ckprof.hookimpl
    def ckprof_make_instances(self, arguments, directions, ndims, dtypes):
        self.calls["make_instances"] += 1

    @ckprof.hookimpl
    def ckprof_modify_instances(self, direction, instances):
        self.calls["modify_instances"] += 1
        self.change(instances)

    @ckprof.hookimpl
    def ckprof_before_build(self, direction, instances):
        self.calls["before_build"] += 1
        self.instances = list(instances)

    @ckprof.hookimpl
    def ckprof_after_build(self, direction, failures):
        self.calls["after_build"] += 1

    @ckprof.hookimpl
    def ckprof_before_problem(self, direction, problem, problem_index):
        self.calls["before_problem"] += 1

    @ckprof.hookimpl
    def ckprof_after_outcome(self, instance, problem, outcome):
        self.calls["after_outcome"] += 1


@pytest.fixture
def opened(tmp_path, monkeypatch):
    """Return a profiler with a recorder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CKPROF_WORK_DIR", str(tmp_path / "work"))

    def open_with(change=None):
        profiler = ckprof.Profiler()
        recorder = Recorder(change)
        profiler.manager.register(recorder, "recorder")
        return profiler, recorder

    return open_with


def keep_first_two_reversed(instances):
    instances[:] = instances[1::-1]


def add_one(instances):
    instances.append(dataclasses.replace(instances[0], num_wave_groups=1, vector_size_c=1))


def widen_second(instances):
    instances[1] = dataclasses.replace(instances[1], num_wave_groups=3)


@pytest.mark.parametrize("conf", [False, True])
def test_choice_of_instances(opened, conf):
    query = ckprof.InstanceQuery(conf="forward/tests/nhwgc_fp16") if conf else QUERY
    profiler, recorder = opened()
    plain = profiler.instances(query).candidates
    assert recorder.calls == Counter(modify_instances=1, make_instances=1, after_conversion=conf)
    profiler, _ = opened(keep_first_two_reversed)
    changed = profiler.instances(query).candidates
    assert [c.name for c in changed] == [c.name for c in plain[1::-1]]
    assert [c.index for c in changed] == [c.index for c in plain[1::-1]]
    profiler, _ = opened(add_one)
    *known, added = profiler.instances(query).candidates
    assert [c.name for c in known] == [c.name for c in plain]
    assert added.index == max(c.index for c in plain) + 1 and "plugin" in added.source
    assert added.name == added.pipeline.kernel_name(added.instance)
    profiler, _ = opened(widen_second)
    changed = profiler.instances(query).candidates
    assert [(c.index, c.source) for c in changed] == [(c.index, c.source) for c in plain]
    assert [c.name == p.name for c, p in zip(changed, plain, strict=True)] == [
        index != 1 for index in range(len(plain))
    ]


def test_all_instances_removed(opened):
    profiler, _ = opened(lambda instances: instances.clear())
    with pytest.raises(NothingLeftError, match="a plugin removed all"):
        profiler.instances(QUERY)


def test_something_else_among_the_instances(opened):
    profiler, _ = opened(lambda instances: instances.append("kernel"))
    with pytest.raises(
        PluginError,
        match=r"ckprof_modify_instances left something else in instances, expected list\[Instance\]",
    ):
        profiler.instances(QUERY)


@pytest.mark.thorough
@pytest.mark.compiler
def test_run(opened):
    profiler, recorder = opened(keep_first_two_reversed)
    results = profiler.profile(QUERY, [LINE], run=QUICK)
    assert recorder.calls == Counter(
        make_instances=1, modify_instances=1, before_build=1, after_build=1, before_problem=1, after_outcome=2
    )
    assert [one.key for one in recorder.instances] == [one.key for one in results.data.instances]
    assert results.succeeded and results.best() is not None


@pytest.mark.thorough
@pytest.mark.compiler
def test_build_generate_and_support_check(opened, tmp_path):
    profiler, recorder = opened(keep_first_two_reversed)
    once = Counter(make_instances=1, modify_instances=1)
    tree, _ = profiler.generate(
        profiler.instances(QUERY), ckprof.BuildOptions(arch="gfx942", build_dir=tmp_path / "sources")
    )
    assert len(tree.kernels) == 2 and recorder.calls == once
    recorder.calls.clear()
    built = profiler.build(profiler.instances(QUERY), ckprof.BuildOptions(arch="gfx942"))
    assert len(built.built) == 2
    assert recorder.calls == once + Counter(before_build=1, after_build=1)
    recorder.calls.clear()
    (problem,) = profiler.problems("fwd", [LINE])
    report = profiler.check_support(
        SupportRequest(
            selection=profiler.instances(QUERY),
            build=ckprof.BuildOptions(arch="gfx942"),
            queries=(SupportQuery(problem=problem.problem, split_k=1),),
        )
    )
    assert len(report.candidates) == 2
    assert recorder.calls == once + Counter(before_build=1, after_build=1)


@pytest.mark.thorough
@pytest.mark.compiler
def test_kernels_on_demand(opened):
    profiler, recorder = opened(keep_first_two_reversed)
    problem = ckprof.Problem.parse(LINE, direction="fwd")
    kernels = ckprof.jit(
        problem, "fwd", arch="gfx942", dtype="fp16", filters="tile_m <= 64", profiler=profiler
    )
    assert len(kernels) == 2
    assert recorder.calls == Counter(make_instances=1, modify_instances=1, before_build=1, after_build=1)


def test_inspection_asks_for_a_target_that_reads_machine_code(opened):
    profiler, _ = opened()
    target = inspecting_target(profiler, None)
    assert target.id in profiler.registry.targets.ids and not target.embedded
    # that of the architecture itself, not a model's
    assert not getattr(target, "models_arch", False)
    embedded = next(one.id for one in profiler.registry.targets if one.embedded)
    with pytest.raises(UsageError, match="no code objects"):
        inspecting_target(profiler, embedded)


def test_options_of_plugins_reach_them_from_python(opened):
    profiler, _ = opened()
    query = ckprof.InstanceQuery(
        directions="fwd",
        arch="gfx942",
        plugin_options={
            "instance_spec": {
                "tile": "128x128x32",
                "waves": "2x2x1",
                "mma": "32x32x16",
                "gemm_pipeline": "compv3",
            }
        },
    )
    (candidate,) = profiler.instances(query).candidates
    assert "128x128x32" in candidate.name


def test_a_batch_calls_each_hook_once_per_list(opened, tmp_path):
    profiler, recorder = opened()
    lists = Path(tmp_path, "lists")
    lists.mkdir()
    for name in ("nhwgc_fp16", "nhwgc_bf16"):
        source = next((Path(__file__).parents[2] / "conf/forward/tests").glob(f"{name}.conf"))
        lines = source.read_text().splitlines()[:3]
        (lists / f"{name}.conf").write_text("\n".join(lines) + "\n")
    from ckprof.measure.requests import RunPlanOptions
    from ckprof.measure.run import Batch

    batch = Batch(profiler, str(lists), ckprof.InstanceQuery(), RunPlanOptions(), ckprof.BuildOptions())
    assert len(list(batch.plans())) == 2
    assert recorder.calls == Counter(after_conversion=2, modify_instances=2)
