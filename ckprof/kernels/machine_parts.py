"""What targets compile once per machine, such as a device of their own: made before it is linked with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof.kernels.events import BuildProgress, PartFinished, PartStarted

if TYPE_CHECKING:
    from ckprof.model.recipe import BuildRecipe, MachinePart
    from ckprof.session import Session


def make_parts(session: Session, recipe: BuildRecipe, jobs: int | None = None) -> None:
    """Bring what the recipe needs on this machine up to date, and say so where that takes time.

    :param jobs: compilers at once; ``None`` for one per CPU.
    :raises ToolchainError: no compiler, it fails, or there is no space.
    """
    for part in recipe.parts:
        _Making(session, part).run(jobs)


class _Making:
    def __init__(self, session: Session, part: MachinePart) -> None:
        self._session = session
        self._part = part
        self._started = False

    def run(self, jobs: int | None) -> None:
        if not self._part.present:
            self._start(self._part.cpu_s)
        try:
            self._part.make(jobs, self._step)
        finally:
            if self._started:
                self._session.tell(PartFinished())

    def _start(self, cpu_s: float | None) -> None:
        self._started = True
        self._session.tell(PartStarted(name=self._part.name, folder=self._part.folder, cpu_s=cpu_s))

    def _step(self, done: int, total: int, name: str) -> None:
        # what is up to date takes no step
        if not self._started:
            self._start(None)
        self._session.tell(BuildProgress(done=done, total=total, name=name))
