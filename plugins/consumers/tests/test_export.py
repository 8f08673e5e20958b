"""Winners of a store for programs: what is written is found by their lookups and passes the audit."""

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from ckprof.errors import InputError, UsageError
from ckprof.kernels.candidates import list_candidates
from ckprof.lists.list_files import find_list, read_list
from ckprof.store.key import DeviceKey, KernelKey, OperationKey
from ckprof.store.writer import StoreWriter
from ckprof_plugins.consumers.audit import AuditCall, audit
from ckprof_plugins.consumers.cmd_export import ExportCall, export
from ckprof_plugins.consumers.records import Severity
from ckprof_plugins.directions._convolution.problem import ConvProblem
from ckprof_plugins.operations.gemm.problem import GemmProblem
from plugins.consumers.tests.databases import Tuned
from tests.store.samples import make_attempt, make_key

VERSION = "3.2.0.5f2ae8c"
DEVICE = DeviceKey(target="hip", model="MI300X", arch="gfx942", compute_units=304)
LISTS = {
    "fwd": "forward/profiler/nhwgc_fp16",
    "bwd_data": "backward_data/profiler/nhwgc_fp16",
    "bwd_weight": "backward_weight/profiler/nhwgc_fp16",
}


def problem(batch):
    return ConvProblem(
        groups=2, batch=batch, out_channels=64, in_channels=128, filter=(3, 3), input=(28, 28),
        strides=(1, 1), dilations=(1, 1), left_pads=(1, 1), right_pads=(1, 1),
    )  # fmt: skip


def measured(registry, direction, list_name=None, layout="nhwgc"):
    """Attempts on every instance of a list, each with a problem of its own."""
    path = find_list(list_name or LISTS[direction])
    candidates = list_candidates([read_list(path, registry)], registry)
    for number, one in enumerate(candidates):
        selected = one.selected()
        key = replace(
            make_key(number, problem(number + 1)),
            operation=OperationKey(direction=direction),
            kernel=KernelKey(instance=one.instance.key),
            device=DEVICE,
        )
        attempt = make_attempt(number, number, 0.5, key=key)
        yield replace(attempt, kernel=replace(selected.ref, layout=layout))


def usable(registry):
    """Attempts on kernels that support every problem here."""
    return [one for one in measured(registry, "fwd") if ",Default," in one.kernel.instance_string]


def stored(tmp_path, attempts):
    path = tmp_path / "results.db"
    with StoreWriter(path) as writer:
        writer.append_many(attempts)
    return path


def exported(registry, store, folder, consumer="miopen", **changes):
    values = {"version": VERSION, "consumer": consumer, "store": store, "folder": folder}
    return export(registry, ExportCall(**{**values, **changes}))


def paths_of(done):
    return [Path(name) for name in done.files]


@pytest.mark.parametrize("direction", LISTS)
def test_what_is_exported_audits_clean_and_is_found_by_the_owners_keys(registry, tmp_path, direction):
    attempts = list(measured(registry, direction))
    done = exported(registry, stored(tmp_path, attempts), tmp_path / "out")
    assert done.entries + sum(done.left_out.values()) == len(attempts)
    assert done.entries > 5
    assert sorted(path.name for path in paths_of(done)) == [
        "gfx942130.HIP.3_2_0_5f2ae8c.udb.txt",
        "gfx942130.HIP.3_2_0_5f2ae8c.ufdb.txt",
        "gfx942130_1.1.0.udb",
    ]
    call = AuditCall(paths=(tmp_path / "out",), arch="gfx942", compute_units=304)
    report = audit(registry, call)
    found = {finding.reason.severity for file in report.files for finding in file.findings}
    assert found <= {Severity.NOTE}
    assert all(file.entries == done.entries for file in report.files)
    lines = (tmp_path / "out" / "gfx942130.HIP.3_2_0_5f2ae8c.udb.txt").read_text().splitlines()
    perf = dict(line.split("=", 1) for line in lines)
    find = dict(
        line.split("=", 1)
        for line in (tmp_path / "out" / "gfx942130.HIP.3_2_0_5f2ae8c.ufdb.txt").read_text().splitlines()
    )
    letter = {"fwd": "F", "bwd_data": "B", "bwd_weight": "W"}[direction]
    hits = 0
    with closing(sqlite3.connect(tmp_path / "out" / "gfx942130_1.1.0.udb")) as connection:
        for attempt in attempts:
            one = Tuned(attempt.key.problem, letter, "fp16", None, 1)
            value = perf.get(one.perf_key())
            assert (value is None) == (one.find_key() not in find)
            if value is None:
                continue
            hits += 1
            solver, _, parameters = value.partition(":")
            assert solver == one.solver
            assert parameters.endswith("+1") == (letter == "W")
            where = " AND ".join(f"({name} = ?)" for name in one.columns())
            query = (
                "SELECT solver, params FROM perf_db INNER JOIN config ON perf_db.config = config.id "  # noqa: S608
                f"WHERE ( {where} )"
            )
            assert connection.execute(query, tuple(one.columns().values())).fetchall() == [
                (solver, parameters)
            ]
    assert hits == done.entries


