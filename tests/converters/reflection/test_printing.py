"""From what the reflection's program printed to lists, without a compiler."""

import os
import stat
from pathlib import Path
from types import SimpleNamespace

import pytest

from ckprof.errors import ToolchainError
from ckprof.paths import conf_root
from ckprof_converters.library_lists import ListKey, all_lists, known_lists
from ckprof_converters.reflection import program
from ckprof_converters.reflection.factories import factory_source, is_of
from ckprof_converters.reflection.program import PrintedTuple, Reflector, print_lists
from ckprof_converters.reflection.tree import BuilderTree
from tests.cases import each

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
