"""``ckprof export``: verified winners of a store for programs that use them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ckprof.cli.fields import add_fields, chosen
from ckprof.errors import CkprofError, ExitCode, InputError, UsageError
from ckprof.files import write_output
from ckprof.formatting import counted
from ckprof.lists.list_files import find_folder, find_list, find_lists
from ckprof.option import option, settable
from ckprof.plugin.members import offers
from ckprof.store.query import StoreQuery
from ckprof.store.store import Store
from ckprof_plugins.consumers.audit import FileUse, candidates_by_line, ids_with, kernel_lists
from ckprof_plugins.consumers.protocols import CONSUMERS, Consumer
from ckprof_plugins.consumers.records import IMPORTED, ConsumerFiles, ExportRequest, TunedKernel

if TYPE_CHECKING:
    import argparse

    from ckprof.cli.session import Session
    from ckprof.plugin.registry import Registry
    from ckprof.store.query import MeasurementSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportCall(FileUse):
    """Which winners are written for whom."""

    store: Path
    consumer: str = field(
        metadata=option("program that shall use the winners: {consumer}", flag="--for", metavar="ID")
    )
    folder: Path = field(
        metadata=option(
            "folder of the files; a file that is there already stays", flag="--output -o", metavar="DIR"
        )
    )
    any_device: bool = settable(
        False, "also winners that were measured on another device than --arch and --compute-units say"
    )
    query: StoreQuery = field(default_factory=StoreQuery)


def export(registry: Registry, call: ExportCall) -> ConsumerFiles:
    """Write the files, all of them or none; return what was written, by the paths.

    :raises UsageError: the device is not known, or there is no such program.
    :raises InputError: the store or a list cannot be read, or a file is there already.
    """
    consumer = registry.entries(CONSUMERS).find(call.consumer)
    if not offers(consumer, Consumer.export):
        writers = ids_with(registry, Consumer.export)
        raise UsageError(f"nothing can be written for {call.consumer}; for {writers} it can")
    left_out: Counter[str] = Counter()
    with Store(call.store) as store:
        summaries = _winners(store, call, left_out)
        if not summaries and not left_out:
            raise InputError("no verified result is what was asked for", call.store)
        if not summaries:
            return ConsumerFiles(files={}, entries=0, left_out=left_out)
        arch, units = _device(summaries, call)
        lines = _LinesByInstance(registry, call.conf)
        winners = tuple(_tuned(store, summary, lines) for summary in summaries)
    request = ExportRequest(
        winners=winners,
        arch=arch,
        compute_units=units,
        version=call.version,
        lists=kernel_lists(call.conf),
        tree=call.tree,
    )
    result = consumer.export(request)
    files = {call.folder / Path(name).name: content for name, content in result.files.items()}
    for path, content in files.items():
        if path.exists() and path.read_bytes() != content:
            raise InputError(
                "is there already and has another content; move it away, or name another folder", path
            )
    for path, content in files.items():
        write_output(path, content)
    return ConsumerFiles(
        files={str(path): content for path, content in files.items()},
        entries=result.entries,
        left_out=left_out + result.left_out,
    )


def _winners(store: Store, call: ExportCall, left_out: Counter[str]) -> list[MeasurementSummary]:
    """Return the best verified measurement per problem, those of imports and other devices left out."""
    kept: list[MeasurementSummary] = []
    for summary in store.best(call.query):
        device = summary.key.device
        if summary.key.kernel.instance.startswith(IMPORTED) or not summary.ranked_attempts:
            left_out["imported, or not verified"] += 1
        elif not call.any_device and (
            call.arch not in ("", device.arch) or call.compute_units not in (None, device.compute_units)
        ):
            left_out[f"measured on {device.arch} with {device.compute_units} compute units"] += 1
        else:
            kept.append(summary)
    return kept


def _device(summaries: list[MeasurementSummary], call: ExportCall) -> tuple[str, int]:
    """Return architecture and compute units: what was asked for, else where all winners were measured."""
    devices = {(one.key.device.arch, one.key.device.compute_units) for one in summaries}
    archs = {call.arch} if call.arch else {arch for arch, _ in devices}
    units = {call.compute_units} if call.compute_units else {count for _, count in devices}
    if len(archs) != 1 or len(units) != 1:
        found = ", ".join(f"{arch} with {count}" for arch, count in sorted(devices))
        raise UsageError(
            f"the winners are of devices {found} compute units: say with --arch and --compute-units for which"
        )
    return archs.pop(), units.pop()


class _LinesByInstance:
    """Lines of lists by the instances that they give; of the list that was measured where none is named."""

    def __init__(self, registry: Registry, names: tuple[str, ...]) -> None:
        self._registry = registry
        self._names = names
        self._read: dict[str, dict[str, tuple[str, str]]] = {}

    def find(self, key: str, source: str) -> tuple[str, str]:
        """Return line and place of an instance; an empty line where no list has it.

        :param source: ``file:line`` of the list that was measured.
        """
        for name in self._names or ((source.rpartition(":")[0],) if ":" in source else ()):
            folder = find_folder(name)
            for path in map(str, find_lists(folder, None)) if folder is not None else (name,):
                if key in self._of(path):
                    return self._of(path)[key]
        return "", source

    def _of(self, name: str) -> dict[str, tuple[str, str]]:
        if name not in self._read:
            self._read[name] = {}
            try:
                lines = find_list(name).read_text(encoding="utf-8-sig").splitlines()
                self._read[name] = {
                    one.instance.key: (lines[number - 1].strip(), f"{name}:{number}")
                    for number, one in candidates_by_line(self._registry, name).items()
                }
            except (CkprofError, OSError, UnicodeDecodeError):
                # a list that is gone: its kernels have no line
                if self._names:
                    raise
        return self._read[name]


def _tuned(store: Store, summary: MeasurementSummary, lines: _LinesByInstance) -> TunedKernel:
    key, kernel = summary.key, summary.kernel
    splits, workspace = key.split_k, 0
    query = StoreQuery(problem=key.problem, instance=key.kernel.instance)
    for attempt in store.attempts(query, samples=False):
        if attempt.key.digest == key.digest and attempt.split_chosen is not None:
            splits, workspace = attempt.split_chosen, attempt.workspace_bytes or 0
    line, source = lines.find(key.kernel.instance, kernel.source)
    if kernel.dtype is None or summary.time_ms is None:
        raise InputError(f"{kernel.name}: the store does not say the type of its operands", store.name)
    return TunedKernel(
        direction=key.operation.direction,
        problem=key.problem,
        dtype=kernel.dtype,
        layout=kernel.layout,
        line=line,
        source=source or kernel.name,
        splits=splits,
        time_ms=summary.time_ms,
        workspace_bytes=workspace,
        key=key.kernel.instance,
    )


_EPILOG = """\
examples:
  ckprof export results.db --for miopen --program-version 3.2.0.5f2ae8c -o ~/.config/miopen
  ckprof export tune.db --for hipdnn --arch gfx942 --compute-units 304 -o overrides/
  ckprof export gemm.db --for aiter --tree aiter/ -o configs/

