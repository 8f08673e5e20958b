"""What users ask of files of tuned results, and the lists that kernels of rows are looked up in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ckprof.errors import InputError
from ckprof.lists.list_files import find_folder, find_list, find_lists, is_json
from ckprof.option import members, option, positive
from ckprof.paths import conf_root
from ckprof.plugin.kinds import RegistryEntries
from ckprof_plugins.consumers.records import SEVERITIES, KernelList, Reason, Severity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.errors import CkprofError


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelLookup:
    """Where kernels are looked up."""

    conf: tuple[str, ...] = field(
        default=(),
        metadata=option(
            "list of the kernels that there are: a file, a folder of lists as 'ckprof extract' writes them, "
            "or a list that ships with ckprof (repeatable; default: all lists that ship)",
            metavar="FILE|DIR",
        ),
    )
    tree: Path | None = field(
        default=None,
        metadata=option(
            "installation or source tree of the program that owns the file, for lists of its own",
            metavar="DIR",
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class UsedDevice:
    """The device that uses the results."""

    arch: str = field(default="", metadata=option("architecture of the device, e.g. gfx942", metavar="NAME"))
    compute_units: int | None = field(
        default=None,
        metadata=option("compute units of the device", metavar="N", parse=positive),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditCall:
    """Which files are judged, and how."""

    paths: tuple[Path, ...]
    #: id of the consumer; empty: the one that recognises a file
    consumer: str = field(
        default="",
        metadata=option("program that owns the files (default: what they look like)", metavar="ID"),
    )
    sources: KernelLookup = field(default_factory=KernelLookup)
    device: UsedDevice = field(default_factory=UsedDevice)
    fail_on: tuple[Reason, ...] = field(
        default=tuple(reason for reason in Reason if SEVERITIES[reason] is not Severity.NOTE),
        metadata=option(
            "reasons that make the command exit with 1, separated by commas, or none "
            f"(default: all but {', '.join(r.value for r in Reason if SEVERITIES[r] is Severity.NOTE)}): "
            f"{', '.join(reason.value for reason in Reason)}",
            metavar="LIST",
            parse=partial(members, Reason),
            several="store",
        ),
    )


def kernel_lists(names: Sequence[str]) -> tuple[KernelList, ...]:
    """Return the lists of these names; if there are none, the plain ones that ship with ckprof.

    :param names: files, folders of them, or names of lists that ship with ckprof.
    :raises InputError: there is no such list, or it cannot be read.
    """
    paths: list[Path] = []
    for name in names:
        folder = find_folder(name)
        paths += find_lists(folder, None) if folder is not None else [find_list(name)]
    root = conf_root()
    shipped = {path: path.relative_to(root).as_posix() for path in paths if path.is_relative_to(root)}
    if not names:
        # those of <direction>/<set>; deeper ones have an element-wise operation, of which rows say nothing
        paths = sorted(root.glob("*/*/*.conf"))
        shipped = {path: path.relative_to(root).as_posix() for path in paths}
    return tuple(read_kernel_list(path, shipped.get(path, path)) for path in paths)


def read_kernel_list(path: Path, title: Path | str | None = None) -> KernelList:
    """Return the lines of a list that hold an instance.

    :param title: what messages call it.
    :raises InputError: it cannot be read, or is a catalog.
    """
    try:
        data = path.read_bytes()
    except OSError as exc:
        raise InputError(f"cannot be read: {exc.strerror}", path) from None
    if is_json(data):
        raise InputError("is a catalog, which does not say what its kernels are called elsewhere", path)
    lines = data.decode("utf-8-sig", errors="replace").splitlines()
    kept = ((number, line.strip()) for number, line in enumerate(lines, 1))
    return KernelList(
        path=title or path,
        lines=tuple((number, line) for number, line in kept if line and not line.startswith("#")),
    )


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