def test_only_the_fastest_verified_kernel_is_written(registry, tmp_path):
    by_list = usable(registry)[:3]
    same = [
        replace(
            one,
            key=replace(one.key, problem=problem(7)),
            measurement=replace(one.measurement, time_ms=time, min_ms=time),
            verification=one.verification if verified else None,
        )
        for one, time, verified in zip(by_list, (0.3, 0.1, 0.2), (True, False, True), strict=True)
    ]
    done = exported(registry, stored(tmp_path, same), tmp_path / "out")
    find = next(path for path in paths_of(done) if "ufdb" in path.name).read_text()
    assert done.entries == 1
    assert ":0.1," not in find
    assert ":0.2," in find


def test_imported_and_foreign_winners_are_left_out(registry, tmp_path):
    (first, second, *_) = usable(registry)
    imported = replace(first, key=replace(first.key, kernel=KernelKey(instance="name:Solver")))
    elsewhere = replace(
        second, key=replace(second.key, device=replace(DEVICE, arch="gfx90a", compute_units=104))
    )
    store = stored(tmp_path, [imported, elsewhere])
    device = {"arch": "gfx942", "compute_units": 304}
    done = exported(registry, store, tmp_path / "out", **device)
    assert done.entries == 0
    assert done.left_out == {"imported, or not verified": 1, "measured on gfx90a with 104 compute units": 1}
    assert done.files == {}
    assert not (tmp_path / "out").exists()
    assert exported(registry, store, tmp_path / "out", **device, any_device=True).entries == 1


def test_a_store_without_a_verified_time_says_so(registry, tmp_path):
    (first, *_) = usable(registry)
    store = stored(tmp_path, [replace(first, verification=None)])
    with pytest.raises(InputError, match="no verified result is what was asked for"):
        exported(registry, store, tmp_path / "out")


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"version": ""}, "hold its version"),
        ({"version": "newest"}, "not 'newest'"),
        ({"consumer": "ck"}, "nothing can be written for ck"),
        ({"consumer": "aiter"}, "add --tree"),
    ],
)
def test_what_is_missing_is_said(registry, tmp_path, change, part):
    store = stored(tmp_path, list(measured(registry, "bwd_data"))[:2])
    with pytest.raises(UsageError, match=part):
        exported(registry, store, tmp_path / "out", **change)


def test_a_file_that_is_there_stays(registry, tmp_path):
    store = stored(tmp_path, list(measured(registry, "bwd_data")))
    done = exported(registry, store, tmp_path / "out")
    before = {path: path.read_bytes() for path in paths_of(done)}
    exported(registry, store, tmp_path / "out")
    next(path for path in paths_of(done) if "ufdb" in path.name).write_text("mine\n")
    with pytest.raises(InputError, match="there already"):
        exported(registry, store, tmp_path / "out")
    assert sum(path.read_bytes() != content for path, content in before.items()) == 1


