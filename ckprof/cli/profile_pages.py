"""Writes the predicted profiles of kernels: pages, text, or everything as JSON."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from ckprof.cli.report_file import check_report, write_report
from ckprof.errors import InputError, NothingLeftError, UsageError
from ckprof.plain_text import plain
from ckprof.report.profile.content import ProfileContent
from ckprof.report.profile.page import render_profile
from ckprof.report.profile.text import profile_document

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ckprof.cli.session import Session
    from ckprof.kernels.inspection import Inspection
    from ckprof.tuning.predict import KernelPrediction, Predictions

#: standard output
STDOUT: Final = "-"
SCHEMA: Final = "ckprof-profile"
VERSION: Final = 1


def _json(content: ProfileContent) -> str:
    record = {"schema": SCHEMA, "version": VERSION, "predicted": True, **msgspec.to_builtins(content)}
    return msgspec.json.format(msgspec.json.encode(record), indent=1).decode() + "\n"


#: ending of a file -> what is written to it
_FORMATS: Final[Mapping[str, Callable[[ProfileContent], str]]] = {
    ".html": render_profile,
    ".json": _json,
    ".md": lambda content: profile_document(content).markdown(),
    ".txt": lambda content: profile_document(content).text(),
}


def check_page(path: str, kernels: int) -> None:
    """Make sure that pages can be written, before anything is done that takes time.

    :param path: a file, a folder, or ``-``.
    :param kernels: how many have a page.
    :raises UsageError: the format is not known by the name.
    :raises InputError: the file cannot be written.
    """
    if path == STDOUT:
        return
    if _is_folder(path):
        if not Path(path).is_dir():
            raise InputError("is not a folder; make it first", path)
        return
    if Path(path).suffix not in _FORMATS:
        raise UsageError(f"--page {path}: expected a name that ends in {', '.join(_FORMATS)}, a folder, or -")
    if kernels > 1:
        raise UsageError(
            f"--page {path}: a page shows one kernel, {kernels} are chosen: choose one with --instance or "
            "--filter, or name a folder"
        )
    check_report(Path(path))


def _is_folder(path: str) -> bool:
    return path.endswith("/") or Path(path).is_dir()


def write_pages(path: str, predictions: Predictions, inspection: Inspection, session: Session) -> bool:
    """Write what was predicted of the kernels; return whether there is a profile of each.

    :raises NothingLeftError: there is none.
    :raises InputError: a file cannot be written.
    """
    (problem,) = predictions.problems
    contents = []
    for kernel in problem.kernels:
        content = _content(kernel, problem.case.problem.describe(), predictions, inspection)
        if content is not None:
            contents.append(content)
        else:
            session.console.warning(f"no profile of {kernel.kernel.name}: {kernel.answer.reason}")
    if not contents:
        raise NothingLeftError("no kernel has a predicted time on this problem")
    for content in contents:
        if path == STDOUT:
            session.console.result(profile_document(content))
            continue
        file = Path(path) / f"{_file_name(content, contents)}.html" if _is_folder(path) else Path(path)
        write_report(_FORMATS[file.suffix](content), file)
        session.console.info(f"{file}: {plain(content.kernel)}, {content.time.time_us:.2f} us predicted")
    return len(contents) == len(problem.kernels)


def _file_name(content: ProfileContent, contents: Sequence[ProfileContent]) -> str:
    """Return a name for the file of a page, which no other of them has."""
    name = re.sub(r"[^\w.-]", "_", content.kernel)
    same = [other for other in contents if other.kernel == content.kernel]
    return name if len(same) == 1 else f"{name}_{same.index(content)}"


def _content(
    kernel: KernelPrediction, problem: str, predictions: Predictions, inspection: Inspection
) -> ProfileContent | None:
    time = kernel.time
    if time is None or time.profile is None:
        return None
    functions = [
        variant
        for inspected in inspection.kernels
        if inspected.key == kernel.kernel.instance.key
        for variant in inspected.variants
        if variant.symbol == time.profile.symbol
    ]
    return ProfileContent(
        kernel=kernel.kernel.name,
        split_k=kernel.split_k,
        problem=problem,
        device=predictions.device.name,
        arch=predictions.arch,
        compiler=inspection.compiler,
        time=time,
        profile=time.profile,
        function=functions[0] if functions else None,
    )
