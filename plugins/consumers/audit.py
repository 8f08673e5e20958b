"""Judging files of tuned results: which program owns a file, and what that program would do with it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError, UsageError
from ckprof.files import write_output
from ckprof.plugin.members import offers
from ckprof_plugins.consumers.protocols import CONSUMERS, Consumer
from ckprof_plugins.consumers.records import AuditFinding, AuditReport, AuditRequest, Reason
from ckprof_plugins.consumers.requests import kernel_lists

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ckprof.plugin.registry import Registry
    from ckprof_plugins.consumers.records import FileAudit
    from ckprof_plugins.consumers.requests import AuditCall

#: bytes of a file by which its owner is recognised
HEAD_BYTES: Final = 1 << 16
#: end of the names of files that are written beside others
CLEAN_SUFFIX: Final = ".clean"


def consumer_of(registry: Registry, path: Path, id_: str = "") -> Consumer | None:
    """Return the program that owns a file, or the one of an id.

    :raises UsageError: there is no program of this id.
    :raises InputError: the file cannot be read.
    """
    if id_:
        return registry.entries(CONSUMERS).find(id_)
    try:
        with path.open("rb") as stream:
            head = stream.read(HEAD_BYTES)
    except OSError as exc:
        raise InputError(f"cannot be read: {exc.strerror}", path) from None
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


def owned_files(registry: Registry, call: AuditCall) -> Iterator[tuple[Path, Consumer]]:
    """Yield each file that was named, or that a program owns in a folder that was named.

    :raises InputError: there is no such file, or no program owns it; or no file of a folder.
    """
    for path in call.paths:
        if not path.is_dir():
            yield path, required_consumer(registry, path, call.consumer)
            continue
        found = False
        for inner in sorted(one for one in path.rglob("*") if one.is_file()):
            if inner.name.endswith(CLEAN_SUFFIX):
                continue
            owner = consumer_of(registry, inner)
            if owner is not None and call.consumer in ("", owner.id):
                found = True
                yield inner, owner
        if not found:
            raise InputError(f"holds no file of the known programs ({_known(registry)})", path)


def audit(registry: Registry, call: AuditCall) -> AuditReport:
    """Judge all files.

    :raises UsageError: an option is wrong, or a program's files cannot be judged.
    :raises InputError: a file, a list or the tree cannot be read.
    """
    owned = list(owned_files(registry, call))
    lists = kernel_lists(call.sources.conf)
    files: list[FileAudit] = []
    for path, owner in owned:
        if not offers(owner, Consumer.audit):
            raise UsageError(f"{path}: files of {owner.id} cannot be judged")
        request = AuditRequest(
            path=path,
            lists=lists,
            tree=call.sources.tree,
            arch=call.device.arch,
            compute_units=call.device.compute_units or 0,
        )
        files.append(_or_empty(owner.audit(request)))
    return AuditReport(
        files=tuple(files),
        fail_on=frozenset(call.fail_on),
        lists=tuple(call.sources.conf) or ("the lists that ship with ckprof",),
    )


def _or_empty(file: FileAudit) -> FileAudit:
    """Return an audit that says of a file without entries that nothing was judged."""
    if file.entries or file.findings:
        return file
    finding = AuditFinding(
        reason=Reason.EMPTY_FILE, message="holds no entry: nothing was judged", text=file.path.name
    )
    return replace(file, findings=(finding,))


def write_clean(registry: Registry, call: AuditCall, file: FileAudit) -> Path | None:
    """Write a file without what is wrong beside the old one; ``None`` if nothing can be removed.

    :raises InputError: it cannot be written.
    """
    if not any(finding.removable for finding in file.findings):
        return None
    owner = consumer_of(registry, file.path, call.consumer)
    if owner is None or not offers(owner, Consumer.audit):
        return None
    clean = file.path.with_name(f"{file.path.name}{CLEAN_SUFFIX}")
    write_output(clean, owner.cleaned(file))
    return clean
