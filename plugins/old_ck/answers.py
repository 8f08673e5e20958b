"""Libraries of old kernels that only answer what they support: host code alone, and no device."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ckprof.model.architecture import find_architecture

if TYPE_CHECKING:
    from ckprof.model.recipe import BuildRecipe

_SOURCE: Final = Path(__file__).parent / "src_answers" / "device.cpp"
#: what CK Tile's kernels ask of a device that is not there
_NO_DEVICE: Final = "no_device.cpp"
_ONLY_ANSWERS: Final = "-DCKPROF_SUPPORT_ONLY"


def only_answers(recipe: BuildRecipe) -> bool:
    """Say whether kernels are compiled to be asked, and not run."""
    return _ONLY_ANSWERS in recipe.compile_flags


def answering(recipe: BuildRecipe) -> BuildRecipe:
    """Return a recipe for kernels that are asked with what their host code refers to."""
    arch = recipe.arch.partition(":")[0]
    known = find_architecture(arch)
    sources = (one for one in recipe.support_sources if one.name != _NO_DEVICE)
    return replace(
        recipe,
        compile_flags=(
            *recipe.compile_flags,
            f'-DCKPROF_OLD_CK_ARCH="{arch}"',
            f"-DCKPROF_OLD_CK_COMPUTE_UNITS={known.compute_units}",
            # in the place of device code, which nothing reads: any file will do
            *("-Xclang", "-fcuda-include-gpubinary", "-Xclang", str(_SOURCE)),
        ),
        support_sources=(*sources, _SOURCE),
    )
