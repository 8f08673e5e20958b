"""``ckprof convert``: files, folders, checks, native lists, and what the file system does to them."""

import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ckprof.errors import ExitCode
from ckprof.lists import list_files
from ckprof.paths import conf_root
from tests.converters.samples import as_bytes, line

ROOT = Path(__file__).parent.parent.parent
GOLDEN = ROOT / "tests" / "golden" / "catalogs"

FORWARD = line("forward")
V3 = line("forward_v3")


@pytest.mark.thorough
def test_upstreams_folder_gives_upstreams_catalogs(ckprof, tmp_path, upstream_lists):
    called = ckprof("convert", upstream_lists, "-o", "out").ok()
    assert "74 lists: 74 converted; 66 catalogs with 4586 instances: 66 written" in called.out
    for golden in GOLDEN.rglob("*.json"):
        assert (tmp_path / "out" / golden.relative_to(GOLDEN)).read_bytes() == golden.read_bytes()
    again = ckprof("convert", upstream_lists, "-o", "out")
    assert "66 unchanged" in again.out
    assert ckprof("convert", upstream_lists, "-o", "out", "--check").code == 0


@pytest.mark.thorough
def test_the_lists_that_ship_are_converted(ckprof):
    called = ckprof("convert", "conf", "-o", "out").ok()
    assert "194 lists: 194 converted; 186 catalogs with 12245 instances: 186 written" in called.out
    assert ckprof("convert", "conf", "-o", "out", "--check").code == 0


def test_a_check_of_one_list(ckprof, tree, tmp_path):
    conf = tree / "forward/tests/nhwgc_fp16.conf"
    assert ckprof("convert", conf, "-o", "x.json", "--check").code == ExitCode.FAILED
    ckprof("convert", conf, "-o", "x.json")
    assert ckprof("convert", conf, "-o", "x.json", "--check").code == 0
    (tmp_path / "x.json").write_text("{")
    called = ckprof("convert", conf, "-o", "x.json", "--check")
    assert (called.code, "x.json: not valid JSON" in called.out) == (ExitCode.FAILED, True)
    assert (tmp_path / "x.json").read_text() == "{"


@pytest.mark.parametrize("name", ["forward/tests/nhwgc_fp16", "backward_weight/tests/nhwgc_bf16"])
def test_back_to_native_lines(ckprof, tmp_path, name):
    ckprof("convert", name, "-o", "one.json")
    ckprof("convert", "one.json", "--to", "native", "-o", "native.conf").ok()
    ckprof("convert", "native.conf", "-o", "two.json")
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()
    assert ckprof("convert", "one.json", "--to", "native").out == (tmp_path / "native.conf").read_text()


def test_several_catalogs_need_a_folder(ckprof, tmp_path):
    called = ckprof("convert", "forward/tests/ngchw_depthwise")
    said = "one file each: name a folder, such as -o ngchw_depthwise/, or choose one with --dtype"
    assert (called.code, said in called.err) == (ExitCode.USAGE, True)
    lists = (conf_root() / f"{name}/tests/nhwgc_fp16.conf" for name in ("forward", "backward_data"))
    (tmp_path / "two.conf").write_text("\n".join(path.read_text().splitlines()[0] for path in lists))
    called = ckprof("convert", "two.conf", "-o", "two.json")
    said = (
        "2 catalogs (forward nhwgc fp16, bwd_data nhwgc fp16), one file each: name a folder, "
        "such as -o two/, or choose one with --direction and --lenient"
    )
    assert (called.code, (tmp_path / "two.json").exists()) == (ExitCode.USAGE, False) and said in called.err
    assert ckprof("convert", "two.conf", "--direction", "fwd", "--lenient", "-o", "two.json").code == 0
    assert ckprof("convert", "forward/tests/ngchw_depthwise", "-o", "new/").code == 0
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == [
        *("ngchw_bf16.json", "ngchw_fp16.json", "ngchw_fp32.json")
    ]
    native = ckprof("convert", "new/ngchw_fp16.json", "--to", "native", "-o", "new/")
    assert (native.code, (tmp_path / "new/ngchw_fp16.conf").exists()) == (0, True)
    assert ckprof("convert", "forward/tests/nhwgc_fp16", "-o", "new").code == 0
    assert (tmp_path / "new/nhwgc_fp16.json").exists()


