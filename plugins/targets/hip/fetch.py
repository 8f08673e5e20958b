"""Fetches sources of Composable Kernel: ``python -m ckprof_plugins.targets.hip.fetch [2025-07|2025-11]``.

They are part of distributions of other packages on the Python package index. Only what belongs to Composable
Kernel is unpacked, with its licence, into ckprof's cache; nothing of the packages is built or installed.
Needs the extra ``ckprof[fetch]``.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import shutil
import sys
import tarfile
import tempfile
import zipfile
import zlib
from contextlib import closing
from functools import cache
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Final

import msgspec

from ckprof.errors import CkprofError, ExitCode, ToolchainError
from ckprof.kernels.keys import FolderDigests
from ckprof.paths import CACHE_VARIABLE, cache_dir

if TYPE_CHECKING:
    from collections.abc import Iterator

FETCH_COMMAND: Final = "python -m ckprof_plugins.targets.hip.fetch"
_TABLE: Final = Path(__file__).with_name("bundles.json")


class Bundle(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A state of Composable Kernel inside another package's distribution."""

    note: str
    project: str
    release: str
    #: type of the distribution: ``sdist`` or ``wheel``
    kind: str
    #: of the distribution
    sha256: str
    #: of the unpacked files, by relative name and content; see
    #: :class:`~ckprof.kernels.keys.FolderDigests`
    unpacked: str
    #: file or folder of the distribution -> where it goes
    parts: dict[str, str]
    #: a file that is there if anything is
    sign: str

    @property
    def title(self) -> str:
        """The distribution, for messages."""
        return f"{self.project} {self.release}"

    @property
    def root(self) -> Path:
        """The folder in which its files lie once they are fetched; it need not exist."""
        return cache_dir() / "ck-tile" / f"{self.project}-{self.release}"

    def destination(self, name: str) -> str:
        """Return where a file of the distribution goes; empty for one that is not wanted."""
        inside = PurePosixPath(name)
        if inside.is_absolute() or ".." in inside.parts:
            return ""
        for part, place in self.parts.items():
            if inside.is_relative_to(part):
                return (PurePosixPath(place) / inside.relative_to(part)).as_posix()
        return ""


@cache
def bundles() -> dict[str, Bundle]:
    """Return month -> what can be fetched, oldest first."""
    return msgspec.json.decode(_TABLE.read_bytes(), type=dict[str, Bundle])


def fetch(bundle: Bundle) -> Path:
    """Download and unpack a bundle unless it is there, and return its folder.

    Files that are there but differ from what was published are replaced.

    :raises ToolchainError: the client library is missing, the index cannot be reached, or what it has is not
        what is expected.
    """
    root = bundle.root
    if is_intact(bundle, root):
        return root
    try:
        root.parent.mkdir(parents=True, exist_ok=True)
    except OSError as exc:
        raise ToolchainError(
            f"{root.parent}: cannot be made: {exc.strerror}; set {CACHE_VARIABLE} to a folder that can be "
            "written"
        ) from exc
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=root.parent) as folder:
        archive = Path(folder, "distribution")
        download(bundle, archive)
        unpacked = Path(folder, "unpacked")
        unpack(bundle, archive, unpacked)
        if not is_intact(bundle, unpacked):
            raise ToolchainError(f"{bundle.title}: the unpacked files are not those that were published")
        # another process may have been faster, or somebody has changed them
        shutil.rmtree(root, ignore_errors=True)
        unpacked.rename(root)
    return root


def is_intact(bundle: Bundle, root: Path) -> bool:
    """Say whether a folder holds the files, all of them and nothing else, as they were published."""
    return root.is_dir() and FolderDigests(None).of(root) == bundle.unpacked


def download(bundle: Bundle, archive: Path) -> None:
    """Download the distribution.

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
                for package in client.get_project_page(bundle.project, timeout=60).packages
                if package.version == bundle.release and package.package_type == bundle.kind
            ]
            if not packages:
                raise ToolchainError(f"the package index has no {bundle.kind} of {bundle.title}")
            client.download_package(packages[0], archive, verify=False, timeout=60)
    except (RequestException, OSError, ValueError) as exc:
        raise ToolchainError(
            f"{bundle.title} cannot be downloaded: {exc}; try again, or name sources of your own"
        ) from exc
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    if digest != bundle.sha256:
        raise ToolchainError(f"{bundle.title}: the checksum is {digest}, expected {bundle.sha256}")


def unpack(bundle: Bundle, archive: Path, folder: Path) -> int:
    """Unpack what belongs to the bundle, and return the number of files.

    :raises ToolchainError: the archive does not hold it.
    """
    count = 0
    try:
        for name, source in _files(bundle, archive):
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(source.read())
            count += 1
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, zlib.error, gzip.BadGzipFile) as exc:
        raise ToolchainError(f"{archive}: cannot be unpacked: {exc}") from exc
    except OSError as exc:
        raise ToolchainError(f"{folder}: cannot be written: {exc.strerror or exc}") from exc
    if not (folder / bundle.sign).is_file():
        raise ToolchainError(f"{archive}: holds no {bundle.sign} of Composable Kernel")
    return count


def _files(bundle: Bundle, archive: Path) -> Iterator[tuple[str, IO[bytes]]]:
    """Yield where each wanted file goes, and its content."""
    if bundle.kind == "wheel":
        with zipfile.ZipFile(archive) as wheel:
            for entry in wheel.infolist():
                if not entry.is_dir() and (place := bundle.destination(entry.filename)):
                    with wheel.open(entry) as content:
                        yield place, content
        return
    with tarfile.open(archive) as tar:
        for member in tar:
            if not member.isfile() or not (place := bundle.destination(member.name)):
                continue
            source = tar.extractfile(member)
            assert source is not None  # noqa: S101  # it is a file
            with closing(source):
                yield place, source


def main() -> int:
    """Fetch, and print the folder."""
    notes = "\n".join(f"  {month}  {bundle.note}" for month, bundle in bundles().items())
    parser = argparse.ArgumentParser(
        prog=FETCH_COMMAND,
        description=f"Fetch sources of Composable Kernel, and print their folder.\n\n{notes}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    oldest = next(iter(bundles()))
    parser.add_argument(
        "month", nargs="?", default=oldest, choices=tuple(bundles()), help=f"which state (default: {oldest})"
    )
    try:
        print(fetch(bundles()[parser.parse_args().month]))
    except CkprofError as exc:
        print(f"ckprof: {exc}", file=sys.stderr)
        return exc.exit_code
    return ExitCode.OK


if __name__ == "__main__":
    sys.exit(main())
