"""Runs instances of a library as ``ckprof run`` does, without lists and plugins."""

from contextlib import closing
from types import SimpleNamespace

from ckprof.events import Message
from ckprof.kernels.candidates import Candidate, Rejection
from ckprof.kernels.library import BuiltLibrary
from ckprof.measure.bench import BenchLibrary, KernelBench
from ckprof.measure.options import CacheMode, RunOptions
from ckprof.measure.run_outcomes import RunRounds, run_groups
from ckprof.model.kernel import SelectedKernel
from ckprof.model.problem_case import as_case
from ckprof.model.recipe import BuildRecipe, Compiler, CompilerFamily
from ckprof.model.requirement import UnmetRequirement
from ckprof.model.results import BuildSummary
from ckprof.plugin.manager import PluginManager
from ckprof.session import Session, ignore
from ckprof.settings import Settings

from .fakes import ARCH, ScaleDirection, make_instance, make_problem


def selected(instance):
    """Return what measuring needs to know of an instance."""
    return SelectedKernel(
        key=instance.key,
        name=instance.key,
        dtype=instance.dtype,
        layout=instance.layout.name,
        ndim=instance.ndim,
        types=instance.types,
        split_sum=instance.split_sum,
    )


def run_instances(
    library,
    arch,
    operation,
    instances,
    problems,
    options,
    on_event=ignore,
    *,
    lock_dir=None,
    baselines=None,
    on_open=ignore,
    before_problem=lambda problem, index: None,
    recorder=None,
    pace=None,
    canary=None,
    second_problems=None,
    known=None,
):
    """Yield the outcomes of instances on problems.

    :param lock_dir: folder of the device locks.
    :param on_open: called with what makes outcomes of visits.
    :param before_problem: called before each problem.
    :param recorder: keeps measurements.
    :param pace: says how long it takes.
    :param canary: measured before each round.
    :param second_problems: of the instances.
    :param known: digests of second problems that kernels were right on before.
    """
    kernels = [selected(instance) for instance in instances]
    made = {"operation": operation, "target": "", "arch": arch, "rejections": {}}
    opened = BenchLibrary(path=library, **made, second_problems=second_problems or {})
    use = {"lock_folder": lock_dir, "baselines": baselines, "before_problem": before_problem}
    with KernelBench(opened, options, (), on_event, **use) as bench:
        bench.canary, bench.second.known = canary, known or {}
        rounds = RunRounds(bench, options, on_event, after_visit=bench.measure_baselines, pace=pace)
        rounds.recorder = recorder
        rounds.second = bench.second.lines
        on_open(rounds)
        groups = run_groups(opened, options, kernels, [as_case(problem) for problem in problems])
        with closing(rounds.outcomes(groups)) as outcomes:
            yield from outcomes


#: kernels in turn, each once; and kernels in rounds
QUICK = RunOptions(rounds=1, timeout_s=2.0, max_time_s=0.02, cache=CacheMode.WARM)
IN_ROUNDS = RunOptions(timeout_s=5.0, max_time_s=0.02, cache=CacheMode.WARM, keep_samples=True)


def run_kernels(library, names, options, lock_dir):
    """Return the outcomes of kernels of the library of fakes, by their names, on one problem."""
    instances = [make_instance(name) for name in names]
    given = (library, ARCH, ScaleDirection(), instances, [make_problem()], options)
    return list(run_instances(*given, lock_dir=lock_dir))


def texts(seen, start=""):
    """Return the messages among events that begin so."""
    return [event.text for event in seen if isinstance(event, Message) and event.text.startswith(start)]


class Kept:
    """What a run tells, what it measures, and how many samples are left then."""

    def __init__(self):
        self.texts, self.samples, self.left = [], [], []
        self.done = 0

    def emit(self, event):
        if isinstance(event, Message):
            self.texts.append(event.text)

    @property
    def losses(self):
        return [text for text in self.texts if text.startswith("worker lost: ")]

    # as a recorder

    def add(self, sample):
        self.samples.append(sample)

    add_lost = add

    def end_visit(self, report):
        pass

    # as what says how long it takes

    def begin(self):
        pass

    def measured(self, left):
        self.left.append(left)
        return 0.0


def made_recipe(target, arch, machine_identity):
    """Return how a library was built that nobody has built."""
    compiler = Compiler(
        command=("c++",), family=CompilerFamily.GCC, version=(1, 0, 0), description="c++ 1", identity="c1"
    )
    return BuildRecipe(
        target=target,
        arch=arch,
        api_level="2026-06",
        compiler=compiler,
        compile_flags=(),
        link_flags=(),
        include_dirs=(),
        prefix_header="",
        support_sources=(),
        machine_identity=machine_identity,
    )


def built(path, kernels, refused=()):
    """Return kernels of a fake library as what was built for the CPU.

    :param refused: kernels that no rule allows.
    """
    texts = {"instance_string": lambda one: f"Fake<{one.kernel}>", "name_parts": lambda one: ()}
    pipeline = SimpleNamespace(id="fake", **texts)
    candidates = tuple(
        Candidate(index=n, instance=make_instance(one), pipeline=pipeline, name=f"fake_{one}", source="list")
        for n, one in enumerate((*kernels, *refused))
    )
    recipe = made_recipe("cpu", ARCH, "native")
    unmet = (UnmetRequirement(rule="tile", message="no such tile"),)
    return BuiltLibrary(
        direction=ScaleDirection(),
        candidates=candidates,
        path=path,
        recipe=recipe,
        built=candidates[: len(kernels)],
        rejected=tuple(
            Rejection(candidate=one, reason="no such tile", unmet_requirements=unmet)
            for one in candidates[len(kernels) :]
        ),
        summary=BuildSummary(compiled=len(kernels)),
        object_keys={one.instance.key: f"o{one.index}" for one in candidates[: len(kernels)]},
    )


def session_with(*plugins, emit=ignore):
    """Return a session with the plugins that are installed, and some more."""
    manager = PluginManager()
    manager.load_all()
    for number, plugin in enumerate(plugins):
        manager.register(plugin, f"extra{number or ''}")
    return Session(settings=Settings(), manager=manager, emit=emit)
