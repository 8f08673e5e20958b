"""The list of what a source tree holds."""

import json

import pytest

from tests.kernels.toys import generate


def test_manifest(tmp_path, make_instance):
    instance = make_instance()
    tree = generate(tmp_path, [instance])
    content = json.loads(tree.manifest.read_text())
    assert (content["schema"], content["version"]) == ("ckprof-source-tree", 1)
    assert (content["library"], content["direction"]) == ("ckprof_conv_fwd", "fwd")
    assert (content["arch"], content["api_level"]) == ("gfx942", "2026-06")
    (kernel,) = content["kernels"]
    assert kernel["key"] == instance.key
    assert kernel["id"] == 7
    assert kernel["instance"] == instance.identity()
    assert kernel["instance_string"].startswith("GroupedConvolutionForwardKernel<2,")
    assert kernel["files"] == [f"kernels/{kernel['name']}.hpp", f"kernels/{kernel['name']}.cpp"]


@pytest.mark.parametrize("name", ["../outside.txt", "/outside.txt"])
def test_a_manifest_cannot_reach_outside(name, tmp_path):
    outside = tmp_path / "outside.txt"
    outside.write_text("mine")
    root = tmp_path / "tree"
    tree = generate(root, [])
    content = json.loads(tree.manifest.read_text())
    listed = name if name.startswith("..") else str(outside)
    content["kernels"] = [{"files": [listed]}]
    tree.manifest.write_text(json.dumps(content))
    assert generate(root, []).removed == ()
    assert outside.exists()


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": "ckprof-source-tree", "version": 2}', "\xff"])
def test_an_unreadable_manifest_is_replaced(text, tmp_path, make_instance):
    first = generate(tmp_path, [make_instance()])
    good = first.manifest.read_text()
    first.manifest.write_text(text, encoding="latin-1")
    assert generate(tmp_path, [make_instance()]).removed == ()
    assert first.manifest.read_text() == good
