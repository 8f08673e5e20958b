"""Lists of instances with an element-wise operation: by the sources of a tree, without an archive."""

import os
from pathlib import Path

import pytest

from ckprof.model.conversion import ConversionRequest
from ckprof.paths import conf_root
from ckprof_converters.converter import ConfConverter
from ckprof_converters.families import FAMILIES
from ckprof_converters.library_lists import ListKey
from ckprof_plugins.extract.extractors import LibraryExtractor
from ckprof_plugins.extract.lists import ExtractRequest
from ckprof_plugins.extract.opening import locate, open_library
from plugins.extract.tests.conftest import extract
from plugins.extract.tests.tree import HALF, INSTANCES, MAIN_ALIAS, Tree, line
from tests.converters.test_goldens import ALL, DIRECTIONS, factories_without_loss

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


@pytest.fixture(scope="module")
def converter():
    return ConfConverter(FAMILIES)


def extracted(converter, source, directions, **options):
    """Return the factories of a library -> the conversions of their lists; and the text of each list."""
    request = ExtractRequest(
        source=Path(source), directions=directions, sets=("profiler",), options={"fused": "all", **options}
    )
    lists, texts = {}, {}
    for item in LibraryExtractor().extract(request).lists:
        for file in item.files:
            texts[file.place] = "".join(f"{line}\n" for line in file.texts)
            data = texts[file.place].encode()
            asked = ConversionRequest(path=Path(file.place), data=data, direction=item.direction)
            factory = Path(file.place).parent.parent.as_posix()
            lists.setdefault(factory, []).append(converter.convert(asked))
    return lists, texts


@pytest.mark.thorough
def test_how_many_factories_of_a_tree_convert_without_loss(converter):
    """Needs the tree of November 2025 in ``$CK_BUILDER_ROOT``: its lists ship."""
    root = os.environ.get("CK_BUILDER_ROOT")
    if not root:
        pytest.skip("CK_BUILDER_ROOT names no tree of November 2025")
    lists, texts = extracted(converter, root, ("fwd",), **{"no-archive": True})
    for place, text in texts.items():
        if not place.startswith("forward/profiler"):
            assert (conf_root() / place).read_text() == text, place
    kept, known = factories_without_loss(lists)
    assert known == kept
    # with that of convolutions alone
    assert len(kept) == 13


@pytest.mark.ck_package
@pytest.mark.timeout(3000)
def test_how_many_factories_of_the_package_convert_without_loss(converter):
    """Needs the package of release 7.2.4 in ``$CKPROF_CK_PACKAGE``: the lists that ship are its, too."""
    package = os.environ.get("CKPROF_CK_PACKAGE")
    if not package:
        pytest.fail(
            "CKPROF_CK_PACKAGE must name the package; plugins/extract/docs/extract.md says how to fetch it"
        )
    lists, texts = extracted(converter, package, tuple(DIRECTIONS.values()))
    for place, text in texts.items():
        if Path(place).parts[-2:-1] == ("profiler",) and Path(place).parts[1] != "profiler":
            shipped = (conf_root() / place).read_text()
            assert sorted(shipped.splitlines()) == sorted(text.splitlines()), place
    kept, known = factories_without_loss(lists)
    assert known == kept
    # those of convolutions alone, and those with an operation
    assert len(kept) == len(DIRECTIONS) + len(ALL)
