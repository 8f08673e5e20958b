"""Export formats: what goes out comes in again as far as the format can say it, and bad files are named."""

import csv
from collections import Counter
from dataclasses import replace

import pytest

from ckprof.errors import InputError, PluginError, UsageError
from ckprof.model.outcome import Status
from ckprof.model.types import DataType
from ckprof.plugin.manager import PluginManager
from ckprof.plugin.protocols import StoreFormat
from ckprof.plugin.protocols.converters import ImportHints
from ckprof.plugin.registry import Registry
from ckprof.store.formats import flat_row, format_of_content, format_of_path, row_columns
from ckprof.store.query import StoreQuery
from ckprof.store.store import Store
from ckprof.store.writer import StoreWriter
from ckprof.testing.plugins import Registering
from ckprof_plugins.elementwise.operations import ElementwiseOp
from ckprof_plugins.operations.gemm.problem import GemmProblem, MultiDProblem, StridedBatchProblem
from tests.store.samples import fill, make_attempt, make_problem, make_store


def all_formats():
    manager = PluginManager()
    manager.load_all()
    return Registry(manager).store_formats


FORMATS = all_formats()
HINTS = ImportHints(direction="fwd", target="hip", arch="gfx942", device="MI300X", dtype=DataType.BF16)


def test_files_are_known_by_their_name_and_by_their_beginning(tmp_path):
    for name in ("ndjson", "parquet", "t4"):
        one = FORMATS.find(name)
        file = tmp_path / f"R{one.suffixes[0].upper()}"
        with make_store(make_attempt()) as store:
            one.write(store, StoreQuery(), file)
        assert format_of_content(FORMATS, file) is format_of_path(FORMATS, file) is one


def test_rows_have_every_column_with_its_type():
    for attempt in (make_attempt(), make_attempt(status=Status.RUN_ERROR, reason="x")):
        row = flat_row(attempt)
        assert list(row) == list(row_columns())
        for name, value in row.items():
            assert value is None or type(value) is row_columns()[name], name


# --- upstream's CSV -----------------------------------------------------------------------------------------

CSV_HEAD = "kernel,problem_idx,N,C,K,G,Hi,Wi,Y,X,stride_h,stride_w,pad_h,pad_w,latency_ms,tflops,non_zero\n"


def read_csv(tmp_path, *rows, hints=HINTS):
    file = tmp_path / "sweep.csv"
    file.write_text(CSV_HEAD + "".join(f"{row}\n" for row in rows))
    assert format_of_content(FORMATS, file).id == "csv"
    return list(FORMATS.find("csv").read(file, hints))


def test_a_csv_row_is_read_with_its_totals_per_group(tmp_path):
    first, zero, none = read_csv(
        tmp_path,
        "k1,0,8,64,128,4,14,20,3,1,2,1,1,0,0.5,1.0,True",
        "k2,0,8,64,128,4,14,20,3,1,2,1,1,0,0.4,1.0,False",
        "k3,0,8,64,128,4,14,20,3,1,2,1,1,0,0.0,0.0,True",
    )
    problem = first.key.problem
    assert (problem.groups, problem.batch, problem.in_channels, problem.out_channels) == (4, 8, 16, 32)
    assert (problem.input, problem.filter, problem.strides, problem.left_pads) == (
        (14, 20),
        (3, 1),
        (2, 1),
        (1, 0),
    )
    assert (first.status, first.measurement.time_ms, first.verification) == (Status.OK, 0.5, None)
    assert not first.ranked, "not being all zeros proves nothing"
    assert (zero.status, none.status) == (Status.WRONG_RESULT, Status.RUN_ERROR)
    assert first.key.device.model == "MI300X"
    assert [one.sequence for one in (first, zero, none)] == [0, 1, 2]


def test_importing_a_csv_twice_adds_nothing(tmp_path):
    read = read_csv(tmp_path, "k1,0,8,64,128,4,14,20,3,1,2,1,1,0,0.5,1.0,True")
    with StoreWriter(tmp_path / "r.db") as writer:
        assert writer.append_many(read) == 1
        assert writer.append_many(read_csv(tmp_path, "k1,0,8,64,128,4,14,20,3,1,2,1,1,0,0.5,1.0,True")) == 0


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("k,0,8,x,128,4,14,20,3,1,2,1,1,0,0.5,1.0,True", "C: expected a whole number, got 'x'"),
        ("k,0,8,63,128,4,14,20,3,1,2,1,1,0,0.5,1.0,True", "C is 63, not a multiple of G = 4"),
        ("k,0,8,64,128,4,1,1,3,1,2,1,0,0,0.5,1.0,True", "output is empty"),
        ("k,0,8,64", "4 values, expected 17 as in the header"),
    ],
)
def test_wrong_csv_rows_are_named_with_their_line(tmp_path, row, message):
    with pytest.raises(InputError, match=rf"sweep\.csv:2: .*{message}"):
        read_csv(tmp_path, row)


