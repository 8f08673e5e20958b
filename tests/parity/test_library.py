"""The library's side: what the kernels themselves say, and whether it is what is computed for them."""

import json
import shutil
from dataclasses import replace

import pytest

from ckprof.errors import ExitCode
from ckprof.model.types import DataType
from ckprof.paths import conf_root
from ckprof_plugins.pipelines.gemm_families import ImplicitGemmPipeline
from ckprof_plugins.pipelines.vocabulary import GemmPipeline, Scheduler, Specialization
from tests.measure.fakes import find_compiler

from .samples import STREAM_K_LIST, first_line
from .told_library import build_told_library

pytestmark = [pytest.mark.compiler, pytest.mark.skipif(find_compiler() is None, reason="no C++ compiler")]


def test_a_kernel_that_says_something_else_than_its_instance_is_found_first(ckprof, told, tmp_path):
    keys = [*told]
    swapped = {**told, keys[0]: told[keys[1]], keys[1]: told[keys[0]]}
    library = build_told_library(tmp_path / "libtold.so", swapped)
    # as multisets the strings are right: only the keys tell
    done = ckprof("parity", "bwd_weight", "--conf", STREAM_K_LIST, "--library", library)
    assert done.code == ExitCode.FAILED
    assert "in 1 comparison" in done.out
    assert "2 missing, 2 extra" in done.out
    ckprof(
        "parity", "bwd_weight", "--conf", STREAM_K_LIST, "--library", library, "--generated", "library"
    ).ok()


def test_a_changed_kernel_a_missing_one_and_one_too_many(ckprof, told, tmp_path):
    first, second, *_ = told
    changed = {
        **{key: text for key, text in told.items() if key != second},
        first: told[first].replace("Intrawave,0,1", "Intrawave,1,1"),
        "f" * 32: told[second].replace("BASIC_V1", "WAVELET"),
    }
    library = build_told_library(tmp_path / "libtold.so", changed)
    done = ckprof("parity", "bwd_weight", "--conf", STREAM_K_LIST, "--library", library)
    assert done.code == ExitCode.FAILED
    assert "double_smem_buffer (0 -> 1)" in done.out
    assert "the library has no kernel for it" in done.out
    assert "no instance of the lists has this kernel's key" in done.out
    alone = ckprof(
        "parity", "bwd_weight", "--conf", STREAM_K_LIST, "--library", library, "--generated", "library"
    )
    assert alone.code == ExitCode.FAILED
    assert "pipeline_name (BASIC_V1 -> WAVELET)" in alone.out


def test_kernels_that_give_no_usable_text_are_an_error(ckprof, told, tmp_path):
    key = next(iter(told))
    library = build_told_library(tmp_path / "libtold.so", {**told, key: None})
    ckprof("parity", "bwd_weight", "--conf", STREAM_K_LIST, "--library", library).fails_with(
        ExitCode.INPUT, "does not say what it is"
    )
    library = build_told_library(tmp_path / "libother.so", {**told, key: "not supported"})
    ckprof("parity", "bwd_weight", "--conf", STREAM_K_LIST, "--library", library).fails_with(
        ExitCode.INPUT, "expected Name<field,...>"
    )
    (tmp_path / "x.so").write_bytes(b"\x7fELF and nothing else")
    assert (
        ckprof("parity", "bwd_weight", "--conf", STREAM_K_LIST, "--library", "x.so").code
        == ExitCode.TOOLCHAIN
    )


def test_instances_that_rules_forbid_are_skipped_with_their_rule(ckprof, told, tmp_path):
    lines = [first_line(STREAM_K_LIST, number) for number in range(5)]
    forbidden = f"{lines[1][:-2]}1>"
    (tmp_path / "nhwgc_bf16_streamk.conf").write_text("\n".join([*lines, forbidden]))
    library = build_told_library(tmp_path / "libtold.so", told)
    manifest = {"schema": "ckprof-source-tree", "version": 1, "arch": "gfx1201", "api_level": "2026-06"}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    done = ckprof("parity", "bwd_weight", "--conf", "nhwgc_bf16_streamk.conf", "--library", library).ok()
    assert "skipped: " in done.out
    assert "nhwgc_bf16_streamk.conf:6: " in done.out
    assert forbidden in done.out