def test_output_of_ckprofiler_is_a_list_everywhere(ckprof, tmp_path):
    timed = f"Perf: 0.0451 ms, 42.6 TFlops, 88.2 GB/s, {FORWARD}, SplitK 2\n"
    (tmp_path / "run.log").write_text(f"ckProfiler found 1 instances\n{timed}{timed}")
    called = ckprof("run", "fwd", "--conf", "run.log", "--list-instances")
    assert (called.code, "Total: 1 instance" in called.out) == (0, True), called.err
    assert "3 lines, 1 instance; dropped lines: 1 duplicate, 1 log-text" in called.err


def test_the_older_table_of_mma_tiles(ckprof):
    called = ckprof("convert", "forward/tests/nhwgc_fp16", "--mma-k-table", "8/16")
    assert {record["warp_tile_k"] for record in json.loads(called.out)["instances"]} == {8, 16}


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("x.conf", "--check"), "--check needs -o"),
        (("x.conf", "--format", "json"), "--format needs -o"),
        (("x.conf", "--to", "native", "-o", "x", "--check"), "--to native goes with neither"),
        (("conf",), "is a folder: name the folder of the catalogs with -o"),
        (("conf", "-o", "file"), "-o file is a file, expected a folder"),
        (("conf", "-o", "out", "--to", "native"), "--to native takes one file"),
        (("conf", "-o", "out", "--dtype", "fp16"), "--dtype goes with one file"),
        (("forward/tests/nhwgc_fp16", "--mma-k-table", "8"), "expected two positive integers"),
        (("forward/tests/nhwgc_fp16", "--mma-k-table", "8/²"), "expected two positive integers"),
    ],
)
def test_wrong_usage(ckprof, tmp_path, arguments, part):
    (tmp_path / "file").write_text("")
    ckprof("convert", *arguments).fails_with(ExitCode.USAGE, part)


def test_a_list_is_never_overwritten_by_its_catalog(ckprof, tmp_path):
    (tmp_path / "x.conf").write_bytes(as_bytes(FORWARD))
    ckprof("convert", "x.conf", "-o", "x.conf").fails_with(ExitCode.USAGE, "which would be lost")
    assert (tmp_path / "x.conf").read_bytes() == as_bytes(FORWARD)


