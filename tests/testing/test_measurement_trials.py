"""What is tried with measurements: objects that keep their contracts, and what is said of others."""

from dataclasses import replace

import numpy as np
import pytest

from ckprof.errors import InputError, PluginError
from ckprof.plugin.hookspecs import Command
from ckprof.plugin.protocols import (
    ComparisonFormat,
    InspectionView,
    ParityFormat,
    ProblemSetFile,
    ReportFormat,
    ResultsView,
    StoreFormat,
)
from ckprof.plugin.protocols.converters import ExportResult
from ckprof.store.writer import StoreWriter
from ckprof.testing import check_contract, registry_with
from ckprof.testing.measurement_trials import (
    baseline_trials,
    command_trials,
    comparison_format_trials,
    device_trials,
    inspection_view_trials,
    observer_trials,
    operation_trials,
    parity_format_trials,
    problem_set_trials,
    report_format_trials,
    results_view_trials,
    store_format_trials,
    target_trials,
)
from ckprof.testing.plugins import Registering
from ckprof.testing.samples import Samples
from ckprof_plugins.directions.fwd import Forward
from tests.measured import Made, attempts
from tests.plugin.hostile import MyDevice
from tests.report.conftest import results  # noqa: F401 - a fixture

from .conftest import LIST, verdicts


class Reader:
    """An observer."""

    id = "reader"

    def __init__(self, answer=None):
        self.answer = answer

    def observe(self, target, device):
        return self.answer


class Library:
    """A baseline."""

    id, label, entry = "library", "a library", "no_such_module:make"

    def __init__(self, lacks=""):
        self.lacks = lacks

    def missing(self):
        return self.lacks


class Inference(Forward):
    id, aliases, label = "inference", (), "forward under another name"
    dispatcher_form = None
    miopen_flag = 64
    positional_form = replace(Forward.positional_form, operations=("my_inference",))


def text(*arguments):
    return "text"


def fail(*arguments):
    raise ValueError("as told")


def a_set(folder, id_="mine"):
    (folder / "set.json").write_text(
        '{"schema": "ckprof.problem_set", "version": 1, "id": "mine", "label": "l", "ndim": 2, "origin": "", '
        '"notes": [], "layers": [{"name": "c", "count": 1, "groups": 1, "out_channels": 8, "in_channels": 8, '
        '"filter": [1, 1], "input": [4, 4], "strides": [1, 1], "dilations": [1, 1], "pads": [0, 0]}]}'
    )
    return ProblemSetFile(id=id_, path=folder / "set.json")


class Measured(Samples):
    """Samples with a store of made-up measurements, and a run that is set: nothing is built."""

    @property
    def store(self):
        path = self.folder / "made.db"
        if not path.exists():
            with StoreWriter(path) as writer:
                writer.append_many(attempts(Made(problems=1, instances=2, rounds=4)))
        return path


@pytest.fixture
def measured(samples, results):  # noqa: F811 - a fixture
    made = samples(kind=Measured)
    made.results = results
    return made


#: kind of formats -> its trials, where a registry has them, and the functions that a format may have
FORMATS = {
    ReportFormat: (report_format_trials, "formats", ("render", "render_batch", "render_failure")),
    ParityFormat: (parity_format_trials, "parity_formats", ("render", "render_failure")),
    ComparisonFormat: (comparison_format_trials, "comparison_formats", ("render", "render_failure")),
}


@pytest.mark.parametrize("kind", FORMATS)
def test_formats_render_runs_comparisons_and_errors(measured, kind):
    trials, entries, functions = FORMATS[kind]
    fine = dict.fromkeys(functions, text)
    found = verdicts(trials(measured, kind(id="mine", label="l", **fine)))
    assert [*found.values()] == [("passed", "4 characters")] * len(functions)
    for name in functions:
        broken = Registering(kind(id="mine", label="l", **{**fine, name: fail}))
        (mine,) = getattr(registry_with(broken, builtins=False), entries)
        failed = [one for one in verdicts(trials(measured, mine)).values() if one[0] == "failed"]
        assert len(failed) == 1 and f"{name} raised ValueError: as told" in failed[0][1]


def test_formats_of_ckprof_read_what_they_write(measured):
    for one in measured.registry.store_formats:
        found = verdicts(store_format_trials(measured, one))
        assert found["looks at an empty file"][1] == "False"
        if one.write is not None:
            # tables of measurements have a row for all rounds of a kernel
            assert found["exports a store"] in (("passed", "8 rows"), ("passed", "2 rows")), one.id
        if one.read is not None:
            verdict, detail = found["imports"]
            assert verdict == "passed" and (one.write is None or detail.endswith(" outcomes")), one.id


def store_format(**changes):
    def write(store, query, path):
        path.write_bytes(b"MINE")
        return ExportResult(rows=1)

    values = {
        "write": write,
        "read": lambda path, hints: iter(["one"]),
        "recognises": lambda head: head == b"MINE",
        **changes,
    }
    return StoreFormat(id="mine", label="l", suffixes=(".x",), **values)


