"""What is judged: a file, a function in it, and what has been made of it, with digests of all that."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError, UsageError
from ckprof.kernels.keys import abi_dir
from ckprof.kernels.toolchain import find_compiler

if TYPE_CHECKING:
    from collections.abc import Sequence

#: the C function of a source or library, and the Python function, where the user names none
C_ENTRY: Final = "ckprof_candidate"
PYTHON_ENTRY: Final = "candidate"
#: what libraries of generated kernels export
_LIBRARY_ENTRY: Final = b"ckprof_get_library"
INCLUDE_DIR: Final = Path(__file__).parent / "include"
_FLAGS: Final = ("-std=c++20", "-O3", "-march=native", "-fPIC", "-shared", "-pthread", "-fvisibility=hidden")
_ERROR: Final = re.compile(
    r"^(?P<path>[^\s:][^:\n]*):(?P<line>\d+):(?P<column>\d+): (?:fatal )?error: (?P<text>.*)$", re.MULTILINE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A candidate that can be run.

    :attr:`path` is what the user named, :attr:`loaded` what its process loads.
    """

    path: Path
    function: str
    #: ``python``, ``source``, ``library``, or ``kernels``: a library that 'ckprof build' made
    kind: str
    loaded: Path
    #: file -> SHA-256 of its content: what the user named, and what was made of it
    digests: dict[str, str]
    #: compiler and flags that have made it; empty if nothing was compiled
    built_by: str = ""
    #: environment variables of its process; ``{scratch}`` stands for the folder that it may write
    variables: dict[str, str] = field(default_factory=dict)
    #: of a library with kernels: architecture, and content key of the one that is judged
    arch: str = ""
    key: str = ""
    #: id of the target whose kernels run in memory of the host
    host: str = ""
    #: its kernels run on a device, in the process that has the device's memory
    on_device: bool = False
    #: index of the NVIDIA GPU that its arrays are on; ``None`` for the CPU
    gpu: int | None = None
    #: what it was compiled from; ``None`` if it was not
    request: OpenRequest | None = None

    @property
    def title(self) -> str:
        """What messages call it."""
        return f"{self.path.name}:{self.function}" if self.function else self.path.name

    def check_unchanged(self) -> None:
        """Make sure that what was judged is what was opened.

        :raises InputError: the file has changed meanwhile.
        """
        for path, digest in self.digests.items():
            if digest_of(Path(path)) != digest:
                raise InputError("the file has changed while it was judged: judge it again", path)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenRequest:
    """How a candidate is made of what the user named."""

    path: Path
    #: empty for the usual one of its kind
    function: str
    #: where what is built lies; must exist
    folder: Path
    compiler: str | None = None
    cxx_flags: tuple[str, ...] = ()
    #: seconds that a compiler gets
    limit_s: float = 600.0


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file.

    :raises InputError: it cannot be read.
    """
    try:
        return sha256(path.read_bytes()).hexdigest()
    except OSError as exc:
        raise InputError(f"cannot be read ({exc.strerror})", path) from exc


def split_name(text: str) -> tuple[Path, str]:
    """Return file and function of ``FILE[:FUNCTION]``; the function is empty if there is none.

    :raises UsageError: there is no file.
    """
    file, colon, function = text.rpartition(":")
    if not colon or Path(text).is_file():
        file, function = text, ""
    if not file:
        raise UsageError(f"expected FILE or FILE:FUNCTION, got {text!r}")
    return Path(file), function


def open_candidate(request: OpenRequest) -> Candidate:
    """Return what is judged, built where it is a source.

    :raises InputError: there is no such file, of no kind that is known, or it does not compile.
    :raises ToolchainError: there is no compiler.
    """
    path = request.path
    if path.is_dir():
        raise InputError("this is a folder, expected the file of a candidate", path)
    if not path.is_file():
        raise InputError("no such file, expected a candidate", path)
    opened = KINDS.get(path.suffix.lower())
    if opened is None:
        raise InputError(
            f"expected the file of a candidate, whose name ends in {', '.join(sorted(KINDS))}", path
        )
    return opened(request)


def _python(request: OpenRequest) -> Candidate:
    path, digest = request.path.resolve(), digest_of(request.path)
    try:
        compile(path.read_bytes(), str(path), "exec")
    except SyntaxError as exc:
        raise InputError(f"not Python: {exc.msg}", request.path, exc.lineno, exc.offset) from exc
    except ValueError as exc:
        raise InputError(f"not Python: {exc}", request.path) from exc
    return Candidate(
        path=request.path,
        function=request.function or PYTHON_ENTRY,
        kind="python",
        loaded=path,
        digests={str(request.path): digest},
    )


def _library(request: OpenRequest) -> Candidate:
    content = request.path.read_bytes()
    is_built = _LIBRARY_ENTRY in content and C_ENTRY.encode() not in content
    return Candidate(
        path=request.path,
        function=request.function or ("" if is_built else C_ENTRY),
        kind="kernels" if is_built else "library",
        loaded=request.path.resolve(),
        digests={str(request.path): digest_of(request.path)},
    )


def _source(request: OpenRequest) -> Candidate:
    return compiled(request, "candidate.so", ())


def compiled(request: OpenRequest, name: str, flags: Sequence[str]) -> Candidate:
    """Return the candidate of a source as it is with further flags.

    :param name: of the library.
    :raises InputError: it does not compile; the error of the compiler says where.
    :raises ToolchainError: there is no compiler.
    """
    compiler = find_compiler(request.compiler)
    digest, library = digest_of(request.path), request.folder / name
    given = (*_FLAGS, *request.cxx_flags, *flags)
    folders = (f"-I{INCLUDE_DIR}", f"-I{abi_dir()}")
    language = ("-x", "c++") if request.path.suffix != ".c" else ()
    command = [
        *compiler.command,
        *given,
        *folders,
        *language,
        str(request.path.resolve()),
        "-o",
        str(library),
    ]
    try:
        ended = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=request.limit_s, check=False
        )
    except subprocess.TimeoutExpired as exc:
        reason = f"does not compile within {request.limit_s:g} s, see --budget"
        raise InputError(reason, request.path) from exc
    if ended.returncode != 0:
        found = _ERROR.search(ended.stderr)
        if found is None:
            last = (ended.stderr.strip().splitlines() or ["the compiler gave no reason"])[-1]
            raise InputError(f"does not compile: {last}", request.path)
        line, column = int(found["line"]), int(found["column"])
        raise InputError(f"does not compile: {found['text']}", found["path"], line, column)
    return Candidate(
        path=request.path,
        function=request.function or C_ENTRY,
        kind="source",
        request=request,
        loaded=library,
        digests={str(request.path): digest, str(library): digest_of(library)},
        built_by=f"{compiler.description}: {' '.join(given)}",
    )


#: end of a file's name -> what opens it
KINDS: Final[dict[str, Callable[[OpenRequest], Candidate]]] = {
    ".py": _python,
    ".so": _library,
    **dict.fromkeys((".c", ".cc", ".cpp", ".cxx", ".hip"), _source),
}
