"""``ckprof parity`` and ``ckprof diff``: lists, catalogs, logs, libraries and CK Builder compared."""

import json
from xml.etree import ElementTree

import pytest

from ckprof.errors import ExitCode
from ckprof.kernels.requests import BuildOptions
from ckprof.model.parity import ParityFinding
from ckprof.parity.check import check_parity
from ckprof.parity.request import ParityRequest
from ckprof.paths import conf_root
from ckprof.plugin.manager import PluginManager
from ckprof.session import Session
from ckprof.settings import Settings
from ckprof.testing.plugins import Registering
from tests.measure.fakes import find_compiler

from .samples import FORWARD, STREAM_K_LIST, first_line, log_of, strings_of

LIST = "forward/tests/nhwgc_fp16"


def compiled(test):
    """Mark a test whose library is compiled."""
    missing = pytest.mark.skipif(find_compiler() is None, reason="no C++ compiler")
    return pytest.mark.compiler(missing(test))


def test_a_list_matches_by_itself_unless_losses_fail(ckprof):
    done = ckprof("parity", "fwd", "--conf", LIST).ok()
    assert "parity holds: 58 matched, 0 missing, 0 extra, 0 duplicate, 10 lossy, 0 skipped" in done.out
    assert done.out.count("specialization (Default -> OddC)") == 8
    assert done.out.count("pipeline_name (COMPUTE_ASYNC -> MEMORY)") == 2
    done = ckprof("parity", "fwd", "--conf", LIST, "--fail-on", "missing,extra,duplicate,lossy")
    assert done.code == ExitCode.FAILED
    assert "PARITY FAILS" in done.out


def test_skipped_instances_are_listed_with_their_rule(ckprof):
    done = ckprof("parity", "bwd_weight", "--conf", "backward_weight/tests/nhwgc_fp16").ok()
    assert "skipped: one-wave-coverage: " in done.out
    again = ckprof(
        *("parity", "bwd_weight", "--conf", "backward_weight/tests/nhwgc_fp16", "--fail-on", "skipped")
    )
    assert again.code == ExitCode.FAILED


def test_a_list_of_which_nothing_is_left_is_an_error(ckprof):
    ckprof("parity", "bwd_data", "--conf", "backward_data/typestring/nhwgc_fp16").fails_with(
        ExitCode.INPUT, "nothing is compared: every instance is excluded (missing-information)"
    )


def test_formats_for_machines(ckprof):
    report = json.loads(ckprof("parity", "fwd", "--conf", LIST, "--format", "json").out)
    assert (report["schema"], report["version"], report["passed"]) == ("ckprof-parity", 1, True)
    (comparison,) = report["comparisons"]
    assert comparison["counts"] == {
        **{"matched": 58, "missing": 0, "extra": 0, "duplicate": 0, "lossy": 10, "skipped": 0}
    }
    assert len(comparison["matches"]) == 58
    root = ElementTree.fromstring(  # noqa: S314  # our own output
        ckprof("parity", "fwd", "--conf", LIST, "--format", "junit").out
    )
    assert (root.get("tests"), root.get("failures")) == ("68", "0")
    assert "<details>" in ckprof("parity", "fwd", "--conf", LIST, "--format", "md").out


def test_diff_between_lists_catalogs_and_logs(ckprof, tmp_path, upstream_lists):
    # upstream's list: what is loaded directly prints another pipeline than its catalog can say
    ours = str(upstream_lists / f"{LIST}.conf")
    ckprof("convert", ours, "-o", "catalog.json")
    strings = strings_of(ckprof, ours)
    (tmp_path / "profiler.log").write_bytes(log_of(strings).encode())
    (tmp_path / "native.conf").write_text("\n".join(strings))
    files = [ours, "catalog.json", "profiler.log", "native.conf"]
    for first in files:
        for second in files:
            done = ckprof("diff", first, second, "--fail-on", "missing,extra,duplicate")
            # the list has eight more lines than kernels: as the second side they are too many
            wanted = ExitCode.FAILED if second == ours and first != ours else ExitCode.OK
            assert done.code == wanted, (first, second, done.out, done.err)
    other = first_line("forward/tests/nhwgc_bf16")
    (tmp_path / "other.conf").write_text(other)
    done = ckprof("diff", "catalog.json", "other.conf")
    assert done.code == ExitCode.FAILED
    assert "1 extra" in done.out


