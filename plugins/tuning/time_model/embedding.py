"""A model as a C++ header that makes the same choices as Python."""

from __future__ import annotations

import hashlib
from itertools import accumulate
from typing import TYPE_CHECKING

from ckprof.errors import UsageError
from ckprof.events import Level, Message
from ckprof.kernels.jinja import render
from ckprof.plugin.protocols import SourceAddition
from ckprof.version import __version__
from ckprof_plugins.tuning.model_use import (
    KernelKind,
    gemm_sizes_of,
    load_model,
    require_use,
    traits_of,
)
from ckprof_plugins.tuning.time_model.program import form_of
from ckprof_plugins.tuning.time_model.selector import Selector

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from ckprof.kernels.build_dir import BuildDir
    from ckprof.kernels.candidates import Candidate as ListedKernel
    from ckprof.kernels.source_tree import KernelFiles
    from ckprof.session import Session
    from ckprof_plugins.tuning.time_model.program import Form


def render_cpp(
    selector: Selector, kernels: Sequence[str], forms: Mapping[int, Form], *, by_values: bool
) -> str:
    """Return the text of the header.

    It needs ``ckprof_abi.h`` and C++17. Sizes below 2^52 give the same choices as :class:`Selector`, if the
    compiler keeps to IEEE arithmetic.

    :param kernels: names of the kernels in the order in which the caller numbers them.
    :param forms: number of spatial dimensions -> form of the problems that times are predicted for. What a
        problem has in addition to the fields of its form is not part of the prediction.
    :param by_values: the header reads the sizes of a problem from its values; else by their names.
    :raises UsageError: a problem does not give kernel libraries all of its sizes.
    """
    numbers = {name: index for index, name in enumerate(kernels)}
    programs = []
    for ndim, form in forms.items():
        program = selector.program_of_form(form)
        times, results = program.cpp_times()
        programs.append(
            {
                "ndim": ndim,
                "inputs": program.cpp_inputs(by_values=by_values),
                "choice": program.choice(cpp=True),
                "times": times,
                "results": results,
            }
        )
    return render(
        __package__,
        "time_model.hpp.j2",
        version=__version__,
        namespace=f"time_model_{selector.model.direction}",
        direction=selector.model.direction,
        device=selector.model.device or "an unknown device",
        count=len(kernels),
        slots=len(selector.members),
        choices=[
            (numbers[kernel.name], splits) for members in selector.members for kernel, splits in members
        ],
        first_choices=", ".join(map(str, accumulate(map(len, selector.members), initial=0))),
        programs=programs,
    )


def predicted_ranking(
    session: Session, path: Path, build_dir: BuildDir, listed: Sequence[ListedKernel], *, force: bool
) -> SourceAddition:
    """Return a ranking of the kernels of a library by predicted times.

    :param path: of the model.
    :param listed: the kernels that will be generated.
    :param force: take a model of another device.
    :raises InputError: the model is of another device or direction.
    :raises UsageError: the folder holds no library, or no kernel's time can be predicted.
    """
    if build_dir.chunk_size is None:
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
        require_use(session.registry, model, build_dir.target.id, build_dir.arch, path)
    if model.basis:
        session.emit(Message(f"--model: {model.basis}", Level.WARNING))
    forms = {ndim: form_of(problem) for ndim, problem in operation.default_problem.items()}
    sizes = gemm_sizes_of(session.registry, direction, model.dtype)
    known = traits_of(session.registry, KernelKind.of(model), listed)

    def rendered(kernels: Sequence[KernelFiles]) -> dict[str, str]:
        names = [kernel.name for kernel in kernels]
        traits = {name: known[name] for name in names if name in known}
        if not traits:
            raise UsageError("--model: no time of these kernel families can be predicted")
        selector = Selector(model, traits, sizes)
        text = render_cpp(selector, names, forms, by_values=operation.interface.by_values)
        return {f"include/{header}": text}

    header = f"ckprof_time_model_{direction}.hpp"
    return SourceAddition(
        header=header,
        rank=f"ckprof::time_model_{direction}::rank",
        digest=hashlib.blake2b(path.read_bytes(), digest_size=16).hexdigest(),
        render=rendered,
    )
