"""Reports of 'ckprof run' as attempts."""

import hashlib
import json
from datetime import datetime, timezone

import pytest

from ckprof.errors import ExitCode, InputError
from ckprof.model.kernel import SelectedKernel
from ckprof.model.outcome import Outcome, Status
from ckprof.model.requirement import UnmetRequirement
from ckprof.model.results import BuildSummary, RunResults
from ckprof.model.types import DataType, TypeSet
from ckprof.plugin.protocols.converters import ImportHints
from ckprof.report import run_data
from ckprof.store.errors import NewerStoreError
from ckprof.store.key import DeviceKey, MethodKey, OperationKey, ToolchainKey
from ckprof_plugins.consumers import run_report
from tests.store.samples import make_attempt, make_problem

ENVIRONMENT = {
    "started": "2026-01-31T12:00:00+00:00",
    "api_level": "2026-06",
    "device": "a GPU",
    "flags": ["-O3"],
    "compiler": {"description": "clang 19", "identity": "i"},
    "options": {"init": "decimal", "seed": 7, "cache": "warm"},
    "host": {"processor": "a CPU"},
}
PROBLEMS = (make_problem(8), make_problem(9, 3))
MEASURED = make_attempt()


def outcome(kernel, problem, status, **changes):
    return Outcome(key=f"k{kernel}", problem_index=problem, status=status, **changes)


def results(**changes):
    unmet = [UnmetRequirement(rule=name, message="m") for name in ("wide", "deep", "wide")]
    times = {"measurement": MEASURED.measurement, "verification": MEASURED.verification}
    outcomes = (
        outcome(0, 0, Status.OK, split_k=4, split_k_deduced=True, **times),
        outcome(1, 0, Status.UNSUPPORTED, reason="too wide", unmet_requirements=tuple(unmet)),
        outcome(1, 1, Status.RUN_ERROR, reason="it crashed", split_k=0),
    )
    kernels = [
        SelectedKernel(
            **{"key": f"k{n}", "index": n, "id": n, "name": f"kernel_{n}", "instance_string": f"K<{n}>"},
            **{"pipeline": "tiles", "dtype": DataType.FP16, "types": TypeSet.shared(DataType.FP16)},
            **{"ndim": 2, "source": f"list.conf:{n + 1}", "layout": "nhwgc"},
        )
        for n in range(2)
    ]
    values = {
        **{"direction": "fwd", "target": "hip", "arch": "gfx942", "environment": ENVIRONMENT},
        **{"conversions": (), "instances": tuple(kernels), "problems": PROBLEMS},
        **{"build": BuildSummary(compiled=2), "outcomes": outcomes},
    }
    return RunResults(**{**values, **changes})


def read(tmp_path, text, **hints):
    file = tmp_path / "run.json"
    file.write_text(text)
    return list(run_report.read(file, ImportHints(**hints)))


def test_every_outcome_of_a_report_becomes_an_attempt(tmp_path):
    text = run_data.render_json(results())
    assert run_report.FORMAT.recognises(text.encode())
    found = read(tmp_path, text, tags=("old",))
    assert [(one.sequence, one.kernel.name, one.key.problem, one.status) for one in found] == [
        (0, "kernel_0", PROBLEMS[0], Status.OK),
        (1, "kernel_1", PROBLEMS[0], Status.UNSUPPORTED),
        (2, "kernel_1", PROBLEMS[1], Status.RUN_ERROR),
    ]
    timed, unsupported, crashed = found
    assert timed.measurement.time_ms == MEASURED.measurement.time_ms
    assert timed.verification.wrong_elements == 0 and timed.ranked
    assert (timed.key.split_k, timed.split_chosen) == (-1, 4)
    assert (timed.kernel.source, timed.kernel.dtype) == ("list.conf:1", DataType.FP16)
    assert (unsupported.reason, unsupported.requirements) == ("too wide", ("wide", "deep"))
    assert (unsupported.key.split_k, unsupported.split_chosen) == (1, 1)
    assert (crashed.reason, crashed.key.split_k, crashed.split_chosen) == ("it crashed", 0, None)
    assert [one.conditions.order for one in found] == [0, 1, 0]
    key = timed.key
    assert key.operation == OperationKey(direction="fwd", api_level="2026-06")
    assert key.device == DeviceKey(target="hip", model="a GPU", arch="gfx942")
    assert key.toolchain == ToolchainKey(compiler="clang 19", compiler_identity="i", flags=("-O3",))
    assert key.method == MethodKey(cache="warm", init="decimal", seed=7)
    (session,) = {one.session.uid: one.session for one in found}.values()
    assert session.uid == hashlib.blake2b(text.encode(), digest_size=16, person=b"ckprof import").hexdigest()
    assert session.started == datetime(2026, 1, 31, 12, tzinfo=timezone.utc).timestamp()
    assert (session.origin, session.tags) == ("report run.json", ("old",))


def test_what_a_report_does_not_say_is_left_empty(tmp_path):
    options = {"init": "zeros", "seed": 7}
    text = run_data.render_json(results(environment={"host": {"processor": "a CPU"}, "options": options}))
    first, *_ = read(tmp_path, text)
    assert first.key.device.model == "a CPU"
    assert first.key.method == MethodKey(cache="", init="zeros", seed=0), "zeros are not drawn"
    assert first.key.toolchain == ToolchainKey()
    assert first.session.started == (tmp_path / "run.json").stat().st_mtime


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": "other"}, "has the schema 'other', expected 'ckprof.run'"),
        ({"instances": []}, "names an instance that it does not list: k0"),
        ({"direction": 3}, "is not a report of 'ckprof run': Expected `str`"),
        (
            {"problems": [{"m": 1}]},
            "is not a report of 'ckprof run': no loaded plugin knows a problem with m",
        ),
        ({"problems": [{"outcomes": [{"status": "ok"}]}]}, "is not a report of 'ckprof run': "),
    ],
)
def test_what_is_no_report_is_rejected(tmp_path, change, message):
    report = {**run_data.as_json(results()), **change}
    with pytest.raises(InputError) as caught:
        read(tmp_path, json.dumps(report))
    assert str(caught.value).startswith(f"{tmp_path / 'run.json'}: {message}")
    assert caught.value.exit_code == ExitCode.INPUT


def test_reports_of_later_releases_and_files_that_cannot_be_read_are_rejected(tmp_path):
    assert (run_report.SCHEMA, run_report.VERSION) == (run_data.SCHEMA, run_data.VERSION)
    report = {**run_data.as_json(results()), "version": run_data.VERSION + 1}
    with pytest.raises(NewerStoreError, match="has version 2, this ckprof reads 1; update ckprof"):
        read(tmp_path, json.dumps(report))
    with pytest.raises(InputError, match="is not a report of 'ckprof run'"):
        read(tmp_path, "{")
    with pytest.raises(InputError, match="cannot be read: No such file"):
        list(run_report.read(tmp_path / "absent", ImportHints()))
