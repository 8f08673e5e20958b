"""Lists of instances with an element-wise operation: by the sources of a tree, without an archive."""

import pytest

from ckprof_converters.library_lists import ListKey
from ckprof_plugins.extract.opening import locate, open_library
from plugins.extract.tests.conftest import extract
from plugins.extract.tests.tree import HALF, INSTANCES, MAIN_ALIAS, Tree, line

KEY = ListKey("fwd", "nhwgc", "fp16", "bias_clamp")
FUNCTION = "add_device_grouped_conv2d_fwd_xdl_bias_clamp_nhwgc_gkyxc_nhwgk_f16_instances"
FOLDER = "src/tensor_operation_instance/gpu/grouped_conv2d_fwd_bias_clamp/xdl"
SOURCE = f"""
// {FUNCTION}_shard is another one
void {FUNCTION}(std::vector<std::unique_ptr<Op>>& instances)
{{
    add_device_operation_instances(
        instances,
        {MAIN_ALIAS}<2, NHWGC, GKYXC, Tuple<NHWGK>, NHWGK, ConvFwdDefault, Tuple<F16>, AddClamp>{{}});
#ifdef CK_USE_NOTHING
    add_device_operation_instances(
        instances, {MAIN_ALIAS}<2, NHWGC, GKYXC, Tuple<NHWGK>, NHWGK, ConvFwdOddC>{{}});
#endif
}}
"""


@pytest.fixture
def tree(tmp_path, monkeypatch):
    monkeypatch.setenv("CKPROF_CACHE_DIR", str(tmp_path / "cache"))
    tree = Tree(tmp_path / "prefix")
    plain = f"{INSTANCES}/grouped_convolution_forward.hpp"
    tree.factory(HALF, FUNCTION)
    tree.texts[f"{INSTANCES}/grouped_convolution_forward_bias_clamp.hpp"] = tree.texts[plain]
    header = f"{INSTANCES}/grouped_conv_fwd/device_grouped_conv_fwd_xdl_instance.hpp"
    names = ("Default", "OddC")
    tree.texts[header] = tree.texts[header].replace(
        "static constexpr auto Gemm",
        "using AddClamp = ck::tensor_operation::element_wise::AddClamp;\n"
        + "".join(
            f"static constexpr auto ConvFwd{name} = ConvolutionForwardSpecialization::{name};\n"
            for name in names
        )
        + "static constexpr auto Gemm",
        1,
    )
    return tree


def run(tree, source):
    tree.write()
    if source is not None:
        path = tree.root / FOLDER / "some_instance.cpp"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
    library, _ = open_library(locate(tree.root, {}), with_archive=False)
    return extract(library, [KEY])


def fused(block, tile, vector):
    """Return an instance string, written by hand."""
    plain = line(block, tile, "Default", vector=vector)
    for old, new in (
        ("GKYXC,EmptyTuple", "GKYXC,Tuple(NHWGK)"),
        ("fp16,EmptyTuple", "fp16,Tuple(fp16)"),
        ("PassThrough,PassThrough,PassThrough", "PassThrough,PassThrough,AddClamp"),
    ):
        assert plain.count(old) == 1
        plain = plain.replace(old, new)
    return plain


def test_the_source_of_a_function_says_what_it_adds(tree):
    found = run(tree, SOURCE)
    assert not found.failures
    (listed,) = found.lists
    assert list(listed.file("profiler").texts) == [fused(256, 128, 8), fused(128, 64, 4)]
    assert [status for _, status, _ in listed.functions] == ["source"]
    assert (listed.key.folder, listed.key.file_name) == ("forward/bias_clamp", "nhwgc_fp16.conf")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (None, "no recipe says which tuples it uses, and no source file"),
        (f"void {FUNCTION}() {{}}", "its source adds no tuple that the headers declare"),
        (f"void {FUNCTION}() {{ {MAIN_ALIAS}<{', '.join('1' * 20)}>{{}}; }}", "takes fewer parameters"),
    ],
    ids=["no-source", "nothing", "too-many"],
)
def test_what_cannot_be_told_is_an_error(tree, source, message):
    found = run(tree, source)
    assert not found.lists
    assert message in str(found.failures[KEY])