For each problem, the fastest verified kernel is written. Kernels that the program cannot name, and problems
that its kernels do not support, are skipped and counted by reason. An entry names the old library's kernel
of the winner's list line; the measured kernel is the one that ckprof generated from the line. Winners of
another device than the one that --arch and --compute-units name are excluded. Exit code 0: entries were
written, 1: there was nothing to write.
"""


def add_arguments(parser: argparse.ArgumentParser, session: Session) -> None:
    """Add the options of ``ckprof export``."""
    parser.epilog = _EPILOG
    parser.add_argument("store", metavar="STORE", type=Path, help="store of a sweep or a search")
    add_fields(parser, ExportCall, "consumer", "folder", "version")
    add_fields(parser.add_argument_group("device"), ExportCall, "arch", "compute_units", "any_device")
    add_fields(parser.add_argument_group("kernels"), ExportCall, "conf", "tree")
    add_fields(parser.add_argument_group("which winners"), StoreQuery, "direction", "dtype", "session")


def run(arguments: argparse.Namespace, session: Session) -> ExitCode:
    """Run the command.

    :raises CkprofError: the store, a list or an option is wrong.
    """
    call = chosen(
        arguments,
        ExportCall,
        store=arguments.store,
        query=chosen(arguments, StoreQuery, "direction", "dtype", "session"),
    )
    result = export(session.registry, call)
    for path in result.files:
        session.console.info(f"wrote {path}")
    for why, count in result.left_out.most_common():
        session.console.warning(f"{count} excluded: {why}")
    session.console.result(f"{counted(result.entries, 'entry', 'entries')} for {call.consumer}")
    return ExitCode.OK if result.entries else ExitCode.FAILED
