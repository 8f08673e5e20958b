"""The files of the form, beside the kernels and the registry of a generated tree.

.. code-block:: text

    dispatcher/<name>.hpp                                    one header per kernel
    dispatcher/include_all_grouped_conv_<direction>_kernels.hpp
    dispatcher/dispatcher_wrappers/dispatcher_wrapper_<name>.hpp    make_<name>(gfx_arch)
    dispatcher/dispatcher_wrappers/register_all_grouped_conv_kernels.hpp
    dispatcher/register_<direction>_chunk_<i>.cpp            the same in translation units of some kernels
    dispatcher/register_all_grouped_conv_kernels.cpp
    dispatcher_model/                                        a model of the dispatcher's headers
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from ckprof.errors import UsageError
from ckprof.events import Level, Message
from ckprof.formatting import counted
from ckprof.kernels.c_interface import boolean, string_literal
from ckprof.kernels.jinja import render
from ckprof.kernels.requests import DEFAULT_CHUNK_SIZE
from ckprof.plugin.protocols import SourceAddition
from ckprof.version import __version__
from ckprof_plugins.dispatcher.keys import algorithm_of, signature_of, unregistrable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ckprof.kernels.build_dir import BuildDir
    from ckprof.kernels.candidates import Candidate
    from ckprof.kernels.source_tree import KernelFiles
    from ckprof.session import Session
    from ckprof_plugins.directions._convolution.direction import Direction

FOLDER: Final = "dispatcher"
WRAPPERS: Final = f"{FOLDER}/dispatcher_wrappers"
MODEL: Final = "dispatcher_model"
#: headers of the model, as they lie below an include folder
MODEL_INCLUDE_DIR: Final = Path(__file__).parent / "include"
#: directions that the dispatcher's functions are named for
DIRECTIONS: Final = ("fwd", "bwd_data", "bwd_weight")
#: kernels that a message names
_NAMED: Final = 3


def dispatcher_sources(
    session: Session, build_dir: BuildDir, candidates: Sequence[Candidate]
) -> SourceAddition:
    """Return the files that CK's dispatcher builds, and a model of its headers.

    :raises UsageError: the dispatcher has no such direction, or can run none of the kernels.
    """
    direction = cast("Direction", build_dir.direction)
    if direction.id not in DIRECTIONS:
        raise UsageError(f"--form dispatcher is for {', '.join(DIRECTIONS)}, not for {direction.id}")
    keys: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}
    owners: dict[str, str] = {}
    refused: dict[str, list[str]] = defaultdict(list)
    for candidate in candidates:
        reason = unregistrable(candidate.instance)
        if not reason:
            key = signature_of(candidate.instance, direction.operation), algorithm_of(candidate.instance)  # type: ignore[arg-type]
            owner = owners.setdefault(repr(key), candidate.name)
            reason = f"its registry keeps one kernel of a key, which {owner} has" * (owner != candidate.name)
            keys |= {candidate.name: key} if not reason else {}
        if reason:
            refused[reason].append(candidate.name)
    for reason, names in refused.items():
        if not keys:
            raise UsageError(f"--form dispatcher: CK's dispatcher can run none of the kernels: {reason}")
        shown = ", ".join([*names[:_NAMED], *["..."][: max(0, len(names) - _NAMED)]])
        text = f"--form dispatcher excludes {counted(len(names), 'kernel')} ({shown}): {reason}"
        session.emit(Message(text, Level.WARNING))
    return SourceAddition(digest=FOLDER, render=lambda kernels: _files(build_dir, direction, kernels, keys))


def _files(
    build_dir: BuildDir,
    direction: Direction,
    kernels: Sequence[KernelFiles],
    keys: Mapping[str, tuple[Mapping[str, Any], Mapping[str, Any]]],
) -> dict[str, str]:
    """Return path below the root -> text.

    :param keys: name of a kernel -> signature and algorithm of its key.
    """
    registered = {kernel.name: kernel for kernel in kernels if kernel.name in keys}
    names = list(registered)
    shared: dict[str, Any] = {
        "version": __version__,
        "arch": string_literal(build_dir.arch),
        "direction": direction.id,
        "directions": DIRECTIONS,
        "operation": "".join(word.capitalize() for word in direction.operation.kernel.name.split("_")),
    }
    files = {f"{FOLDER}/{name}.hpp": _text("kernel.hpp.j2", name=name, **shared) for name in names}
    for name, kernel in registered.items():
        groups = zip(("what is computed", "how"), keys[name], strict=True)
        files[f"{WRAPPERS}/dispatcher_wrapper_{name}.hpp"] = _text(
            "wrapper.hpp.j2",
            name=name,
            ndim=kernel.instance.ndim,
            groups=[(said, [(field, _literal(v)) for field, v in part.items()]) for said, part in groups],
            **shared,
        )
    for one in DIRECTIONS:
        own = sorted(names) if one == direction.id else []
        launcher = direction.operation.selected_launcher
        files[f"{FOLDER}/include_all_grouped_conv_{one}_kernels.hpp"] = _text(
            "include_all.hpp.j2", names=own, launcher=launcher, **shared
        )
    files[f"{WRAPPERS}/register_all_grouped_conv_kernels.hpp"] = _text(
        "register_all.hpp.j2", names=names, included=sorted(names), **shared
    )
    size = build_dir.chunk_size or DEFAULT_CHUNK_SIZE
    chunks = [names[start : start + size] for start in range(0, len(names), size)]
    for number, chunk in enumerate(chunks):
        files[f"{FOLDER}/register_{direction.id}_chunk_{number}.cpp"] = _text(
            "chunk.cpp.j2", names=chunk, number=number, **shared
        )
    files[f"{FOLDER}/register_all_grouped_conv_kernels.cpp"] = _text(
        "register_all.cpp.j2", chunks=range(len(chunks)), **shared
    )
    headers = sorted(MODEL_INCLUDE_DIR.rglob("*.hpp"))
    return files | {
        f"{MODEL}/{path.relative_to(MODEL_INCLUDE_DIR).as_posix()}": path.read_text() for path in headers
    }


def _text(template: str, **values: object) -> str:
    return render(__package__, template, **values)


def _literal(value: object) -> str:
    if isinstance(value, bool):
        return boolean(value)
    return str(value) if isinstance(value, int) else string_literal(str(value))
