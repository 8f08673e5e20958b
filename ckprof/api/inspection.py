"""What the kernels of a selection will cost, from their machine code."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ckprof.api.building import build_library
from ckprof.errors import NothingLeftError, UsageError
from ckprof.flow.code_objects import read_code_objects
from ckprof.flow.inspect_build import inspect_build
from ckprof.model.recipe import Purpose
from ckprof.plugin.protocols import InspectableTarget, ModellingTarget

if TYPE_CHECKING:
    from ckprof.api.instances import Selection
    from ckprof.api.requests import BuildOptions
    from ckprof.api.session import Session
    from ckprof.flow.kernel_library import BuiltLibrary
    from ckprof.model.inspection import Inspection
    from ckprof.plugin.protocols import Target
    from ckprof.problems.tokens import ParsedProblem


def inspect_selection(
    session: Session, selection: Selection, options: BuildOptions, problem: ParsedProblem | None = None
) -> tuple[Inspection, BuiltLibrary]:
    """Build what is not built yet and read the code objects; nothing is run.

    :param options: without a target, the first one that reads machine code is taken.
    :param problem: what estimates are about.
    :raises UsageError: the target builds no code objects.
    :raises NothingLeftError: no kernel compiled.
    :raises CkprofError: no toolchain, or a code object cannot be read.
    """
    target = inspecting_target(session, options.target)
    library = build_library(
        session,
        selection.candidates,
        replace(options, target=target.id),
        Purpose.INSPECT,
        keep_invalid=selection.keep_invalid,
    )
    if library.code_objects is None:
        raise NothingLeftError("no kernel is left to inspect")
    inspection = inspect_build(
        read_code_objects(library.code_objects),
        target,
        candidates=selection.candidates,
        problem=problem.problem if problem else None,
        splits=(problem.split_k or 1) if problem else 1,
    )
    return inspection, library


def inspecting_target(session: Session, name: str | None) -> Target:
    """Return the target of that name, or the first one that reads machine code,
    of the architecture itself where there is a choice.

    :raises UsageError: it does not read machine code, or none does.
    """
    if name:
        target = session.target(name)
        if not isinstance(target, InspectableTarget):
            raise UsageError(f"target {target.id} builds no code objects that could be inspected")
        return target
    inspectable = [one for one in session.registry.targets if isinstance(one, InspectableTarget)]
    # of machine code for the architecture itself there is more to learn than of a model's
    for target in sorted(inspectable, key=lambda one: isinstance(one, ModellingTarget) and one.models_arch):
        return target
    raise UsageError("no target plugin reads machine code; name one with --target")
