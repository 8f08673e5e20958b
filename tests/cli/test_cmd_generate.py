"""``ckprof generate``: what is written, for whom, and what is not."""

import json

import pytest

TINY = ("generate", "fwd", "--rule-set", "tiny", "--arch", "gfx942", "--ndim", "2", "--dtype", "fp16")


def test_a_rule_set(ckprof, tmp_path):
    root, exported = tmp_path / "out", tmp_path / "instances.json"
    code, out, err = ckprof(*TINY, "--build-dir", root, "--chunk-size", "3", "--export-json", exported)
    assert (code, out) == (0, f"{root}\n") and "generated 9 kernels, excluded 1" in err
    manifest = json.loads((root / "manifest.json").read_text())
    names = [kernel["name"] for kernel in manifest["kernels"]]
    assert [record["name"] for record in json.loads(exported.read_text())["instances"]] == names
    assert len(list((root / "registration").glob("*_chunk_*.cpp"))) == 3
    # an earlier chunk size is kept, and nothing is touched
    code, out, err = ckprof(*TINY, "--build-dir", root)
    assert code == 0 and "0 files written, 0 removed" in err


def test_an_architecture_that_the_target_does_not_run(ckprof, tmp_path):
    code, _, err = ckprof(
        *(part.replace("gfx942", "gfx1250") for part in TINY), "--build-dir", tmp_path / "out"
    )
    assert code == 0 and "generated 7 kernels, excluded 3" in err


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--rule-set", "rdna", "--arch", "gfx942"), 1, "it has none for gfx942"),
        (("--conf", "forward/tests/ngchw_depthwise", "--arch", "gfx1201"), 1, "is valid for gfx1201"),
        (("--rule-set", "tiny", "--arch", "gfx1251"), 2, "did you mean 'gfx1250'?"),
        (("--rule-set", "tiny", "--chunk-size", "0"), 2, "a chunk of 0 kernels: expected 1 or more"),
    ],
)
def test_nothing_is_written_when_something_is_wrong(arguments, code, message, ckprof, tmp_path):
    root = tmp_path / "out"
    got, out, err = ckprof("generate", "fwd", *arguments, "--build-dir", root)
    assert (got, out) == (code, "") and message in err
    assert not root.exists() or not any(root.iterdir())


def test_defects_are_generated_when_asked_for(ckprof, tmp_path):
    where = ("--filter", "tile_k == 8", "--build-dir", tmp_path / "out")
    arguments = ("generate", "fwd", "--rule-set", "full", "--arch", "gfx942", "--ndim", "2", *where)
    assert ckprof(*arguments)[0] == 1
    code, _, err = ckprof(*arguments, "--upstream-defects")
    assert code == 0 and "generated 8 kernels" in err
