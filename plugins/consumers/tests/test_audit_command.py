"""``ckprof audit``, ``identify``, ``export`` and ``import``: formats, exit codes, what goes where."""

import json
import random
from pathlib import Path
from xml.etree import ElementTree

import pytest

from ckprof.errors import ExitCode, InputError, UsageError
from ckprof.model.outcome import Status
from ckprof.plugin.members import members_of
from ckprof.plugin.protocols.converters import ImportHints
from ckprof.store.store import Store
from ckprof.store.writer import StoreWriter
from ckprof_plugins.consumers.cmd_audit import render_sarif
from ckprof_plugins.consumers.cmd_import import attempts_of
from ckprof_plugins.consumers.protocols import CONSUMERS
from ckprof_plugins.consumers.records import AuditReport, FileAudit, Reason
from plugins.consumers.tests.databases import tuned

SYMBOL = (
    "void ck::tensor_operation::device::(anonymous namespace)::kernel_grouped_conv_fwd_xdl_cshuffle_v3"
    "<ck::GridwiseGemmMultiD_xdl_cshuffle_v3<ck::tensor_layout::gemm::RowMajor, _Float16, _Float16, float, "
    "(ck::tensor_operation::device::GemmSpecialization)7, 256, 128, 128, 64, 8, 8, 32, 32, 2, 2, "
    "ck::Sequence<8, 32, 1>, ck::Sequence<1, 0, 2>, ck::Sequence<1, 0, 2>, 2, 8, 8, false, 0, "
    "ck::Sequence<8, 32, 1>, ck::Sequence<1, 0, 2>, ck::Sequence<1, 0, 2>, 2, 8, 8, false, 0, "
    "1, 1, ck::Sequence<1, 32, 1, 8>, 8, (ck::BlockGemmPipelineScheduler)0> >(float const*)"
)


@pytest.fixture
def database(tmp_path):
    draw = random.Random(4)
    good, bad = tuned(draw, "F", 2), tuned(draw, "F", 2)
    path = tmp_path / "gfx942130.db.txt"
    path.write_text(f"{good.perf_row()}\n{bad.perf_row(bias=1)}\n")
    return path


def test_an_audit_as_text_and_in_files(ckprof, database):
    done = ckprof("audit", database, "-o", "junit=a.xml", "-o", "sarif=a.sarif", "-o", "json=a.json")
    assert done.code == ExitCode.FAILED
    assert f"{database}:2: warning: never_hit: the library spells" not in done.out
    assert f"{database}:2: warning: never_hit: bias is 1" in done.out
    folder = database.parent
    findings = json.loads((folder / "a.json").read_text())["files"][0]["findings"]
    assert [(one["line"], one["reason"]) for one in findings] == [(2, "never_hit")]
    suite = ElementTree.parse(folder / "a.xml").getroot()[0]  # noqa: S314 - written just now
    assert [case.get("name") for case in suite if case.find("failure") is not None] == ["never_hit"]
    (result,) = json.loads((folder / "a.sarif").read_text())["runs"][0]["results"]
    assert (result["ruleId"], result["level"]) == ("never_hit", "warning")
    assert result["locations"][0]["physicalLocation"]["region"] == {"startLine": 2}


def test_fix_writes_a_file_that_is_sound(ckprof, database):
    done = ckprof("audit", database.parent, "--fix")
    clean = database.with_name(f"{database.name}.clean")
    assert (done.code, done.err) == (ExitCode.FAILED, f"wrote {clean}\n")
    assert database.read_text().splitlines()[0] + "\n" == clean.read_text()
    assert ckprof("audit", clean).code == ExitCode.OK
    assert ckprof("audit", clean.rename(database)).code == ExitCode.OK


@pytest.mark.parametrize(
    ("arguments", "code", "part"),
    [
        (("no.txt",), ExitCode.INPUT, "no.txt: cannot be read"),
        (("other.txt",), ExitCode.INPUT, "a file of none of the known programs"),
        (("empty",), ExitCode.INPUT, "holds no file of the known programs"),
        (("gfx942130.db.txt", "--consumer", "miopn"), ExitCode.USAGE, "miopen"),
        (("gfx942130.db.txt", "--fail-on", "everything"), ExitCode.USAGE, "expected malformed_row"),
        (("gfx942130.db.txt", "--conf", "no.conf"), ExitCode.INPUT, "no such file"),
        (("gfx942130.db.txt", "--fail-on", "none"), ExitCode.OK, ""),
    ],
)
def test_mistakes_and_what_does_not_fail(ckprof, database, arguments, code, part):
    (database.parent / "other.txt").write_text("hello\n")
    (database.parent / "empty").mkdir()
    done = ckprof("audit", *arguments)
    assert (done.code, part in done.err) == (code, True), done.err


def test_a_file_without_entries_is_not_called_sound(ckprof, tmp_path):
    (tmp_path / "gfx942130.HIP.fdb.txt").write_text("")
    done = ckprof("audit", "gfx942130.HIP.fdb.txt").ok()
    assert "empty_file: holds no entry: nothing was judged" in done.out
    assert "sound" not in done.out
    assert ckprof("audit", "gfx942130.HIP.fdb.txt", "--fail-on", "empty_file").code == ExitCode.FAILED
    (tmp_path / "gfx942130.db.txt").write_text("garbage\n")
    done = ckprof("audit", "gfx942130.HIP.fdb.txt", "gfx942130.db.txt")
    assert done.out.endswith(": 1 finding fails the audit, 1 other\n")


