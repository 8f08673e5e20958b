"""Databases of other versions and devices than those whose kernels are known: judged as far as is certain."""

import random

import pytest

from ckprof.errors import InputError
from ckprof_plugins.consumers.miopen.consumer import Miopen
from ckprof_plugins.consumers.miopen.solvers import is_of_2026, large_tensor, month_of, solver_fault, solvers
from ckprof_plugins.consumers.records import AuditRequest, Reason
from ckprof_plugins.directions._convolution.problem import ConvProblem
from plugins.consumers.tests.databases import shipped, tuned

#: solvers that the library has had since 2026, or until then
NEW, GONE = "ConvDepthwiseFwd2D", "ConvOclDirectFwd1x1"
OLD_FILE = "gfx942130.HIP.3_2_0_5f2ae8c.ufdb.txt"
SYSTEM = "gfx942130.HIP.fdb.txt"
DIRECT = "0.05,0,miopenConvolutionFwdAlgoDirect"
KEY = "64-28-28-1x1-64-28-28-{}-0x0-1x1-1x1-0-NCHW-FP32-F"


def found(tmp_path, name, rows, **options):
    path = tmp_path / name
    path.write_text("".join(f"{row}\n" for row in rows))
    audit = Miopen().audit(AuditRequest(path=path, lists=shipped(), **options))
    return [(one.line, one.reason) for one in audit.findings], audit


@pytest.mark.parametrize(
    ("name", "solver", "version", "reason"),
    [
        (SYSTEM, NEW, "", None),
        (SYSTEM, NEW, "2024-10", Reason.STALE_SOLVER),
        (OLD_FILE, NEW, "", Reason.STALE_SOLVER),
        (OLD_FILE, NEW, "2026-02", None),
        (SYSTEM, GONE, "", None),
        (OLD_FILE, GONE, "", None),
        (SYSTEM, GONE, "2026-07", Reason.STALE_SOLVER),
        (SYSTEM, "ConvOfNextYear", "", Reason.OTHER_VERSION),
        (SYSTEM, "ConvOfNextYear", "2027-01", Reason.OTHER_VERSION),
        (SYSTEM, "ConvOfNextYear", "2026-09", Reason.STALE_SOLVER),
        (OLD_FILE, "ConvOfNextYear", "", Reason.STALE_SOLVER),
        (SYSTEM, "Conv Of", "", Reason.STALE_SOLVER),
        (SYSTEM, "ConvHipImplicitGemmMlirCppFwd", "", Reason.STALE_SOLVER),
    ],
)
def test_solvers_by_version(tmp_path, name, solver, version, reason):
    reasons, audit = found(tmp_path, name, [f"{KEY.format(8)}={solver}:{DIRECT}"], version=version)
    assert reasons == ([(1, reason)] if reason else [])
    assert bool(Miopen().cleaned(audit)) == (reason is not Reason.STALE_SOLVER)


def test_removed_solvers_in_a_database_of_2026_are_noted(tmp_path):
    rows = [f"{KEY.format(n)}={solver}:{DIRECT}" for n, solver in enumerate((NEW, GONE), 1)]
    assert found(tmp_path, SYSTEM, rows)[0] == [(2, Reason.OTHER_VERSION)]


def test_the_table_has_each_solver_of_the_registry():
    table = solvers()
    # 33 ids from 180 to 217 that are solvers of convolutions, 3 without an id yet, 2 in place of older names
    assert sum(bool(solver.since) for solver in table.values()) == 38
    # ids 8, 9, 11, 13, 18 to 23, 25, 128, 129, 149 to 151
    assert sum(solver.until > "2026" for solver in table.values()) == 16
    assert {"TransposedConvWinograd3x3MultipassWrW<1-1-7-3>", "ConvOclBwdWrW53"} <= table.keys()
    assert solver_fault("ConvOclBwdWrW53", "2026-09", True) == (False, "")


def test_versions_months_and_what_is_none(tmp_path):
    assert [month_of(text) for text in ("2026-09", "3.2.0.5f2ae8c", "3_4_1_x", "3.5.2", "2026-13", "")] == [
        *("2026-09", "2025-04", "2025-04", "", "", "")
    ]
    assert is_of_2026(b"a=ConvWinoRageRxS<2-3>:1") and is_of_2026(b"-FP32-F_g4_cxTF32=x")
    assert not is_of_2026(b"a=ConvBinWinogradRxS:1,ConvHip")
    with pytest.raises(InputError, match="not a version of MIOpen"):
        found(tmp_path, SYSTEM, [], version="newest")


RDNA = (
    "2x128x7x7x1x1x1x1x1888x64x0x0x0x1x1x0x1x1x0x0x1xNHWCxFP16xB=ConvHipImplicitGemmGroupBwdXdlops:"
    "DeviceGroupedConvBwdDataMultipleD_Wmma_CShuffleV3<64, 32, 32, 128, 8, 8, Filter1x1Stride1Pad0, 16, 16, "
    "2, 1, 8, 8, 1, 1>"
)


