"""What keeps Parsl from starting, found before it is waited for, and told in one line."""

from __future__ import annotations

import inspect
import socket
from typing import TYPE_CHECKING, Any, Final

from ckprof.errors import ToolchainError
from ckprof.plain_text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

#: types of values in settings files that Parsl's own checks let pass at the start, and fail on later
_SIMPLE: Final[Mapping[str, tuple[type, ...]]] = {
    "bool": (bool,),
    "int": (int,),
    "float": (int, float),
    "str": (str,),
    "number": (int, float),
}
#: characters of what a job has said
_SAID: Final = 300


def own_address(name: str) -> str:
    """Return the number of an address of this machine, which is all that Parsl takes.

    :raises ToolchainError: the name is not known, or belongs to another machine.
    """
    try:
        number = str(socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)[0][4][0])
        with socket.socket(socket.AF_INET6 if ":" in number else socket.AF_INET, socket.SOCK_STREAM) as bound:
            bound.bind((number, 0))
    except (OSError, UnicodeError) as exc:
        raise ToolchainError(
            f"parsl.address {name!r} cannot be used: {getattr(exc, 'strerror', None) or exc}; "
            "name an address of this machine that workers reach, or leave it out"
        ) from None
    return number


def wrong_value(parameter: inspect.Parameter, value: object) -> str:
    """Return what a parameter of a provider expects instead of a value; empty if the value will do."""
    names = str(parameter.annotation).replace("<class '", "").replace("'>", "")
    if parameter.annotation is inspect.Parameter.empty:
        default = type(parameter.default).__name__
        names = "number" if default in ("int", "float") else default
    expected = _SIMPLE.get(names)
    if expected is None or (isinstance(value, expected) and (names == "bool" or not isinstance(value, bool))):
        return ""
    return names


def failing_jobs(provider: str, folder: Path) -> Callable[[Any, Mapping[str, Any]], None]:
    """Return what Parsl asks to look at its jobs: gives up when all that were started have failed.

    :param folder: where Parsl keeps the scripts of jobs, and what they print.
    """

    def look(executor: Any, jobs: Mapping[str, Any]) -> None:
        failed = [job for job in jobs.values() if job.state.name in ("FAILED", "MISSING")]
        if len(failed) < max(1, executor.provider.init_blocks) or len(failed) < len(jobs):
            return
        executor.set_bad_state_and_fail_all(
            ToolchainError(
                f"jobs of provider {provider} end before a worker starts: {_said(failed[-1])}; "
                f"scripts and output are in {folder}"
            )
        )

    return look


def _said(job: Any) -> str:
    """Return what is known of a job that failed, in one line."""
    code = f"exit status {job.exit_code}" if job.exit_code is not None else ""
    texts = (job.message, code, job.stderr_summary or job.stdout_summary)
    said = "; ".join(" ".join(text.split()) for text in texts if text)
    return one_line(said[:_SAID]) or f"its state is {job.state.name.lower()}"
