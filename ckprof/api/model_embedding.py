"""Compiles a time model into generated sources."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING

from ckprof.api.model_training import Use, gemm_sizes_of, load_model, require_use
from ckprof.api.timed_kernels import KernelKind, executed_traits
from ckprof.codegen.library_api import interface_of
from ckprof.codegen.time_model import TimeModelHeader
from ckprof.errors import InputError, UsageError
from ckprof.model.kernel_traits import Schedule
from ckprof.plugin.timing import TimedPipeline
from ckprof.selection.cpp_model import namespace, render_cpp
from ckprof.selection.selector import Candidate, Selector

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ckprof.api.requests import BuildOptions
    from ckprof.api.session import Session
    from ckprof.codegen.source_tree import KernelFiles
    from ckprof.flow.build_dir import BuildDir
    from ckprof.flow.candidates import Candidate as ListedKernel
    from ckprof.selection.model import TimeModel


def with_time_model(
    session: Session, build_dir: BuildDir, listed: Sequence[ListedKernel], options: BuildOptions
) -> BuildDir:
    """Return a folder whose registry and C interface will choose by predicted times.

    :param listed: the kernels that will be generated.
    :raises InputError: the model is of another device or direction.
    :raises UsageError: the folder holds no library, or no kernel's time can be predicted.
    """
    path = options.time_model
    if path is None:
        return build_dir
    if build_dir.embedding is None:
        raise UsageError(f"--model: target {build_dir.target.id} makes no library that could choose")
    direction = build_dir.direction.id
    if interface_of(build_dir.direction) is not None:
        raise UsageError(
            f"--model: libraries of {direction} do not choose kernels by predicted times; "
            "'ckprof select' does"
        )
    model = load_model(path)
    if model.direction != direction:
        raise InputError(f"the model is of {model.direction}, not {direction}", path)
    if not options.force_model:
        require_use(session, model, Use(target=build_dir.target.id, arch=build_dir.arch), path)
    header = TimeModelHeader(
        header=f"ckprof_time_model_{direction}.hpp",
        rank=f"ckprof::{namespace(direction)}::rank",
        digest=_digest(path),
        render=_Renderer(session, model, listed),
    )
    return replace(build_dir, embedding=replace(build_dir.embedding, time_model=header))


class _Renderer:
    """Writes the header for the kernels of a tree."""

    def __init__(self, session: Session, model: TimeModel, listed: Sequence[ListedKernel]) -> None:
        self._model = model
        self._registry = session.registry
        self._gemm_sizes = gemm_sizes_of(session.registry, model.direction, model.dtype)
        self._pipelines = {one.instance.pipeline: one.pipeline for one in listed}

    def __call__(self, kernels: Sequence[KernelFiles]) -> str:
        candidates = []
        for kernel in kernels:
            pipeline = self._pipelines[kernel.instance.pipeline]
            if not isinstance(pipeline, TimedPipeline):
                continue
            fields = kernel.instance.fields()
            traits = executed_traits(
                self._registry, KernelKind.of(self._model), fields, pipeline.traits(fields)
            )
            splits = self._model.splits if traits.schedule is Schedule.TILES else (1,)
            candidates.append(Candidate(name=kernel.name, traits=traits, splits=splits))
        if not candidates:
            raise UsageError("--model: no time of these kernel families can be predicted")
        selector = Selector(self._model, candidates, self._gemm_sizes)
        return render_cpp(selector, [kernel.name for kernel in kernels])


def _digest(path: Path) -> str:
    return hashlib.blake2b(path.read_bytes(), digest_size=16).hexdigest()
