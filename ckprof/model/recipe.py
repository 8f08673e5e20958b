"""How a target compiles and links."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ckprof.model.types import DataType


class CompilerFamily(Enum):
    """Whose command line a compiler understands; decides how headers are precompiled."""

    GCC = "gcc"
    CLANG = "clang"


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiler:
    """A C++ compiler that was found and asked for its version."""

    #: how to call it; several words for ``zig c++``
    command: tuple[str, ...]
    family: CompilerFamily
    #: major, minor, patch
    version: tuple[int, int, int]
    #: first line of ``--version``
    description: str
    #: digest of the version output, the default target and the executable: part of every cache key
    identity: str
    #: whether precompiled headers are known to work
    precompiles: bool = True
    #: the words of ``command`` that the user has added to what calls the compiler: flags, variables
    added_words: tuple[str, ...] = ()


class Purpose(Enum):
    """What a build is for."""

    #: a library whose kernels shall be run
    RUN = "run"
    #: whatever of the kernels can be built on this machine
    BUILD = "build"
    #: the machine code of the kernels
    INSPECT = "inspect"
    #: a library that answers whether kernels support problems; nothing of it is run
    SUPPORT_CHECK = "answer"


class Product(Enum):
    """What a build makes."""

    #: one shared library
    LIBRARY = "library"
    #: machine code for a device, a file per translation unit; nothing is linked
    CODE_OBJECTS = "code_objects"


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildRequest:
    """What the user asked for."""

    arch: str
    purpose: Purpose = Purpose.RUN
    #: id of what the kernels compute, where that is known: a target may leave out what others need
    operation: str = ""
    #: ``--ck-root``: where CK Tile's headers lie, for targets that do not bring their own
    ck_root: Path | None = None
    #: ``--api-level``, for targets that model several; ``None`` for the latest, or that of the headers
    api_level: str | None = None
    #: name and settings of a :class:`~ckprof.plugin.protocols.NamedDevice`, whose runtime takes the place of
    #: the target's; empty for the devices of a machine
    device: str = ""
    #: ``--compiler``, or ``None`` for the first usable one
    compiler: str | None = None
    #: added after the target's own flags
    extra_flags: tuple[str, ...] = ()
    #: nothing will be compiled or run here: an architecture that this machine cannot serve is fine
    sources_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MachinePart:
    """What a target compiles once per machine, before libraries are linked with it."""

    #: a few words for messages
    name: str
    #: where it is kept
    folder: Path
    #: seconds of CPU time that compiling all of it takes, roughly
    cpu_s: float
    #: whether it is there; it may be out of date
    present: bool
    #: Brings it up to date. Called with how many compilers may run at once (``None``: one per CPU), and with
    #: what is to be called with steps done, all steps and the name of the step that has just ended.
    #: Raises ToolchainError: no compiler, it fails, or there is no space.
    make: Callable[[int | None, Callable[[int, int, str], None]], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildRecipe:
    """Everything that the build layer needs to know about a target."""

    target: str
    arch: str
    api_level: str
    compiler: Compiler
    compile_flags: tuple[str, ...]
    link_flags: tuple[str, ...]
    #: passed with ``-I``; all files below them are digested into the cache key
    include_dirs: tuple[Path, ...]
    #: header text that every kernel source starts with, precompiled once; empty for none
    prefix_header: str
    #: C++ sources that are compiled once per library and linked into it
    support_sources: tuple[Path, ...]
    #: what ``-march=native`` and the like mean on this machine; part of every cache key
    machine_identity: str
    #: added after ``compile_flags`` for kernels and their prefix header, not for support sources
    kernel_flags: tuple[str, ...] = ()
    #: peak memory to budget for per compiler process
    compile_memory_bytes: int = 600 * 2**20
    #: the same for each further device function in one translation unit
    further_memory_bytes: int = 0
    #: most device functions of several kernels in one translation unit; with more than one, what kernels
    #: share is paid once
    functions_per_unit: int = 1
    #: environment variables that change what its compiler makes, besides those that all compilers read
    variables: tuple[str, ...] = ()
    #: fields of instances that make little difference in what must be compiled: kernels that differ in
    #: nothing else have most of it in common, which a translation unit with several of them pays for once
    fields_without_cost: frozenset[str] = frozenset()
    #: seconds that compiling takes a CPU, as a first guess before any build was seen: of a translation unit,
    #: and of each device function in it
    unit_s: float = 1.0
    function_s: float = 3.0
    #: how to call what links a library, if that is not the compiler
    linker: tuple[str, ...] = ()
    product: Product = Product.LIBRARY
    #: flags that differ by translation unit; ``{key}`` stands for its content key
    unit_flags: tuple[str, ...] = ()
    #: flags that only say where something lies: part of commands, not of content keys
    location_flags: tuple[str, ...] = ()
    #: folders whose files are digested into the cache key, if not just ``include_dirs``
    digested_dirs: tuple[Path, ...] | None = None
    #: for compilers that do not find a precompiled header beside the header: flags that make it, where
    #: ``{output}`` stands for its path, and flags that use it, where ``{precompiled}`` does
    precompile_flags: tuple[str, ...] = ()
    precompiled_flags: tuple[str, ...] = ()
    #: why the kernels cannot be run on this machine; empty if they can
    cannot_run: str = ""
    #: what has to be there when a library is linked and when it is run
    parts: tuple[MachinePart, ...] = ()
    #: environment variables that a named device reads in workers
    worker_variables: tuple[tuple[str, str], ...] = ()
    #: what a flush of the device's caches must exceed; 0 for those of the host
    last_level_cache_bytes: int = 0
    #: floating-point operations per second that no kernel can exceed, by type of its tensors; types of which
    #: that is not known are left out
    peak_flops: tuple[tuple[DataType, float], ...] = ()
