"""Which folders are trees with CK Builder, and what is said of those that are not."""

import pytest

from ckprof.errors import InputError, ToolchainError
from ckprof_converters.reflection.tree import find_tree

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


def test_helpers_come_first_and_other_headers_are_left_out(tree):
    names = [name.rpartition("/")[2] for name in find_tree(tree).traits]
    assert names == ["instance_traits_util.hpp", "instance_traits.hpp", "instance_traits_device_b.hpp"]


def test_sources_of_convolutions_by_the_functions_that_they_define(tree):
    sources = find_tree(tree).sources
    assert {name: path.name for name, path in sources.items()} == {
        "add_device_one_instances": "one.cpp",
        "add_device_two_instances": "two.cpp",
        "add_device_four_instances": "four.in",
    }


def test_the_version_is_that_of_the_newest_entry_of_the_change_log(tree):
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
