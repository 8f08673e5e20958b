"""What imports of files have in common that know less than a store."""

from __future__ import annotations

import hashlib
from pathlib import Path

from ckprof.store.attempt import Session
from ckprof.store.format import ImportHints
from ckprof.store.key import DeviceKey, MeasurementKey, MethodKey, OperationKey, ToolchainKey
from ckprof.store.query import SharedKey


def file_session(
    path: Path, data: bytes, kind: str, hints: ImportHints, started: float | None = None
) -> Session:
    """Return the session that a file becomes.

    Its uid follows from the content, so that importing the same file again adds nothing.

    :param kind: what the file is, for people.
    :param started: seconds since the epoch; without it, when the file was changed.
    """
    uid = hashlib.blake2b(data, digest_size=16, person=b"ckprof import").hexdigest()
    return Session(
        uid=uid,
        started=path.stat().st_mtime if started is None else started,
        tags=hints.tags,
        origin=f"{kind} {path.name}",
    )


def hinted_key(hints: ImportHints) -> SharedKey:
    """Return what the user says of a file's measurements; the rest stays unknown."""
    return SharedKey(
        operation=OperationKey(direction=hints.direction),
        device=DeviceKey(target=hints.target, model=hints.device, arch=hints.arch),
        toolchain=ToolchainKey(),
        method=MethodKey(clock="", version=0, cache=""),
        dtype=hints.dtype,
        layout=hints.layout,
    )


def instance_of_name(name: str) -> str:
    """Return the instance key of a kernel of which only the name is known."""
    return f"name:{name}"


__all__ = ["MeasurementKey", "file_session", "hinted_key", "instance_of_name"]