def test_a_csv_without_direction_or_columns_says_so(tmp_path):
    with pytest.raises(UsageError, match="--direction"):
        read_csv(tmp_path, hints=ImportHints())
    file = tmp_path / "sweep.csv"
    file.write_text("kernel,problem_idx,latency_ms\n")
    with pytest.raises(InputError, match="columns are missing: C, G"):
        list(FORMATS.find("csv").read(file, HINTS))


def test_csv_exports_what_it_can_say_and_counts_the_rest(tmp_path):
    grouped = make_problem(7, groups=2, filter=(3, 3), left_pads=(1, 1), right_pads=(1, 1))
    added = [
        make_attempt(0, 0, 2.0, problem=grouped),
        make_attempt(0, 1, 2.0, problem=grouped, round=2),
        make_attempt(1, 2, 1.0, problem=make_problem(5, 3)),
        make_attempt(1, 3, 1.0, problem=make_problem(9, dilations=(2, 2), filter=(3, 3))),
        make_attempt(1, 4, 1.0, problem=make_problem(9, right_pads=(1, 0))),
        make_attempt(2, 5, status=Status.WRONG_RESULT, problem=grouped),
        make_attempt(3, 6, 1.0, problem=grouped, verified=False),
    ]
    file = tmp_path / "out.csv"
    with make_store(*added) as store:
        result = FORMATS.find("csv").write(store, StoreQuery(), file)
    assert (result.rows, result.left_out.total()) == (1, 5)
    (row,) = csv.DictReader(file.read_text().splitlines())
    assert (row["kernel"], row["C"], row["K"], row["G"]) == ("kernel_0", "16", "32", "2")
    assert float(row["latency_ms"]) == 2.0
    assert float(row["tflops"]) == pytest.approx(grouped.flop / 2.0e-3 / 1e12, rel=1e-5)
    (again,) = FORMATS.find("csv").read(file, HINTS)
    assert again.key.problem == grouped


# --- CSV of other operations --------------------------------------------------------------------------------

PRODUCTS = [
    GemmProblem(m=64, n=48, k=32, stride_a=40),
    StridedBatchProblem(m=8, n=8, k=8, batch=3, batch_stride_b=100),
    MultiDProblem(m=5, n=7, k=9, elementwise_op=ElementwiseOp.MULTI_D_ADD, strides_d=(0, 24)),
]


def make_product(number, problem, split_k=1, time_ms=2.0):
    made = make_attempt(number, number, time_ms, problem=problem)
    key = replace(made.key, split_k=split_k, operation=replace(made.key.operation, direction="gemm"))
    return replace(made, key=key, kernel=replace(made.kernel, layout="rcr"))


def export_csv(tmp_path, *added, query=None):
    file = tmp_path / "out.csv"
    with make_store(*added) as store:
        return file, FORMATS.find("csv").write(store, query or StoreQuery(), file)


def test_problems_of_other_operations_have_their_own_columns_and_come_back(tmp_path):
    added = [make_product(number, problem, split_k=1 + number) for number, problem in enumerate(PRODUCTS)]
    file, result = export_csv(tmp_path, *added, make_product(5, PRODUCTS[0], time_ms=3.0))
    assert (result.rows, result.left_out) == (4, Counter())
    header, *_ = lines = file.read_text().splitlines()
    assert header == (
        "kernel,problem_idx,direction,dtype,layout,m,n,k,stride_a,stride_b,stride_e,batch,"
        "batch_stride_a,batch_stride_b,batch_stride_e,elementwise_op,strides_d,split_k,latency_ms,tflops,non_zero"
    )
    assert "kernel_0,0,gemm,fp16,rcr,64,48,32,40,0,0,1,,,,,,1,2.0,9.8304e-05,True" in lines
    assert format_of_content(FORMATS, file).id == "csv"
    again = {one.kernel.name: one for one in FORMATS.find("csv").read(file, ImportHints(arch="gfx942"))}
    assert len(again) == 4 and not any(one.ranked for one in again.values())
    for one in added:
        found = again[one.kernel.name]
        assert (found.key.problem, found.key.split_k) == (one.key.problem, one.key.split_k)
        assert (found.key.operation.direction, found.kernel.dtype, found.kernel.layout) == (
            "gemm", DataType.FP16, "rcr",
        )  # fmt: skip
        assert found.key.device.arch == "gfx942"
        assert found.measurement.time_ms == one.measurement.time_ms


