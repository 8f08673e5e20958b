"""What can be compared, and revisions of a tree."""

import subprocess

import pytest

from ckprof.errors import InputError
from ckprof.kernels.requests import BuildOptions
from ckprof_plugins.tuning.gate.sides import GateSide, tree_of
from plugins.tuning.tests.gate.sides import file


@pytest.fixture
def tree(tmp_path):
    """A repository whose folder ``include`` has two revisions, the second of which is changed."""
    folder = tmp_path / "repository" / "include"
    folder.mkdir(parents=True)

    def git(*words):
        identity = ("-c", "user.name=a", "-c", "user.email=a@b")
        subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)

    git("init", "-q", "..")
    for text in ("one", "two"):
        (folder / "ck.hpp").write_text(text)
        git("add", ".")
        git("commit", "-qm", text)
    (folder / "ck.hpp").write_text("three")
    return folder


def test_revisions_of_a_folder(tree):
    found = [tree_of(tree, revision) for revision in ("HEAD~1", "HEAD")]
    assert [(one / "ck.hpp").read_text() for one in found] == ["one", "two"]
    # the same content is the same folder
    assert tree_of(tree, "HEAD~0") == found[1]
    side = GateSide.of(f"{tree}@HEAD~1")
    assert side.build_options(BuildOptions()).ck_root == found[0]
    # without a revision, the folder as it is
    assert GateSide.of(str(tree)).build_options(BuildOptions()).ck_root == tree
    with pytest.raises(InputError, match=r"include: 'git rev-parse .*' fails: .*"):
        tree_of(tree, "nowhere")
    with pytest.raises(InputError, match="fails"):
        tree_of(tree, "--all")


def test_a_folder_in_no_repository(tmp_path):
    with pytest.raises(InputError, match="not a git repository"):
        tree_of(tmp_path, "HEAD")


def test_what_a_name_means(tmp_path):
    assert GateSide.of(str(file(tmp_path / "b.json"))).baseline.gpu == "MI300X"
    assert GateSide.of("sh -c").build_options(BuildOptions()).compiler == "sh -c"
    for name in (str(tmp_path / "missing"), "", "no-such-compiler -O2", f"{tmp_path}/missing@HEAD"):
        with pytest.raises(InputError, match="is neither a baseline"):
            GateSide.of(name)
