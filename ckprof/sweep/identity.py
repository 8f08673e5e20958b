"""What identifies the measurements of one built library on one device."""

from __future__ import annotations

import platform
import sys
import time
import uuid
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ckprof.build.digests import FolderDigests, digest_parts
from ckprof.build.jobs import available_cpus
from ckprof.flow.run_environment import git_state
from ckprof.model.device import DeviceIdentity
from ckprof.paths import object_cache_dir
from ckprof.plugin.protocols import DeviceIdentifier
from ckprof.run.executor import timing_settings
from ckprof.run.host import cpu_model, host_properties
from ckprof.store.attempt import KernelInfo, Session
from ckprof.store.key import DeviceKey, MethodKey, OperationKey, ToolchainKey
from ckprof.store.query import SharedKey
from ckprof.sweep.plan import PlannedKernel
from ckprof.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ckprof.flow.candidates import Candidate
    from ckprof.flow.kernel_library import BuiltLibrary
    from ckprof.model.recipe import BuildRecipe
    from ckprof.plugin.protocols import Target
    from ckprof.run.opened_device import OpenedDevice
    from ckprof.run.options import RunOptions

#: raised whenever the meaning of a sample changes
METHOD_VERSION: Final = 1


def shared_key(
    direction: str, target: Target, recipe: BuildRecipe, options: RunOptions, opened: OpenedDevice
) -> SharedKey:
    """Return the parts of a key that do not depend on kernel and problem.

    The device is what really computes, even where it runs kernels that were made for another architecture,
    which is kept as ``arch``.

    :param opened: what the library said of the device; not used for targets that compute on the host.
    """
    identity = identify_device(target, recipe.arch, recipe.machine_identity, options, opened)
    device = device_key(recipe.target, recipe.arch, identity)
    return shared_key_of(direction, recipe, options, device, (identity.driver, identity.clock))


def shared_key_of(
    direction: str, recipe: BuildRecipe, options: RunOptions, device: DeviceKey, how: tuple[str, str]
) -> SharedKey:
    """Return what :func:`shared_key` returns, for a device that said elsewhere what it is.

    :param how: major version of the device's driver, and the clock that times kernels.
    """
    driver, clock = how
    return SharedKey(
        operation=OperationKey(direction=direction, api_level=recipe.api_level),
        device=device,
        toolchain=ToolchainKey(
            compiler=recipe.compiler.description,
            compiler_identity=recipe.compiler.identity,
            flags=(*recipe.compile_flags, *recipe.kernel_flags),
            headers=_headers(recipe),
            driver=driver,
        ),
        method=MethodKey(
            clock=clock,
            version=METHOD_VERSION,
            cache=options.cache.value,
            flush_bytes=timing_settings(options).flush_bytes,
            init=options.init.value,
        ),
    )


def device_key(target: str, arch: str, identity: DeviceIdentity) -> DeviceKey:
    """Return the part of a key that says where kernels ran."""
    return DeviceKey(
        target=target,
        model=identity.model,
        arch=arch,
        compute_units=identity.compute_units,
        memory_bytes=identity.memory_bytes,
        partition=identity.partition,
    )


def identify_device(
    target: Target, arch: str, machine_identity: str, options: RunOptions, opened: OpenedDevice
) -> DeviceIdentity:
    """Return what identifies the device that kernels run on here.

    :param machine_identity: what ``-march=native`` meant where they were built.
    :param opened: what the library said of the device.
    """
    seen = opened.identity or DeviceIdentity(model=opened.text)
    if isinstance(target, DeviceIdentifier):
        known = target.device_identity(arch, options.device)
        if known is not None:
            # the runtime knows what the driver's tools do not say
            missing = {
                name: getattr(seen, name)
                for name in ("model", "compute_units", "memory_bytes", "partition", "driver")
                if not getattr(known, name)
            }
            return replace(known, **missing)
    if target.embedded:
        return DeviceIdentity(
            model=cpu_model(),
            compute_units=options.cpu_threads or available_cpus(),
            # what -march=native means here
            partition=machine_identity[:16],
        )
    return seen


def _headers(recipe: BuildRecipe) -> str:
    """Return a digest of everything that kernels are compiled against, or linked with."""
    folders = FolderDigests(object_cache_dir() / "folders")
    sources = sorted({source.parent for source in recipe.support_sources})
    return digest_parts(
        *(folders.of(folder) for folder in (*(recipe.digested_dirs or recipe.include_dirs), *sources))
    )


def planned_kernels(
    candidates: Sequence[Candidate], object_keys: Mapping[str, str] | None
) -> list[PlannedKernel]:
    """Return the kernels of candidates.

    :param object_keys: those of the build; ``None`` before it. A candidate without one was not compiled.
    """
    return [
        PlannedKernel(
            instance=candidate.instance.key,
            ndim=candidate.instance.ndim,
            info=KernelInfo(
                name=candidate.name,
                instance_string=candidate.instance_string,
                pipeline=candidate.pipeline.id,
                dtype=candidate.instance.dtype,
                layout=candidate.instance.layout.name,
                fields=candidate.instance.fields(),
            ),
            object_digest=None if object_keys is None else object_keys.get(candidate.instance.key, ""),
        )
        for candidate in candidates
    ]


def built_kernels(library: BuiltLibrary) -> list[PlannedKernel]:
    """Return the kernels of a library; one that did not compile has no object."""
    built = {candidate.instance.key for candidate in library.built}
    keys = {instance: key for instance, key in library.object_keys.items() if instance in built}
    return planned_kernels(library.candidates, keys)


def new_session(
    options: RunOptions,
    seed: int,
    tags: tuple[str, ...],
    device_text: str = "",
    further: Mapping[str, object] | None = None,
) -> Session:
    """Return the evidence that all attempts of this command share.

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
            **(further or {}),
        },
    )
