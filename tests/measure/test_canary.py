"""Canaries: their object is built once, whatever kernels are built with, and its failure ends nothing."""

from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from ckprof.errors import ToolchainError
from ckprof.events import Level, Message
from ckprof.measure.canary import canary_finding, find_canary
from ckprof.measure.options import RunOptions
from ckprof.model.device import FindingState
from ckprof.model.outcome import Status
from ckprof.plugin.protocols import Target

from .canaries import canary_source, compiled_canary, needs_compiler
from .fakes import ARCH, ScaleDirection, make_instance, make_problem
from .run_instances import IN_ROUNDS, run_instances, texts

if TYPE_CHECKING:
    from ckprof.session import Session

pytestmark = [pytest.mark.compiler, needs_compiler]

GOOD = "*ms = which + 1; return 0;"
LOST = "comparisons cannot distinguish a slower machine from slower kernels"


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("CKPROF_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache" / "canaries"


def target_with(source):
    def canary(arch):
        assert arch == ARCH
        if isinstance(source, Exception):
            raise source
        return source

    return cast("Target", SimpleNamespace(canary=canary, default_arch=ARCH))


def found(source, options=None):
    """Return the canary of a target, and what users are told."""
    seen = []
    targets = SimpleNamespace(find={"mine": target_with(source)}.__getitem__)
    session = SimpleNamespace(registry=SimpleNamespace(targets=targets), emit=seen.append)
    return find_canary(cast("Session", session), "mine", ARCH, options or RunOptions()), seen


def test_an_object_is_compiled_once_whatever_compiler_is_found_later(tmp_path):
    source = canary_source(tmp_path, GOOD)
    first, told = found(source)
    assert first is not None and first.is_file() and told == []
    # cannot compile anything: what the cache has is used
    assert found(replace(source, compiler=("false",)))[0] == first
    assert list(first.parent.iterdir()) == [first]
    other, _ = found(canary_source(tmp_path, GOOD + "  "))
    elsewhere, _ = found(replace(source, machine="another CPU"))
    assert other is not None and elsewhere is not None
    assert len({first, other, elsewhere}) == 3
    # equal bytes, so that times of two machines of one kind can be compared
    assert elsewhere.read_bytes() == first.read_bytes()


def test_what_cannot_be_built_is_one_warning(tmp_path, own_cache):
    broken = canary_source(tmp_path, "this is no C++")
    for source, reason in (
        (broken, "g++ fails: " if broken.compiler[0].endswith("g++") else " fails: "),
        (replace(broken, compiler=("/no/such/compiler",)), "No such file or directory"),
        (ToolchainError("no usable compiler"), "no usable compiler"),
    ):
        canary, told = found(source)
        assert canary is None
        (message,) = told
        assert isinstance(message, Message) and message.level is Level.WARNING
        assert message.text.startswith("canaries are not measured: ") and reason in message.text
        assert message.text.endswith(LOST)
    assert not list(own_cache.rglob("*.so"))


def test_who_has_none(tmp_path):
    """A target without, a device that is emulated, and what runs under another tool."""
    assert found(None) == (None, [])
    source = canary_source(tmp_path, GOOD)
    for options in (RunOptions(device="emulated"), RunOptions(launcher=("ncu",))):
        assert found(source, options) == (None, []), options


def test_doctor_says_whether_there_are_any(tmp_path):
    source = canary_source(tmp_path, GOOD)
    assert canary_finding(target_with(None)) is None
    before = canary_finding(target_with(source))
    found(source)
    after = canary_finding(target_with(source))
    assert before is not None and before.detail.startswith("not yet compiled, ")
    assert after is not None and after.detail.startswith("compiled, ") and after.state is FindingState.OK
    lacking = canary_finding(target_with(ToolchainError("no usable compiler")))
    assert lacking is not None and lacking.state is FindingState.OPTIONAL
    assert (lacking.detail, LOST in lacking.advice) == ("no usable compiler", True)


def measured(library, folder, body, names):
    """Return outcomes, what users are told and the canaries' times of each visit."""
    seen = []
    visits = []
    recorder = SimpleNamespace(
        add=lambda sample: visits.append(sample), end_visit=lambda report: None, add_baseline=None
    )
    outcomes = run_instances(
        *(library, ARCH, ScaleDirection(), [make_instance(name) for name in names], [make_problem()]),
        replace(IN_ROUNDS, rounds=4, passes=2),
        seen.append,
        lock_dir=folder,
        recorder=recorder,
        canary=compiled_canary(folder, body),
    )
    return list(outcomes), seen, visits


def test_every_visit_has_the_times_of_its_round(library, tmp_path):
    body = "static int calls[2]; *ms = 10 * which + ++calls[which]; return 0;"
    outcomes, seen, visits = measured(library, tmp_path, body, ["ok", "prints"])
    assert {outcome.status for outcome in outcomes} == {Status.OK}
    assert not texts(seen, "canaries") and len({one.planned.round for one in visits}) >= 3
    times = {}
    for one in visits:
        canaries = one.outcome.conditions.canaries
        assert canaries == one.reading.canaries and canaries["bandwidth"] == canaries["arithmetic"] + 10
        times.setdefault((one.process, one.planned.round), set()).add(canaries["arithmetic"])
    assert all(len(of_round) == 1 for of_round in times.values())
    # once per round: each process counts its calls from 1
    of_process = {}
    for (process, _), of_round in times.items():
        of_process.setdefault(process, []).extend(of_round)
    assert len(of_process) >= 2
    assert all(sorted(seen) == [*range(1, len(seen) + 1)] for seen in of_process.values()), of_process


def test_a_canary_that_fails_is_told_once_and_ends_nothing(library, tmp_path):
    for name, body, reason in (
        ("fails", "*ms = 1; return which;", "the bandwidth canary cannot be timed"),
        ("crashes", "std::raise(SIGSEGV); return 0;", "SIGSEGV"),
    ):
        folder = tmp_path / name
        folder.mkdir()
        outcomes, seen, visits = measured(library, folder, body, ["ok", "prints"])
        assert {outcome.status for outcome in outcomes} == {Status.OK}, name
        assert all(one.reading.canaries == {} for one in visits), name
        (warning,) = texts(seen, "canaries are not measured: ")
        assert reason in warning and warning.endswith(LOST), name


def test_a_kernel_that_spoils_its_worker_costs_no_canaries(library, tmp_path):
    outcomes, seen, visits = measured(library, tmp_path, GOOD, ["ok", "segfault", "prints"])
    found = {outcome.key: outcome.status for outcome in outcomes}
    assert found == {"ok": Status.OK, "segfault": Status.RUN_ERROR, "prints": Status.OK}
    assert not texts(seen, "canaries") and all(len(one.reading.canaries) == 2 for one in visits)
