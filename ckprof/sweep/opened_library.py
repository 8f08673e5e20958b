"""A library in a worker process, with what identifies the measurements of its kernels."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ckprof.measure.bench import BenchLibrary, KernelBench
from ckprof.measure.observers import PluginHooks
from ckprof.measure.options import options_on
from ckprof.sweep.identity import shared_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ckprof.kernels.library import BuiltLibrary
    from ckprof.measure.options import RunOptions
    from ckprof.measure.workers import DeviceUse
    from ckprof.model.recipe import BuildRecipe
    from ckprof.plugin.protocols import Observer
    from ckprof.session import Session
    from ckprof.store.query import SharedKey


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedLibrary:
    """A library whose kernels can be measured."""

    library: BuiltLibrary
    bench: KernelBench
    #: what its measurements have in common, but for data type and layout
    shared: SharedKey
    hooks: PluginHooks


@contextmanager
def open_library(
    session: Session,
    library: BuiltLibrary,
    options: RunOptions,
    observers: Sequence[Observer] = (),
    device: DeviceUse | None = None,
) -> Iterator[OpenedLibrary]:
    """Have a worker load a library inside of a block; plugins learn of its problems.

    :param options: of :func:`sweep_run_options`.
    :param device: how the device is shared.
    :raises ToolchainError: the library cannot be loaded, or its target rejects the device.
    """
    hooks, target = PluginHooks(session, library), session.registry.targets.find(library.recipe.target)
    with KernelBench(BenchLibrary.of(library), options, observers, hooks.tell, device=device) as bench:
        shared = shared_key(library.direction.id, target, library.recipe, options, bench.device)
        yield OpenedLibrary(library=library, bench=bench, shared=shared, hooks=hooks)


def sweep_run_options(options: RunOptions, recipe: BuildRecipe) -> RunOptions:
    """Return how the kernels of sweeps are run: always verified, and with their raw samples."""
    return replace(options_on(options, recipe), verify=True, keep_samples=True)
