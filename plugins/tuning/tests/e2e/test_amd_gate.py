"""``ckprof predict --write`` and ``--diff`` with kernels from real CK Tile headers."""

import json
import shutil
import subprocess

import pytest

from ckprof.errors import ExitCode
from ckprof_plugins.targets.hip.headers import find_headers
from tests.e2e.catalogs import write_catalog

pytest.importorskip("ckprof_plugins.emulator")

pytestmark = [pytest.mark.amd, pytest.mark.usefixtures("amd_toolchain"), pytest.mark.timeout(1500)]

PROBLEM = "convfp16 -n 4 -c 64 -H 28 -W 28 -k 64 -y 3 -x 3 -p 1 -q 1 -F 1"
TARGET = ("--target", "hip", "--arch", "gfx942")
PIPELINE = "ck_tile/ops/gemm/pipeline/gemm_pipeline_agmem_bgmem_creg_v1.hpp"


@pytest.fixture
def catalog(tmp_path):
    return write_catalog(tmp_path / "one.json", "forward", [{"pipeline": "compv1"}])


@pytest.fixture
def copied(tmp_path):
    """Return a copy of the headers with an edit of one of them."""

    def copy(name, edit):
        root = tmp_path / name
        shutil.copytree(find_headers().root / "ck_tile", root / "ck_tile")
        path = root / PIPELINE
        path.write_text(edit(path.read_text()))
        return root

    return copy


def test_a_barrier_is_found_and_a_comment_is_none(ckprof, catalog, copied, tmp_path):
    command = ("predict", "fwd", "--conf", catalog)
    written = ckprof(*command, *TARGET, "--problem", PROBLEM, "--write", "base.json", timeout=1200)
    assert written.code == ExitCode.OK, written.err
    first = (tmp_path / "base.json").read_bytes()

    same = copied(
        "same", lambda text: "// a comment\n" + text.replace("index_t iCounter", "\n\nindex_t iCounter")
    )
    # what the baseline says is not typed again
    neutral = ckprof(
        *command, "--target", "hip", "--diff", "base.json", same, "--write", "same.json", timeout=1200
    )
    assert neutral.code == ExitCode.OK, neutral.out + neutral.err
    assert "1 prediction, 0 of them differ" in neutral.out
    assert (tmp_path / "same.json").read_bytes() == first

    slower = copied(
        "slower", lambda text: text.replace("block_sync_lds();", "block_sync_lds(); block_sync_lds();", 1)
    )
    found = ckprof(
        *command, "--target", "hip", "--diff", "base.json", slower, "--format", "json", timeout=1200
    )
    assert found.code == ExitCode.FAILED, found.err
    (row,) = json.loads(found.out)["rows"]
    assert row["fails"] == ["slower"]
    assert row["reasons"][0]["cause"] == "barrier"
    assert any("s_barrier" in line for line in row["reasons"][0]["after"])


@pytest.mark.slow
def test_the_commit_that_made_a_kernel_slower_is_found(ckprof, catalog, tmp_path):
    """Of five commits two change comments, one a loop, and one nothing of the folder."""
    include = tmp_path / "ck" / "include"
    shutil.copytree(find_headers().root / "ck_tile", include / "ck_tile")
    path = include / PIPELINE
    text = path.read_text()
    waiting = text.replace(
        "block_sync_lds();", 'asm volatile("s_waitcnt vmcnt(0)" ::: "memory"); block_sync_lds();'
    )

    def git(*words):
        identity = ("-c", "user.name=a", "-c", "user.email=a@b")
        subprocess.run(["git", *identity, *words], cwd=tmp_path / "ck", check=True, capture_output=True)

    git("init", "-q")
    for number, content in enumerate((text, f"// one\n{text}", waiting, None, f"// two\n{waiting}")):
        if content is None:
            (tmp_path / "ck" / "README").write_text("what lies outside of the folder")
        else:
            path.write_text(content)
        git("add", ".")
        git("commit", "-qm", f"change {number}")
    command = ("predict", "fwd", "--conf", catalog, *TARGET, "--problem", PROBLEM, "--format", "json")
    found = ckprof(*command, "--bisect", f"{include}@HEAD~4", f"{include}@HEAD", timeout=1200)
    assert found.code == ExitCode.FAILED, found.err
    result = json.loads(found.out)
    (suspect,) = result["suspects"]
    assert suspect.endswith("change 2")
    assert [name.partition(" ")[2] for name in result["states"][1:]] == ["change 1", "change 2", "change 4"]
    (row,) = result["diff"]["rows"]
    assert row["ratio"] > 1.03
    assert row["reasons"][0]["cause"] in ("prefetch", "wait")
    # comments change no machine code, so that nothing is executed again
    none = ckprof(*command, "--bisect", f"{include}@HEAD~4", f"{include}@HEAD~3", timeout=1200)
    assert (none.code, json.loads(none.out)["diff"]) == (ExitCode.OK, None)