@pytest.mark.thorough
def test_stream_k_lines_come_back_from_the_built_kernels(ckprof, tmp_path):
    """conf -> catalog -> source -> library -> GetInstanceString gives the very lines."""
    line = first_line(STREAM_K_LIST, 1)
    assert line.endswith(",1,2,0>")
    (tmp_path / "streamk.conf").write_text(f"{line}\n{line[:-2]}1>\n")
    _check_lines_come_back(ckprof, tmp_path / "streamk.conf")


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    sorted(
        path.relative_to(conf_root()).with_suffix("").as_posix()
        for path in conf_root().rglob("*_streamk.conf")
    ),
)
def test_all_stream_k_lists_come_back(ckprof, tmp_path, name):
    path = tmp_path / f"{name.rpartition('/')[2]}.conf"
    shutil.copyfile(conf_root() / f"{name}.conf", path)
    _check_lines_come_back(ckprof, path)


def _check_lines_come_back(ckprof, path):
    done = ckprof("parity", "bwd_weight", "--conf", path, "--generated", "both", "--format", "json").ok()
    agreement, parity = json.loads(done.out)["comparisons"]
    assert agreement["counts"]["matched"] == parity["counts"]["matched"]
    said = [match["text"] for match in parity["matches"]]
    invalid = [skip["text"] for skip in parity["skipped"]]
    assert all(skip["rule"] == "streamk-async-float" for skip in parity["skipped"])
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    assert sorted(said + invalid) == sorted(lines)


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["fwd", "bwd_data", "bwd_weight"])
def test_every_built_kernel_of_the_test_lists_says_what_builder_has(ckprof, registry, direction):
    found = registry.operation(direction)
    folder = next(alias for alias in found.aliases if (conf_root() / alias).is_dir())
    for path in sorted((conf_root() / folder / "tests").glob("*.conf")):
        ckprof("parity", direction, "--conf", path, "--generated", "both").ok()


def _mutants(instance):
    """Valid instances that differ from this one in one thing, by the field of the string that tells it."""
    tile = instance.tile
    yield "scheduler", {"scheduler": Scheduler.INTERWAVE}
    yield "vector_size_a", {"vector_size_a": 4}
    yield "vector_size_b", {"vector_size_b": 4}
    yield "vector_size_c", {"vector_size_c": 2}
    yield "num_groups_to_merge", {"num_groups_to_merge": 2}
    yield "specialization", {"specialization": Specialization.FILTER3X3}
    yield "tile_k", {"tile": replace(tile, k=2 * tile.k)}
    yield "tile_m", {"tile": replace(tile, m=2 * tile.m)}
    yield "tile_n", {"tile": replace(tile, n=2 * tile.n)}
    yield "pipeline_name", {"gemm_pipeline": GemmPipeline.COMPV3}
    yield "split_image", {"split_image": True}
    yield "type_a", {"dtype": DataType.BF16}


#: the first one is enough for every day
MUTATED = [
    *(
        "vector_size_c",
        "scheduler",
        "vector_size_a",
        "vector_size_b",
        "num_groups_to_merge",
        "specialization",
    ),
    *("tile_k", "tile_m", "tile_n", "pipeline_name", "split_image", "type_a"),
]


@pytest.mark.thorough
@pytest.mark.parametrize(
    "field", [MUTATED[0], *(pytest.param(field, marks=pytest.mark.slow) for field in MUTATED[1:])]
)
def test_a_kernel_that_is_written_wrong_is_found_when_built(ckprof, tmp_path, monkeypatch, field):
    """The C++ of a kernel differs from its instance in one field; the key stays that of the instance."""
    (tmp_path / "one.conf").write_text(first_line("forward/tests/nhwgc_fp16", 14) + "\n")
    render = ImplicitGemmPipeline.render_named

    def wrong(pipeline, instance, name, arch, api_level):
        return render(pipeline, replace(instance, **dict(_mutants(instance))[field]), name, arch, api_level)

    monkeypatch.setattr(ImplicitGemmPipeline, "render_named", wrong)
    # A folder of its own: the wrong source must not stay where a right one is expected.
    done = ckprof(
        *(
            "parity",
            "fwd",
            "--conf",
            "one.conf",
            "--generated",
            "both",
            "--build-dir",
            "build",
            "--format",
            "json",
        )
    )
    assert done.code == ExitCode.FAILED, done.out + done.err
    (agreement,) = json.loads(done.out)["comparisons"]
    (missing,) = agreement["missing"]
    named = {difference["field"] for difference in missing["nearest"]["differences"]}
    assert field in named
    assert named <= {field, "type_a", "type_b", "type_result"}
