"""``ckprof extract``: options, messages and exit codes, on a small library."""

import json
import os
import re
from pathlib import Path

import pytest

import ckprof as library
from ckprof.errors import ExitCode, NothingLeftError, UsageError
from ckprof_plugins.extract.lists import ExtractRequest, compare_lists, extract_lists, write_lists
from plugins.extract.tests.conftest import MAIN_LINES, MERGED_LINES, members, write_archive
from plugins.extract.tests.tree import MAIN, MERGED, Tree

LINES = [*MAIN_LINES, *MERGED_LINES]
CHOSEN = ("--direction", "fwd", "--layout", "nhwgc", "--dtype", "fp16")
PLACE = "forward/profiler/nhwgc_fp16.conf"


@pytest.fixture
def tree(tmp_path, monkeypatch):
    monkeypatch.setenv("CKPROF_CACHE_DIR", str(tmp_path / "cache"))
    return Tree(tmp_path / "prefix")


@pytest.fixture
def prefix(tree):
    tree.write()
    return write_archive(tree, members(LINES[:8], LINES[8:]))


def text(lines):
    return "".join(f"{line}\n" for line in lines)


def test_one_list_on_standard_output(ckprof, prefix):
    called = ckprof("extract", "--from", prefix, *CHOSEN, "--stdout")
    assert (called.code, called.out, called.err) == (0, text(LINES), "")
    called = ckprof("extract", "--from", prefix, *CHOSEN, "--stdout", "--set", "tests", "--every", "4")
    assert called.out == text(LINES[3::4])
    called = ckprof("extract", "--from", prefix, *CHOSEN, "--stdout", "--remarks")
    remarks = [line for line in called.out.splitlines() if line.startswith("# ")]
    assert called.out == text([*remarks, *LINES])
    assert "# version: 1.2.0" in remarks
    assert "# instances: 10" in remarks


