"""Which instances are meant, and how they are generated and built: frozen, each default in one place."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ckprof.errors import UsageError
from ckprof.model.architecture import API_LEVELS
from ckprof.model.conversion import ListReading
from ckprof.option import numbers, positive, settable, time_above_zero

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ckprof.model.types import DataType

#: kernels per registration source of a new tree
DEFAULT_CHUNK_SIZE: Final = 25


def split_flags(text: str) -> tuple[str, ...]:
    """Return the flags of a text as a shell would read it.

    :raises UsageError: a quotation mark is missing.
    """
    try:
        return tuple(shlex.split(text))
    except ValueError as exc:
        raise UsageError(f"{text!r} cannot be read as flags: {exc}") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceQuery:
    """Which instances are meant: those of lists, of a rule set, or of a plugin's own options.

    Strings stand for single values: ``conf="legacy.conf"`` for ``conf=("legacy.conf",)``.
    """

    conf: str | Path | tuple[str | Path, ...] = settable(
        (),
        "instance list: a legacy .conf in any dialect, or JSON: a catalog, a trait file, or what "
        "--export-json wrote; the name of a list that ships with ckprof works as well, e.g. "
        "forward/tests/nhwgc_fp16 (repeatable)",
        metavar="FILE",
    )
    rule_set: str | None = settable(
        None, "enumerate the instances instead (see 'ckprof list rule-sets')", metavar="ID"
    )
    #: ids or aliases of directions; empty for all that there are
    directions: str | tuple[str, ...] = ()
    #: how lists are read
    reading: ListReading = field(default_factory=ListReading)
    #: data types of a rule set's instances; empty for all
    dtypes: tuple[DataType, ...] = ()
    ndims: tuple[int, ...] = settable(
        (),
        "numbers of spatial dimensions (default: 2,3; one instance given by its tile: 2)",
        flag="--ndim",
        metavar="N,N",
        parse=str,
        several="store",
    )
    #: positions among the instances, from 0; empty for all
    indices: tuple[int, ...] = settable(
        (),
        "only the instances with these numbers, such as 3 or 3,7-9; see --list-instances (repeatable)",
        flag="--instance",
        metavar="N,N-N,...",
        parse=numbers,
        several="extend",
    )
    filters: str | tuple[str, ...] = settable(
        (),
        "only instances for which an expression over their fields holds, such as "
        "'tile_n >= 128 and gemm_pipeline == \"compv4\"', or whose kernel name or instance string a "
        "regular expression finds; a text that compares or joins with and, or, not is the former "
        "(repeatable, ORed)",
        flag="--filter",
        metavar="EXPR|REGEX",
    )
    excludes: str | tuple[str, ...] = settable(
        (),
        "not the instances that --filter with the same text would choose (repeatable)",
        flag="--exclude",
        metavar="EXPR|REGEX",
    )
    pipelines: str | tuple[str, ...] = settable(
        (),
        "only kernels of this family, or of all families of a library, such as ck-tile; lists are read as "
        "each of them reads lists (repeatable)",
        flag="--family --pipeline",
        metavar="ID",
    )
    #: id of the target whose default architecture decides what is valid
    target: str | None = None
    #: architecture that decides what is valid; ``None`` for that of the settings or of the target
    arch: str | None = None
    #: API level that decides what is valid; ``None`` for the latest
    api_level: str | None = None
    #: sort out what is not valid for the architecture already here; done for rule sets in any case
    check_arch: bool = False
    #: keep what the rules reject, and what upstream has although it is known to be wrong
    keep_invalid: bool = settable(
        False,
        "keep the kernels that upstream's generator makes although the architecture cannot run them or "
        "they are known to be wrong",
        flag="--upstream-defects",
    )
    #: values of options that plugins have added, by name; see the hook ``ckprof_make_instances``
    plugin_options: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildOptions:
    """How kernels are generated and built; ``None`` for what the settings or the target say."""

    target: str | None = settable(
        None, "where kernels are built and run: see 'ckprof list targets'", metavar="ID"
    )
    arch: str | None = settable(None, "architecture, on the CPU the modelled one", metavar="NAME")
    compiler: str | None = settable(
        None,
        "C++ compiler, by name, path or command; zig for that of the package ziglang "
        "(default: the first usable one)",
        metavar="COMMAND",
    )
    cxx_flags: tuple[str, ...] = settable(
        (),
        "flags for the compiler, after those of the target: --cxx-flags='-O3 -fno-tree-vectorize' "
        "(repeatable); CXXFLAGS is not read",
        metavar="'FLAG ...'",
        parse=split_flags,
        several="extend",
    )
    ck_root: Path | None = settable(
        None,
        "CK Tile headers: the folder that holds ck_tile/, an installation or a checkout, for targets "
        "that do not bring their own (default: $CK_ROOT, else what 'ckprof doctor' shows)",
        metavar="DIR",
    )
    api_level: str | None = settable(
        None,
        "state of CK Tile's interface that a target without real headers models (default: the latest)",
        choices=API_LEVELS,
    )
    device: str = settable(
        "",
        "build for a device that the target brings along (default: for those of a machine)",
        metavar="NAME",
    )
    jobs: int | None = settable(
        None,
        "parallel compiler processes (default: as many as cores and free memory allow)",
        metavar="N",
        parse=positive,
    )
    compile_timeout_s: float | None = settable(
        None,
        "for one kernel's compilation, without waiting for a CPU, e.g. 5m (default: {compile_timeout} s)",
        flag="--compile-timeout",
        metavar="TIME",
        parse=time_above_zero,
    )
    build_dir: Path | None = settable(
        None, "generate and build in this folder, and leave everything there", metavar="DIR"
    )
    chunk_size: int | None = settable(
        None,
        f"kernels per registration source (default: {DEFAULT_CHUNK_SIZE}, or as in the folder)",
        metavar="N",
    )
    #: values of options that plugins have added, by name; see the hook ``ckprof_add_sources``
    plugin_options: Mapping[str, object] = field(default_factory=dict)
