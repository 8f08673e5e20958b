"""Which kernels of a selection support which problems, by the headers' own tests."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ckprof.api.building import build_library
from ckprof.flow.support import for_kernels, random_queries, support_table
from ckprof.model.recipe import Purpose
from ckprof.plugin.protocols import FurtherOperands

if TYPE_CHECKING:
    from ckprof.api.instances import Selection
    from ckprof.api.requests import BuildOptions
    from ckprof.api.session import Session
    from ckprof.flow.kernel_library import BuiltLibrary
    from ckprof.flow.support import SupportTable
    from ckprof.run.support_queries import SupportQuery


@dataclass(frozen=True, slots=True, kw_only=True)
class SupportRequest:
    """What kernels are asked."""

    selection: Selection
    build: BuildOptions
    queries: tuple[SupportQuery, ...] = ()
    #: random problems that are asked about as well
    random: int = 0
    seed: int = 0
    #: ask the model of these headers on the CPU the same
    model: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class SupportReport:
    """What they answer."""

    library: BuiltLibrary
    #: ``None`` when no kernel could be built
    table: SupportTable | None
    #: how many of the table's first queries are not random
    given: int

    @property
    def succeeded(self) -> bool:
        """False if library and model differ, or no kernel supports a given problem."""
        if self.table is None or self.table.disagreements():
            return False
        return all(self.table.supporters(index) for index in range(self.given))


def check_support(session: Session, request: SupportRequest) -> SupportReport:
    """Build the kernels and ask them; nothing is run.

    :raises CkprofError: no toolchain, or a library cannot be loaded.
    """
    selection, options = request.selection, request.build
    operation = session.registry.operation(selection.direction)
    ndim = selection.candidates[0].instance.ndim
    drawn = random_queries(request.random, ndim, request.seed, operation)
    if isinstance(operation, FurtherOperands):
        drawn = for_kernels(drawn, selection.candidates)
    queries = [*request.queries, *drawn]
    target = session.target(options.target)

    def built(how: BuildOptions) -> BuiltLibrary:
        return build_library(
            session,
            selection.candidates,
            how,
            Purpose.SUPPORT_CHECK,
            keep_invalid=selection.keep_invalid,
        )

    library = built(replace(options, target=target.id))
    given = len(request.queries)
    embedded = next((one for one in session.registry.targets if one.embedded), None)
    model: BuiltLibrary | None = None
    if request.model and not target.embedded and embedded is not None:
        # the same kernels at the same level, for the device that the target builds for
        model = built(
            replace(
                options,
                target=embedded.id,
                api_level=library.recipe.api_level,
                arch=library.recipe.arch,
                compiler=None,
                build_dir=None,
            )
        )
    if library.path is None:
        return SupportReport(library=library, table=None, given=given)
    return SupportReport(library=library, table=support_table(library, queries, model), given=given)