@pytest.mark.parametrize(
    ("ending", "reasons"),
    [
        ("", []),
        ("+1", []),
        ("+4", [(1, Reason.OTHER_VERSION)]),
        ("+0", [(1, Reason.WRONG_SPLIT)]),
        ("+x", [(1, Reason.MALFORMED_VALUE)]),
    ],
)
def test_kernels_of_wmma_instructions_are_kept(tmp_path, ending, reasons):
    assert found(tmp_path, "gfx1201_32.db.txt", [RDNA + ending])[0] == reasons


def test_find_dbs_of_rdna_devices_are_kept(tmp_path):
    row = tuned(random.Random(1), "F").find_row()
    rows, audit = found(tmp_path, "gfx120020.HIP.fdb.txt", [row])
    assert (rows, audit.judged) == ([], {"no list has kernels of WMMA instructions": 1})


NEWER = (
    "DeviceGroupedConvFwdMultipleABD_Xdl_CShuffle_V3<64, 16, 16, 128, Default, 16, 16, 1, 1, 8, 8, 4, 1, 1, "
    "{}>"
)
FORM = NEWER.format("BlkGemmPipelineScheduler: Interwave, BlkGemmPipelineVersion: v1, NumGroupsToMerge: 1")
VALUE = NEWER.format("BlkGemmPipelineScheduler: Interwave, BlkGemmPipelineVersion: v9")


@pytest.mark.parametrize(
    ("kernel", "options", "reason"),
    [
        (FORM, {}, Reason.OTHER_VERSION),
        (FORM, {"version": "2025-06"}, Reason.UNKNOWN_KERNEL),
        (FORM, {"complete": True}, Reason.UNKNOWN_KERNEL),
        (VALUE, {}, Reason.UNKNOWN_KERNEL),
        (VALUE, {"version": "2026-03"}, Reason.OTHER_VERSION),
        (FORM.replace(">", ""), {}, Reason.UNKNOWN_KERNEL),
    ],
)
def test_kernels_that_newer_libraries_have(tmp_path, kernel, options, reason):
    key = "2x64x14x14x1x1x1x1x64x2x0x0x0x1x1x0x1x1x0x0x1xNHWCxFP16xF"
    row = f"{key}=ConvHipImplicitGemmGroupFwdXdlops:{kernel}"
    assert found(tmp_path, "gfx942130.db.txt", [row], **options)[0] == [(1, reason)]


def convolution(batch, channels, size):
    sides = {"filter": (1, 1), "input": (size, size), "strides": (1, 1), "dilations": (1, 1)}
    pads = {"left_pads": (0, 0), "right_pads": (0, 0)}
    return ConvProblem(groups=1, batch=batch, out_channels=8, in_channels=channels, **sides, **pads)


@pytest.mark.parametrize(
    ("batch", "letter", "month", "part"),
    [
        # 2^31 - 8192 elements would fit; of 2 bytes they do not
        (1024, "F", "2026-09", "4294967296 bytes"),
        (1024, "F", "2026-08", ""),
        (1024, "W", "2026-08", "2147483648 elements"),
        (1024, "W", "2026-07", ""),
        (511, "B", "2026-09", ""),
        (512, "B", "2026-09", "2147483648 bytes"),
    ],
)
def test_what_only_kernels_for_large_tensors_take(batch, letter, month, part):
    # an image has 2^21 elements
    why = large_tensor(convolution(batch, 512, 64), letter, 2, month)
    assert part in why
    assert bool(part) == bool(why)


def test_a_stride_that_is_too_large():
    assert "a stride of 4294967296" in large_tensor(convolution(1, 1 << 20, 64), "F", 2, "2026-07")
    assert not large_tensor(convolution(1, 1 << 20, 64), "F", 2, "2026-06")


@pytest.mark.parametrize(
    ("version", "reasons"), [("", []), ("2026-06", []), ("2026-09", [(1, Reason.UNSUPPORTED)])]
)
def test_the_gate_of_assembler_kernels_by_version(tmp_path, version, reasons):
    row = (
        "512-64-64-1x1-8-64-64-1024-0x0-1x1-1x1-0-NHWC-NHWC-NHWC-FP16-F="
        "ConvAsmImplicitGemmGTCDynamicFwdXdlopsNHWC:0.5,0,miopenConvolutionFwdAlgoImplicitGEMM"
    )
    assert found(tmp_path, SYSTEM, [row], version=version)[0] == reasons


def test_products_as_tf32_have_keys_of_their_own(tmp_path):
    one = next(one for one in iter(lambda: tuned(random.Random(9), "F"), None))
    find, perf = one.find_row(types="FP32"), one.perf_row(data_type="FP32")
    rows = [find, find.replace("=", "_cxTF32=", 1)]
    assert found(tmp_path, SYSTEM, [row.replace(one.solver, "ConvOfNextYear") for row in rows])[0] == [
        *((1, Reason.OTHER_VERSION), (2, Reason.OTHER_VERSION))
    ]
    rows, audit = found(tmp_path, "gfx942130.db.txt", [perf.replace("=", "xTF32=", 1)])
    assert (rows, audit.judged) == ([], {"no list has kernels that compute FP32 as TF32": 1})
    half = one.perf_row(data_type="FP16").replace("=", "xTF32=", 1)
    assert found(tmp_path, "gfx942130.db.txt", [half])[0] == [(1, Reason.NEVER_HIT)]
