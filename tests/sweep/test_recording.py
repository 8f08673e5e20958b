"""What of a measurement is stored, how it is marked, and what a run with a store leaves."""

import random
from dataclasses import replace

import pytest

from ckprof.errors import UsageError
from ckprof.kernels.choose import Selection
from ckprof.kernels.requests import BuildOptions
from ckprof.measure import run as run_module
from ckprof.measure.options import RunOptions
from ckprof.measure.requests import RunRequest, StoreOptions
from ckprof.measure.rounds import PlannedSample, VisitReport
from ckprof.measure.rounds_loop import Sample
from ckprof.measure.run import Run
from ckprof.model.device import Reading
from ckprof.model.outcome import (
    MAX_TIME,
    TIMEOUT,
    BaselineOutcome,
    Conditions,
    Measurement,
    Outcome,
    Status,
    Verification,
)
from ckprof.model.problem_case import ProblemCase, as_case
from ckprof.model.requirement import UnmetRequirement
from ckprof.model.types import DataType
from ckprof.store.attempt import DEVICE_LOST, PROCESS, Mark
from ckprof.store.shard import ShardWriter
from ckprof.store.store import Store
from ckprof.store.writer import StoreWriter
from ckprof.sweep import recording
from ckprof.sweep.evidence import LAYERS
from ckprof.sweep.recording import Recorder, is_bimodal, is_shard_folder, open_sink, run_into_store
from tests.cases import Cases
from tests.measure.fakes import make_problem as small_problem
from tests.measure.run_instances import QUICK, built, session_with
from tests.store.samples import make_session

from .bench import SHARED, make_kernels, make_problems, plan_for

KERNELS = make_kernels(3)
CELLS = plan_for(KERNELS, make_problems(1)).rankings[0].ranking.cells
MEASURED = Measurement(
    time_ms=2.0, spread_ms=0.01, min_ms=1.9, mean_ms=2.0, samples=3, stopped_by="stdrel",
    samples_ms=(2.0, 1.9, 2.1),
)  # fmt: skip


def group_of(number=0):
    return plan_for(KERNELS, make_problems(2)).rankings[number]


def sample(group, cell=0, round=1, *, process="a", reading=None, **changes):
    values = {
        "status": Status.OK,
        "measurement": MEASURED,
        "conditions": Conditions(started=5.0, round=round),
    }
    return Sample(
        group=group,
        planned=PlannedSample(cell=CELLS[cell], round=round, order=0),
        outcome=Outcome(key=CELLS[cell].instance, problem_index=0, **{**values, **changes}),
        reading=reading or Reading(),
        process=process,
    )


@pytest.fixture
def stored(tmp_path):
    """Have a recorder store something; return what it stored."""

    def call(record, **options):
        path = tmp_path / "results.db"
        with StoreWriter(path) as writer:
            record(Recorder(writer, make_session(0), SHARED, **options))
        with Store(path) as store:
            return list(store)

    return call


def test_an_attempt_has_the_key_of_its_kernel_and_what_was_seen(stored):
    group = group_of()
    requirements = tuple(UnmetRequirement(rule=rule, message="") for rule in ("tile", "tile", "vector"))

    def record(recorder):
        recorder.add(sample(group, 1, 4, split_k=7, process="b"))
        recorder.add(sample(group, 0, 4, process="c", split_k=-1))
        failed = {"status": Status.UNSUPPORTED, "measurement": None, "conditions": None}
        recorder.add(sample(group, 2, process="b", unmet_requirements=requirements, reason="why", **failed))

    first, second, third = stored(record)
    assert [one.sequence for one in (first, second, third)] == [0, 1, 2]
    assert (first.key.kernel.instance, first.key.kernel.object_digest) == (KERNELS[1].key, "o1")
    assert (first.key.problem, first.key.device, first.key.split_k) == (group.problem, SHARED.device, 1)
    assert (first.split_chosen, second.split_chosen) == (7, None)
    assert (first.measurement, first.conditions.round, first.conditions.started) == (MEASURED, 4, 5.0)
    assert [one.conditions.extra[PROCESS] for one in (first, second, third)] == [0, 1, 0]
    assert (third.status, third.reason, third.requirements) == (Status.UNSUPPORTED, "why", ("tile", "vector"))
    assert third.conditions.started == 0.0 and third.measurement is None


