"""Runs ninja with the file of a build, and CMake for trees that programs embed."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections import deque
from pathlib import Path
from signal import SIGINT, SIGKILL, SIGTERM
from typing import TYPE_CHECKING, Final

from ckprof.errors import ToolchainError
from ckprof.files import scratch_folder
from ckprof.kernels import compile_step
from ckprof.kernels.embedding import NATIVE_FLAGS
from ckprof.kernels.units import job_count
from ckprof.orphans import bound

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ckprof.kernels.source_tree import SourceTree
    from ckprof.kernels.step import Step, StepFiles
    from ckprof.model.recipe import BuildRecipe

    Progress = Callable[[int, int, str], None]

_STOP_S: Final = 10.0
#: lines of what was printed that errors show
_TAIL: Final = 20
_PROGRESS: Final = re.compile(r"\[(\d+)/(\d+)\] (.*)")


def render(steps: Sequence[Step], files: StepFiles) -> str:
    """Return the text of a ninja file with one edge per step.

    :param steps: what to do; a step's output for ninja is its record, its real product lies in the cache.
    :param files: where the steps' files lie; the ninja file belongs into its root.
    """
    # -I -S: neither the environment nor site-packages are read, which makes a step start at once
    wrapper = shlex.join([sys.executable, "-I", "-S", compile_step.__file__])
    lines = [
        "ninja_required_version = 1.10",
        "builddir = .",
        "rule step",
        f"  command = {wrapper.replace('$', '$$')} $in",
        "  description = $name",
        "",
    ]

    def relative(path: Path) -> str:
        return path.relative_to(files.root).as_posix()

    for step in steps:
        after = "".join(f" {relative(files.record(other))}" for other in step.after)
        lines.append(
            f"build {relative(files.record(step.id))}: step {relative(files.spec(step.id))}"
            + (f" ||{after}" if after else "")
        )
        lines.append(f"  name = {step.name.replace('$', '$$')}")
    return "\n".join(lines) + "\n"


def ninja_command() -> tuple[str, ...]:
    """Return how ninja is called: that of the ``ninja`` package, or the one on the path.

    :raises ToolchainError: there is none.
    """
    import shutil

    try:
        import ninja
    except ImportError:
        path = shutil.which("ninja")
        if path is None:
            raise ToolchainError("ninja is missing; install it with 'pip install ninja'") from None
        return (path,)
    return (str(Path(ninja.BIN_DIR) / ("ninja.exe" if os.name == "nt" else "ninja")),)


def run(root: Path, jobs: int, on_progress: Progress | None) -> None:
    """Run ninja until nothing more can be done. A failing step does not stop the others and is no error here.

    :param root: folder of ``build.ninja``.
    :param jobs: processes at once.
    :param on_progress: called with steps done, all steps and the name of the step that has just ended.
    :raises ToolchainError: ninja itself cannot do its work.
    """
    try:
        # some compilers give their temporary files names that others can foresee
        with scratch_folder() as temporary:
            status, tail = run_steps(
                (*ninja_command(), "-k", "0", "-j", str(jobs)),
                on_progress,
                cwd=root,
                env={**os.environ, "NINJA_STATUS": "[%f/%t] ", "TMPDIR": str(temporary)},
            )
    except OSError as exc:
        raise ToolchainError(
            f"ninja cannot be started: {exc}; reinstall it with 'pip install ninja'"
        ) from exc
    # that steps have failed is its last word; what else it cannot do has the same status
    if status and not (status == 1 and tail and tail[-1].startswith("ninja: build stopped")):
        shown = "\n  ".join(tail)
        raise ToolchainError(f"ninja failed with exit status {status}:\n  {shown}")


def run_steps(
    command: Sequence[str],
    on_progress: Progress | None,
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    keep: Callable[[str], None] | None = None,
) -> tuple[int, list[str]]:
    """Run ninja, or what writes a tree for it, and return its exit status and its last lines.

    :param on_progress: called with steps done, all steps and the name of the step that has just ended.
    :param keep: called with every line that is printed.
    :raises OSError: it cannot be started.
    """
    tail: deque[str] = deque(maxlen=_TAIL)
    process = subprocess.Popen(
        # killed ninja would leave its steps behind; asked to end, it ends them
        bound(tuple(command), SIGTERM),
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env=env,
        # Ctrl-C reaches ninja only through the clean-up below, once
        start_new_session=True,
    )
    with process:
        try:
            assert process.stdout is not None  # noqa: S101 - asked for above
            for line in process.stdout:
                tail.append(line.rstrip())
                if keep is not None:
                    keep(line.rstrip())
                progress = _PROGRESS.match(line)
                if progress and on_progress is not None:
                    on_progress(int(progress[1]), int(progress[2]), progress[3].strip())
            process.wait()
        except BaseException:
            _stop_group(process)
            raise
    return process.returncode, list(tail)


def _stop_group(process: subprocess.Popen[str]) -> None:
    """Let ninja, or what leads a group with it, end its steps, which end their compilers; make sure of it.

    :param process: the leader of its process group.
    """
    try:
        os.killpg(process.pid, SIGINT)
        process.wait(_STOP_S)
    except ProcessLookupError:
        process.wait()
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, SIGKILL)
        process.wait()


#: folder of the build below the root of the tree
CMAKE_FOLDER: Final = "out"


def build_with_cmake(
    tree: SourceTree,
    recipe: BuildRecipe,
    *,
    jobs: int | None,
    on_progress: Callable[[int, int, str], None],
) -> Path:
    """Configure and build a tree, and return the shared library.

    :param tree: written with what other build systems need.
    :param recipe: whose compiler and headers are used.
    :param jobs: compilers at once, ``None`` for one per usable CPU; in any case bounded by free memory.
    :param on_progress: called with steps done, all steps and what is being done.
    :raises ToolchainError: there is no CMake, or the build fails.
    """
    cmake = shutil.which("cmake")
    if cmake is None:
        raise ToolchainError(
            "cmake is missing; install it with 'pip install cmake' or 'apt-get install cmake'"
        )
    out = tree.root / CMAKE_FOLDER
    headers = next(iter(recipe.include_dirs), tree.root)
    _run(
        (
            cmake,
            *("-S", str(tree.root), "-B", str(out), "-G", "Ninja"),
            f"-DCMAKE_MAKE_PROGRAM={ninja_command()[0]}",
            f"-DCMAKE_CXX_COMPILER={recipe.compiler.command[0]}",
            # what only says where something lies on this machine is no part of the tree
            f"-DCMAKE_CXX_FLAGS={' '.join(recipe.location_flags)}",
            f"-DCK_TILE_INCLUDE_DIR={headers}",
            # it is to run here
            f"-DCKPROF_NATIVE={'ON' if NATIVE_FLAGS.intersection(recipe.compile_flags) else 'OFF'}",
        ),
        "configuring",
        on_progress,
    )
    count = job_count(jobs, recipe.compile_memory_bytes)
    # not through cmake, which would leave ninja behind when it is ended
    _run((*ninja_command(), "-C", str(out), "-j", str(count)), "building", on_progress)
    library = out / f"lib{tree.library_name}.so"
    if not library.is_file():
        raise ToolchainError(f"{out}: CMake has built no {library.name}")
    return library


def _run(command: Sequence[str], what: str, on_progress: Callable[[int, int, str], None]) -> None:
    try:
        status, tail = run_steps(command, on_progress)
    except OSError as exc:
        raise ToolchainError(f"cmake cannot be started: {exc}") from exc
    if status != 0:
        shown = "\n  ".join(tail)
        raise ToolchainError(f"{what} with CMake failed:\n  {shown}")
