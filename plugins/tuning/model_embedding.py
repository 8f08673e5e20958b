"""Compiles a time model into generated sources."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from ckprof.errors import UsageError
from ckprof.measure.events import RunWarning
from ckprof.plugin.protocols import KernelRanking
from ckprof.plugin.timing import TimedPipeline
from ckprof_plugins.tuning.model_training import Use, gemm_sizes_of, load_model, require_use
from ckprof_plugins.tuning.time_model.cpp_model import namespace, render_cpp
from ckprof_plugins.tuning.time_model.expression import form_of
from ckprof_plugins.tuning.time_model.selector import Selector
from ckprof_plugins.tuning.timed_kernels import model_candidate

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ckprof.kernels.build_dir import BuildDir
    from ckprof.kernels.candidates import Candidate as ListedKernel
    from ckprof.kernels.source.source_tree import KernelFiles
    from ckprof.plugin.protocols import Operation
    from ckprof.session import Session
    from ckprof_plugins.tuning.time_model.model import TimeModel


def predicted_ranking(
    session: Session, path: Path, build_dir: BuildDir, listed: Sequence[ListedKernel], *, force: bool
) -> KernelRanking:
    """Return a ranking of the kernels of a library by predicted times.

    :param path: of the model.
    :param listed: the kernels that will be generated.
    :param force: take a model of another device.
    :raises InputError: the model is of another device or direction.
    :raises UsageError: the folder holds no library, or no kernel's time can be predicted.
    """
    if build_dir.embedding is None:
        raise UsageError(f"--model: target {build_dir.target.id} makes no library that could choose")
    operation = build_dir.direction
    direction = operation.id
    if not operation.interface.ranks:
        raise UsageError(
            f"--model: the C functions of {direction} take kernels in the order of the list and know no "
            "predicted times; generate without --model, and have programs run the kernel that "
            "'ckprof select' names"
        )
    model = load_model(path, direction)
    if not force:
        require_use(session, model, Use(target=build_dir.target.id, arch=build_dir.arch), path)
    if model.basis:
        session.tell(RunWarning(text=f"--model: {model.basis}"))
    return KernelRanking(
        header=f"ckprof_time_model_{direction}.hpp",
        rank=f"ckprof::{namespace(direction)}::rank",
        digest=_digest(path),
        render=_Renderer(session, model, listed, operation),
    )


class _Renderer:
    """Writes the header for the kernels of a tree."""

    def __init__(
        self, session: Session, model: TimeModel, listed: Sequence[ListedKernel], operation: Operation
    ) -> None:
        self._forms = {ndim: form_of(problem) for ndim, problem in operation.default_problem.items()}
        self._by_values = operation.interface.by_values
        self._model = model
        self._registry = session.registry
        self._gemm_sizes = gemm_sizes_of(session.registry, model.direction, model.dtype)
        self._pipelines = {kernel.instance.pipeline: kernel.pipeline for kernel in listed}

    def __call__(self, kernels: Sequence[KernelFiles]) -> str:
        candidates = []
        for kernel in kernels:
            pipeline = self._pipelines[kernel.instance.pipeline]
            if not isinstance(pipeline, TimedPipeline):
                continue
            fields = kernel.instance.fields()
            candidates.append(model_candidate(self._registry, self._model, kernel.name, pipeline, fields))
        if not candidates:
            raise UsageError("--model: no time of these kernel families can be predicted")
        selector = Selector(self._model, candidates, self._gemm_sizes)
        names = [kernel.name for kernel in kernels]
        return render_cpp(selector, names, self._forms, by_values=self._by_values)


def _digest(path: Path) -> str:
    return hashlib.blake2b(path.read_bytes(), digest_size=16).hexdigest()