def test_a_kernel_in_a_table_of_rocprof(ckprof, tmp_path):
    rows = [["Index", "KernelName", "DurationNs"], [0, SYMBOL, 5], [1, "fill", 2], [2, SYMBOL, 6]]
    text = "".join(",".join(f'"{cell}"' for cell in row) + "\n" for row in rows)
    (tmp_path / "results.csv").write_text(text)
    done = ckprof("identify", "results.csv", "--conf", "forward/tests/nhwgc_fp16", "--format", "json").ok()
    (found,) = json.loads(done.out)
    assert (found["count"], found["direction"]) == (2, "fwd")
    lines = {match["source"]: match["line"] for match in found["matches"]}
    assert lines
    for line in lines.values():
        assert ",256,128,128,64,8,8,32,32,2,2,Seq(8,32,1)," in line
    commands = [match["command"] for match in found["matches"] if match["command"]]
    assert all(text.startswith("ckprof run fwd --conf forward/tests/nhwgc_fp16") for text in commands)
    assert "of files without a known kernel" in done.err


def test_a_kernel_of_pytorchs_trace_by_the_name_that_ckprof_gave_it(ckprof, tmp_path):
    listed = json.loads(
        ckprof("list", "instances", "--conf", "forward/tests/nhwgc_fp16", "--format", "json").out
    )
    name = listed[3]["name"]
    events = [
        {"cat": "kernel", "name": f"_ZN7ck_tile6kentryI{len(name) + 3}ns_{name}E"},
        {"cat": "cpu_op", "name": "aten::conv2d"},
    ]
    (tmp_path / "trace.json").write_text(json.dumps({"traceEvents": events}))
    done = ckprof("identify", "trace.json", "--conf", "forward/tests/nhwgc_fp16", "--format", "json")
    (found,) = json.loads(done.out)
    assert [match["kernel"] for match in found["matches"]] == [name]
    assert found["matches"][0]["command"].endswith("--instance 3")


def test_a_line_of_miopens_log_has_instance_problem_and_command(ckprof):
    one = tuned(random.Random(9), "F", 2)
    log = f"MIOpen(HIP): Info2 [SetValues] {one.perf_key()}, content inserted: {one.solver}:{one.value}"
    done = ckprof("identify", log, "--conf", f"forward/profiler/nhwgc_{one.dtype}", "--format", "json")
    (found,) = json.loads(done.out)
    assert found["problem"].startswith(("conv ", "convfp16 ", "convbfp16 "))
    assert f"-g {one.problem.groups} " in found["problem"]
    (match,) = found["matches"]
    assert match["line"] == one.kernel.line
    assert match["command"] == "" or found["problem"] in match["command"]


def test_what_a_kernel_prints_of_itself_leads_to_its_line(ckprof):
    listed = json.loads(
        ckprof("list", "instances", "--conf", "forward/tests/nhwgc_fp16", "--format", "json").out
    )
    text = listed[5]["instance string"]
    done = ckprof("identify", text, "--conf", "forward/tests/nhwgc_fp16", "--format", "json")
    matches = json.loads(done.out)[0]["matches"]
    assert [match["kernel"] for match in matches] == [listed[5]["name"]]
    again = ckprof("identify", matches[0]["line"], "--conf", "forward/tests/nhwgc_fp16", "--format", "json")
    assert json.loads(again.out)[0]["matches"][0]["command"] == matches[0]["command"]


def test_nothing_is_identified(ckprof):
    done = ckprof("identify", "hello world", "--conf", "forward/tests/nhwgc_fp16")
    assert (done.code, "names no known kernel" in done.out) == (ExitCode.FAILED, True)


def test_times_go_into_a_store_and_none_out_of_it(ckprof, tmp_path):
    one = tuned(random.Random(3), "F", 2)
    (tmp_path / "gfx942130.HIP.fdb.txt").write_text(one.find_row() + "\n")
    done = ckprof("import", "gfx942130.HIP.fdb.txt", "--store", "amd.db", "--trust")
    assert (done.code, done.out) == (ExitCode.OK, "1 outcome of 1 file\n")
    shown = ckprof("results", "show", "amd.db").out
    assert "MIOpen find-db gfx942130.HIP.fdb.txt" in shown
    done = ckprof(
        *("export", "amd.db", "--for", "miopen", "--program-version", "3.2.0.1", "-o", "out"),
        *("--arch", "gfx942", "--compute-units", "304"),
    )
    assert (done.code, done.out) == (ExitCode.FAILED, "0 entries for miopen\n")
    assert "1 excluded: imported, or not verified" in done.err
    assert not (tmp_path / "out").exists()


def test_a_document_with_a_place_and_one_of_a_whole_file(tmp_path):
    files = (FileAudit(path=tmp_path / "x.txt", label="a"), FileAudit(path=Path("y.txt"), label="b"))
    files[0].find(Reason.WRONG_TIME, "bad\x1b[31m", line=3)
    files[1].find(Reason.EMPTY_FILE, "odd")
    document = json.loads(render_sarif(AuditReport(files=files, fail_on=frozenset())))
    (run,) = document["runs"]
    assert document["version"] == "2.1.0"
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == [reason.value for reason in Reason]
    first, second = run["results"]
    assert (first["level"], second["level"]) == ("error", "note")
    assert "\x1b" not in first["message"]["text"]
    assert first["locations"][0]["physicalLocation"]["region"] == {"startLine": 3}
    assert "region" not in second["locations"][0]["physicalLocation"]


PAGE = (Path(__file__).parents[1] / "docs" / "consumers.md").read_text()


@pytest.mark.parametrize("member", members_of(CONSUMERS.protocol), ids=lambda one: one.name)
def test_a_member_is_described(member):
    assert f"`{member.name}" in PAGE


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