def test_attempts_have_the_marks_of_what_makes_their_times_doubtful(stored):
    both = (1.9,) * 10 + (2.3,) * 10
    cut = replace(MEASURED, stopped_by=MAX_TIME)
    failed = {"status": Status.RUN_ERROR, "measurement": None}
    expected = {
        "nothing": ({}, ()),
        "not launched": ({"launched": False, **failed}, (Mark.NOT_LAUNCHED,)),
        "a spread of 5.5 %": ({"measurement": replace(MEASURED, spread_ms=0.11)}, (Mark.NOISY,)),
        "two groups": ({"measurement": replace(MEASURED, samples_ms=both)}, (Mark.BIMODAL,)),
        "its time was over": ({"measurement": cut}, (Mark.CUT_OFF,)),
        "it was over with enough": ({"measurement": replace(cut, samples=4)}, ()),
        "the limit": ({"measurement": replace(MEASURED, samples=99, stopped_by=TIMEOUT)}, (Mark.CUT_OFF,)),
        "a load": ({"reading": Reading(load=5.1, cores=4)}, (Mark.BUSY_HOST,)),
        "a load for its cores": ({"reading": Reading(load=5.0, cores=4)}, ()),
        "a load of unknown cores": ({"reading": Reading(load=9.0)}, ()),
        "cores": ({"reading": Reading(cores=1)}, ()),
        "a low clock": ({"reading": Reading(clock_mhz=900, base_clock_mhz=2000)}, (Mark.LOW_CLOCK,)),
        "others": ({"reading": Reading(other_processes=1)}, (Mark.SHARED_DEVICE,)),
        "nobody else": ({"reading": Reading(other_processes=0)}, ()),
    }
    group = group_of()
    found = stored(
        lambda recorder: [recorder.add(sample(group, **changes)) for changes, _ in expected.values()],
        least_samples=4,
    )
    with Cases() as cases:
        for (name, (_, marks)), one in zip(expected.items(), found, strict=True):
            with cases.case(name):
                assert one.marks == marks


def report(disturbed=False, dropped=()):
    dropped = dict.fromkeys(dropped, 2.0)
    return VisitReport(rounds=(1,), disturbed=disturbed, dropped=dropped, best=None)


def test_visits_mark_kernels_that_are_pruned_and_attempts_that_are_disturbed(stored):
    def record(recorder):
        first, second = group_of(0), group_of(1)
        for cell in (0, 1, 0):
            recorder.add(sample(first, cell))
        recorder.end_visit(report(dropped=[CELLS[0], CELLS[2]]))
        recorder.add(sample(first, 1, 2))
        recorder.end_visit(report(disturbed=True))
        recorder.end_visit(report(disturbed=True, dropped=[CELLS[1]]))
        # what the group before had is nothing to this one
        recorder.add(sample(second, 2))
        recorder.end_visit(report(dropped=[CELLS[1]]))

    marks = [one.marks for one in stored(record)]
    assert marks == [(), (), (Mark.DROPPED,), (Mark.DISTURBED, Mark.DROPPED), ()]


def test_a_lost_device_is_remembered_beside_its_kernel(stored):
    group, lost = group_of(), {"status": Status.RUN_ERROR, "measurement": None, "launched": False}

    def record(recorder):
        recorder.add_lost(sample(group, **lost))
        recorder.add_lost(sample(group, **lost, conditions=None))

    for one in stored(record):
        assert one.lost_device and one.conditions.extra[DEVICE_LOST] is True
        assert one.marks == (Mark.NOT_LAUNCHED,)


def test_a_folder_takes_shards_and_any_other_name_is_a_store(tmp_path):
    assert [is_shard_folder(name) for name in (tmp_path, "new/", tmp_path / "x.db", "x")] == [
        *(True, True, False, False)
    ]
    told = []
    session = session_with(emit=told.append)
    for name, kind in ((f"{tmp_path}/new/", ShardWriter), (tmp_path / "results.db", StoreWriter)):
        with open_sink(session, name, wait=False) as sink:
            assert type(sink) is kind
    assert not told