def test_a_folder_of_lists(ckprof, prefix, tmp_path):
    called = ckprof("extract", "--from", prefix, *CHOSEN, "-o", "lists").ok()
    assert "lists: 4 files written, 0 unchanged" in called.err
    rows = called.out.splitlines()
    assert rows[2].split() == ["fwd", "nhwgc_fp16", "2", "6", "10", "0", "0", "2", "0", "0", "0"]
    assert rows[-1].startswith(f"Composable Kernel 1.2.0 abc ({prefix}): 1 list in ")
    root = tmp_path / "lists"
    assert (root / PLACE).read_text() == text(LINES)
    assert (root / "forward/tests/nhwgc_fp16.conf").read_text() == text(LINES[4::5])
    types = (root / "forward/typestring/nhwgc_fp16.conf").read_text().splitlines()
    assert len(types) == 10
    assert types[-1].endswith("<64, 64, 64, 32, Filter3x3, 32, 32, 2, 2, 8, 8, 8, 1, 1, 8>")
    facts = json.loads((root / "extract.json").read_text())
    assert facts["library"]["commit"] == "abc"
    assert [item["name"] for item in facts["lists"][0]["functions"]] == [MAIN, MERGED]
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    again = ckprof("extract", "--from", prefix, *CHOSEN, "-o", "lists")
    assert "0 files written, 4 unchanged" in again.err
    assert before == {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_what_is_written_can_be_converted(ckprof, prefix):
    ckprof("extract", "--from", prefix, *CHOSEN, "--set", "profiler,tests", "-o", "lists", "--remarks")
    called = ckprof("convert", "lists", "-o", "catalogs", "--format", "json").ok()
    converted = json.loads(called.out)["lists"]
    assert [item["state"] for item in converted] == ["converted"] * 2
    assert [item["lines"] - item["dropped"]["comment"] for item in converted] == [10, 2]
    ckprof("convert", "lists", "-o", "catalogs", "--check").ok()


def test_other_files_are_replaced_with_force_alone(ckprof, prefix, tmp_path):
    path = tmp_path / "lists" / PLACE
    path.parent.mkdir(parents=True)
    path.write_text("mine\n")
    ckprof("extract", "--from", prefix, *CHOSEN, "-o", "lists").fails_with(
        ExitCode.USAGE, f"{Path('lists') / PLACE} exists and holds something else; --overwrite replaces it"
    )
    assert [item.name for item in (tmp_path / "lists").rglob("*.*")] == ["nhwgc_fp16.conf"]
    assert ckprof("extract", "--from", prefix, *CHOSEN, "-o", "lists", "--overwrite").code == 0
    assert path.read_text() == text(LINES)


def test_check_for_ci(ckprof, prefix, tmp_path):
    ckprof("extract", "--from", prefix, *CHOSEN, "-o", "lists")
    called = ckprof("extract", "--from", prefix, *CHOSEN, "--check", "lists").ok()
    assert called.out.splitlines()[-1] == "3 lists: 3 same, 0 different; 0 lines added, 0 removed"
    path = tmp_path / "lists" / PLACE
    old = LINES[0].replace(",256,128,128,32,", ",256,128,64,32,")
    path.write_text(f"# a comment\n\n{text([old, *LINES[1:]])}")
    called = ckprof("extract", "--from", prefix, *CHOSEN, "--check", "lists", "--json", "report.json")
    assert called.code == ExitCode.FAILED
    assert called.out.splitlines()[:4] == [
        f"{PLACE}: 1 added, 1 removed",
        f"  + 1 {MAIN}",
        f"  - {old}",
        "    nearest added: NPerBlock 64 -> 128",
    ]
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["lines"][PLACE] == LINES
    assert report["comparisons"][0]["removed"][0]["changes"] == [
        {"field": "NPerBlock", "old": "64", "new": "128"}
    ]
    path.write_text(text(LINES[::-1]))
    called = ckprof("extract", "--from", prefix, *CHOSEN, "--check", "lists")
    assert (called.code, called.out.splitlines()[0]) == (1, f"{PLACE}: same set, other order")
    path.unlink()
    called = ckprof("extract", "--from", prefix, *CHOSEN, "--check", "lists")
    assert (called.code, called.out.splitlines()[0]) == (1, f"{PLACE}: no such list")


def test_check_against_the_lists_that_ship(ckprof, prefix):
    called = ckprof("extract", "--from", prefix, *CHOSEN, "--set", "profiler", "--check")
    assert called.code == ExitCode.FAILED
    assert re.match(rf"{PLACE}: \d+ added, \d{{3}} removed\n", called.out)
    assert "more\n" in called.out


def test_headers_alone(ckprof, prefix):
    called = ckprof("extract", "--from", prefix, *CHOSEN, "--stdout", "--no-archive")
    assert (called.code, called.out) == (0, text(LINES))
    assert called.err.startswith("note: no archive was read: which tuples a function uses comes from recipes")


def test_a_list_that_cannot_be_derived(ckprof, tree, tmp_path):
    tree.write()
    prefix = write_archive(tree, members(LINES[:7], LINES[8:]))
    called = ckprof("extract", "--from", prefix, *CHOSEN, "-o", "lists", "--json", "report.json")
    assert called.code == ExitCode.INPUT
    assert f"ckprof: {MAIN}: 1 of 7 compiled instances are in no tuple" in called.err
    assert not (tmp_path / "lists" / PLACE).exists()
    assert "not derived: fwd nhwgc_fp16" in called.out
    assert MAIN in json.loads((tmp_path / "report.json").read_text())["failures"]["fwd nhwgc_fp16"]


def test_a_list_that_the_library_lacks(ckprof, prefix):
    ckprof("extract", "--from", prefix, "--direction", "forward", "--layout", "ndhwgc").fails_with(
        ExitCode.FAILED, "the library has no such list: fwd ndhwgc_fp16, fwd ndhwgc_bf16, fwd ndhwgc_fp32"
    )


def test_a_factory_that_is_missing_concerns_its_direction_alone(ckprof, prefix):
    called = ckprof("extract", "--from", prefix, "--layout", "nhwgc", "--dtype", "fp16")
    assert called.code == ExitCode.INPUT
    assert "fwd nhwgc_fp16" in called.out
    assert (
        "grouped_convolution_backward_data.hpp: this header is missing from the installed library"
        in called.err
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--direction", "sideways"), "sideways"),
        (("--layout", "nchw"), "unknown layout 'nchw'"),
        (("--dtype", "fp7"), "unknown data type 'fp7'"),
        (("--set", "all"), "unknown set 'all'"),
        (("--every", "0"), "every: expected a number of at least 1"),
        (("--instructions", "mfma"), "unknown value 'mfma'"),
        (("--stdout",), "--stdout prints one list of one set"),
        (("--stdout", "-o", "x"), "not allowed with"),
        (("--overwrite",), "--overwrite needs -o"),
        (("--remarks",), "--remarks needs -o"),
    ],
)
def test_wrong_usage(ckprof, prefix, arguments, message):
    ckprof("extract", "--from", prefix, *arguments).fails_with(ExitCode.USAGE, message)


