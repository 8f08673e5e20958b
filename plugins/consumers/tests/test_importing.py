"""Times of databases become measurements with their origin, which are ranked on request alone."""

import pytest

from ckprof.errors import InputError, UsageError
from ckprof.model.outcome import Status
from ckprof.plugin.protocols.converters import ImportHints
from ckprof.store.store import Store
from ckprof.store.writer import StoreWriter
from ckprof_plugins.consumers.cmd_import import attempts_of

FIND = """\
256-14-14-1x1-128-14-14-32-0x0-1x1-1x1-0-NHWC-NHWC-NHWC-FP16-F=GemmFwd1x1_0_1:0.5,0,miopenConvolutionFwdAlgoGEMM;\
ConvHipImplicitGemmGroupFwdXdlops:0.25,0,miopenConvolutionFwdAlgoImplicitGEMM
256-14-14-1x1-128-14-14-32-0x0-1x1-1x1-0-NHWC-NHWC-NHWC-FP32-F=GemmFwd1x1_0_1:0.75,0,miopenConvolutionFwdAlgoGEMM
broken
256-14-14-1x1-128-14-14-32-0x0-1x1-1x1-0-NCHW-FP16-B=GemmBwd1x1_stride1:nan,0,miopenConvolutionBwdDataAlgoGEMM
"""
TABLE = """\
cu_num,B,M,N,K,kernelId,splitK,us,kernelName,tflops,bw,errRatio
304,16,1,1280,8192,78,1,111.5,bf16_batched_a,3.0,3000.45,0.0
304,16,2,1280,8192,78,0,50,bf16_batched_b,3.0,3000.45,0.5
304,16,3,1280,8192,78,0,inf,bf16_batched_b,3.0,3000.45,0.0
"""


def imported(registry, path, hints=ImportHints(), **options):  # noqa: B008 - cannot be changed
    return list(attempts_of(registry, path, hints, **options))


def test_entries_of_a_find_db(registry, tmp_path):
    path = tmp_path / "gfx942130.HIP.fdb.txt"
    path.write_text(FIND)
    attempts = imported(registry, path)
    assert [(one.kernel.name, one.kernel.dtype.value, one.measurement.time_ms) for one in attempts] == [
        ("GemmFwd1x1_0_1", "fp16", 0.5),
        ("ConvHipImplicitGemmGroupFwdXdlops", "fp16", 0.25),
        ("GemmFwd1x1_0_1", "fp32", 0.75),
    ]
    first = attempts[0]
    assert (first.key.device.arch, first.key.device.compute_units) == ("gfx942", 304)
    assert (first.session.origin, first.kernel.layout) == ("MIOpen find-db gfx942130.HIP.fdb.txt", "nhwgc")
    assert first.key.problem.describe().startswith("2D G1 N32 K128 C256")
    # the same solver on another type is another kernel
    assert len({one.key.kernel.instance for one in attempts}) == 3
    assert not any(one.ranked for one in attempts)


def test_trust_ranks_and_says_so(registry, tmp_path):
    path = tmp_path / "gfx942130.HIP.fdb.txt"
    path.write_text(FIND)
    store = tmp_path / "amd.db"
    attempts = imported(registry, path, trust=True)
    with StoreWriter(store) as writer:
        assert writer.append_many(attempts) == 3
        assert writer.append_many(imported(registry, path, trust=True)) == 0
    with Store(store) as opened:
        best = {(one.kernel.dtype.value, one.kernel.name) for one in opened.best()}
        references = {one.verification.reference for one in opened.attempts()}
    assert best == {("fp16", "ConvHipImplicitGemmGroupFwdXdlops"), ("fp32", "GemmFwd1x1_0_1")}
    assert references == {"none here: taken on trust from gfx942130.HIP.fdb.txt"}


def test_rows_of_a_table(registry, tmp_path):
    path = tmp_path / "bf16_tuned_batched_gemm.csv"
    path.write_text(TABLE)
    first, second = imported(registry, path, trust=True)
    assert (first.key.problem.batch, first.key.problem.k, first.key.split_k) == (16, 8192, 2)
    assert (first.measurement.time_ms, first.key.device.arch) == (0.1115, "gfx942")
    assert (second.status, second.measurement) == (Status.WRONG_RESULT, None)


def test_files_without_times_or_device(registry, tmp_path):
    path = tmp_path / "gfx942130.db.txt"
    path.write_text("2x64x1x1x1x1x1x1x64x1x0x0x0x1x1x0x1x1x0x0x1xNHWCxFP16xF=ConvAsm1x1U:1,2\n")
    with pytest.raises(InputError, match="has no times"):
        imported(registry, path)
    other = tmp_path / "mine.fdb.txt"
    other.write_text(FIND)
    with pytest.raises(UsageError, match="does not say the device"):
        imported(registry, other)
    assert imported(registry, other, hints=ImportHints(arch="gfx90a"))[0].key.device.arch == "gfx90a"
