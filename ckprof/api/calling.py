"""One run of one kernel of a library that is built already."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ckprof.api.problems import parse_problems
from ckprof.errors import UsageError
from ckprof.flow.call import Request, call_kernel

if TYPE_CHECKING:
    from pathlib import Path

    from ckprof.api.requests import CallOptions
    from ckprof.api.session import Session
    from ckprof.model.problem import Problem

_LEAST = (("device", 0), ("warmup", 0), ("repeat", 1), ("flush_bytes", 0), ("seed", 0))


def call_library(
    session: Session, library: Path, direction: str, problem: str | Problem, options: CallOptions
) -> dict[str, object]:
    """Run a kernel in a process of its own and return everything about the run as plain JSON values.

    :param direction: id or alias of what the library computes.
    :raises UsageError: a number is out of range.
    :raises InputError: the problem or the library cannot be used.
    """
    for name, least in _LEAST:
        value = getattr(options, name)
        if value < least:
            raise UsageError(f"--{name.replace('_', '-')} {value}: expected {least} or more")
    if not (math.isfinite(options.timeout_s) and options.timeout_s > 0):
        raise UsageError(f"--timeout {options.timeout_s:g}: expected a positive number of seconds")
    found = session.registry.operation(direction)
    (parsed,) = parse_problems(session, found, [problem]).named
    split_k = options.split_k if options.split_k is not None else parsed.split_k
    return call_kernel(
        found,
        Request(
            library=str(library),
            problem=parsed.problem,
            kernel=options.kernel,
            arch=options.arch,
            device=options.device,
            split_k=1 if split_k is None else split_k,
            warmup=options.warmup,
            repeat=options.repeat,
            median=options.median,
            flush_bytes=options.flush_bytes,
            seed=options.seed,
            init=options.init,
        ),
        verify=options.verify,
        timeout_s=options.timeout_s,
    )
