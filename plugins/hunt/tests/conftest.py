from __future__ import annotations

from types import SimpleNamespace

import pytest

from ckprof.model.architecture import find_architecture
from ckprof.model.outcome import Outcome, Status
from ckprof_plugins.hunt.boundaries import KernelBoundaries


class ScriptedHunt:
    """A hunt whose kernel fails where a function of problem and splits says so."""

    error = None

    def __init__(self, operation, candidates, fails=lambda problem, splits: False):
        self.operation, self.target = operation, SimpleNamespace(embedded=False, id="scripted")
        self.candidates = {one.instance.key: one for one in candidates}
        self.arch, self.seed, self.fails = find_architecture("gfx942"), 0, fails
        self.planned, self.outcomes, self.sampled, self.unsampled = {}, {}, 0, 0
        for key in self.candidates:
            for place in KernelBoundaries(
                self.candidates[key].instance, self.usual(key), self.arch, 0
            ).places():
                for problem, splits in place.attempts[:2]:
                    self.planned.setdefault((key, problem, splits), []).append((place.kind, place.formula))
        self.outcomes = self.results(self.planned)

    def usual(self, key):
        candidate = self.candidates[key]
        usual = self.operation.default_problem[candidate.instance.ndim]
        return candidate.pipeline.default_problem(candidate.instance, usual)

    def seconds_left(self, share=1.0):
        return 1.0

    def results(self, pairs):
        return {
            pair: Outcome(
                key=pair[0],
                problem_index=0,
                status=Status.WRONG_RESULT if self.fails(*pair[1:]) else Status.OK,
                reason="wrong" if self.fails(*pair[1:]) else "",
            )
            for pair in pairs
        }

    def answers(self, asked):
        return {key: [not self.fails(*one) for one in problems] for key, problems in asked.items()}


@pytest.fixture
def hunted(registry, make_instance):
    """Return a hunt of kernels of one direction."""

    def make(direction, fails=lambda problem, splits: False, **fields):
        instance = make_instance(direction=direction, **fields)
        pipeline = registry.pipelines.find(instance.pipeline)
        candidate = SimpleNamespace(
            instance=instance, pipeline=pipeline, index=0, name="kernel", source="a:1"
        )
        return ScriptedHunt(registry.operation(direction), [candidate], fails)

    return make
