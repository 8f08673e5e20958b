"""Fetching of Composable Kernel's sources, without a network."""

import builtins
import hashlib
import io
import tarfile
import zipfile

import msgspec
import pytest

from ckprof.errors import ToolchainError
from ckprof.kernels.keys import FolderDigests
from ckprof_plugins.targets.hip import fetch


def write_archive(path, names):
    with tarfile.open(path, "w:gz") as tar:
        for name in names:
            info = tarfile.TarInfo(name)
            info.size = 2
            tar.addfile(info, io.BytesIO(b"//"))
    return path


JULY = fetch.bundles()["2025-07"]
NOVEMBER = fetch.bundles()["2025-11"]
HEADERS = "flash_attn-2.8.3/csrc/composable_kernel/include/ck_tile"


def test_only_headers_are_unpacked(tmp_path):
    archive = write_archive(
        tmp_path / "a.tar.gz",
        [
            f"{HEADERS}/core.hpp",
            f"{HEADERS}/ops/gemm.hpp",
            f"{HEADERS}/../../../../evil.hpp",
            "flash_attn-2.8.3/setup.py",
            "flash_attn-2.8.3/csrc/composable_kernel/LICENSE",
        ],
    )
    assert fetch.unpack(JULY, archive, tmp_path / "out") == 3
    found = sorted(str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("*.*"))
    assert found == ["ck_tile/core.hpp", "ck_tile/ops/gemm.hpp"]
    assert (tmp_path / "out" / "LICENSE").is_file()


def test_an_archive_without_headers_is_rejected(tmp_path):
    archive = write_archive(tmp_path / "a.tar.gz", ["flash_attn-2.8.3/setup.py"])
    with pytest.raises(ToolchainError, match=r"holds no ck_tile/core\.hpp"):
        fetch.unpack(JULY, archive, tmp_path / "out")


class FakeClient:
    content = b"not what was expected"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def get_project_page(self, name, timeout):
        assert name == "flash-attn"
        from types import SimpleNamespace

        return SimpleNamespace(packages=[SimpleNamespace(version="2.8.3", package_type="sdist")])

    def download_package(self, package, path, verify, timeout):
        path.write_bytes(self.content)


@pytest.fixture
def client(monkeypatch, tmp_path):
    simple = pytest.importorskip("pypi_simple", reason="needs ckprof[fetch]")
    monkeypatch.setattr(simple, "PyPISimple", FakeClient)
    monkeypatch.setenv("CKPROF_CACHE_DIR", str(tmp_path / "cache"))
    return FakeClient


def published(archive, monkeypatch, **fields):
    """Let the index have an archive, and return the bundle that expects it."""
    monkeypatch.setattr(FakeClient, "content", archive.read_bytes())
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    return msgspec.structs.replace(JULY, sha256=digest, **fields)


def test_another_checksum_is_rejected_and_leaves_nothing(client, tmp_path):
    with pytest.raises(ToolchainError, match="the checksum is"):
        fetch.fetch(JULY)
    assert not JULY.root.exists()
    assert list(JULY.root.parent.iterdir()) == []


def test_fetched_once(client, tmp_path, monkeypatch):
    archive = write_archive(tmp_path / "a.tar.gz", [f"{HEADERS}/core.hpp"])
    bundle = published(archive, monkeypatch, unpacked=digest_of(archive, tmp_path / "expected"))
    root = fetch.fetch(bundle)
    assert (root / "ck_tile" / "core.hpp").is_file()
    monkeypatch.setattr(fetch, "download", lambda bundle, archive: pytest.fail("downloaded twice"))
    assert fetch.fetch(bundle) == root


def digest_of(archive, folder):
    fetch.unpack(JULY, archive, folder)
    return FolderDigests(None).of(folder)


@pytest.mark.parametrize("change", ["changed", "missing", "added"])
def test_what_is_there_is_verified(client, tmp_path, monkeypatch, change):
    archive = write_archive(tmp_path / "a.tar.gz", [f"{HEADERS}/core.hpp", f"{HEADERS}/ops.hpp"])
    bundle = published(archive, monkeypatch, unpacked=digest_of(archive, tmp_path / "expected"))
    headers = fetch.fetch(bundle) / "ck_tile"
    if change == "changed":
        (headers / "ops.hpp").write_text("evil")
    elif change == "missing":
        (headers / "ops.hpp").unlink()
    else:
        (headers / "more.hpp").write_text("evil")
    fetch.fetch(bundle)
    assert (headers / "ops.hpp").read_bytes() == b"//"
    assert not (headers / "more.hpp").exists()


def test_another_content_is_rejected_and_leaves_nothing(client, tmp_path, monkeypatch):
    archive = write_archive(tmp_path / "a.tar.gz", [f"{HEADERS}/core.hpp"])
    bundle = published(archive, monkeypatch)
    with pytest.raises(ToolchainError, match="not those that were published"):
        fetch.fetch(bundle)
    assert not JULY.root.exists()


def test_what_is_no_archive_is_rejected(tmp_path):
    (tmp_path / "a.tar.gz").write_bytes(b"\x1f\x8bno archive")
    with pytest.raises(ToolchainError, match="cannot be unpacked"):
        fetch.unpack(JULY, tmp_path / "a.tar.gz", tmp_path / "out")


def test_a_missing_client_is_told(monkeypatch, tmp_path):
    real = builtins.__import__

    def without(name, *rest):
        if name == "pypi_simple":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ToolchainError, match=r"ckprof\[fetch\]"):
        fetch.download(JULY, tmp_path / "x")


def test_a_tree_in_a_wheel_is_unpacked_with_its_licence(tmp_path):
    inside = "aiter_meta/3rdparty/composable_kernel"
    with zipfile.ZipFile(tmp_path / "a.whl", "w") as wheel:
        for name in (f"{inside}/{NOVEMBER.sign}", f"{inside}/LICENSE", f"{inside}/../../evil", "aiter/x.py"):
            wheel.writestr(name, "//")
        wheel.writestr(f"{inside}/test/large.cpp", "not wanted")
    assert fetch.unpack(NOVEMBER, tmp_path / "a.whl", tmp_path / "out") == 2
    assert (tmp_path / "out" / NOVEMBER.sign).is_file()
    assert (tmp_path / "out" / "LICENSE").is_file()


def test_a_damaged_wheel_is_rejected(tmp_path):
    (tmp_path / "a.whl").write_bytes(b"PK no archive")
    with pytest.raises(ToolchainError, match="cannot be unpacked"):
        fetch.unpack(NOVEMBER, tmp_path / "a.whl", tmp_path / "out")


@pytest.mark.parametrize("bundle", fetch.bundles().values(), ids=fetch.bundles())
def test_every_bundle_says_all_that_is_verified(bundle):
    assert len(bundle.sha256) == 64 and len(bundle.unpacked) == 40
    assert "LICENSE" in bundle.parts.values()