def test_lists_that_come_through_a_pipe(ckprof, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with ThreadPoolExecutor() as pool:
        writing = pool.submit((tmp_path / "pipe").write_bytes, as_bytes(FORWARD))
        called = ckprof("convert", "pipe")
        writing.result()
    assert len(json.loads(called.out)["instances"]) == 1


def test_a_device_that_never_ends(ckprof, monkeypatch):
    monkeypatch.setattr(list_files, "_PIPE_LIMIT", 1 << 20)
    ckprof("convert", "/dev/zero").fails_with(ExitCode.INPUT, "more than 1 MiB")


def test_an_empty_folder(ckprof, tmp_path):
    (tmp_path / "empty").mkdir()
    ckprof("convert", "empty", "-o", "out").fails_with(ExitCode.INPUT, "no instance list in this folder")


def test_lists_without_instances(ckprof, tmp_path):
    (tmp_path / "nhwgc_fp16.conf").write_text("# nothing\n")
    called = ckprof("convert", "nhwgc_fp16.conf", "-o", "x.json")
    assert called.code == ExitCode.INPUT
    called = ckprof("convert", "nhwgc_fp16.conf", "--direction", "fwd", "-o", "x.json")
    assert (called.code, "no instance is left, the catalog is empty" in called.err) == (0, True)
    assert (tmp_path / "x.json").read_text().endswith('"instances": []\n}')
    (tmp_path / "wmma.conf").write_text("DeviceGroupedConvFwdMultipleD_Wmma_CShuffle<1>\n")
    ckprof("convert", "wmma.conf", "-o", "y.json").fails_with(
        ExitCode.INPUT,
        "note: unsupported-family: WMMA: WMMA instructions",
        "dropped lines: 1 unsupported-family",
        "no line gives an instance",
    )


def test_links_out_of_the_output_folder_are_rejected(ckprof, tree, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    out = tmp_path / "out" / "forward"
    out.mkdir(parents=True)
    (out / "tests").symlink_to(elsewhere)
    ckprof("convert", tree, "-o", "out").fails_with(
        ExitCode.INPUT, "a symbolic link leads out of the output folder"
    )
    assert not list(elsewhere.iterdir()) and not (tmp_path / "out" / "backward_data").exists()
    (out / "tests").unlink()
    (out / "tests").mkdir()
    (elsewhere / "mine.json").write_text("mine")
    (out / "tests" / "nhwgc_fp16.json").symlink_to(elsewhere / "mine.json")
    assert ckprof("convert", tree, "-o", "out").code == ExitCode.INPUT
    assert (elsewhere / "mine.json").read_text() == "mine"


def test_links_within_the_output_folder_stay(ckprof, tree, tmp_path):
    real = tmp_path / "out" / "real"
    real.mkdir(parents=True)
    (tmp_path / "out" / "forward").symlink_to(real)
    assert ckprof("convert", tree, "-o", "out").code == 0
    assert (tmp_path / "out" / "forward").is_symlink()
    assert (real / "tests" / "nhwgc_fp16.json").exists()


def without_privileges(*arguments):
    """Call ckprof so that the permissions of files hold for root as well."""
    prefix = []
    if os.geteuid() == 0:
        if not shutil.which("setpriv"):
            pytest.skip("root reads and writes everything, and there is no setpriv")
        prefix = ["setpriv", "--inh-caps=-all", "--bounding-set=-all"]
    command = [*prefix, sys.executable, "-m", "ckprof", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True)


def test_a_read_only_output_folder(tree, tmp_path):
    out = tmp_path / "out"
    out.mkdir(mode=0o555)
    done = without_privileges("convert", tree, "-o", out)
    assert done.returncode == ExitCode.INPUT
    (message,) = done.stderr.splitlines()
    assert message.startswith(f"ckprof: {out}/") and message.endswith(": cannot write: Permission denied")


def test_a_folder_of_lists_that_cannot_be_read(tree, tmp_path):
    (tree / "forward").chmod(0)
    done = without_privileges("convert", tree, "-o", tmp_path / "out")
    (tree / "forward").chmod(0o755)
    assert done.returncode == ExitCode.INPUT
    assert done.stderr == f"ckprof: {tree}/forward: cannot read: Permission denied\n"
    assert not (tmp_path / "out").exists()


def test_a_folder_in_the_way(ckprof, tree, tmp_path):
    (tmp_path / "out/forward/tests/nhwgc_fp16.json").mkdir(parents=True)
    ckprof("convert", tree, "-o", "out").fails_with(
        ExitCode.INPUT, "nhwgc_fp16.json: cannot write: Is a directory"
    )


def test_lists_that_cannot_be_read(ckprof, tree):
    (tree / "forward/tests/nhwgc_bf16.conf").mkdir()
    (tree / "forward/tests/nhwgc_fp32.conf").symlink_to("nowhere")
    ckprof("convert", tree, "-o", "out").fails_with(ExitCode.INPUT, "cannot read: No such file")


def test_conf_names_work_inside_and_outside_a_checkout(ckprof, monkeypatch):
    for name in ("conf/forward/scale", "forward/scale", conf_root() / "forward" / "scale"):
        assert ckprof("convert", name, "-o", "out", "-q").code == 0


def test_a_wrong_line_says_what_helps(ckprof, tmp_path):
    path = tmp_path / "nhwgc_fp16.conf"
    path.write_text("Wrong<1, 2>\n")
    ckprof("convert", path).fails_with(
        ExitCode.INPUT, f"see 'ckprof explain {path}:1'; --lenient excludes wrong lines"
    )
    assert "wrong at column 1: unknown kernel name" in ckprof("explain", f"{path}:1").out
