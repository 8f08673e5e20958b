"""From what the reflection's program printed to lists, without a compiler."""

from __future__ import annotations

import os
import stat

import pytest

from ckprof.errors import ToolchainError, UsageError
from ckprof.model.extraction import ExtractRequest
from ckprof.paths import conf_root
from ckprof_converters.extract.lists import ListKey, all_lists, known_lists
from ckprof_converters.reflection import extractor as module
from ckprof_converters.reflection import program
from ckprof_converters.reflection.extractor import BuilderExtractor
from ckprof_converters.reflection.factories import factory_source, is_of
from ckprof_converters.reflection.program import PrintedTuple, Reflector
from ckprof_converters.reflection.tree import Tree

KEY = ListKey("fwd", "nhwgc", "fp16")
CLAMP = ListKey("fwd", "nhwgc", "bf16", "clamp")


@pytest.fixture
def extract(monkeypatch, tmp_path):
    """Extract from a tree whose factories have the given tuples."""

    def run(*tuples, **request):
        asked = {}

        class Fake:
            def __init__(self, tree, archs, macros):
                asked.update(archs=archs, macros=macros)

            def reflect(self, keys):
                return dict.fromkeys(keys, tuples)

        monkeypatch.setattr(program, "Reflector", Fake)
        monkeypatch.setattr("ckprof_converters.reflection.tree.find_tree", lambda given: Tree(given))
        request = {"directions": ("fwd",), "layouts": ("nhwgc",), "dtypes": ("fp16",), **request}
        return BuilderExtractor().extract(ExtractRequest(source=tmp_path, **request)), asked

    return run


def test_lines_functions_and_what_has_no_string(extract):
    report, asked = extract(
        PrintedTuple("f", ("A<1>", "A<2>"), ()),
        PrintedTuple("g", (), ("DeviceB", "DeviceB")),
        PrintedTuple("h", (), ()),
    )
    (found,) = report.lists
    assert found.files[0].texts == ("A<1>", "A<2>")
    assert found.files[0].place == "forward/profiler/nhwgc_fp16.conf"
    assert {item.name: item.status for item in found.functions} == {
        "f": "printed",
        "g": "silent",
        "h": "empty",
    }
    assert dict(found.counts) == {"functions": 3, "tuples": 3, "instances": 2, "silent": 2}
    assert report.notes == ("this tree's CK Builder has no string for DeviceB: 2 instances are left out",)
    assert (asked["archs"], asked["macros"]) == (("gfx942", "gfx950"), ("CK_USE_XDL",))


def test_a_list_without_a_string_is_absent(extract):
    report, _ = extract(PrintedTuple("g", (), ("DeviceB",)))
    assert (report.lists, report.absent) == ((), ("fwd nhwgc_fp16",))


def test_lines_say_which_lists_are_meant(extract):
    """Lists of shipped files, and no others: by their types, and by what their instances do besides."""
    every = {"layouts": (), "dtypes": ()}
    for name, meant in {
        "profiler/ndhwgc_bf8_fp8": "ndhwgc_bf8_fp8",
        "clamp/profiler/nhwgc_bf16": "clamp nhwgc_bf16",
        "scaleadd_ab/profiler/ndhwgc_int8": "scaleadd_ab ndhwgc_int8",
        "convscale_relu/profiler/ndhwgc_fp8_fp32": "convscale_relu ndhwgc_fp8_fp32",
    }.items():
        lines = tuple((conf_root() / f"forward/{name}.conf").read_text().splitlines())
        spaced = tuple(line.replace(",", ", ") for line in lines)
        assert [is_of(line, CLAMP) for line in spaced] == [is_of(line, CLAMP) for line in lines]
        layout = meant.rpartition(" ")[2].partition("_")[0]
        report, _ = extract(lines=lines, **{**every, "layouts": (layout,)})
        assert (report.lists, report.absent) == ((), (f"fwd {meant}",))
    report, _ = extract(lines=("# nothing", "GroupedConvolutionForwardKernel<2>"), **every)
    assert (report.lists, report.absent) == ((), ())


def test_what_an_operation_does_is_said_where_its_name_does_not(extract):
    tuples = PrintedTuple("f", ("A<UnaryCombinedOp>",), ())
    asked = {"layouts": ("ndhwgc",), "dtypes": ("fp8_fp32",), "options": {"fused": "convscale_relu"}}
    (found,) = extract(tuples, **asked)[0].lists
    assert found.files[0].texts == ('A<UnaryCombinedOp>  # ckprof: elementwise_op="ConvScaleRelu"',)


@pytest.mark.parametrize("key", [*all_lists()], ids=str)
def test_every_list_has_a_factory(key):
    source = factory_source(key)
    assert f'#include "ck/library/tensor_operation_instance/gpu/{key.factory}"' in source
    asked = source.partition("DeviceOperationInstanceFactory<")[2].partition(">::GetInstances")[0]
    assert "{" not in asked
    assert f"ck::Tuple<{', '.join(key.d_layouts)}>" in asked or not key.d_layouts


def test_engine_and_architecture_are_options(extract):
    _, asked = extract(PrintedTuple("f", ("A<1>",), ()), options={"instructions": "wmma", "arch": "gfx950"})
    assert (asked["archs"], asked["macros"]) == (("gfx950",), ("CK_USE_WMMA",))
    with pytest.raises(UsageError, match="arch"):
        extract(options={"arch": "gfx1"})
    with pytest.raises(UsageError, match="set"):
        extract(sets=("tests",))


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

    class Hip:
        class compiler:
            command = (str(compiler),)
            identity = "fake"

    monkeypatch.setattr(program, "find_hip_compiler", lambda arch: Hip)
    monkeypatch.setattr(program, "find_hip_root", lambda: tmp_path)
    reflector = Reflector(Tree(tmp_path / "tree"), ("gfx942",), ("CK_USE_XDL",))
    with pytest.raises(ToolchainError, match=r"(?s)tree: its reflection does not compile.*x\.hpp:1:2: error"):
        reflector.reflect([KEY])


def test_engines_are_those_of_lists():
    assert module.OPTIONS[0].choices == tuple(known_lists().engines)


def test_jobs_follow_cores_and_memory(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(64)))
    monkeypatch.setattr(program.psutil, "virtual_memory", lambda: type("M", (), {"available": 3 * 2**30}))
    assert program._jobs() == 3 * 2**30 // program._COMPILE_MEMORY
