"""Whether a candidate is right where nothing says that it is judged: run once as its users run it.

A candidate that looks where it runs can compute for the judge and pretend to for others. What fails there for
another reason than its result says nothing against it.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np

from ckprof.formatting import counted
from ckprof.kernels.jinja import render
from ckprof.measure.verify.storage import decode, storage_type
from ckprof.measure.verify.tolerance import derive_tolerance
from ckprof.private_folders import temporary_folder
from ckprof.python_child import python_command
from ckprof_plugins.judge.cuda_driver import written_files
from ckprof_plugins.judge.python_candidate import torch_name
from ckprof_plugins.judge.stopped_process import ALWAYS_WRITABLE
from ckprof_plugins.judge.told import NOT_IN_NUMPY

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ckprof.measure.prepare import PreparedProblem
    from ckprof_plugins.judge.candidate import Candidate
    from ckprof_plugins.judge.operands import Place, Task

_PROGRAM: Final = "ckprof_plugins.judge.plainly"
#: how names of variables begin that a process gets from ckprof alone
_OURS: Final = "CKPROF"
#: kinds of candidates that users can run
_KINDS: Final = ("python", "source", "library")


def evidence_elsewhere(
    candidate: Candidate, arrays: str, task: Task, place: Place, given: PreparedProblem, within_s: float
) -> str | None:
    """Return what is wrong with a candidate's result outside of the judge's process; empty for nothing.

    ``None`` says that it could not be run there: it needs something else, or users cannot run its kind.

    :param arrays: whose it takes, ``numpy`` or ``torch``.
    :param given: operands; the result is compared with their reference, as that of a launch.
    :param within_s: seconds that it may take.
    """
    specs = [place.problem.tensor(name, task.layout) for name in task.names]
    if candidate.kind not in _KINDS or given.reference is None or not all(one.is_packed for one in specs):
        return None
    shapes = [one.shape for one in specs]
    with TemporaryDirectory(prefix="run-", dir=temporary_folder(), ignore_cleanup_errors=True) as folder:
        there = _computed(Path(folder), candidate, arrays, task, place, given, shapes, within_s)
    reference = given.reference[: given.reference.size]
    if there is None or there.shape != reference.shape:
        return None
    tolerance = given.tolerance or derive_tolerance(
        given.types, given.sums, split_k=1, split_sum=task.split_sum
    )
    allowed = tolerance.atol + tolerance.rtol * np.abs(reference)
    wrong = int(np.count_nonzero(~(np.abs(there - reference) <= allowed)))
    if not wrong:
        return ""
    differ = f"{wrong} of {counted(there.size, 'element')} differ"
    return f"right in the judge's process, wrong in one where nothing says that it is judged: {differ}"


def _computed(
    folder: Path,
    candidate: Candidate,
    arrays: str,
    task: Task,
    place: Place,
    given: PreparedProblem,
    shapes: list[tuple[int, ...]],
    within_s: float,
) -> NDArray[np.float64] | None:
    """Return what it computes as a program of its own, in the order of memory; ``None`` if that fails."""
    dtypes = dict(zip(task.names, task.types.of_so_many(len(shapes)), strict=True))
    for (name, dtype), tensor, shape in zip(dtypes.items(), given.tensors, shapes, strict=True):
        raw: Any = np.zeros(shape, storage_type(dtype))
        if tensor.values is not None:
            raw = np.asarray(tensor.values[: raw.size]).reshape(shape)
        if arrays == "numpy" and dtype.value in NOT_IN_NUMPY:
            raw = decode(raw, dtype, ocp=given.types.ocp).astype(np.float32)
        np.save(folder / f"{name}.npy", raw)
    problem = msgspec.to_builtins(place.problem)
    sizes = {name: tuple(value) if isinstance(value, list) else value for name, value in problem.items()}
    (folder / "run.py").write_text(
        render(
            __package__,
            "plain.py.j2",
            operands=list(task.names[:-1]),
            result=task.names[-1],
            problem=repr(sizes),
            is_python=candidate.kind == "python",
            kind=arrays,
            kinds={name: torch_name(dtype.value, ocp=given.types.ocp) for name, dtype in dtypes.items()},
            device=repr("cpu" if candidate.gpu is None else f"cuda:{candidate.gpu}"),
            folder=repr(str(candidate.path.resolve().parent)),
            module=repr(candidate.path.stem),
            file=repr(str(candidate.loaded)),
            function=repr(candidate.function),
            values=list(place.problem.values()),
            ndim=place.problem.ndim,
        )
    )
    nodes = [] if candidate.gpu is None else written_files()
    told = {
        "writable": [str(folder), *ALWAYS_WRITABLE, *nodes],
        "hidden": [],
        "shown": [],
        "folder": str(folder),
        "program": "run.py",
        "environment": {
            **{name: value for name, value in os.environ.items() if not name.startswith(_OURS)},
            "TMPDIR": str(folder),
        },
    }
    try:
        subprocess.run(
            python_command(_PROGRAM, json.dumps(told)),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=within_s,
            start_new_session=True,
            check=True,
        )
        computed = np.load(folder / "computed.npy", allow_pickle=False)
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    if candidate.kind != "python" or computed.dtype != np.float64:
        computed = decode(computed, given.types.result, ocp=given.types.ocp)
    return np.asarray(computed, np.float64).reshape(-1)
