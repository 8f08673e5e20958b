"""What builds of a target are expected to cost before one was seen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ckprof.build.jobs import job_count, memory_budget_bytes
from ckprof.build.units import functions_per_unit
from ckprof.tune.costs import BuildCosts

if TYPE_CHECKING:
    from ckprof.model.recipe import BuildRecipe

#: seconds of generating, linking, comparing strings and starting a worker, about
_START_S: Final = 2.0


def declared_costs(recipe: BuildRecipe, jobs: int | None) -> BuildCosts:
    """Return what the target declares, for as many compilers as the build will run.

    :param jobs: compilers at once; ``None`` for as many as cores and memory allow.
    """
    count = job_count(jobs, recipe.compile_memory_bytes)
    return BuildCosts(
        start_s=_START_S,
        unit_s=recipe.unit_s,
        kernel_s=recipe.function_s,
        jobs=count,
        per_unit=max(1, functions_per_unit(recipe, count, memory_budget_bytes())),
    )