def test_overrides_of_hipdnn_name_packed_tensors(registry, tmp_path):
    attempts = list(measured(registry, "bwd_weight"))[:1]
    done = exported(registry, stored(tmp_path, attempts), tmp_path / "out", "hipdnn")
    (path,) = paths_of(done)
    (override,) = json.loads(path.read_text())["engine_overrides"]
    assert (override["op"], override["engine_name"]) == ("conv_wgrad", "MIOPEN_ENGINE")
    assert override["tensors"] == [
        {"tensor_id": "X", "dim": [1, 256, 28, 28], "stride": [256 * 784, 1, 28 * 256, 256]},
        {"tensor_id": "W", "dim": [128, 128, 3, 3], "stride": [1152, 1, 384, 128]},
        {"tensor_id": "Y", "dim": [1, 128, 28, 28], "stride": [128 * 784, 1, 28 * 128, 128]},
    ]
    assert not audit(registry, AuditCall(paths=(path,))).failed


def test_a_table_for_generated_libraries_names_instances_by_their_keys(registry, tmp_path):
    attempts = list(measured(registry, "fwd"))[:2]
    done = exported(registry, stored(tmp_path, attempts), tmp_path / "out", "generated")
    (path,) = paths_of(done)
    text = path.read_text()
    assert done.entries == 2
    for attempt in attempts:
        values = ", ".join(map(str, attempt.key.problem.values()))
        row = f'{{"fwd", "fp16", "nhwgc", {{{{{values}}}}}, "{attempt.key.kernel.instance}", '
        assert row in text


AITER = """
from dataclasses import dataclass


@dataclass
class Kernel:
    NUMBERS: list[int]
    WAVE: list[int]
    MAP: list[int]
    SCHED: str
    VERSION: int

    @property
    def name(self) -> str:
        return ("_").join(["bf16_batched", ("x").join(map(str, self.NUMBERS)),
            ("x").join(map(str, self.WAVE)), ("x").join(map(str, self.MAP)),
            "8x32x1_8x8x1", self.SCHED.lower(), f"v{self.VERSION}"])


kernels_list = {
    4: Kernel([256, 256, 256, 32], [32, 32], [4, 4], "Intrawave", 4),
    9: Kernel([256, 128, 128, 64], [32, 32], [2, 2], "Intrawave", 4),
}
"""


def test_rows_of_aiter_name_the_trees_kernel_by_both(registry, tmp_path):
    folder = tmp_path / "tree" / "csrc" / "ck_batched"
    folder.mkdir(parents=True)
    (folder / "batched_gemm_bf16_common.py").write_text(AITER)
    conf = tmp_path / "rcr_bf16.conf"
    text = find_list("gemm/universal/rcr_fp16").read_text().splitlines()
    conf.write_text("\n".join(line for line in text if line.startswith("Device")) + "\n")
    candidates = list_candidates([read_list(conf, registry)], registry)
    attempts = []
    for number, one in enumerate(candidates[:12]):
        key = replace(
            make_key(number),
            problem=GemmProblem(m=16 * (number + 1), n=1280, k=8192),
            operation=OperationKey(direction="gemm"),
            kernel=KernelKey(instance=one.instance.key),
            device=DEVICE,
        )
        attempt = make_attempt(number, number, 0.25, key=key, split_chosen=2)
        attempts.append(replace(attempt, kernel=one.selected().ref))
    assert {one.kernel.dtype.value for one in attempts} == {"bf16"}
    sources = {"conf": (str(conf),), "tree": tmp_path / "tree"}
    done = exported(registry, stored(tmp_path, attempts), tmp_path / "out", "aiter", **sources)
    (path,) = paths_of(done)
    assert 0 < done.entries < len(attempts)
    import pandas

    table = pandas.read_csv(path).drop_duplicates().set_index(["cu_num", "B", "M", "N", "K"]).to_dict("index")
    for (units, batch, *_), row in table.items():
        assert (units, batch, row["splitK"], row["us"]) == (304, 1, 1, 250.0)
        assert row["kernelId"] in (4, 9)
    assert not audit(registry, AuditCall(paths=(path,), **sources)).failed
    assert any("has its numbers" in why for why in done.left_out)
