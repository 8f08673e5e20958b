"""The headers of an installed library, wherever they are: a folder, a source tree, a package."""

from __future__ import annotations

import hashlib
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final, Protocol

from ckprof.errors import InputError
from ckprof_plugins.extract.preprocess import preprocess

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

#: folder of the factories below an include root
INSTANCES: Final = "ck/library/tensor_operation_instance/gpu"
#: folder of the device classes below an include root
DEVICES: Final = "ck/tensor_operation/gpu/device/impl"
FORWARD_FACTORY: Final = f"{INSTANCES}/grouped_convolution_forward.hpp"

#: what a source tree that was never configured is read with: every type and every kind of instruction
_UNCONFIGURED: Final = (
    *(f"CK_ENABLE_{name}" for name in ("INT8", "FP8", "BF8", "FP16", "BF16", "FP32", "FP64")),
    "CK_USE_XDL",
    "CK_USE_WMMA",
)


class HeaderTree(Protocol):
    """Headers by their path below the include root."""

    def find(self, path: str) -> str | None:
        """Return the text of a header; ``None`` if there is none."""

    def names(self, folder: str) -> Sequence[str]:
        """Return the names of the headers in a folder, sorted."""


class UsedHeaders:
    """Headers that remember which of them were read."""

    def __init__(self, headers: HeaderTree) -> None:
        self._headers = headers
        self._used: dict[str, str] = {}

    def find(self, path: str) -> str | None:
        """Return the text of a header; ``None`` if there is none."""
        if path not in self._used:
            text = self._headers.find(path)
            if text is None:
                return None
            self._used[path] = text
        return self._used[path]

    @property
    def roots(self) -> Sequence[Path]:
        """Include roots, where the headers are files."""
        return self._headers.roots if isinstance(self._headers, FolderHeaders) else ()

    def names(self, folder: str) -> Sequence[str]:
        """Return the names of the headers in a folder, sorted."""
        return self._headers.names(folder)

    def digest(self) -> str:
        """Return what identifies the contents of the headers that were read."""
        digest = hashlib.blake2b(digest_size=16)
        for path, text in sorted(self._used.items()):
            digest.update(f"{path}\0{len(text)}\0{text}".encode())
        return digest.hexdigest()


class FolderHeaders:
    """Headers in one or more include roots; the first that has one wins."""

    def __init__(self, roots: Sequence[Path]) -> None:
        self.roots = tuple(roots)

    def find(self, path: str) -> str | None:
        """Return the text of a header; ``None`` if there is none."""
        for root in self.roots:
            try:
                return (root / path).read_text(encoding="utf-8", errors="replace")
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError as exc:
                raise InputError(f"cannot be read: {exc.strerror}", root / path) from exc
        return None

    def names(self, folder: str) -> Sequence[str]:
        """Return the names of the headers in a folder, sorted."""
        names: set[str] = set()
        for root in self.roots:
            names.update(entry.name for entry in (root / folder).glob("*") if entry.is_file())
        return sorted(names)


class TextHeaders:
    """Headers that were taken out of a package."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.texts = texts

    def find(self, path: str) -> str | None:
        """Return the text of a header; ``None`` if there is none."""
        return self.texts.get(path)

    def names(self, folder: str) -> Sequence[str]:
        """Return the names of the headers in a folder, sorted."""
        return sorted(
            PurePosixPath(path).name for path in self.texts if str(PurePosixPath(path).parent) == folder
        )


def read_required(headers: HeaderTree, path: str) -> str:
    """Return the text of a header.

    :raises InputError: there is none.
    """
    text = headers.find(path)
    if text is None:
        raise InputError("this header is missing from the installed library", path)
    return text


def configuration(headers: HeaderTree) -> dict[str, str]:
    """Return the macros of the library's configuration.

    A source tree has only a template of it; there, everything is switched on.
    """
    text = headers.find("ck/config.h")
    if text is None:
        return dict.fromkeys(_UNCONFIGURED, "1")
    return preprocess(text, {}, "ck/config.h")[1]


def version(headers: HeaderTree) -> tuple[str, str]:
    """Return version and commit of the library; empty where the headers do not say them."""
    text = headers.find("ck/version.h")
    macros = preprocess(text, {}, "ck/version.h")[1] if text else {}
    return macros.get("CK_VERSION", ""), macros.get("CK_COMMIT_ID", "")
