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
from ckprof.plugin.protocols import OwnProblems
from ckprof.plugin.timing import TimedPipeline
from ckprof.selection.cpp_model import CONVOLUTIONS, namespace, render_cpp
from ckprof.selection.selector import Candidate, Selector
from ckprof.selection.symbolic import form_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from ckprof.api.requests import BuildOptions
    from ckprof.api.session import Session
    from ckprof.codegen.source_tree import KernelFiles
    from ckprof.flow.build_dir import BuildDir
    from ckprof.flow.candidates import Candidate as ListedKernel
    from ckprof.plugin.protocols import Operation
    from ckprof.selection.model import TimeModel
    from ckprof.selection.symbolic import Form


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
    operation = build_dir.direction
    direction = operation.id
    own = interface_of(operation)
    if own is not None and not own.ranks:
        raise UsageError(
            f"--model: the C functions of {direction} take kernels in the order of the list and know no "
            "predicted times; generate without --model, and have programs run the kernel that "
            "'ckprof select' names"
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
        render=_Renderer(session, model, listed, _forms(operation)),
    )
    return replace(build_dir, embedding=replace(build_dir.embedding, time_model=header))


class _Renderer:
    """Writes the header for the kernels of a tree."""

    def __init__(
        self,
        session: Session,
        model: TimeModel,
        listed: Sequence[ListedKernel],
        forms: Mapping[int, Form],
    ) -> None:
        self._forms = forms
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
        return render_cpp(selector, [kernel.name for kernel in kernels], self._forms)


def _forms(operation: Operation) -> Mapping[int, Form]:
    """Return the forms of an operation's problems by their dimensions."""
    if not isinstance(operation, OwnProblems):
        return CONVOLUTIONS
    return {ndim: form_of(problem) for ndim, problem in operation.default_problem.items()}


def _digest(path: Path) -> str:
    return hashlib.blake2b(path.read_bytes(), digest_size=16).hexdigest()
