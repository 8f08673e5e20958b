"""What a source tree holds beside its kernels for programs that embed them.

.. code-block:: text

    registration/register_<direction>_chunk_<i>.cpp  some kernels with all their fields
    registration/register_<direction>_kernels.*      the function that registers all
    include/            C interface, registry, and the target's headers as far as they ship with ckprof
    support/            the target's sources, the C interface, the library's table
    CMakeLists.txt
    compile_commands.json
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Final

import msgspec

from ckprof.kernels.c_interface import (
    ABI_INCLUDE_DIR,
    EMBED_DIR,
    boolean,
    string_literal,
    table_source,
)
from ckprof.kernels.jinja import render
from ckprof.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ckprof.kernels.build_dir import BuildDir
    from ckprof.kernels.source_tree import KernelFiles
    from ckprof.model.recipe import BuildRecipe
    from ckprof.plugin.protocols import Operation, SourceAddition

#: what makes code for the machine that compiles it; what a user names instead stays
NATIVE_FLAGS: Final = frozenset({"-march=native", "-mcpu=native", "-mtune=native"})

_REGISTRATION: Final = "registration"
_HEADERS: Final = frozenset({".h", ".hpp"})


def embedding_files(build_dir: BuildDir, kernels: Sequence[KernelFiles]) -> dict[str, str]:
    """Return path relative to the root -> text of all further files of a tree for other build systems.

    All but ``compile_commands.json`` are the same on every machine.
    """
    if build_dir.chunk_size is None:
        return {}
    direction, recipe = build_dir.direction, build_dir.recipe
    ranking = next((addition for addition in build_dir.additions if addition.rank), None)
    library = direction.interface.library
    fields = {kernel.symbol: kernel.fields() for kernel in kernels}
    files = _registration_files(build_dir, build_dir.chunk_size, kernels, fields, ranking)
    registration = sorted(name for name in files if name.endswith(".cpp"))
    support, shared = _copies(recipe, direction.interface.linked, files)
    files |= {f"include/{path.name}": path.read_text() for path in _headers_of(direction)}
    table = f"support/{library}.cpp"
    files[table] = table_source(library, direction, build_dir.arch, kernels, fields, ranking)
    listed = {
        "kernel_files": [kernel.entry.relative_to(build_dir.root).as_posix() for kernel in kernels],
        "registration_files": registration,
        "support_files": support,
        "library_files": [*shared, table],
    }
    files["CMakeLists.txt"] = _cmake_text(recipe, library, direction, listed)
    sources = [
        (name, kind in ("kernel_files", "registration_files"))
        for kind, names in listed.items()
        for name in names
    ]
    files["compile_commands.json"] = _compile_commands(recipe, build_dir.root, sources)
    return files


def _headers_of(operation: Operation) -> list[Path]:
    """Return the headers of the functions for programs, and what the linked sources include, sorted."""
    interface = operation.interface
    folders = {source.parent for source in interface.linked}
    return sorted({*interface.headers, *(path for folder in folders for path in _headers_below(folder))})


def _shared_values(direction: Operation) -> dict[str, str]:
    """Return what several templates show."""
    function = f"register_{direction.id}_kernels"
    return {
        "version": __version__,
        "function": function,
        "header": f"{function}.hpp",
        "direction": direction.id,
    }


def _registration_files(
    build_dir: BuildDir,
    chunk_size: int,
    kernels: Sequence[KernelFiles],
    fields: Mapping[str, Mapping[str, object]],
    ranking: SourceAddition | None,
) -> dict[str, str]:
    """Return path -> text of what registers the kernels: chunk by chunk, and the function that calls all.

    :param fields: symbol of a kernel -> fields of its instance.
    :param ranking: makes the registry take the first supported kernel of a ranking, not of the list.
    """
    direction, arch = build_dir.direction, build_dir.arch
    files: dict[str, str] = {}
    chunks = []
    for number, start in enumerate(range(0, len(kernels), chunk_size)):
        chunk = f"register_{direction.id}_chunk_{number}"
        chunks.append(chunk)
        files[f"{_REGISTRATION}/{chunk}.cpp"] = render(
            __package__,
            "registration_chunk.cpp.j2",
            version=__version__,
            function=chunk,
            arch=string_literal(arch),
            kernels=[
                _registered(kernel, fields[kernel.symbol]) for kernel in kernels[start : start + chunk_size]
            ],
        )
    shared = _shared_values(direction)
    choice = {"select": f"select_{direction.id}_kernel", "ranking": ranking}
    files[f"{_REGISTRATION}/{shared['header']}"] = render(
        __package__, "registration.hpp.j2", **shared, **choice, arch=arch, count=len(kernels)
    )
    files[f"{_REGISTRATION}/{shared['function']}.cpp"] = render(
        __package__,
        "registration.cpp.j2",
        **shared,
        **choice,
        chunks=chunks,
        names=[string_literal(kernel.name) for kernel in kernels],
    )
    return files


def _cmake_text(
    recipe: BuildRecipe, library: str, direction: Operation, listed: Mapping[str, Sequence[str]]
) -> str:
    """Return the text of ``CMakeLists.txt``.

    :param listed: variable of the template -> paths of sources.
    """
    native = [flag for flag in recipe.compile_flags if flag in NATIVE_FLAGS]
    portable = [flag for flag in recipe.compile_flags if flag not in NATIVE_FLAGS]
    return render(
        __package__,
        "CMakeLists.txt.j2",
        **_shared_values(direction),
        **listed,
        library=library,
        needs_ck_tile=any(not _ships_with_ckprof(folder) for folder in recipe.include_dirs),
        native_flags=" ".join(native),
        machine=f" ${{{library}_MACHINE}}" if native else "",
        flags=" ".join(portable),
        kernel_flags=" ".join((*portable, *recipe.kernel_flags)),
        link_flags=" ".join(flag for flag in recipe.link_flags if not _names_library(flag)),
        linked_libraries=" ".join(flag for flag in recipe.link_flags if _names_library(flag)),
        thread_flags=" ".join(flag for flag in recipe.link_flags if flag == "-pthread"),
    )


def _names_library(flag: str) -> bool:
    """Whether a flag of the linker says which further library is needed, or where it is."""
    return flag.startswith(("-l", "-L", "-Wl,-rpath"))


def _registered(kernel: KernelFiles, fields: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": kernel.name,
        "symbol": kernel.symbol,
        "fields": [(f'"{name}"', _literal(value)) for name, value in fields.items()],
    }


def _literal(value: object) -> str:
    return string_literal(boolean(value) if isinstance(value, bool) else str(value))


def _copies(
    recipe: BuildRecipe, sources: Sequence[Path], files: dict[str, str]
) -> tuple[list[str], list[str]]:
    """Copy headers and sources that ship with ckprof, and return the sources of the target and our own."""
    for folder in (ABI_INCLUDE_DIR, EMBED_DIR, *filter(_ships_with_ckprof, recipe.include_dirs)):
        for path in _headers_below(folder):
            files[f"include/{path.relative_to(folder).as_posix()}"] = path.read_text()
    support = []
    for source in recipe.support_sources:
        support.append(f"support/{source.name}")
        for path in (source, *_headers_below(source.parent)):
            files[f"support/{path.relative_to(source.parent).as_posix()}"] = path.read_text()
    shared = {f"support/{source.name}": source.read_text() for source in sources}
    files.update(shared)
    return support, list(shared)


def _headers_below(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.suffix in _HEADERS)


def _ships_with_ckprof(folder: Path) -> bool:
    """Say whether the folder belongs to a Python package: it has one among its parents."""
    return any((parent / "__init__.py").is_file() for parent in folder.parents)


def _compile_commands(recipe: BuildRecipe, root: Path, sources: Sequence[tuple[str, bool]]) -> str:
    others = [folder for folder in recipe.include_dirs if not _ships_with_ckprof(folder)]
    includes = ["-Iinclude", "-Iregistration", *(f"-I{folder}" for folder in others)]
    common = [*recipe.compiler.command, *recipe.compile_flags]
    entries = [
        {
            "directory": str(root),
            "file": name,
            "arguments": [
                *common,
                *(recipe.kernel_flags if is_kernel else ()),
                *includes,
                *("-c", name, "-o", PurePosixPath(name).with_suffix(".o").name),
            ],
        }
        for name, is_kernel in sources
    ]
    return msgspec.json.format(msgspec.json.encode(entries), indent=1).decode() + "\n"
