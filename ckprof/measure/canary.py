"""Canaries: two reference kernels of a target, measured beside all others so that the machine's share shows.

Their object is built once per machine and target, and is the same whatever the user's kernels are built with.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ckprof.errors import CkprofError, ToolchainError
from ckprof.events import Level, Message
from ckprof.files import scratch_folder
from ckprof.kernels.keys import digest_parts
from ckprof.kernels.toolchain import ask
from ckprof.model.device import Finding, FindingState
from ckprof.paths import cache_dir

if TYPE_CHECKING:
    from ckprof.measure.options import RunOptions
    from ckprof.plugin.protocols import CanarySource, Target
    from ckprof.session import Session

_TIMEOUT_S: Final = 120.0
_LOST: Final = "comparisons cannot distinguish a slower machine from slower kernels"


def find_canary(session: Session, target: str, arch: str, options: RunOptions) -> Path | None:
    """Return the object with the canaries of the device that kernels run on; ``None`` without any.

    A device that the target brings along has none; neither has what is not timed, or runs under a tool.
    Where they cannot be built, the user is told what is lost.

    :param target: its id.
    """
    if options.device_name or options.launcher or not options.min_samples:
        return None
    try:
        source = session.registry.targets.find(target).canary(arch)
        return _built(source) if source is not None else None
    except CkprofError as exc:
        session.emit(canaries_lost(str(exc)))
        return None


def canaries_lost(reason: str) -> Message:
    """Return what users are told where canaries are not measured, or not any more."""
    return Message(f"canaries are not measured: {reason}; {_LOST}", Level.WARNING)


def canary_finding(target: Target) -> Finding | None:
    """Return whether the canaries of a target can be measured here; ``None`` if it has none."""
    try:
        source = target.canary(target.default_arch)
        if source is None:
            return None
        found = "compiled" if _object_path(source).is_file() else "not yet compiled"
        return Finding("canaries", FindingState.OK, f"{found}, {source.compiler[0]}")
    except (CkprofError, OSError) as exc:
        return Finding("canaries", FindingState.OPTIONAL, str(exc), f"without them, {_LOST}")


def _object_path(source: CanarySource) -> Path:
    digest = digest_parts(*(path.read_bytes() for path in source.files), *source.flags, source.machine)
    return cache_dir() / "canaries" / digest / "canaries.so"


def _built(source: CanarySource) -> Path:
    """Compile the object unless the cache has it.

    :raises ToolchainError: it cannot be compiled, or the cache cannot be written.
    """
    try:
        path = _object_path(source)
        if not path.is_file():
            path.parent.mkdir(parents=True, exist_ok=True)
            with scratch_folder(path.parent) as folder:
                made = folder / path.name
                command = (*source.compiler, str(source.files[0]), "-o", str(made), *source.flags)
                done = ask(command, _TIMEOUT_S)
                if done.returncode != 0:
                    said = " ".join(done.stderr.split())[:300]
                    raise ToolchainError(f"{' '.join(source.compiler)} fails: {said}")
                made.replace(path)
        return path
    except (OSError, subprocess.TimeoutExpired) as exc:
        raise ToolchainError(f"{source.files[0]} cannot be compiled: {exc}") from exc
