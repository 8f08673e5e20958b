"""Sweeps of predictions: what the store has is not predicted again, however the last one ended."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from ckprof.kernels.candidates import Rejection
from ckprof.kernels.requests import BuildOptions
from ckprof.model.outcome import Status
from ckprof.model.problem_case import ProblemCase
from ckprof.profiler import Profiler
from ckprof.store.errors import StoreError
from ckprof.store.store import Store
from ckprof.sweep.requests import SweepOptions
from ckprof_plugins.directions._convolution.problem import default_problems
from ckprof_plugins.tuning import PredictOptions
from ckprof_plugins.tuning.prediction import KernelPrediction
from ckprof_plugins.tuning.stored import sweep as module
from ckprof_plugins.tuning.stored.reading import read_store
from ckprof_plugins.tuning.stored.sweep import Ending, dry_run, sweep_predictions
from plugins.tuning.tests.gate.sides import figures, loop
from plugins.tuning.tests.stored.stores import predictor, shared, store
from tests.store.samples import fill, make_attempt

pytest.importorskip("ckprof_plugins.emulator")

PROBLEMS = tuple(ProblemCase(problem=default_problems()[ndim]) for ndim in (1, 2))
#: predicted, predicted, fails in the device, does not compile
KEYS = tuple(two * 16 for two in ("aa", "bb", "cc", "dd"))


class Kernel(SimpleNamespace):
    """A candidate, and what is stored of it."""

    def __init__(self, key, digest="0b"):
        super().__init__(
            key=key, object_digest=digest, dtype=None, layout="", instance=SimpleNamespace(key=key),
            name=f"kernel {key[:2]}", source="legacy.conf:1", ref=make_attempt().kernel,
        )  # fmt: skip

    def selected(self):
        return self


class Predicting:
    """Stands for the device: notes what it is asked."""

    def __init__(self):
        self.digest, self.asked, self.unsupported = "0b", [], ()

    def __call__(self, session, options, seen, choose):
        kernels = [Kernel(key, self.digest) for key in KEYS]
        rejected = Rejection(candidate=kernels[3], status=Status.COMPILE_ERROR, reason="no such type")
        library = SimpleNamespace(
            recipe=SimpleNamespace(arch="gfx942"), kernels=kernels, rejected=(rejected,)
        )
        cells = [
            (case, [(kernel, split) for kernel in kernels[:3] for split in case.splits or (1,)])
            for case in options.problems
        ]
        for case, asked in choose(library, cells):
            for kernel, split in asked:
                number = [one.problem for one in PROBLEMS].index(case.problem)
                self.asked.append((number, kernel.key[:2], *([split] if split != 1 else ())))
                seen(case, KernelPrediction(kernel=kernel, split_k=split, time=None, answer=None))


@pytest.fixture
def device(monkeypatch):
    def figures_of(found, loops):
        key = found.kernel.key
        if predicting.asked[-1] in predicting.unsupported:
            return figures("", key=key, status="unsupported", reason="C is odd", split_k=found.split_k)
        if key == KEYS[2]:
            return figures("", key=key, status="failed", reason="an instruction is missing")
        loops["l"] = loop()
        return figures(key=key, split_k=found.split_k)

    predicting = Predicting()
    monkeypatch.setattr(module, "predict", predicting)
    monkeypatch.setattr(module, "figures_of", figures_of)
    monkeypatch.setattr(module, "predictor_for", lambda arch, gpu: predictor())
    monkeypatch.setattr(module, "shared_of", lambda library, predictor: shared())
    return predicting


@pytest.fixture
def run(tmp_path, device):
    selection = SimpleNamespace(candidates=[Kernel(key) for key in KEYS], direction="fwd")
    options = PredictOptions(
        selection=selection, problems=PROBLEMS, build=BuildOptions(target="hip", arch="gfx942")
    )

    def call(path="p.db", function=sweep_predictions, problems=PROBLEMS, splits=(), **changes):
        device.asked.clear()
        asked = replace(options, problems=problems, splits=splits)
        return function(Profiler(), asked, SweepOptions(store=f"{tmp_path}/{path}", **changes))

    return call


ALL = [(problem, key) for problem in (0, 1) for key in ("aa", "bb", "cc")]


def test_what_the_store_has_is_not_predicted_again(run, device, tmp_path):
    stops = iter([False] * 3 + [True] * 9)
    first = run(should_stop=lambda: next(stops))
    assert (first.ending, device.asked) == (Ending.REQUESTED, ALL[:3])
    assert "stopped; rerun the same command to resume" in first.lines[0]
    assert run(function=dry_run) == "4 kernels x 2 problems: 8 predictions, 5 of them in the store"
    rest = run()
    assert (rest.ending, device.asked, rest.known) == (Ending.DONE, ALL[3:], 5)
    assert rest.failed and rest.statuses == {Status.OK: 2, Status.RUN_ERROR: 1}
    nothing = run()
    assert (device.asked, nothing.known, nothing.failed, nothing.statuses) == ([], 8, True, {})
    again = run(retry_failed=True)
    assert device.asked == [(0, "cc"), (1, "cc")] and again.statuses[Status.COMPILE_ERROR] == 2
    run(fresh=True, tags=("fresh",))
    assert device.asked == ALL
    assert run(max_time_s=0.0, fresh=True).ending is Ending.BUDGET and device.asked == []
    # other machine code is another kernel
    device.digest = "0c"
    run()
    assert device.asked == ALL
    with Store(tmp_path / "p.db") as opened:
        held = [*opened]
        assert sum("loop" in one.conditions.extra for one in held) == 1, "a loop is stored once"
        assert {one.conditions.extra["prediction"]["loop"] for one in held if one.measurement} == {"l"}
        assert len([one for one in held if "fresh" in one.session.tags]) == 8
    side = read_store(tmp_path / "p.db").side()
    assert [len(problem.kernels) for problem in side.problems] == [4, 4]


def test_splits_are_those_that_are_asked_for_and_a_problem_that_nothing_supports_is_named(run, device):
    """As ``run`` does it: what lines name does not count where splits are given for every problem."""
    lines = (replace(PROBLEMS[0], splits=(8,), name="conv1"), PROBLEMS[1])
    for splits, expected in (((), (8, 1)), ((2, 4), (2, 4))):
        asked = run("s.db", problems=lines, splits=splits, function=lambda *given: given[1].problems)
        assert tuple(split for case in asked for split in case.splits or (1,))[:2] == expected
    device.unsupported = {(0, key, 2) for key in ("aa", "bb", "cc")}
    found = run("s.db", problems=lines, splits=(2,))
    assert device.asked == [(problem, key, 2) for problem, key in ALL]
    assert found.unserved == ("conv1",)
    assert found.lines[-1].endswith("no kernel has a predicted time on conv1")
    device.unsupported = ()
    again = run("s.db", problems=lines, splits=(2, 1))
    assert (again.known, again.unserved) == (8, ()), "another number of splits serves it"
    assert run("s.db", problems=lines, splits=(2,)).unserved == ("conv1",), "nothing was left to do"


def test_shards_take_predictions(run, device, tmp_path):
    assert run("shards/").statuses.total() == 8
    assert len([*(tmp_path / "shards").iterdir()]) == 1


def test_other_times_are_refused_before_anything_is_built(run, device, tmp_path):
    fill(tmp_path / "measured.db", make_attempt())
    store(tmp_path / "alien.db", model="another")
    for name in ("measured.db", "alien.db"):
        with pytest.raises(StoreError, match="do not mix: name another store"):
            run(name)
        assert device.asked == []
