"""Which files of a tree are taken for lists."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckprof.errors import InputError
from ckprof.lists.list_files import find_lists, find_tree
from ckprof.paths import conf_root


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ("b/tests/x.conf", "a/tests/y.json", "a/profiler/y.conf", "a/tests/annotation.txt"):
        path = tmp_path / "tree" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return tmp_path / "tree"


def names(root: Path, set_name: str | None) -> list[str]:
    return [path.relative_to(root).as_posix() for path in find_lists(root, set_name)]


def test_lists_and_catalogs_sorted_by_path(tree: Path) -> None:
    assert names(tree, None) == ["a/profiler/y.conf", "a/tests/y.json", "b/tests/x.conf"]
    assert names(tree, "tests") == ["a/tests/y.json", "b/tests/x.conf"]


def test_the_folder_itself_may_be_the_set(tree: Path) -> None:
    assert names(tree / "a" / "tests", "tests") == ["y.json"]


def test_an_unknown_set_says_where_lists_are(tree: Path) -> None:
    with pytest.raises(InputError, match="no list in a folder 'nightly'; lists are in profiler, tests"):
        find_lists(tree, "nightly")


def test_a_folder_without_lists(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no list"):
        find_lists(tmp_path, None)


def test_the_shipped_tree_goes_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert find_tree("conf") == conf_root()
    assert find_tree("conf/forward") == conf_root() / "forward"
    assert len(find_lists(find_tree("conf"), "tests")) == 84
    assert len(find_lists(find_tree("conf"), "profiler")) == 92  # dynamic_op has no others
    with pytest.raises(InputError, match="no such folder"):
        find_tree("confs")


def test_a_file_is_no_tree(tree: Path) -> None:
    with pytest.raises(InputError, match="--conf"):
        find_tree(str(tree / "a" / "tests" / "y.json"))
