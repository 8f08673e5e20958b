"""The folder of a build as a side: its kernels are predicted as they were built."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError, NothingLeftError
from ckprof.kernels.keys import digest_file
from ckprof.kernels.library import BuiltLibrary, make_parts
from ckprof.kernels.manifest import read_tree
from ckprof.model.recipe import BuildRequest, Purpose
from ckprof.model.results import BuildSummary

if TYPE_CHECKING:
    from pathlib import Path

    from ckprof.kernels.choose import Selection
    from ckprof.kernels.requests import BuildOptions
    from ckprof.session import Session

#: what made the machine code of a folder, which says nothing of it
AS_BUILT: Final = "as it was built"


def built_in(session: Session, folder: Path, selection: Selection, build: BuildOptions) -> BuiltLibrary:
    """Return the kernels of a selection that a folder has, with the folder's library.

    :param folder: with the manifest of a tree.
    :param build: the headers and the compiler that a device model is built with, if it is not yet.
    :raises InputError: the folder has no library, or is of another target or direction.
    :raises NothingLeftError: it has none of the kernels.
    :raises ToolchainError: no compiler, or no headers.
    """
    from ckprof_plugins.emulator.device import EmulatedDevice

    tree = read_tree(folder)
    library = next(folder.glob(f"lib{tree.library_name}.so"), None) if tree is not None else None
    if tree is None or library is None:
        raise InputError(
            "it has no library: 'ckprof predict --build-dir DIR', or 'ckprof build --target "
            f"{EmulatedDevice.target} --device {EmulatedDevice.id} --build-dir DIR', makes such a folder",
            folder,
        )
    for what, held, asked in (
        ("target", tree.target, EmulatedDevice.target),
        ("direction", tree.direction, selection.direction),
        ("architecture", tree.arch.partition(":")[0], (build.arch or tree.arch).partition(":")[0]),
    ):
        if held != asked:
            raise InputError(f"its kernels are of {what} {held}, expected {asked}", folder)
    keys = {kernel.key for kernel in tree.kernels}
    found = tuple(one for one in selection.candidates if one.instance.key in keys)
    if not found:
        raise NothingLeftError(f"{folder} has none of the kernels of {selection.source}")
    request = BuildRequest(
        arch=tree.arch,
        operation=tree.direction,
        compiler=build.compiler or session.settings.compiler,
        purpose=Purpose.RUN,
        ck_root=build.ck_root,
        api_level=tree.api_level,
        device=EmulatedDevice.id,
    )
    recipe = session.recipe(session.target(EmulatedDevice.target), request)
    make_parts(session, recipe, build.jobs)
    digest = digest_file(library)
    return BuiltLibrary(
        direction=session.registry.operation(tree.direction),
        candidates=found,
        path=library,
        recipe=recipe,
        built=found,
        rejected=(),
        summary=BuildSummary(),
        object_keys={one.instance.key: f"{digest}{one.instance.key}" for one in found},
    )