def test_a_run_is_stored_after_the_rounds_that_the_store_has(tmp_path):
    session, path = session_with(), tmp_path / "results.db"
    named = ProblemCase(problem=small_problem(), name="conv1", network="net")
    refused, options = built(None, [], ["refused"]), StoreOptions(store=path, tags=("nightly",))
    for _ in range(2):
        with StoreWriter(path) as sink:
            # a problem that is given twice goes on as well
            run = Run(session, refused, [named, as_case(small_problem())], QUICK)
            list(run.outcomes(lambda run, sink=sink: recording._RunRecorder(session, run, options, sink)))
    with Store(path) as store:
        attempts, sessions = list(store), store.sessions()
    assert [one.conditions.round for one in attempts] == [1, 2, 3, 4]
    assert {one.status for one in attempts} == {Status.UNSUPPORTED}
    assert attempts[0].key.operation.direction == "scale" and attempts[0].key.device.target == "cpu"
    assert [one.tags for one in sessions] == [("nightly",)] * 2
    (layer,) = sessions[0].environment[LAYERS]
    assert (layer["name"], layer["network"]) == ("conv1", "net")


def test_baselines_are_stored_beside_kernels(tmp_path):
    session, path = session_with(), tmp_path / "results.db"
    run = Run(session, built(None, [], ["refused"]), [as_case(small_problem())], QUICK)
    right = Verification(max_error=0.5, wrong_elements=0, elements=9, rtol=0.1, atol=0.1)
    outcomes = (
        Outcome(
            key="good",
            problem_index=0,
            status=Status.OK,
            measurement=MEASURED,
            verification=right,
            conditions=Conditions(started=7.0),
        ),
        Outcome(key="good", problem_index=0, status=Status.RUN_ERROR, reason="it broke"),
    )
    with StoreWriter(path) as sink:
        recorder = recording._RunRecorder(session, run, StoreOptions(store=path), sink)
        for outcome in outcomes:
            recorder.add_baseline(
                BaselineOutcome(
                    baseline="good", description="numpy", layout="nhwgc", dtype=DataType.FP32, outcome=outcome
                )
            )
    with Store(path) as store:
        fine, broken = store.baselines()
    assert (fine.baseline, fine.description, fine.dtype, fine.layout) == ("good", "numpy", "fp32", "nhwgc")
    assert (fine.time_ms, fine.spread_ms, fine.max_error, fine.wrong_elements) == (2.0, 0.01, 0.5, 0)
    assert (fine.sequence, fine.started, fine.problem) == (0, 7.0, small_problem())
    assert (broken.sequence, broken.status, broken.reason) == (1, Status.RUN_ERROR, "it broke")
    assert broken.time_ms is None and broken.wrong_elements is None and broken.started > 1e9


def request(candidates=(), **options):
    return RunRequest(
        selection=Selection(conversions=(), candidates=candidates, source="s"),
        problems=(as_case(small_problem()),),
        build=BuildOptions(),
        options=RunOptions(**options),
    )


def test_a_run_with_a_store_opens_it_before_anything_is_built(tmp_path, monkeypatch):
    path, made = tmp_path / "results.db", built(None, [], ["refused"])

    def build(*given):
        assert path.exists()
        return made

    monkeypatch.setattr(run_module, "build_needed_library", build)
    results, error = run_into_store(session_with(), request(made.candidates), StoreOptions(store=path))
    assert error is None and [one.status for one in results.outcomes] == [Status.UNSUPPORTED]
    with Store(path) as store:
        assert [one.reason for one in store] == ["no such tile"]


def test_times_under_another_tool_are_not_stored(tmp_path):
    options = StoreOptions(store=tmp_path / "results.db")
    with pytest.raises(UsageError, match="--launcher: what runs under another tool is not stored"):
        run_into_store(session_with(), request(launcher=("nice",)), options)
    assert not (tmp_path / "results.db").exists()


def test_two_groups_of_samples_are_told_from_noise():
    chance = random.Random(1)
    one = [chance.gauss(10, 0.3) for _ in range(40)]
    assert not is_bimodal(one)
    assert not is_bimodal([10.0] * 30)
    assert not is_bimodal([*one, 14.0, 15.0])
    assert not is_bimodal([10, 11] * 4)
    both = [chance.gauss(10, 0.1) for _ in range(20)] + [chance.gauss(11.5, 0.1) for _ in range(15)]
    chance.shuffle(both)
    assert is_bimodal(both)
