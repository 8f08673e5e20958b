"""``ckprof explain``: lines, places in files, and what is wrong with them."""

import json
import re

import pytest

from ckprof.errors import ExitCode
from tests.converters.samples import as_bytes, change, column, line

FORWARD = line("forward")


@pytest.fixture
def conf(tmp_path):
    path = tmp_path / "my.conf"
    wrong = change(FORWARD, 19, "x")
    path.write_bytes(as_bytes("# annotation", FORWARD, FORWARD, wrong, line("forward", "bf16"), ""))
    return path


def test_a_line(ckprof, tmp_path):
    conf = tmp_path / "one.conf"
    conf.write_text(f"{FORWARD}\n")
    called = ckprof("explain", FORWARD).ok()
    rows = [row.split() for row in called.out.splitlines()]
    assert [
        "19",
        str(column(FORWARD, 19)),
        "tile_m",
        "64",
        "tile_m,",
        "warp_m,",
        "warp_k,",
        "warp_tile_m",
    ] in rows
    assert ["warp_tile_k", "16", "mma-k"] in rows
    assert ["tile_m", "64", "argument", "19"] in rows
    listed = ckprof("list", "instances", "--conf", conf, "--format", "json").ok()
    first = json.loads(listed.out)[0]
    assert called.out.rstrip().split("\n")[-5:] == [
        *("gives an instance of variant forward", ""),
        f"kernel: {first['name']}",
        f"instance string: {first['instance string']}",
        "all rules hold on gfx950",
    ]
    large = ckprof("explain", change(FORWARD, 21, "4096")).ok()
    assert "\nfails on gfx950: the tiles of both operands need" in large.out and "all rules" not in large.out


def test_places_in_a_file(ckprof, conf):
    good = ckprof("explain", f"{conf}:2")
    assert good.code == 0 and good.out.startswith(f"{conf}:2: forward XDL (fwd)")
    again = ckprof("explain", f"{conf}:3")
    assert "dropped by duplicate: equal to line 2 in all but the id" in again.out
    annotation = ckprof("explain", f"{conf}:1")
    assert (annotation.code, "dropped by comment" in annotation.out) == (0, True)
    blank = ckprof("explain", f"{conf}:6:1:")
    assert (blank.code, "dropped by blank" in blank.out) == (0, True)
    wrong = ckprof("explain", f"{conf}:4:7")
    assert wrong.code == ExitCode.INPUT
    assert f"wrong at column {column(FORWARD, 19)}: expected an integer for tile_m" in wrong.out
    other = ckprof("explain", f"{conf}:5")
    assert other.code == ExitCode.INPUT
    assert "wrong in its list: data type bf16 contradicts line 2, which says fp16" in other.out


def test_lines_are_explained_as_their_list_has_them(ckprof, tmp_path):
    """What only other lines say counts: that it is a log, and which layout and type a list has."""
    log = tmp_path / "run.log"
    log.write_text(f"loading\nPerf:     0.0123 ms, 12.3 TFlops, 45.6 GB/s, {FORWARD}, SplitK 4\n")
    called = ckprof("explain", f"{log}:1")
    assert (called.code, "dropped by log-text: names no instance" in called.out) == (0, True)
    path = tmp_path / "short.conf"
    path.write_text(f"{FORWARD}\n{line('short_forward')}\n")
    assert "gives an instance of variant forward\n" in ckprof("explain", f"{path}:2").out
    path.write_text(f"name: {FORWARD}\n")
    for asked in (f"{path}:1", f"name: {FORWARD}", f"{FORWARD},"):
        assert "gives an instance of variant forward\n" in ckprof("explain", asked).ok().out
    path.write_text(f"{'a' * 100_001}\n")
    assert f"{path}:1:1: the line is longer than 100000 characters" in ckprof("explain", f"{path}:1").err


def test_shipped_lists_several_lines_and_json(ckprof, conf):
    called = ckprof("explain", "forward/tests/nhwgc_fp16:1", "backward_data/typestring/nhwgc_fp16:1").ok()
    assert "dropped by missing-information: vector_size_c is not printed" in called.out
    called = ckprof("explain", f"{conf}:2", f"{conf}:3", FORWARD, "--format", "json")
    first, second, third = json.loads(called.out)
    assert (first["path"], first["line"], first["family"], first["rule"]) == (str(conf), 2, "forward", "")
    assert (second["rule"], second["reason"]) == ("duplicate", "equal to line 2 in all but the id")
    assert (third["path"], len(third["fields"]), len(third["record"])) == (None, 49, 25)


@pytest.mark.parametrize(
    ("text", "code", "part"),
    [
        ("my.conf:9", ExitCode.INPUT, "there is no line 9, the file has 6 lines"),
        ("my.conf:0", ExitCode.INPUT, "lines count from 1"),
        ("no.conf:1", ExitCode.INPUT, "no.conf: no such file"),
        ("x.json:1", ExitCode.INPUT, "is a JSON catalog"),
        ("table.csv:2", ExitCode.INPUT, "table.csv: is a table of kernels; only lines of lists and logs"),
        *(
            (text, ExitCode.INPUT, f"my.conf: is a list: expected FILE:LINE, such as my.conf:1, got '{text}'")
            for text in ("my.conf", "my.conf:1-2", "my.conf:x")
        ),
        (".:1", ExitCode.INPUT, "is a directory"),
        ("binary:1", ExitCode.INPUT, "binary:1:1: UTF-16 text"),
        ("my.conf:99999999999999999999999", ExitCode.INPUT, "there is no line"),
    ],
)
@pytest.mark.usefixtures("conf")
def test_places_that_do_not_exist(ckprof, tmp_path, text, code, part):
    (tmp_path / "x.json").write_text("{}")
    (tmp_path / "table.csv").write_text("kernel,latency_ms\nk,1\n")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    ckprof("explain", text).fails_with(code, part)


def test_options_reach_the_reader_and_garbage_is_named(ckprof):
    short = line("short_forward")
    assert ckprof("explain", short).code == ExitCode.INPUT
    called = ckprof("explain", short, "--layout", "nhwgc", "--dtype", "fp16", "--mma-k-table", "8/16")
    assert called.code == 0 and "K1: warp_tile_k follows" in called.out
    lost = ckprof("explain", f"{FORWARD} # annotation", "--upstream-comments")
    assert "dropped by comment" in lost.out
    called = ckprof("explain", "hello")
    assert called.code == ExitCode.INPUT
    assert "wrong at column 1: expected Name<argument,...>" in called.out


def test_a_line_of_matrix_products(ckprof):
    text = (
        "DeviceGemmXdlUniversal<KPadding, RCR> BlkSize: 256, BlkTile: 128x128x64, WaveTile: 32x32, "
        "WaveMap: 2x2, VmemReadVec: 4x4, BlkGemmPipelineScheduler: Intrawave, BlkGemmPipelineVersion: v4, "
        "BlkGemmPipelinePrefetchStages: 4"
    )
    code, out, _ = ckprof("explain", text, "--dtype", "fp16", "--layout", "rcr")
    assert code == 0
    assert "gives an instance of variant gemm" in out
    assert re.search(r"warp_tile_k +16 +short-mma-k", out)
    assert re.search(r"pad_k +true +pads-of-padding", out)
    # what the record leaves out is no key
    code, out, _ = ckprof("explain", text, "--dtype", "fp16", "--format", "json")
    assert "batched" not in {key["name"] for key in json.loads(out)[0]["record"]}