def refuse(path, hints):
    raise InputError("nothing in it", path)


@pytest.mark.parametrize(
    ("changes", "trial", "verdict", "said"),
    [
        ({}, "imports", "passed", "1 outcomes"),
        ({"read": lambda path, hints: iter(())}, "imports", "failed", "reads nothing in what it has written"),
        ({"recognises": lambda head: False}, "imports", "failed", "does not recognise what it has written"),
        ({"write": None, "read": refuse}, "imports", "passed", "refuses an empty file: nothing in it"),
        ({"write": None}, "imports", "passed", "1 outcomes of an empty file"),
        (
            {"write": lambda *_: ExportResult(rows=0, left_out={"other devices": 2})},
            "exports a store",
            "not possible",
            "has no place for what ran here: other devices; name another list with --conf",
        ),
    ],
)
def test_a_store_format_reads_what_it_writes(measured, changes, trial, verdict, said):
    assert verdicts(store_format_trials(measured, store_format(**changes)))[trial] == (verdict, said)


def test_targets_devices_and_observers_say_what_is_there(measured):
    cpu = measured.profiler.target()
    found = verdicts(target_trials(measured, cpu))
    assert found["reports what is there"] == ("passed", f"{len(cpu.findings())} findings")
    assert verdicts(device_trials(measured, MyDevice())) == {
        "reports what is there": ("passed", "0 findings"),
        "has settings": ("passed", "0 variables"),
    }
    seen = verdicts(observer_trials(measured, Reader()))
    assert seen == {f"reads {target}": ("passed", "nothing") for target in measured.registry.targets.ids}


def test_baselines_that_are_not_installed_are_not_tried(measured):
    trials = dict(baseline_trials(measured, Library()))
    assert trials["is installed"]() == "nothing is missing"
    missing = [("is installed", dict(baseline_trials(measured, Library("pip install it")))["is installed"])]
    assert verdicts(missing) == {"is installed": ("not possible", "pip install it")}


def test_views_are_shown_a_run_and_asked_for_nothing(measured):
    view = ResultsView(id="count", label="l", make=lambda run: len(run.outcomes))
    assert verdicts(results_view_trials(measured, view)) == {"shows a run": ("passed", "int")}
    asked = []
    inspected = InspectionView(
        id="mine", label="l", options=("mine",), prepare=lambda given, *_: asked.append(given.mine)
    )
    assert verdicts(inspection_view_trials(measured, inspected)) == {"is not asked": ("passed", "nothing")}
    assert asked == [None]


def test_commands_say_what_they_are_for_and_are_not_run(measured):
    def command(**changes):
        values = {"task": "measure", "summary": "do it", "run": fail, **changes}
        return Command(
            name="mine", add_arguments=lambda parser, session: parser.add_argument("--x"), **values
        )

    found = verdicts(command_trials(measured, command()))
    assert found["says what it is for"] == ("passed", "do it") and found["adds its options"][0] == "passed"
    silent = verdicts(command_trials(measured, command(summary="")))
    assert silent["says what it is for"] == ("failed", "help has no line for it: task or summary is empty")


def test_problem_sets_have_problems_and_the_id_that_they_are_registered_with(measured, tmp_path):
    assert verdicts(problem_set_trials(measured, a_set(tmp_path))) == {
        "has problems": ("passed", "1 problems")
    }
    with pytest.raises(PluginError, match="it is 'mine'"):
        dict(problem_set_trials(measured, a_set(tmp_path, "yours")))["has problems"]()


def test_operations_compute_their_default_problem(measured):
    operation = Inference()
    found = verdicts(operation_trials(measured, operation))
    assert [verdict for verdict, _ in found.values()] == ["passed"] * 3
    assert found["reads the lines that it writes"][1] == ", ".join(operation.line_forms)
    whole = Forward.reference
    for changes, said in (
        ({"reference": lambda self, *a: whole(self, *a) * np.inf}, "is not finite"),
        ({"reference": lambda self, *a: whole(self, *a).ravel()}, "the reference has the shape"),
        ({"layouts": ()}, "no layout fits its default problem"),
    ):
        other = type("Other", (Inference,), changes)()
        verdict, detail = verdicts(operation_trials(measured, other))["computes a reference"]
        assert verdict == "failed" and said in detail
    empty = type("Empty", (Inference,), {"default_problem": {}})()
    with pytest.raises(PluginError, match="default_problem is empty"):
        list(operation_trials(measured, empty))


@pytest.mark.compiler
@pytest.mark.thorough
def test_what_cannot_be_opened_is_told_after_what_is_installed():
    for library, said in (
        (Library("pip install it"), "not possible: "),
        (Library(), "computes the default problem of an instance"),
    ):
        with pytest.raises(AssertionError, match=said):
            check_contract(Registering(library), LIST)
