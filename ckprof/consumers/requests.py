"""What users ask of files of tuned results."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from ckprof.model.audit import SEVERITIES, Reason, Severity
from ckprof.option import members, option, positive


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelSources:
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
class DeviceChoice:
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
    sources: KernelSources = field(default_factory=KernelSources)
    device: DeviceChoice = field(default_factory=DeviceChoice)
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
