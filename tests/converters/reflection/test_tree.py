"""Which folders are trees with CK Builder, and lists of what its program printed."""

import os
import stat
from pathlib import Path
from types import SimpleNamespace

import pytest

from ckprof.errors import InputError, ToolchainError
from ckprof.paths import conf_root
from ckprof_converters.library_lists import ListKey, all_lists, known_lists
from ckprof_converters.reflection import program
from ckprof_converters.reflection.factories import factory_source, is_of
from ckprof_converters.reflection.program import PrintedTuple, Reflector, print_lists
from ckprof_converters.reflection.tree import BuilderTree, find_tree
from tests.cases import each

REFLECTION = "experimental/builder/include/ck_tile/builder/reflect"
INSTANCES = "library/src/tensor_operation_instance/gpu"


@pytest.fixture
def tree(tmp_path):
    def write(name, text=""):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    for name in ("instance_traits.hpp", "instance_traits_device_b.hpp", "instance_traits_util.hpp"):
        write(f"{REFLECTION}/{name}")
    write(f"{REFLECTION}/conv_description.hpp")
    definition = "namespace n {\nvoid add_device_{0}_instances(\n    std::vector<int>& instances)\n{}\n"
    for name in ("one", "two"):
        write(f"{INSTANCES}/grouped_conv2d_fwd/xdl/{name}.cpp", definition.replace("{0}", name))
    sharded = "namespace n {\nusing device_{0}_instances = int;\ntemplate <int Shards, int ShardIndex>\n"
    sharded += (
        "void add_device_{0}_instances_shard([[maybe_unused]]\n    device_{0}_instances& instances)\n{}\n"
    )
    write(f"{INSTANCES}/grouped_conv2d_fwd/xdl/four.in", sharded.replace("{0}", "four"))
    write(f"{INSTANCES}/grouped_conv2d_fwd/CMakeLists.txt", "void add_device_none_instances(")
    write(f"{INSTANCES}/gemm/three.cpp", definition.replace("{0}", "three"))
    write("CHANGELOG.md", "# Changes\n\n## Composable Kernel 1.2.0 for ROCm 7.1.0\n\n## older\n")
    return tmp_path


def test_a_tree_by_its_root_its_headers_or_what_lies_around_it(tree, monkeypatch):
    (tree / "include").mkdir()
    assert find_tree(tree).root == find_tree(tree / "include").root == tree
    monkeypatch.setenv("CK_ROOT", str(tree))
    assert find_tree(None).root == tree


def test_what_is_found_in_a_tree(tree):
    names = [name.rpartition("/")[2] for name in find_tree(tree).traits]
    assert names == ["instance_traits_util.hpp", "instance_traits.hpp", "instance_traits_device_b.hpp"]
    sources = find_tree(tree).sources
    assert {name: path.name for name, path in sources.items()} == {
        "add_device_one_instances": "one.cpp",
        "add_device_two_instances": "two.cpp",
        "add_device_four_instances": "four.in",
    }
    assert find_tree(tree).version == "Composable Kernel 1.2.0 for ROCm 7.1.0"
    (tree / "CHANGELOG.md").unlink()
    assert find_tree(tree).version == ""


def test_folders_that_are_no_such_tree(tree, tmp_path_factory, monkeypatch):
    monkeypatch.delenv("CK_ROOT", raising=False)
    other = tmp_path_factory.mktemp("other")
    with pytest.raises(ToolchainError, match="name one with --from, --builder or"):
        find_tree(None)
    with pytest.raises(InputError, match="no such folder"):
        find_tree(other / "missing")
    with pytest.raises(ToolchainError, match="no CK Builder below it"):
        find_tree(other)
    (tree / INSTANCES).rename(tree / "elsewhere")
    with pytest.raises(ToolchainError, match="not the sources of its instances"):
        find_tree(tree)


KEY = ListKey("fwd", "nhwgc", "fp16")
CLAMP = ListKey("fwd", "nhwgc", "bf16", "clamp")


@pytest.fixture
def printed(monkeypatch):
    """Return what is printed for lines of forward lists by a tree whose factories have the given tuples."""

    def run(lines, *tuples, layouts=(), dtypes=("fp16",)):
        monkeypatch.setattr(program, "find_tree", BuilderTree)
        reflector = SimpleNamespace(reflect=lambda keys: dict.fromkeys(keys, tuples))
        monkeypatch.setattr(program, "Reflector", lambda *_: reflector)
        return print_lists(
            Path("tree"), "fwd", layouts=layouts, dtypes=dtypes, lines=tuple(lines), compiler=None
        )

    return run


