"""Source trees: what is written, what is left alone, what is removed."""

import hashlib
import json
from types import SimpleNamespace

import pytest

from ckprof.errors import InputError, PluginError
from ckprof.kernels import manifest
from ckprof.kernels.c_interface import kernel_symbol
from ckprof.kernels.candidates import Candidate, KernelNames
from ckprof.kernels.source_tree import generate_tree
from tests.kernels.toys import PIPELINES, OldPipeline, ToyPipeline, build_dir_at, generate, toy


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


def test_a_root_that_is_a_file(tmp_path, make_instance):
    (tmp_path / "root").write_text("")
    with pytest.raises(InputError, match="cannot write"):
        generate(tmp_path / "root", [make_instance()])


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
