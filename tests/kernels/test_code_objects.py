"""Warnings of a compiler travel with the code objects that it has made."""

import json
from types import SimpleNamespace

from ckprof.kernels.code_objects import FILE, read_code_objects, write_code_objects
from ckprof.kernels.compile_step import MESSAGES_FILE


def test_warnings_are_listed_with_each_kernel(tmp_path):
    entries = {}
    for name in ("clean", "warned"):
        entries[name] = tmp_path / "cache" / name / "object.o"
        entries[name].parent.mkdir(parents=True)
        entries[name].write_bytes(name.encode())
    (entries["warned"].parent / MESSAGES_FILE).write_text(
        "kernel.hpp(7): warning #177-D: variable was declared\n"
        "ptxas info    : (C7510) Potential Performance Loss: wgmma is serialized\n"
        "ptxas info    : (C7510) Potential Performance Loss: wgmma is serialized\n"
        "no more of that\n"
    )
    kernels = [SimpleNamespace(name=name, key=name, device_marker=f"{name}_type") for name in entries]
    recipe = SimpleNamespace(
        target="t", arch="a", api_level="l", compiler=SimpleNamespace(description="c++ 1")
    )
    root = tmp_path / "tree"
    root.mkdir()
    write_code_objects(SimpleNamespace(root=root, kernels=kernels), recipe, entries)
    found = {kernel.name: kernel.warnings for kernel in read_code_objects(root).kernels}
    assert found == {
        "clean": (),
        "warned": (
            "kernel.hpp(7): warning #177-D: variable was declared",
            "ptxas info    : (C7510) Potential Performance Loss: wgmma is serialized",
        ),
    }
    # lists of earlier versions say nothing of warnings
    content = json.loads((root / FILE).read_text())
    for kernel in content["kernels"]:
        del kernel["warnings"]
    (root / FILE).write_text(json.dumps(content))
    assert all(kernel.warnings == () for kernel in read_code_objects(root).kernels)
