"""The predicted profiles of kernels as ``ckprof inspect --page`` shows them: pages, text, or JSON."""

from __future__ import annotations

import importlib.util
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from ckprof.cli.outputs import check_report, write_report
from ckprof.cli.shared_options import chosen_build_options
from ckprof.errors import InputError, NothingLeftError, PluginError, UsageError
from ckprof.formatting import percent
from ckprof.plugin.protocols import InspectionView
from ckprof.report.document import Block, Document, Heading, Items
from ckprof.report.table import Table
from ckprof.sanitize import plain
from ckprof_plugins.pages.profile import (
    PREDICTED,
    ProfileContent,
    busy_table,
    instruction_columns,
    parts_table,
    shares_table,
)
from ckprof_plugins.pages.profile_page import lanes, render_profile

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping, Sequence

    from ckprof.cli.session import Session
    from ckprof.kernels.choose import Selection
    from ckprof.kernels.inspection import Inspection
    from ckprof.model.problem_case import ProblemCase
    from ckprof_plugins.emulator.kernel_profile import KernelProfile, Span
    from ckprof_plugins.tuning.prediction import KernelPrediction, Predictions


#: characters of the timeline
_COLUMNS: Final = 84
#: what stands for the causes that waves wait for, in their order
_WAITS: Final = ".-~:=+"
#: instructions that are listed where there is no loop
_HOTTEST: Final = 40


def profile_document(content: ProfileContent) -> Document:
    """Return the profile as a document."""
    time, profile = content.time, content.profile
    listed = profile.loop or profile.hottest(_HOTTEST)
    title = "The loop" if profile.loop else "Where waves spend most of their time"
    return Document(
        [
            Heading(content.kernel, 2),
            f"{time.time_us:.2f} us, {PREDICTED}; {percent(time.ceiling_share)} of the roofline ceiling; "
            f"bound by {time.limit}",
            Items(tuple(f"{name}: {text}" for name, text in content.facts)),
            parts_table(time),
            Heading("What waves do"),
            shares_table(profile),
            Heading("How much units work"),
            busy_table(time, profile),
            Heading("Timeline"),
            Block(tuple(timeline_lines(profile))),
            Heading(title),
            "Cycles of one execution, on average.",
            Table(
                instruction_columns(profile, listed),
                listed,
                elsewhere="--format json and --page FILE.html have every figure",
            ),
        ]
    )


def timeline_lines(profile: KernelProfile) -> list[str]:
    """Draw the timeline with a character for what most of some cycles are spent on; a legend below."""
    cycles = profile.timeline.cycles
    if not cycles:
        return []
    signs = _signs(profile)
    rows = lanes(profile)
    width = max((len(lane) for lane, _, _ in rows), default=0)
    step = cycles / _COLUMNS
    lines = []
    for lane, note, spans in rows:
        drawn = "".join(_sign(spans, number * step, step, signs) for number in range(_COLUMNS))
        lines.append(f"{lane:>{width}} |{drawn}| {note}")
    used = {sign for line in lines for sign in line.partition("|")[2].rpartition("|")[0]}
    names = {**{(False, id_): name for id_, name in profile.units.items()}}
    names |= {(True, id_): f"waits for {name}" for id_, name in profile.waits.items()}
    legend = ", ".join(f"{sign} {names[which]}" for which, sign in signs.items() if sign in used)
    return [*lines, "", f"{cycles:,.0f} cycles, {step:.1f} a character: {legend}"]


def _signs(profile: KernelProfile) -> Mapping[tuple[bool, str], str]:
    """Return (waiting, id) -> a sign: letters for units."""
    signs: dict[tuple[bool, str], str] = {}
    for id_, name in profile.units.items():
        free = (letter for letter in name.upper() if letter.isalpha() and letter not in signs.values())
        signs[False, id_] = next(free, "?")
    return signs | {(True, id_): sign for id_, sign in zip(profile.waits, _WAITS, strict=False)}


def _sign(spans: Sequence[Span], begin: float, step: float, signs: Mapping[tuple[bool, str], str]) -> str:
    covered: dict[tuple[bool, str], float] = {}
    for span in spans:
        if span.kind == "flight":
            continue
        overlap = min(span.end, begin + step) - max(span.begin, begin)
        if overlap > 0:
            which = (span.kind == "wait", span.what)
            covered[which] = covered.get(which, 0.0) + overlap
    if not covered or sum(covered.values()) < step / 2:
        return " "
    return signs.get(max(covered, key=lambda which: covered[which]), "?")


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


def prepare(
    arguments: argparse.Namespace, session: Session, selection: Selection, problems: Sequence[ProblemCase]
) -> Callable[[Inspection], tuple[bool, bool]] | None:
    """Return what writes the pages of an inspection; ``None`` without ``--page``.

    :raises UsageError: an option is missing, or the format is not known by the name.
    :raises InputError: the file cannot be written.
    :raises PluginError: the package that predicts times is not installed.
    """
    if arguments.page is None:
        if arguments.gpu:
            raise UsageError("--gpu says whose times --page predicts: give --page, too")
        return None
    if not problems:
        raise UsageError("--page shows what a kernel does on a problem: give --problem")
    check_page(arguments.page, len(selection.candidates))
    if importlib.util.find_spec("ckprof_plugins.tuning") is None:
        raise PluginError("--page needs the tuning package, which is not installed")
    if importlib.util.find_spec("ckprof_plugins.emulator") is None:
        raise PluginError("--page needs the emulator package, which is not installed")

    def show(inspection: Inspection) -> tuple[bool, bool]:
        """Write the pages; return whether they stand on standard output, and whether all kernels have one."""
        from ckprof_plugins.tuning import PredictOptions, predict

        build = replace(chosen_build_options(arguments), target=inspection.target)
        options = PredictOptions(
            selection=selection, problems=(problems[0],), build=build, gpu=arguments.gpu or "", profile=True
        )
        complete = write_pages(arguments.page, predict(session.profiler, options), inspection, session)
        return arguments.page == STDOUT, complete

    return show


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
    ((case, kernels),) = predictions.problems
    contents = []
    for kernel in kernels:
        content = _content(kernel, case.problem.describe(), predictions, inspection)
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
    return len(contents) == len(kernels)


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
        function=next(iter(functions), None),
    )


PAGE: Final = InspectionView(
    id="page", label="predicted profiles of kernels", options=("page", "gpu"), prepare=prepare
)
