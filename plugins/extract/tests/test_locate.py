"""Finding an installed library."""

from pathlib import Path

import pytest

from ckprof.errors import InputError, ToolchainError
from ckprof_plugins.extract import opening as module
from ckprof_plugins.extract.headers import configuration, version
from ckprof_plugins.extract.opening import locate, open_library
from plugins.extract.tests.conftest import KEY, MAIN_LINES, MERGED_LINES, members, run, write_archive


@pytest.fixture
def installed(tree):
    tree.write()
    return write_archive(tree, members(MAIN_LINES, MERGED_LINES))


def test_prefix_include_root_and_archive_name_the_same_library(installed):
    archive = installed / "lib" / "x86_64-linux-gnu" / "libdevice_conv_operations.a"
    for given in (installed, installed / "include", archive):
        found = locate(given, {})
        assert found.archive == archive, given
        assert found.roots == (installed / "include",), given


def test_an_unpacked_package(tree):
    tree.root = tree.root / "usr"
    tree.write()
    write_archive(tree, members(MAIN_LINES, MERGED_LINES))
    assert locate(tree.root.parent, {}).archive is not None


def test_a_source_tree_keeps_its_headers_in_two_places(tree):
    include = tree.write()
    (tree.root / "library").mkdir()
    include.rename(tree.root / "library" / "include")
    (tree.root / "include" / "ck").mkdir(parents=True)
    inner = tree.root / "library" / "include" / "ck"
    (inner / "tensor_operation").rename(tree.root / "include" / "ck" / "tensor_operation")
    (inner / "config.h").unlink()
    found = locate(tree.root, {})
    assert found.roots == (tree.root / "library" / "include", tree.root / "include")
    assert found.archive is None
    result = run(tree.root)
    assert list(result.lists[0].file("profiler").texts) == MAIN_LINES + MERGED_LINES


def test_the_environment_and_usual_places_are_searched(installed, monkeypatch, tmp_path):
    monkeypatch.setattr(module, "_usual_places", lambda environment: [Path("/nonexistent"), installed])
    assert locate(None, {}).path == installed
    assert locate(None, {"CK_ROOT": str(tmp_path), "ROCM_PATH": str(installed)}).path == installed


def test_nothing_installed(monkeypatch):
    monkeypatch.setattr(module, "_usual_places", lambda environment: [])
    with pytest.raises(ToolchainError) as caught:
        locate(None, {"CK_ROOT": "/somewhere"})
    text = str(caught.value)
    assert text.splitlines()[0] == (
        "no Composable Kernel found: looked in $CK_ROOT (/somewhere), $ROCM_PATH (unset), /opt/rocm*, /usr"
    )
    assert "apt-get install composablekernel-dev" in text
    assert "ckprof list lists" in text


def test_newer_releases_are_asked_first():
    names = ["rocm-6.4.1", "rocm-7.10.0", "rocm", "rocm-7.2.4"]
    found = sorted((Path("/opt") / name for name in names), key=module._version, reverse=True)
    assert [path.name for path in found] == ["rocm-7.10.0", "rocm-7.2.4", "rocm-6.4.1", "rocm"]


@pytest.mark.parametrize(
    ("folders", "expected"),
    [
        (["include/ck_tile"], "the headers of CK Tile are here, but not those of its instance library"),
        (["include/ck", "include/ck_tile"], "the headers of Composable Kernel are here, but not those of"),
        ([], "no ck/library/tensor_operation_instance/gpu/grouped_convolution_forward.hpp below it"),
    ],
)
def test_incomplete_installations(tmp_path, folders, expected):
    for folder in folders:
        (tmp_path / folder).mkdir(parents=True)
    with pytest.raises(ToolchainError, match=expected):
        locate(tmp_path, {})


def test_other_files(tmp_path):
    with pytest.raises(InputError, match="no such file or folder"):
        locate(tmp_path / "x", {})
    (tmp_path / "x.txt").touch()
    with pytest.raises(InputError, match="expected an include root"):
        locate(tmp_path / "x.txt", {})
    (tmp_path / "x.a").touch()
    with pytest.raises(ToolchainError, match="headers of this archive were not found"):
        locate(tmp_path / "x.a", {})


def test_version_and_configuration(installed):
    library = open_library(locate(installed, {}))[0]
    assert (library.version, library.commit) == ("1.2.0", "abc")
    macros = configuration(library.headers)
    assert {"CK_ENABLE_FP16", "CK_USE_XDL"} <= set(macros)
    assert "CK_ENABLE_BF16" not in macros
    assert version(library.headers) == ("1.2.0", "abc")


def test_a_changed_archive_is_read_again(tree, installed):
    assert not run(installed).failures
    write_archive(tree, members(MAIN_LINES, [*MERGED_LINES, MAIN_LINES[0]]))
    assert KEY in run(installed).failures


def test_a_damaged_cache_is_read_again(installed, tmp_path):
    assert not run(installed).failures
    kept = list((tmp_path / "cache" / "extract").glob("*.bin"))
    assert len(kept) == 1
    kept[0].write_bytes(b"nothing")
    assert not run(installed).failures
    assert kept[0].stat().st_size > 100


def test_a_cache_that_cannot_be_written_is_no_error(installed, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("CKPROF_CACHE_DIR", str(tmp_path / "file"))
    assert not run(installed).failures
