"""Judging files of tuned results: which program owns a file, and what that program would do with it.

Kernels of rows are looked up in lists.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ckprof.errors import InputError, UsageError, system_errors
from ckprof.files import new_file_beside
from ckprof.kernels.candidates import list_candidates
from ckprof.lists.list_files import find_folder, find_list, find_lists, is_json, read_list
from ckprof.model.conversion import ListReading
from ckprof.option import members, positive, settable
from ckprof.paths import conf_root
from ckprof.plugin.additions import RegistryEntries
from ckprof.plugin.members import offers
from ckprof.report.ci import add
from ckprof_plugins.consumers.protocols import CONSUMERS, Consumer
from ckprof_plugins.consumers.records import AuditReport, AuditRequest, KernelList, Reason, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from xml.etree.ElementTree import Element

    from ckprof.errors import CkprofError
    from ckprof.kernels.candidates import Candidate
    from ckprof.plugin.registry import Registry
    from ckprof.report.ci import JUnit
    from ckprof_plugins.consumers.records import FileAudit

#: bytes of a file by which its owner is recognised
HEAD_BYTES: Final = 1 << 16
#: end of the names of files that are written beside others
CLEAN_SUFFIX: Final = ".clean"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileUse:
    """Where kernels of files are looked up, and the device that uses the files."""

    conf: tuple[str, ...] = settable(
        (),
        "list of the kernels that there are: a file, a folder of lists as 'ckprof extract' writes them, "
        "or a list that ships with ckprof (repeatable; default: all lists that ship)",
        metavar="FILE|DIR",
    )
    tree: Path | None = settable(
        None,
        "installation or source tree of the program that owns the file, for lists of its own",
        metavar="DIR",
    )
    arch: str = settable("", "architecture of the device, e.g. gfx942", metavar="NAME")
    compute_units: int | None = settable(None, "compute units of the device", metavar="N", parse=positive)
    version: str = settable(
        "",
        "version of the program that uses the files, e.g. 3.2.0.5f2ae8c, or, to judge, the month of its "
        "sources, e.g. 2026-09",
        flag="--program-version",
        metavar="TEXT",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditCall(FileUse):
    """Which files are judged, and how."""

    paths: tuple[Path, ...]
    #: id of the consumer; empty: the one that recognises a file
    consumer: str = settable("", "program that owns the files (default: what they look like)", metavar="ID")
    fail_on: tuple[Reason, ...] = settable(
        tuple(reason for reason in Reason if reason.severity is not Severity.NOTE),
        "reasons that make the command exit with 1, separated by commas, or none "
        f"(default: all but {', '.join(r.value for r in Reason if r.severity is Severity.NOTE)}): "
        f"{', '.join(reason.value for reason in Reason)}",
        metavar="LIST",
        parse=partial(members, Reason),
        several="store",
    )


def read_file(path: Path, most: int = -1) -> bytes:
    """Return the content of a file.

    :param most: bytes from its beginning; all by default.
    :raises InputError: it cannot be read.
    """
    with system_errors(InputError, "cannot be read", path):
        with path.open("rb") as stream:
            return stream.read(most)


def digest_of(data: bytes) -> str:
    """Return what tells contents of a file apart."""
    return hashlib.sha256(data).hexdigest()


def unchanged(audit: FileAudit, data: bytes) -> bytes:
    """Return the content of a file if it is what was judged: rows are known by their places.

    :raises InputError: it is not.
    """
    if audit.digest and digest_of(data) != audit.digest:
        raise InputError("has changed since it was judged: run the audit again", audit.path)
    return data


def kernel_lists(names: Sequence[str]) -> tuple[KernelList, ...]:
    """Return the lists of these names; if there are none, the plain ones that ship with ckprof.

    :param names: files, folders of them, or names of lists that ship with ckprof.
    :raises InputError: there is no such list, or it cannot be read.
    """
    root = conf_root()
    # without names, those of <direction>/<set>; deeper ones have an element-wise operation, of which rows say
    # nothing
    paths = [] if names else sorted(root.glob("*/*/*.conf"))
    for name in names:
        folder = find_folder(name)
        paths += find_lists(folder, None) if folder is not None else [find_list(name)]
    return tuple(
        read_kernel_list(path, path.relative_to(root).as_posix() if path.is_relative_to(root) else path)
        for path in paths
    )


def read_kernel_list(path: Path, title: Path | str) -> KernelList:
    """Return the lines of a list that hold an instance.

    :param title: what messages call it.
    :raises InputError: it cannot be read, or is a catalog.
    """
    data = read_file(path)
    if is_json(data):
        raise InputError("is a catalog, which does not say what its kernels are called elsewhere", path)
    lines = data.decode("utf-8-sig", errors="replace").splitlines()
    kept = ((number, line.strip()) for number, line in enumerate(lines, 1))
    return KernelList(
        path=title,
        lines=tuple((number, line) for number, line in kept if line and not line.startswith("#")),
    )


def candidates_by_line(registry: Registry, name: str) -> dict[int, Candidate]:
    """Return line -> what is generated for it; a line whose instance another one has is left out.

    :raises InputError: the list cannot be read.
    """
    conversion = read_list(find_list(name), registry, reading=ListReading(lenient=True))
    places = ((one.source.rpartition(":")[2], one) for one in list_candidates([conversion], registry))
    return {int(number): one for number, one in places if number.isdigit()}


def consumer_of(registry: Registry, path: Path, id_: str = "") -> Consumer | None:
    """Return the program that owns a file, or the one of an id.

    :raises UsageError: there is no program of this id.
    :raises InputError: the file cannot be read.
    """
    if id_:
        return registry.entries(CONSUMERS).find(id_)
    head = read_file(path, HEAD_BYTES)
    return next((one for one in registry.entries(CONSUMERS) if one.owns(path, head)), None)


def required_consumer(registry: Registry, path: Path, id_: str = "") -> Consumer:
    """Return what :func:`consumer_of` does.

    :raises InputError: no program owns the file, besides.
    """
    owner = consumer_of(registry, path, id_)
    if owner is None:
        raise InputError(f"is a file of none of the known programs ({_known(registry)})", path)
    return owner


def _known(registry: Registry) -> str:
    # labels have commas of their own
    return "; ".join(f"{one.id}: {one.label}" for one in registry.entries(CONSUMERS))


def ids_with(registry: Registry, member: Callable[..., Any]) -> str:
    """Return the ids of the programs that offer something."""
    return ", ".join(one.id for one in registry.entries(CONSUMERS) if offers(one, member))


def owned_files(registry: Registry, call: AuditCall) -> Iterator[tuple[Path, Consumer]]:
    """Yield each file that was named, or that a program owns in a folder that was named.

    :raises InputError: there is no such file, or no program owns it; or no file of a folder.
    """
    for path in call.paths:
        if not path.is_dir():
            yield path, required_consumer(registry, path, call.consumer)
            continue
        inner = [one for one in sorted(path.rglob("*")) if one.is_file()]
        owners = ((one, consumer_of(registry, one)) for one in inner if not one.name.endswith(CLEAN_SUFFIX))
        owned = [(one, owner) for one, owner in owners if owner and call.consumer in ("", owner.id)]
        if not owned:
            raise InputError(f"holds no file of the known programs ({_known(registry)})", path)
        yield from owned


def audit(registry: Registry, call: AuditCall) -> AuditReport:
    """Judge all files.

    :raises UsageError: an option is wrong, or a program's files cannot be judged.
    :raises InputError: a file, a list or the tree cannot be read.
    """
    owned = list(owned_files(registry, call))
    lists = kernel_lists(call.conf)
    files: list[FileAudit] = []
    for path, owner in owned:
        if not offers(owner, Consumer.audit):
            raise UsageError(f"{path}: files of {owner.id} cannot be judged")
        units = call.compute_units or 0
        request = AuditRequest(
            path=path,
            lists=lists,
            tree=call.tree,
            arch=call.arch,
            compute_units=units,
            version=call.version,
            complete=bool(call.conf),
        )
        file = owner.audit(request)
        if not file.entries and not file.findings:
            file.find(Reason.EMPTY_FILE, "holds no entry: nothing was judged", text=path.name)
        files.append(file)
    for owner in {id(owner): owner for _, owner in owned}.values():
        if offers(owner, Consumer.compare):
            owner.compare([file for file, (_, one) in zip(files, owned, strict=True) if one is owner])
    return AuditReport(
        files=tuple(files),
        fail_on=frozenset(call.fail_on),
        lists=call.conf or ("the lists that ship with ckprof",),
    )


def write_clean(registry: Registry, call: AuditCall, file: FileAudit) -> Path | None:
    """Write a file without what is wrong beside the old one; ``None`` if nothing can be removed.

    :raises InputError: it cannot be written, or something else is there already.
    """
    if not file.removable:
        return None
    owner = required_consumer(registry, file.path, call.consumer)
    clean = file.path.with_name(f"{file.path.name}{CLEAN_SUFFIX}")
    content = owner.cleaned(file)
    with system_errors(InputError, "cannot write", clean):
        beside = new_file_beside(clean)
        try:
            beside.write_bytes(content)
            try:
                # unlike a rename, a link never replaces what is there
                clean.hardlink_to(beside)
            except OSError:
                if not clean.is_symlink() and clean.is_file() and clean.read_bytes() == content:
                    return clean
                if os.path.lexists(clean):
                    message = (
                        "is there already and is not this clean file: move it away, and run the audit again"
                    )
                    raise InputError(message, clean) from None
                # file systems without links
                beside.rename(clean)
        finally:
            beside.unlink(missing_ok=True)
    return clean


#: findings or changes that are spelled out
SHOWN: Final = 20


def add_case(
    junit: JUnit, suite: Element, name: str, texts: Sequence[str], about: str, *, fails: bool
) -> None:
    """Add a case for everything of one kind, whose text is what was found.

    :param about: what it is, where it fails the case.
    """
    case = junit.case(suite, name)
    text = "\n".join(texts[:SHOWN])
    if len(texts) > SHOWN:
        text += f"\n... and {len(texts) - SHOWN} more"
    if fails and texts:
        add(case, "failure", text, type=name, message=about)
    elif texts:
        add(case, "system-out", text)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultFormat:
    """A way to write the result of a command."""

    id: str
    render: Callable[[Any], str]
    render_failure: Callable[[CkprofError], str] | None = None


def formats(kind: str, renderers: Mapping[str, Callable[[Any], str]]) -> RegistryEntries[ResultFormat]:
    """Return the formats of a command by their ids."""
    entries = [(id_, "ckprof", ResultFormat(id=id_, render=render)) for id_, render in renderers.items()]
    return RegistryEntries(kind, entries)
