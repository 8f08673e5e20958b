"""Sources as sanitizers see them: accesses to memory of others, races, values that were never written."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError
from ckprof.kernels.toolchain import find_compiler
from ckprof.model.recipe import CompilerFamily
from ckprof_plugins.judge.candidate import compiled
from ckprof_plugins.judge.stopped_process import REPORTS

if TYPE_CHECKING:
    from ckprof.model.recipe import Compiler
    from ckprof_plugins.judge.candidate import Candidate

#: what sources have in them whose runtime tells sanitizers nothing of its threads
_OPAQUE_THREADS: Final = (b"#pragma omp", b"omp.h", b"tbb/")
_COMMON: Final = ("-O1", "-g1", "-fno-omit-frame-pointer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sanitizer:
    """A way to build a candidate that notices what it does wrong."""

    name: str
    flags: tuple[str, ...]
    #: its runtime by compiler family, which the process of the candidate must load first
    runtimes: dict[CompilerFamily, str]
    #: environment variable with its options, and these
    variable: str
    options: str
    sees_threads: bool = False


SANITIZERS: Final = (
    Sanitizer(
        name="address",
        flags=(
            # alignment, shifts and overflows may be meant
            "-fsanitize=address,bounds,null,return,unreachable,integer-divide-by-zero",
            "-fno-sanitize-recover=all",
            # large numbers in every type
            "-ftrivial-auto-var-init=pattern",
        ),
        runtimes={
            CompilerFamily.GCC: "libasan.so",
            CompilerFamily.CLANG: "libclang_rt.asan-x86_64.so",
        },
        variable="ASAN_OPTIONS",
        options="detect_leaks=0:max_malloc_fill_size=1000000000:malloc_fill_byte=254",
    ),
    Sanitizer(
        name="thread",
        flags=("-fsanitize=thread",),
        runtimes={
            CompilerFamily.GCC: "libtsan.so",
            CompilerFamily.CLANG: "libclang_rt.tsan-x86_64.so",
        },
        variable="TSAN_OPTIONS",
        options="halt_on_error=1",
        sees_threads=True,
    ),
)


def sanitized(candidate: Candidate) -> Iterator[tuple[str, Candidate]]:
    """Yield sanitizers' names with a candidate as they see it; nothing for what is not a source.

    Where a compiler has no sanitizer, or the candidate does not compile with it, it is left alone.
    """
    request = candidate.request
    if request is None:
        return
    compiler, text = find_compiler(request.compiler), request.path.read_bytes()
    for one in SANITIZERS:
        if one.sees_threads and any(word in text for word in _OPAQUE_THREADS):
            continue
        runtime = _runtime(compiler, one.runtimes[compiler.family])
        if runtime is None:
            continue
        shared = ("-shared-libsan",) if compiler.family is CompilerFamily.CLANG else ()
        try:
            built = compiled(request, f"{one.name}.so", (*_COMMON, *one.flags, *shared))
        except InputError:
            continue
        variables = {
            "LD_PRELOAD": str(runtime),
            one.variable: f"{one.options}:log_path={{scratch}}/{REPORTS}",
            # threads of numpy that it knows nothing of
            "OPENBLAS_NUM_THREADS": "1",
        }
        yield one.name, replace(built, variables=variables)


def _runtime(compiler: Compiler, name: str) -> Path | None:
    """Return where the compiler has a library; ``None`` if it has none of this name."""
    asked = subprocess.run(
        [*compiler.command, f"-print-file-name={name}"], capture_output=True, text=True, check=False
    )
    path = Path(asked.stdout.strip())
    return path.resolve() if path.is_absolute() and path.is_file() else None
