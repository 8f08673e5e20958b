"""Every flag that decides the machine code of kernels: of target, user, command and environment."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ckprof.model.recipe import BuildRecipe

#: variables from which the usual compilers take folders of headers, tools and changes of their command line
_VARIABLES: Final = (
    "CPATH",
    "CPLUS_INCLUDE_PATH",
    "COMPILER_PATH",
    "GCC_EXEC_PREFIX",
    "CCC_OVERRIDE_OPTIONS",
)


def environment_flags(recipe: BuildRecipe, environment: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """Return what the environment adds to the command line of a recipe's compiler, as ``NAME=value``.

    ``CXXFLAGS`` is not among it: no compiler reads it.
    """
    names = (*_VARIABLES, *recipe.variables)
    return tuple(f"{name}={environment[name]}" for name in names if environment.get(name, "").strip())


def code_flags(recipe: BuildRecipe) -> tuple[str, ...]:
    """Return all flags that kernels are compiled with, but for folders of headers."""
    compiler = recipe.compiler.added_words
    return (*compiler, *recipe.compile_flags, *recipe.kernel_flags, *environment_flags(recipe))