def test_nothing_installed(ckprof, monkeypatch, tmp_path):
    monkeypatch.delenv("ROCM_PATH", raising=False)
    monkeypatch.setenv("CK_ROOT", str(tmp_path))
    called = ckprof("extract")
    if called.code == 0:
        pytest.skip("Composable Kernel is installed here")
    assert called.code == ExitCode.TOOLCHAIN
    assert called.err.splitlines()[0] == (
        f"ckprof: no Composable Kernel found: looked in $CK_ROOT ({tmp_path}), $ROCM_PATH (unset), "
        "/opt/rocm*, /usr"
    )
    assert (
        called.err.splitlines()[-1]
        == "  the lists that ship with ckprof need none of this: ckprof list lists"
    )
    assert ckprof("extract", "--from", tmp_path).code == ExitCode.TOOLCHAIN
    assert ckprof("extract", "--from", tmp_path / "x").code == ExitCode.INPUT


def test_the_library_does_what_the_command_does(prefix, tmp_path):
    profiler = library.Profiler()
    request = ExtractRequest(source=prefix, directions=("forward",), layouts=("nhwgc",), dtypes=("fp16",))
    report = extract_lists(profiler, request)
    assert [line.text for line in report.files[0].lines] == LINES
    assert {line.function for line in report.files[0].lines} == {MAIN, MERGED}
    written = write_lists(report, tmp_path / "out")
    assert list(written.values()) == [True] * 4
    assert all(item.is_same for item in compare_lists(report, tmp_path / "out"))
    with pytest.raises(UsageError, match="unknown option 'speed'"):
        extract_lists(profiler, ExtractRequest(source=prefix, options={"speed": 3}))
    with pytest.raises(NothingLeftError):
        extract_lists(profiler, ExtractRequest(source=prefix, directions=("fwd",), layouts=("ndhwgc",)))


def test_extractors_of_plugins(ckprof, tmp_path, prefix):
    plugin = tmp_path / "mine.py"
    plugin.write_text(
        "from ckprof import hookimpl\n"
        "from ckprof_plugins.extract.lists import ExtractionReport, ExtractorOption\n"
        "class Mine:\n"
        "    id = 'mine'\n"
        "    label = 'my library'\n"
        "    options = (\n"
        "        ExtractorOption(name='colour', choices=('red', 'blue'), default='red', help='which'),\n"
        "    )\n"
        "    def extract(self, request):\n"
        "        return ExtractionReport(extractor='mine', library={'name': request.options['colour']},\n"
        "                                options={}, lists=(), failures={'x': ValueError('none')})\n"
        "    def compare(self, file, kept):\n"
        "        raise NotImplementedError\n"
        "@hookimpl\n"
        "def ckprof_register(registry):\n"
        "    registry.add(Mine())\n"
    )
    called = ckprof("--plugin", plugin, "extract", "--extractor", "mine", "--colour", "blue")
    assert (called.code, called.err) == (ExitCode.INPUT, "ckprof: none\n")
    assert called.out.splitlines()[-2].startswith("blue (): 0 lists")
    called = ckprof("--plugin", plugin, "extract", "--from", prefix, *CHOSEN, "--stdout")
    assert (called.code, called.out) == (0, text(LINES))


@pytest.mark.parametrize("kind", ["folder", "link"])
def test_what_stands_in_place_of_the_archive_is_said(ckprof, prefix, tmp_path, kind):
    (archive,) = prefix.glob("lib/*/*.a")
    archive.unlink()
    if kind == "folder":
        archive.mkdir()
    else:
        archive.symlink_to("nowhere")
    called = ckprof("extract", "--from", prefix, *CHOSEN, "--stdout")
    assert called.code == ExitCode.INPUT
    assert f"{archive}: cannot be read: " in called.err
    assert "--no-archive reads the headers alone" in called.err
    assert "Traceback" not in called.err
    (tmp_path / "dangling").symlink_to("nowhere")
    ckprof("extract", "--from", tmp_path / "dangling", *CHOSEN, "--stdout").fails_with(
        ExitCode.INPUT, "a link to nowhere, which does not exist"
    )


def test_a_folder_of_lists_that_is_not_there_is_no_upgrade(ckprof, prefix):
    ckprof("extract", "--from", prefix, *CHOSEN, "--check", "nothere").fails_with(
        ExitCode.INPUT, "nothere: there is no such folder of lists"
    )


def test_a_pipe_is_no_package(ckprof, tmp_path):
    os.mkfifo(tmp_path / "pipe.deb")
    ckprof("extract", "--from", tmp_path / "pipe.deb").fails_with(
        ExitCode.INPUT, "is neither a file nor a folder"
    )


def test_a_part_without_instances_is_no_list(ckprof, prefix, tmp_path):
    ckprof("extract", "--from", prefix, *CHOSEN, "--every", "1000", "-o", "lists").ok()
    found = {path.parent.name for path in (tmp_path / "lists").rglob("*.conf")}
    assert "profiler" in found and "tests" not in found
    assert ckprof("extract", "--from", prefix, *CHOSEN, "--every", "1000", "--check", "lists").code == 0
