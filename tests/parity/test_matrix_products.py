"""Old strings of plain matrix products -> fields -> kernel -> old string, on their own and as whole lists."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

import ckprof
from ckprof.cli.main import main
from ckprof.model.strings.rendering import StringError
from ckprof.plugin.manager import PluginManager
from ckprof.plugin.registry import Registry
from tests.cases import each

LISTS = Path(__file__).parents[2] / "conf" / "gemm" / "universal"

#: fields of a string -> GEMM pipeline, grid of waves, MMA tile, pads, the old width of accesses to the result
TABLE = """\
RCR Default    256 256x256x32 32x32 4x4 8x8 Intrawave v4 4 | compv4 2x2x1 32x32x16 000 8
RCR Default    256 128x128x64 32x32 2x2 8x8 Intrawave v4 4 | compv4 2x2x1 32x32x16 000 8
RCR Default    256 128x128x32 32x32 2x2 8x8 Intrawave v4 4 | compv4 2x2x1 32x32x16 000 8
RCR Default    256 128x128x32 32x32 2x2 2x2 Intrawave v4 4 | compv4 2x2x1 32x32x16 000 8
RCR Default    256 256x256x32 32x32 4x4 8x8 Intrawave v3 2 | compv3 2x2x1 32x32x16 000 8
RCR Default    256 256x256x32 16x16 8x8 8x8 Intrawave v3 2 | compv3 2x2x1 16x16x32 000 8
RCR Default    256 224x256x64 16x16 7x8 8x8 Intrawave v3 2 | compv3 2x2x1 16x16x32 000 8
RCR Default    256 128x128x64 32x32 2x2 8x8 Intrawave v3 2 | compv3 2x2x1 32x32x16 000 8
RCR Default    256 128x128x64 32x32 2x2 8x8 Intrawave v5 3 | compv5 2x2x1 32x32x16 000 8
RCR Default    256 128x256x32 32x32 2x4 8x8 Interwave v1 1 | compv1 2x2x1 32x32x16 000 8
RCR KPadding   256 256x256x32 32x32 4x4 4x4 Intrawave v3 2 | compv3 2x2x1 32x32x16 001 8
RCR Default    256 256x32x64  32x32 2x1 8x8 Interwave v2 2 | mem    4x1x1 32x32x16 000 4
RCR KPadding   128 32x16x64   16x16 1x1 8x8 Intrawave v1 1 | compv1 2x1x1 16x16x32 001 2
RCR Default    256 32x256x64  32x32 1x2 8x8 Intrawave v2 2 | mem    1x4x1 32x32x16 000 8
RRR Default    256 128x128x64 32x32 2x2 8x8 Intrawave v4 4 | compv4 2x2x1 32x32x16 000 8
RRR MNPadding  256 256x256x32 32x32 4x4 8x8 Intrawave v3 2 | compv3 2x2x1 32x32x16 110 8
RRR MNKPadding 256 128x128x64 32x32 2x2 8x8 Intrawave v3 2 | compv3 2x2x1 32x32x16 111 8
RRR KPadding   256 256x128x32 32x32 4x2 8x4 Interwave v1 1 | compv1 2x2x1 32x32x16 001 8
RRR MNKPadding 128 32x16x64   16x16 1x1 8x2 Interwave v2 3 | mem    2x1x1 16x16x32 111 2
RRR Default    128 16x64x64   16x16 1x2 8x8 Intrawave v2 2 | mem    1x2x1 16x16x32 000 4
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A string of the old library, and the name of the kernel that succeeds it."""

    text: str
    name: str
    #: width of the old kernel's stores, which the string does not print
    vector_c: str


def examples():
    found = []
    for row in TABLE.splitlines():
        old, new = (part.split() for part in row.split("|"))
        orders, padding, block, tile, wave_tile, wave_map, reads, scheduler, version, stages = old
        pipeline, grid, mma, pads, vector_c = new
        text = (
            f"DeviceGemmXdlUniversal<{padding}, {orders}> BlkSize: {block}, BlkTile: {tile}, "
            f"WaveTile: {wave_tile}, WaveMap: {wave_map}, VmemReadVec: {reads}, "
            f"BlkGemmPipelineScheduler: {scheduler}, BlkGemmPipelineVersion: {version}, "
            f"BlkGemmPipelinePrefetchStages: {stages}"
        )
        flags = "_".join("True" if flag == "1" else "False" for flag in pads)
        name = (
            f"gemm_fp16_{orders.lower()}_{pipeline}_cshuffle_{scheduler.lower()}_{flags}_False_"
            f"{tile}_{grid}_{mma}"
        )
        found.append(Example(text=text, name=name, vector_c=vector_c))
    return found


EXAMPLES = examples()


@pytest.fixture(scope="module")
def strings():
    manager = PluginManager()
    manager.load_all()
    return Registry(manager).strings


def fields(strings, text):
    parsed = strings.parse(text)
    return dict(zip(strings.kind(parsed.kind_id).field_names, parsed.values, strict=True))


def successor(strings, text, dtype="fp16", layout=""):
    spelling = strings.kind("gemm").spelling
    assert spelling is not None
    return spelling.generated(fields(strings, text), layout=layout, dtype=dtype, mma_k_table=(16, 32))


@each(example=EXAMPLES)
def test_examples_go_there_and_back(strings, example):
    assert strings.render(strings.parse(example.text)) == example.text
    name, losses, _ = successor(strings, example.text)
    assert name == example.name
    back = {**fields(strings, example.name), "dtype": None}
    # the kernel stores 16 bytes at once, whatever the old one did
    assert back["vector_c"] == "8" and int(example.vector_c) <= 8
    rules = {loss.rule for loss in losses}
    if rules == {"not-printed"}:
        spelling = strings.kind("gemm").spelling
        assert spelling.write(back) == example.text
    else:
        # only what the kernel chooses itself may differ
        assert rules == {"not-printed", "other-accesses"}
        said = fields(strings, example.text)
        differing = {name for name, value in said.items() if value is not None and back[name] != value}
        assert differing and differing <= {"reads", "stages"}
    assert strings.render(strings.parse(example.name)) == example.name


SIZES = "compv3_cshuffle_intrawave_False_True_False_True_128x128x64_2x2x1_32x32x16"


@pytest.mark.parametrize("vectors", ["", "_vec4_4_4"])
@pytest.mark.parametrize(
    ("layout", "variant"),
    [("rcrr", "multid_MultiDAdd_d1"), ("crrr", "multid_MultiDMultiply_d2"), ("rrr", "batched")],
)
def test_names_of_variants_go_there_and_back(strings, layout, variant, vectors):
    name = f"gemm_fp16_{layout}_{SIZES}{vectors}_{variant}"
    assert strings.render(strings.parse(name)) == name
    plain = f"gemm_fp16_{layout[:3]}_{SIZES}{vectors}"
    said = fields(strings, name)
    assert said == {**fields(strings, plain), "variant": f"_{variant}"}
    assert said["orders"] == layout[:3].upper()


@pytest.mark.parametrize(
    "name",
    [f"gemm_fp16_rcrr_{SIZES}", f"gemm_fp16_rcrc_{SIZES}", f"gemm_fp16_rcr_{SIZES}_multid_MultiDAdd_d1"],
)
def test_the_layout_of_d_tensors_is_said_where_there_are_any(strings, name):
    with pytest.raises(StringError, match="the layout of D tensors"):
        strings.parse(name)


def test_examples_are_converted_to_the_same_kernels(strings, tmp_path):
    for layout in ("RCR", "RRR"):
        mine = [one for one in EXAMPLES if f", {layout}>" in one.text]
        path = tmp_path / f"{layout.lower()}_fp16.conf"
        path.write_text("\n".join(one.text for one in mine) + "\n")
        catalog = tmp_path / "catalog.json"
        assert main(["convert", str(path), "-o", str(catalog)]) == 0
        selection = ckprof.Profiler().instances(
            ckprof.InstanceQuery(directions=("gemm",), conf=(str(catalog),))
        )
        assert [one.name for one in selection.candidates] == list(dict.fromkeys(one.name for one in mine))


@pytest.mark.parametrize(("name", "lines", "kernels"), [("rcr_fp16", 172, 106), ("rrr_fp16", 224, 160)])
def test_every_line_of_the_shipped_lists_has_its_kernel(name, lines, kernels, capsys):
    code = main(["parity", "gemm", "--conf", f"gemm/universal/{name}", "--format", "json"])
    (found,) = json.loads(capsys.readouterr().out)["comparisons"]
    assert code == 0
    assert (len(found["matches"]), found["missing"], found["extra"]) == (kernels, [], [])
    rules = Counter(loss["rule"] for loss in found["lossy"])
    # one line of each kernel says less than the kernel has, every other one is named with it
    assert rules["not-printed"] == kernels
    assert rules["collapsed"] == lines - kernels
    collapsed = [loss for loss in found["lossy"] if loss["rule"] == "collapsed"]
    assert {tuple(one["field"] for one in loss["differences"]) for loss in collapsed} == {("vectors",)}
    assert len({loss["sources"][1] for loss in collapsed}) == lines - kernels


@pytest.fixture
def ckprof_cli(capsys):
    def call(*arguments):
        code = main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return code, out, err

    return call


@pytest.fixture
def listed(tmp_path):
    path = tmp_path / "rcr_fp16.conf"
    path.write_text("\n".join(one.text for one in EXAMPLES[:8]) + "\n")
    return path


def test_exit_codes(ckprof_cli, listed, tmp_path):
    code, out, _ = ckprof_cli("parity", "gemm", "--conf", listed)
    assert code == 0 and "parity holds: 7 matched" in out
    assert "rcr_fp16.conf:4 differs from" in out and "in vectors; both are one generated kernel" in out
    assert ckprof_cli("parity", "gemm", "--conf", listed, "--fail-on", "missing,extra,lossy")[0] == 1
    lock = tmp_path / "parity.lock"
    assert ckprof_cli("parity", "gemm", "--conf", listed, "--write", lock)[0] == 0
    assert ckprof_cli("parity", "--locked", lock)[0] == 0
    old, new = ("256x256x32, WaveTile: 32x32, WaveMap: 4x4", "256x128x32, WaveTile: 32x32, WaveMap: 4x2")
    listed.write_text(listed.read_text().replace(old, new))
    code, out, _ = ckprof_cli("parity", "--locked", lock)
    assert code == 1 and "tile (256x256x32 -> 256x128x32)" in out
    listed.write_text("DeviceGemmXdlUniversal<Default, RCR> BlkSize: 256\n")
    code, _, err = ckprof_cli("parity", "gemm", "--conf", listed)
    assert code == 3 and "rcr_fp16.conf:1" in err


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("tile_k", 32, "tile (128x128x64 -> 128x128x32)"),
        ("warp_tile_k", 8, "mma_k (16 -> 8)"),
        ("pad_k", True, "padding (Default -> KPadding)"),
        ("pipeline", "compv3", "version (v4 -> v3)"),
        ("epilogue", "default", "epilogue (cshuffle -> default)"),
        ("persistent", True, "persistent (False -> True)"),
    ],
)
def test_a_kernel_that_differs_is_found(ckprof_cli, tmp_path, field, value, said):
    listed = tmp_path / "rcr_fp16.conf"
    listed.write_text(EXAMPLES[1].text + "\n")
    catalog = tmp_path / "catalog.json"
    assert ckprof_cli("convert", listed, "-o", catalog)[0] == 0
    data = json.loads(catalog.read_text())
    data["instances"][0][field] = value
    catalog.write_text(json.dumps(data))
    code, out, _ = ckprof_cli("parity", "gemm", "--conf", catalog, "--against", listed)
    assert code == 1
    assert said in out


def test_a_log_stands_for_its_instances(ckprof_cli, listed, tmp_path):
    log = tmp_path / "rcr_fp16.log"
    lines = [f"Perf: 0.9 ms, 71 TFlops, 60 GB/s, {one.text}, KBatch {splits}"
             for one in EXAMPLES[:7] for splits in (1, 4)]  # fmt: skip
    lines.append(f"{EXAMPLES[7].text} does not support this problem")
    log.write_text("\n".join(lines) + "\n")
    code, out, _ = ckprof_cli("parity", "gemm", "--conf", listed, "--against", log)
    assert code == 0 and "parity holds: 7 matched, 0 missing, 0 extra" in out
    log.write_text("\n".join(lines[2:]) + "\n")
    code, out, _ = ckprof_cli("parity", "gemm", "--conf", listed, "--against", log)
    assert code == 1 and "1 extra" in out
    assert ckprof_cli("diff", listed, log, "--layout", "rcr")[0] == 1


def test_the_oldest_strings(strings):
    text = (
        "DeviceGemm_Xdl_CShuffle<MPadding, 256, 256, 128, 32, 8, 8, 32, 32, 4, 2, 8, 8, 1, 1> "
        "LoopScheduler: Default, PipelineVersion: {}"
    )
    name, losses, _ = successor(strings, text.format("v1"), layout="rcr")
    assert name == (
        "gemm_fp16_rcr_compv1_cshuffle_intrawave_True_False_False_False_256x128x32_2x2x1_32x32x16"
    )
    assert [loss.rule for loss in losses] == ["no-counterpart"]
    narrow = text.format("v1").replace("MPadding", "MNPadding")
    assert [loss.rule for loss in successor(strings, narrow, layout="rcr")[1]][1:] == ["other-accesses"]
    assert successor(strings, text.format("v2"))[2].rule == "unsupported-family"
    with pytest.raises(StringError, match="the layout: pass --layout"):
        successor(strings, text.format("v1"))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("BlkSize: 256", "BlkSize: 128"), "block size 128 is not 64 x 2 x 2"),
        (("WaveTile: 32x32", "WaveTile: 32x16"), "square"),
        (("128x128x64", "128x100x64"), "not a multiple of 64 x 64"),
    ],
)
def test_contradictions(strings, change, said):
    with pytest.raises(StringError, match=said):
        successor(strings, EXAMPLES[1].text.replace(*change))
    with pytest.raises(StringError, match="missing, too many or wrong"):
        strings.parse(EXAMPLES[1].text.replace("WaveMap", "WaveMop"))


def test_types_decide_about_the_depth_of_instructions(strings):
    text = EXAMPLES[1].text
    assert successor(strings, text, "fp32")[0].endswith("32x32x8")
    assert successor(strings, text, "int8")[0].endswith("32x32x16")
    with pytest.raises(StringError, match="data type: pass --layout and --dtype"):
        successor(strings, text, "")


def test_imposed_widths_are_part_of_a_name(strings):
    name = f"{EXAMPLES[1].name}_vec4_2_1"
    assert fields(strings, name)["reads"] == "4x2"
    assert fields(strings, name)["vector_c"] == "1"
    assert strings.render(strings.parse(name)) == name


@pytest.mark.parametrize("variant", ["_batched", "_multid_MultiDAdd_d2"])
def test_variants_are_told_from_plain_products(strings, variant):
    layout = "rcrr" if "multid" in variant else "rcr"
    name = EXAMPLES[1].name.replace("_rcr_", f"_{layout}_") + variant
    assert strings.render(strings.parse(name)) == name
    assert [one[0] for one in strings.differences(strings.parse(name), strings.parse(EXAMPLES[1].name))] == [
        "variant"
    ]