def test_diff_counts_what_rules_leave_out_where_nothing_is_generated(ckprof, tmp_path):
    name = "backward_weight/tests/nhwgc_fp16"
    done = ckprof("diff", name, name).ok()
    assert " 0 skipped" in done.out


@compiled
def test_library_catalog_and_builder_agree(ckprof, truthful):
    done = ckprof(
        "parity", "bwd_weight", "--conf", STREAM_K_LIST, "--library", truthful, "--format", "json"
    ).ok()
    agreement, parity = json.loads(done.out)["comparisons"]
    assert (agreement["first"], agreement["second"]) == ("catalog", "library")
    assert (parity["first"], parity["second"]) == ("CK Builder", "library")
    assert agreement["counts"]["matched"] == parity["counts"]["matched"] == 5


@compiled
def test_only_the_library(ckprof, truthful):
    done = ckprof(
        "parity", "bwd_weight", "--conf", STREAM_K_LIST, "--library", truthful, "--generated", "library"
    ).ok()
    assert "in 1 comparison" in done.out


@compiled
@pytest.mark.thorough
def test_a_library_is_compared_with_a_catalog_and_a_list(ckprof, truthful, tmp_path):
    ckprof("convert", STREAM_K_LIST, "-o", "catalog.json")
    assert ckprof("diff", "catalog.json", truthful).code == ExitCode.OK
    assert ckprof("diff", STREAM_K_LIST, truthful).code == ExitCode.OK
    assert ckprof("diff", "backward_weight/tests/nhwgc_fp16_streamk", truthful).code == ExitCode.FAILED
    strings = [
        line for line in (conf_root() / f"{STREAM_K_LIST}.conf").read_text().splitlines() if line[0] != "#"
    ]
    (tmp_path / "native.txt").write_text("\n".join(strings))
    (tmp_path / "x.log").write_text("\n".join(f"[Valid] Perf: 1 ms, {text}, SplitK 1" for text in strings))
    for other in ("native.txt", "x.log", truthful):
        assert ckprof("diff", truthful, other).code == ExitCode.OK
        assert ckprof("diff", other, truthful).code == ExitCode.OK


class Printing:
    """Stands for CK Builder: prints some lines of a list."""

    # asked first: by id
    id, label = "a", "prints lists"

    def __init__(self, *lines):
        self.lines = lines

    def recognises(self, request):
        return False

    def read(self, request, strings, revision):
        raise NotImplementedError

    def print_lists(self, tree, direction, *, layouts, dtypes, lines, compiler):
        assert compiler == "clang++-22"
        return {"x.txt": "".join(f"{line}\n" for line in self.lines)}, frozenset({"Silent"}), ("a remark",)


def test_a_list_is_compared_with_what_ck_builder_prints(tmp_path):
    """First with its lines as they stand, then with what is generated from them."""
    other = FORWARD.replace("COMPUTE_V3", "MEMORY")
    path = tmp_path / "nhwgc_bf16.conf"
    path.write_text(f"{FORWARD}\n{other}\n")
    for printed, missing, extra in (((FORWARD, other), 0, 0), ((FORWARD,), 0, 1)):
        manager, told = PluginManager(), []
        manager.register(Registering(Printing(*printed)), "printing")
        manager.load_all()
        session = Session(settings=Settings(), manager=manager, emit=told.append)
        build = BuildOptions(compiler="clang++-22")
        request = ParityRequest(conf=(str(path),), builder=tmp_path / "tree", build=build)
        report, lock = check_parity(session, request)
        assert [one.title.partition(": ")[2] for one in report.comparisons] == ["the lines of the list", ""]
        for comparison in report.comparisons:
            counts = comparison.counts
            assert (counts[ParityFinding.MISSING], counts[ParityFinding.EXTRA]) == (missing, extra)
        assert "a remark" in report.comparisons[1].notes + report.comparisons[0].notes
        assert lock.expected == () and any("asking the CK Builder of" in one.text for one in told)
