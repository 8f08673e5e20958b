"""What identifies the measurements of one built library on one device."""

from __future__ import annotations

import platform
import sys
import time
import uuid
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ckprof.errors import UsageError
from ckprof.kernels.keys import FolderDigests, code_flags, digest_file, digest_parts
from ckprof.kernels.units import available_cpus
from ckprof.measure.host import cpu_model, git_state, host_properties
from ckprof.measure.options import timing_settings
from ckprof.model.device import DeviceIdentity
from ckprof.paths import object_cache_dir
from ckprof.plugin.manager import BUILTIN_PACKAGES
from ckprof.store.attempt import SOURCES, Session
from ckprof.store.key import DeviceKey, MethodKey, OperationKey, ToolchainKey
from ckprof.store.query import SharedKey
from ckprof.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ckprof.measure.options import RunOptions
    from ckprof.model.recipe import BuildRecipe
    from ckprof.plugin.manager import PluginManager
    from ckprof.plugin.protocols import Target

#: raised whenever the meaning of a sample changes
METHOD_VERSION: Final = 1


def shared_key(
    direction: str, target: Target, recipe: BuildRecipe, options: RunOptions, seen: DeviceIdentity
) -> SharedKey:
    """Return the parts of a key that do not depend on kernel and problem.

    The device is what really computes, even where it runs kernels that were made for another architecture,
    which is kept as ``arch``.

    :param seen: what the library said of the device; not used for targets that compute on the host.
    """
    identity = identify_device(target, recipe.arch, recipe.machine_identity, options, seen)
    device = device_key(recipe.target, recipe.arch, identity)
    return shared_key_of(direction, recipe, options, device, (identity.driver, identity.clock))


def require_own_times(options: RunOptions) -> None:
    """Refuse to store what has no key.

    :raises UsageError: kernels run under another tool.
    """
    if options.launcher:
        raise UsageError("--launcher: what runs under another tool is not stored, its times are not its own")


def shared_key_of(
    direction: str, recipe: BuildRecipe, options: RunOptions, device: DeviceKey, how: tuple[str, str]
) -> SharedKey:
    """Return what :func:`shared_key` returns, for a device that said elsewhere what it is.

    :param how: major version of the device's driver, and the clock that times kernels.
    """
    require_own_times(options)
    driver, clock = how
    return SharedKey(
        operation=OperationKey(direction=direction, api_level=recipe.api_level),
        device=device,
        toolchain=ToolchainKey(
            compiler=recipe.compiler.description,
            compiler_identity=recipe.compiler.identity,
            flags=code_flags(recipe),
            headers=_headers(recipe),
            driver=driver,
        ),
        method=MethodKey(
            clock=clock,
            version=METHOD_VERSION,
            cache=options.cache.value,
            flush_bytes=timing_settings(options).flush_bytes,
            init=options.init.value,
            seed=options.seed if options.init.is_drawn else 0,
        ),
    )


def device_key(target: str, arch: str, identity: DeviceIdentity) -> DeviceKey:
    """Return the part of a key that says where kernels ran."""
    names = ("model", "compute_units", "memory_bytes", "partition", "threads", "host")
    return DeviceKey(target=target, arch=arch, **{name: getattr(identity, name) for name in names})


def identify_device(
    target: Target,
    arch: str,
    machine_identity: str,
    options: RunOptions,
    seen: DeviceIdentity,
    cpus: int | None = None,
) -> DeviceIdentity:
    """Return what identifies the device that kernels run on here.

    :param machine_identity: what ``-march=native`` meant where they were built.
    :param seen: what the library said of the device.
    :param cpus: that a worker may run on, by default those of this process.
    """
    cpus = available_cpus() if cpus is None else cpus
    if options.device_name:
        return replace(seen, host=_emulating(options.device_name, cpus))
    identity = target.device_identity(arch, options.device_index)
    if identity is not None:
        # the runtime knows what the driver's tools do not say
        missing = {
            name: getattr(seen, name)
            for name in ("model", "compute_units", "memory_bytes", "partition", "driver")
            if not getattr(identity, name)
        }
        return replace(identity, **missing)
    if target.embedded:
        return DeviceIdentity(
            model=cpu_model(),
            compute_units=min(options.cpu_threads or cpus, cpus),
            threads=options.cpu_threads if options.cpu_threads > cpus else 0,
            # what -march=native means here
            partition=machine_identity[:16],
        )
    return seen


def _emulating(device: str, cpus: int) -> str:
    """Return what takes the times of a device that a target brings along, with its settings."""
    settings = device.partition(":")[2]
    return ", ".join(filter(None, (cpu_model(), f"{cpus} CPU" + ("s" if cpus != 1 else ""), settings)))


def _headers(recipe: BuildRecipe) -> str:
    """Return a digest of everything that kernels are compiled against, or linked with."""
    folders = FolderDigests(object_cache_dir() / "folders")
    sources = sorted({source.parent for source in recipe.support_sources})
    return digest_parts(
        *(folders.of(folder) for folder in (*(recipe.digested_dirs or recipe.include_dirs), *sources))
    )


def source_digests(manager: PluginManager) -> dict[str, str]:
    """Return digests of the files of ckprof, and of each plugin that is no part of it, by name."""
    folders = FolderDigests(object_cache_dir() / "folders")
    own = (Path(folder) for name in ("ckprof", *BUILTIN_PACKAGES) for folder in sys.modules[name].__path__)
    digests = {"ckprof": digest_parts(*map(folders.of, own))}
    for name, root in manager.roots.items():
        path = Path(root)
        with suppress(OSError):
            digests[name] = folders.of(path) if path.is_dir() else digest_file(path)
    return digests


def new_session(
    manager: PluginManager,
    options: RunOptions,
    seed: int,
    tags: tuple[str, ...],
    device_text: str = "",
    further: Mapping[str, object] | None = None,
) -> Session:
    """Return the evidence that all attempts of this command share.

    :param manager: has the plugins that take part.
    :param options: those that influence the figures.
    :param seed: of the order within rounds.
    :param further: more of the environment, as plain JSON values.
    """
    git = git_state(Path.cwd())
    return Session(
        uid=uuid.uuid4().hex,
        started=time.time(),
        host=platform.node(),
        ckprof_version=__version__,
        argv=tuple(sys.argv[1:]),
        git_commit=str(git["commit"]) if git else "",
        git_dirty=bool(git["dirty"]) if git else False,
        seed=seed,
        tags=tags,
        environment={
            "host": host_properties(),
            "options": options.as_plain(),
            "device": device_text,
            SOURCES: source_digests(manager),
            **(further or {}),
        },
    )