def test_lines_say_which_lists_are_meant(printed):
    """Lists of shipped files, and no others: by their types, and by what their instances do besides."""
    for name, layout in {
        "profiler/ndhwgc_bf8_fp8": "ndhwgc",
        "clamp/profiler/nhwgc_bf16": "nhwgc",
        "scaleadd_ab/profiler/ndhwgc_int8": "ndhwgc",
        "convscale_relu/profiler/ndhwgc_fp8_fp32": "ndhwgc",
    }.items():
        lines = (conf_root() / f"forward/{name}.conf").read_text().splitlines()
        spaced = tuple(line.replace(",", ", ") for line in lines)
        assert [is_of(line, CLAMP) for line in spaced] == [is_of(line, CLAMP) for line in lines]
        assert printed(lines, layouts=(layout,))[0] == {f"forward/{name}.conf": ""}


def test_catalogs_say_the_types_of_lines_that_do_not(printed):
    lines = ("# nothing", "GroupedConvolutionForwardKernel<2>")
    made = PrintedTuple("f", ("A<1>",), ("DeviceB", "DeviceB"))
    texts, without_string, notes = printed(lines, made, layouts=("nhwgc",))
    assert texts == {"forward/profiler/nhwgc_fp16.conf": "A<1>\n"}
    assert without_string == {"DeviceB"}
    assert notes == ("this tree's CK Builder has no string for DeviceB: 2 instances are excluded",)


def test_what_an_operation_does_is_said_where_its_name_does_not(printed):
    name = "convscale_relu/profiler/ndhwgc_fp8_fp32"
    lines = (conf_root() / f"forward/{name}.conf").read_text().splitlines()
    texts, _, _ = printed(lines, PrintedTuple("f", ("A<UnaryCombinedOp>",), ()), layouts=("ndhwgc",))
    assert texts == {f"forward/{name}.conf": 'A<UnaryCombinedOp>  # ckprof: elementwise_op="ConvScaleRelu"\n'}


@each(key=[*all_lists()])
def test_every_list_has_a_factory(key):
    source = factory_source(key)
    assert f'#include "ck/library/tensor_operation_instance/gpu/{key.factory}"' in source
    asked = source.partition("DeviceOperationInstanceFactory<")[2].partition(">::GetInstances")[0]
    assert "{" not in asked
    assert f"ck::Tuple<{', '.join(key.d_layouts)}>" in asked or not key.d_layouts


@pytest.mark.parametrize("direction", known_lists().directions)
def test_a_factory_names_layouts_types_and_dimensions(direction):
    source = factory_source(ListKey(direction, "ndhwgc", "bf16"))
    for part in ("<3, ", "NDHWGC", "GKZYXC", "NDHWGK", "ck::bhalf_t", "GetInstances()"):
        assert part in source
    assert "{" not in source.partition("Factory<")[2].partition(">::")[0]


def test_functions_are_read_from_an_object_s_table_of_names():
    name = b"add_device_grouped_conv2d_fwd_instances"
    table = b"\0_ZN2ck8instance%d%sERSt6vectorI_E\0_ZN1x3fooEv\0" % (len(name), name)
    assert program._called(table + table) == (name.decode(),)


def test_what_only_one_device_has_counts_and_copies_are_kept(monkeypatch):
    """Tuples are merged over devices: those of both count once, copies within one device each."""
    both, new, silent = (
        PrintedTuple("f", ("A<1>",), ()),
        PrintedTuple("f", ("A<9>",), ()),
        PrintedTuple("g", (), ("B",)),
    )
    printed = {"old": [both, silent, silent], "new": [both, new, silent, silent]}
    reflector = Reflector.__new__(Reflector)
    reflector._archs = ("old", "new")
    monkeypatch.setattr(reflector, "_run_on", lambda key, arch: printed[arch])
    assert reflector._run(KEY) == (both, new, silent, silent)


def test_a_failing_compiler_is_one_message_and_a_program_is_built_again(monkeypatch, tmp_path):
    """The real ninja with a compiler that fails: the message has the tree and the error's line."""
    compiler = tmp_path / "compiler"
    compiler.write_text("#!/bin/sh\necho 'x.hpp:1:2: error: no such thing' >&2\nexit 1\n")
    compiler.chmod(compiler.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("CKPROF_CACHE_DIR", str(tmp_path / "cache"))

    asked = []

    class Hip:
        resource_dir = tmp_path

        class compiler:
            command = (str(compiler),)
            identity = "fake"

    monkeypatch.setattr(program, "find_hip_compiler", lambda arch, requested: asked.append(requested) or Hip)
    monkeypatch.setattr(program, "find_hip_root", lambda: tmp_path)
    reflector = Reflector(BuilderTree(tmp_path / "tree"), ("gfx942",), ("CK_USE_XDL",), "clang++-22")
    assert asked == ["clang++-22"]
    with pytest.raises(ToolchainError, match=r"(?s)tree: its reflection does not compile.*x\.hpp:1:2: error"):
        reflector.reflect([KEY])


def test_jobs_follow_cores_and_memory(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(64)))
    monkeypatch.setattr(program.psutil, "virtual_memory", lambda: type("M", (), {"available": 3 * 2**30}))
    assert program._jobs() == 3 * 2**30 // program._COMPILE_MEMORY
