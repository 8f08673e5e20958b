"""What a worker of an engine's build pool runs: compiles kernels into its own cache and hands them over."""

from __future__ import annotations

import platform
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ckprof.api.session import Session, ignore
from ckprof.arch.architectures import use_files
from ckprof.build.builder import build_library
from ckprof.build.cache import ObjectCache
from ckprof.build.entries import pack
from ckprof.config.settings import Settings
from ckprof.errors import CkprofError, ToolchainError
from ckprof.model.recipe import BuildRequest, Product
from ckprof.paths import object_cache_dir
from ckprof.plugin.manager import PluginManager
from ckprof.scratch import scratch_folder
from ckprof.sweep.cluster.build_messages import BuildReply, decode_build_task, encode_build
from ckprof.sweep.cluster.folder import SweepFolder
from ckprof.version import __version__

if TYPE_CHECKING:
    from ckprof.sweep.cluster.build_messages import BuildTask
    from ckprof.sweep.cluster.engine import Slot

#: what engines call in their workers
BUILD_HANDLER = "ckprof.api.build_worker:handle"


@dataclass(frozen=True, slots=True)
class _Keyed:
    """What the build wants to know of an instance."""

    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Files:
    """The sources of one kernel in a scratch folder."""

    instance: _Keyed
    name: str
    header: Path
    entry: Path
    symbol: str
    weight: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tree:
    """A source tree of the kernels of one task."""

    root: Path
    library_name: str
    kernels: tuple[_Files, ...]


def handle(payload: bytes, slot: Slot) -> bytes:
    """Compile the kernels of one task. Errors of ckprof are answers."""
    del slot
    task = decode_build_task(payload)
    try:
        reply = _compile(task)
    except CkprofError as exc:
        reply = BuildReply(message=f"{platform.node()}: {exc}")
    return encode_build(reply)


def _compile(task: BuildTask) -> BuildReply:
    if task.version != __version__:
        raise ToolchainError(
            f"this worker has ckprof {__version__}, the coordinator {task.version}: install the same version"
        )
    use_files(Path(name) for name in task.architectures)
    manager = PluginManager()
    manager.load_all(configured=task.plugins)
    target = Session(settings=Settings(), manager=manager, tell=ignore).target(task.target)
    recipe = target.recipe(
        BuildRequest(
            arch=task.arch,
            api_level=task.api_level or None,
            compiler=task.compiler or None,
            ck_root=Path(task.ck_root) if task.ck_root else None,
        )
    )
    cache = ObjectCache(object_cache_dir())
    wanted = {one.instance: one.object_key for one in task.kernels}
    with scratch_folder() as folder:
        result = build_library(
            _write(task, folder),  # type: ignore[arg-type]
            # objects are wanted, no library
            replace(recipe, product=Product.CODE_OBJECTS),
            timeout_s=task.timeout_s,
            work_dir=folder / "build",
            cache=cache,
        )
    differing = [one for one, key in result.object_keys.items() if wanted.get(one) != key]
    if differing:
        raise ToolchainError(
            f"compiler, flags or headers are others here than where the sweep was begun "
            f"(here: {recipe.compiler.description}); use the same image or modules on all machines"
        )
    entries = pack(cache, (wanted[one] for one in result.objects))
    if not task.folder:
        return BuildReply(entries=tuple(entries))
    shared = SweepFolder(root=Path(task.folder)).objects
    return BuildReply(kept=tuple(shared.put(encode_build(one)) for one in entries))


def _write(task: BuildTask, root: Path) -> _Tree:
    files = []
    for one in task.kernels:
        header, entry = root / one.header[0], root / one.entry[0]
        header.parent.mkdir(parents=True, exist_ok=True)
        header.write_text(one.header[1], encoding="utf-8")
        entry.write_text(one.entry[1], encoding="utf-8")
        files.append(
            _Files(
                instance=_Keyed(one.instance),
                name=one.name,
                header=header,
                entry=entry,
                symbol=one.symbol,
                weight=one.weight,
            )
        )
    return _Tree(root=root, library_name=task.library_name, kernels=tuple(files))
