"""Lists that CK Builder prints, extracted: what its program printed is given, without a compiler."""

import pytest

from ckprof.errors import UsageError
from ckprof_converters.library_lists import known_lists
from ckprof_converters.reflection import program
from ckprof_converters.reflection.program import PrintedTuple
from ckprof_converters.reflection.tree import BuilderTree
from ckprof_plugins.extract import extractors as module
from ckprof_plugins.extract.extractors import BuilderExtractor
from ckprof_plugins.extract.lists import ExtractRequest


@pytest.fixture
def extract(monkeypatch, tmp_path):
    """Extract from a tree whose factories have the given tuples."""

    def run(*tuples, **request):
        asked = {}

        class Fake:
            def __init__(self, tree, archs, macros, compiler):
                asked.update(archs=archs, macros=macros)

            def reflect(self, keys):
                return dict.fromkeys(keys, tuples)

        monkeypatch.setattr(program, "Reflector", Fake)
        monkeypatch.setattr(program, "find_tree", BuilderTree)
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
    assert report.notes == ("this tree's CK Builder has no string for DeviceB: 2 instances are excluded",)
    assert (asked["archs"], asked["macros"]) == (("gfx942", "gfx950"), ("CK_USE_XDL",))


def test_a_list_without_a_string_is_absent(extract):
    report, _ = extract(PrintedTuple("g", (), ("DeviceB",)))
    assert (report.lists, report.absent) == ((), ("fwd nhwgc_fp16",))


def test_what_an_operation_does_is_said_where_its_name_does_not(extract):
    tuples = PrintedTuple("f", ("A<UnaryCombinedOp>",), ())
    asked = {"layouts": ("ndhwgc",), "dtypes": ("fp8_fp32",), "options": {"fused": "convscale_relu"}}
    (found,) = extract(tuples, **asked)[0].lists
    assert found.files[0].texts == ('A<UnaryCombinedOp>  # ckprof: elementwise_op="ConvScaleRelu"',)


def test_engines_and_architectures_are_options_of_lists(extract):
    _, asked = extract(PrintedTuple("f", ("A<1>",), ()), options={"instructions": "wmma", "arch": "gfx950"})
    assert (asked["archs"], asked["macros"]) == (("gfx950",), ("CK_USE_WMMA",))
    with pytest.raises(UsageError, match="arch"):
        extract(options={"arch": "gfx1"})
    with pytest.raises(UsageError, match="set"):
        extract(sets=("tests",))
    assert module.BUILDER_OPTIONS[0].choices == tuple(known_lists().engines)
