"""Source trees: what is written, what is left alone, what is removed."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from dataclasses import dataclass
from types import SimpleNamespace
from typing import ClassVar

import pytest

import ckprof
from ckprof.errors import InputError, PluginError, UsageError
from ckprof.kernels import manifest
from ckprof.kernels.build_dir import BuildDir
from ckprof.kernels.c_interface import kernel_symbol
from ckprof.kernels.candidates import Candidate, KernelNames, entry_candidates
from ckprof.kernels.source_tree import generate_tree
from ckprof.model.instance import Instance
from ckprof.model.types import DataType
from ckprof.plugin.protocols import KernelSource, RuleSetEntry
from ckprof_plugins.directions._convolution.layout import find_layout
from ckprof_plugins.directions.fwd import Forward
from ckprof_plugins.pipelines.gemm_families import ImplicitGemmPipeline
from tests.candidates import candidates_of

PIPELINES = {"implicit_gemm": ImplicitGemmPipeline()}


def build_dir_at(root):
    recipe = SimpleNamespace(api_level="2026-06", target="")
    return BuildDir(root=root, direction=Forward(), target=None, arch="gfx942", recipe=recipe)


def generate(root, instances, pipelines=PIPELINES):
    return generate_tree(build_dir_at(root), candidates_of(instances, pipelines))


def contents(root):
    """Return every file but the record of how the files looked."""
    return {
        path.relative_to(root): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and path.name != manifest.RECORD_FILE
    }


def test_files_of_a_tree(tmp_path, make_instance, golden):
    instance = make_instance()
    tree = generate(tmp_path, [instance])
    (kernel,) = tree.kernels
    assert kernel.instance is instance
    assert kernel.name == PIPELINES["implicit_gemm"].kernel_name(instance)
    assert kernel.header == tmp_path / "kernels" / f"{kernel.name}.hpp"
    assert kernel.entry == tmp_path / "kernels" / f"{kernel.name}.cpp"
    assert kernel.symbol == kernel_symbol(instance.key) == f"ckprof_kernel_{instance.key}"
    assert set(tree.written) == {kernel.header, kernel.entry, tree.manifest}
    golden(f"kernels/{kernel.name}.cpp", kernel.entry.read_text())


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


def test_no_file_names_the_folder(tmp_path, make_instance):
    generate(tmp_path / "a", [make_instance(), make_instance(pipeline="mem")])
    assert str(tmp_path).encode() not in b"".join(contents(tmp_path / "a").values())


def test_nothing_is_written_twice(tmp_path, make_instance):
    instances = [make_instance(), make_instance(pipeline="mem")]
    generate(tmp_path, instances)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    assert generate(tmp_path, instances).written == ()
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_a_changed_file_is_restored(tmp_path, make_instance):
    (kernel,) = generate(tmp_path, [make_instance()]).kernels
    text = kernel.header.read_text()
    kernel.header.write_text("edited")
    assert generate(tmp_path, [make_instance()]).written == (kernel.header,)
    assert kernel.header.read_text() == text


def test_stale_kernels_are_removed_and_nothing_else(tmp_path, make_instance):
    old, kept = generate(tmp_path, [make_instance(), make_instance(pipeline="mem")]).kernels
    foreign = tmp_path / "kernels" / "grouped_conv_by_hand.hpp"
    foreign.write_text("mine")
    tree = generate(tmp_path, [make_instance(pipeline="mem")])
    assert set(tree.removed) == {old.header, old.entry}
    assert not old.header.exists()
    assert kept.header.exists()
    assert foreign.read_text() == "mine"
    assert generate(tmp_path, []).removed == (kept.header, kept.entry)


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


def test_equal_instances_are_one_kernel(tmp_path, make_instance):
    tree = generate(tmp_path, [make_instance(id=1), make_instance(id=2)])
    assert [kernel.instance.id for kernel in tree.kernels] == [1]


def test_library_source(tmp_path, make_instance, golden):
    tree = generate(
        tmp_path, [make_instance(), make_instance(pipeline="mem"), make_instance(pipeline="compv1")]
    )
    first, _, last = (kernel.symbol for kernel in tree.kernels)
    path = tree.write_library_source([last, first])
    assert path == tmp_path / "library.cpp"
    text = path.read_text()
    assert text.index(f"&{first}") < text.index(f"&{last}")
    golden("kernels/library.cpp", text)
    with pytest.raises(ValueError, match="ckprof_kernel_x"):
        tree.write_library_source(["ckprof_kernel_x"])
    tree.write_library_source([])


def test_an_instance_without_pipeline():
    with pytest.raises(UsageError, match="toy"):
        entry_candidates([RuleSetEntry(toy(1))], ckprof.Profiler().registry, "test")


def test_a_root_that_is_a_file(tmp_path, make_instance):
    (tmp_path / "root").write_text("")
    with pytest.raises(InputError, match="cannot write"):
        generate(tmp_path / "root", [make_instance()])


@dataclass(frozen=True, slots=True, kw_only=True)
class Toy(Instance):
    pipeline: ClassVar[str] = "toy"

    number: int


class ToyPipeline:
    """Gives all its kernels the same name."""

    id = "toy"

    def kernel_name(self, instance):
        return "toy"

    def instance_string(self, instance):
        return f"Toy<{instance.number}>"

    def render(self, instance, arch, api_level):
        return self.render_named(instance, "toy", arch, api_level)

    def render_named(self, instance, name, arch, api_level):
        header = f'#include "toy.hpp"\nstruct {name}_Launcher {{ /* a toy */ }};\n'
        return KernelSource(name=name, header=header, launcher=f"{name}_Launcher")


class OldPipeline:
    """A pipeline that knows nothing of names that are given to it."""

    id = "toy"

    def __init__(self, *parts):
        self.parts = parts

    def kernel_name(self, instance):
        return "_".join(["toy", *(str(getattr(instance, part)) for part in self.parts)])

    def instance_string(self, instance):
        return f"Toy<{instance.number}>"

    def render(self, instance, arch, api_level):
        name = self.kernel_name(instance)
        return KernelSource(name=name, header=f"struct {name} {{}};\n", launcher=name)


def toy(number):
    return Toy(
        id=number, direction="fwd", ndim=2, layout=find_layout("nhwgc"), dtype=DataType.FP16, number=number
    )


def test_equal_names_of_different_instances(tmp_path):
    instances = [toy(1), toy(2)]
    tree = generate(tmp_path, instances, {"toy": ToyPipeline()})
    first, second = tree.kernels
    suffix = instances[1].key[:8]
    assert (first.name, second.name) == ("toy", f"toy_{suffix}")
    assert second.header.name == f"toy_{suffix}.hpp"
    # The types are named alike: the linker would take two of one name for the same. Nothing else is touched.
    assert second.header.read_text().splitlines() == [
        '#include "toy.hpp"',
        f"struct toy_{suffix}_Launcher {{ /* a toy */ }};",
    ]
    assert f"<toy_{suffix}_Launcher, " in second.entry.read_text()
    assert f'#include "toy_{suffix}.hpp"' in second.entry.read_text()


def test_names_that_were_decided_before_are_kept(tmp_path):
    instances = [toy(1), toy(2)]
    names = KernelNames([("toy", instances[1])])
    pipeline = ToyPipeline()
    candidates = [
        Candidate(
            index=0,
            instance=one,
            pipeline=pipeline,
            name=names.take(pipeline.kernel_name(one), one),
            source="",
        )
        for one in instances
    ]
    tree = generate_tree(build_dir_at(tmp_path), candidates)
    expected = [f"toy_{instances[0].key[:8]}", "toy"]
    assert [kernel.name for kernel in tree.kernels] == expected
    assert [kernel["name"] for kernel in json.loads(tree.manifest.read_text())["kernels"]] == expected
    assert [kernel.name for kernel in generate_tree(build_dir_at(tmp_path), candidates).kernels] == expected


def test_pipelines_without_given_names_are_written_as_they_are(tmp_path):
    tree = generate(tmp_path, [toy(1), toy(2)], {"toy": OldPipeline("number")})
    assert [kernel.header.read_text() for kernel in tree.kernels] == [
        "struct toy_1 {};\n",
        "struct toy_2 {};\n",
    ]
    with pytest.raises(
        PluginError, match=r"pipeline toy: instances 1 and 2 are both written as kernel toy; give"
    ):
        generate(tmp_path, [toy(1), toy(2)], {"toy": OldPipeline()})


def test_a_pipeline_that_ignores_the_given_name_is_named(tmp_path):
    class Deaf(ToyPipeline):
        def render_named(self, instance, name, arch, api_level):
            return super().render_named(instance, "other", arch, api_level)

    with pytest.raises(PluginError, match="render_named returned kernel 'other', expected 'toy'"):
        generate(tmp_path, [toy(1)], {"toy": Deaf()})


def test_the_key_of_an_instance_is_computed_once(tmp_path, monkeypatch):
    computed = []

    def digest(text, **options):
        computed.append(text)
        return hashlib.blake2b(text, **options)

    monkeypatch.setattr("ckprof.model.instance.hashlib", SimpleNamespace(blake2b=digest))
    instances = [toy(number) for number in range(5)]
    for _ in range(2):
        tree = generate(tmp_path, instances, {"toy": ToyPipeline()})
        assert len({kernel.instance.key for kernel in tree.kernels}) == 5
    assert len(computed) == len(set(computed)) == 5


def test_jinja_is_loaded_on_first_use():
    modules = "sys, ckprof.kernels, ckprof_plugins.pipelines.gemm_families"
    code = f"import {modules}; print('jinja2' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout == "False\n"