def test_convolutions_and_others_are_files_of_their_own(tmp_path):
    added = make_attempt(), make_product(1, PRODUCTS[0])
    file, result = export_csv(tmp_path, *added)
    assert result.rows == 1 and file.read_text().startswith(CSV_HEAD)
    assert list(result.left_out) == [
        "gemm: the columns of the file are those of convolutions: export them with --direction gemm"
    ]
    other = tmp_path / "other"
    other.mkdir()
    file, result = export_csv(other, *added, query=StoreQuery(direction="gemm"))
    assert (result.rows, result.left_out.total()) == (1, 0)


OWN_HEAD = (
    "kernel,problem_idx,direction,dtype,layout,m,n,k,stride_a,stride_b,stride_e,batch,{}"
    "split_k,latency_ms,tflops,non_zero\n"
)


@pytest.mark.parametrize(
    ("further", "row", "message"),
    [
        ("", "k,0,gemm,fp16,rcr,0,8,8,0,0,0,1,1,2.0,1,True", "m is 0"),
        ("", "k,0,gemm,fp16,rcr,x,8,8,0,0,0,1,1,2.0,1,True", "wrong problem"),
        ("", "k,0,gemm,fp17,rcr,8,8,8,0,0,0,1,1,2.0,1,True", "fp17"),
        ("", "k,0,gemm,fp16,rcr,8,8,,0,0,0,1,1,2.0,1,True", "no loaded plugin"),
        ("", "k,0,gemm,fp16,rcr,8,8,8,0,0,0,1,x,2.0,1,True", "split_k: expected a whole number, got 'x'"),
        ("", "k,0,gemm,fp16,rcr,8,8,8,0,0,0,1,1,,1,True", "latency_ms: expected a number, got ''"),
        ("", "k,0,gemm,fp16,rcr,8,8", "7 values, expected 16 as in the header"),
        ("", "k,0,gemm,fp16,rcr,8,8,8,0,0,0,1,1,2.0,1,True,1", "17 values, expected 16 as in the header"),
        ("strides_d,", 'k,0,gemm,fp16,rcr,8,8,8,0,0,0,1,"[0,",1,2.0,1,True', "a list of values is wrong"),
    ],
)
def test_wrong_rows_of_other_operations_are_named_with_their_line(tmp_path, further, row, message):
    file = tmp_path / "own.csv"
    file.write_text(OWN_HEAD.format(further) + row + "\n")
    with pytest.raises(InputError, match=rf"own\.csv:2: the row cannot be used: .*{message}"):
        list(FORMATS.find("csv").read(file, ImportHints()))
    file.write_text("kernel,problem_idx,direction,m,n,k\n")
    with pytest.raises(InputError, match="columns are missing: dtype, latency_ms, layout"):
        list(FORMATS.find("csv").read(file, ImportHints()))


# --- the formats of plugins ---------------------------------------------------------------------------------


def test_plugins_add_formats():
    mine = StoreFormat(id="mine", label="mine", suffixes=(".mine",), recognises=lambda head: False)
    manager = PluginManager()
    manager.load_all()
    manager.register(Registering(mine), "extra")
    formats = Registry(manager).store_formats
    assert {"csv", "mine"} <= {*formats.ids}
    manager.register(Registering(mine), "again")
    with pytest.raises(PluginError, match="two plugins provide the store format 'mine': again and extra"):
        _ = Registry(manager).store_formats


def test_wrong_registrations_are_reported():
    manager = PluginManager()
    manager.register(Registering("csv"), "broken")
    with pytest.raises(PluginError, match=r"plugin broken: .* type str, which has no member of any kind"):
        _ = Registry(manager).store_formats


def test_unknown_formats_and_files_are_named(tmp_path):
    with pytest.raises(UsageError, match="unknown store format 'cvs'; did you mean 'csv'"):
        FORMATS.find("cvs")
    with pytest.raises(UsageError, match="--format"):
        format_of_path(FORMATS, tmp_path / "results.txt")
    with pytest.raises(InputError, match="cannot be read"):
        format_of_content(FORMATS, tmp_path / "absent")
    (tmp_path / "odd").write_text("hello")
    with pytest.raises(InputError, match="none of the known formats"):
        format_of_content(FORMATS, tmp_path / "odd")


def test_failed_exports_leave_no_file(tmp_path):
    fill(tmp_path / "a.db", make_attempt())
    with Store(tmp_path / "a.db") as store, pytest.raises(InputError, match="cannot write"):
        FORMATS.find("ndjson").write(store, StoreQuery(), tmp_path / "a.db" / "r.ndjson")
    assert {file.name for file in tmp_path.iterdir()} == {"a.db", "a.db.lock"}
