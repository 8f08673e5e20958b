"""A bench with simulated kernels, for sweeps without a compiler."""

from __future__ import annotations

import math
import random

from ckprof.model.dtype import DataType
from ckprof.model.outcome import Measurement, Status, Verification
from ckprof.rounds.options import RoundOptions
from ckprof.store.attempt import KernelInfo
from ckprof.store.key import DeviceKey, MethodKey, OperationKey, ToolchainKey
from ckprof.store.query import SharedKey
from ckprof.sweep.engine import VisitResult
from ckprof.sweep.observer import Reading
from ckprof.sweep.plan import PlannedKernel, PlanRequest, make_plan
from tests.store.samples import make_problem

SHARED = SharedKey(
    operation=OperationKey(direction="fwd", api_level="2026-06"),
    device=DeviceKey(target="simulated", model="none"),
    toolchain=ToolchainKey(compiler="c 1"),
    method=MethodKey(),
)


def make_kernels(count, *, ndim=2, dtype=DataType.FP16, digest="o"):
    return [
        PlannedKernel(
            instance=f"{ndim}{dtype.value}{number:028x}",
            ndim=ndim,
            info=KernelInfo(name=f"kernel_{number}", dtype=dtype, layout="nhwgc"),
            object_digest=f"{digest}{number}",
        )
        for number in range(count)
    ]


def plan_for(kernels, problems, past=lambda shared, problem: [], **changes):
    values = {"splits": (1,), "shared": SHARED, "rounds": RoundOptions()}
    return make_plan(PlanRequest(kernels=kernels, problems=problems, **{**values, **changes}), past)


def make_problems(count):
    return [make_problem(4 + number) for number in range(count)]


class SimulatedBench:
    """Times depend on kernel, split and problem alone, but for the noise."""

    def __init__(self, *, noise=0.01, seed=0, failing=(), reading=None):
        self.noise = noise
        self.chance = random.Random(seed)
        self.failing = dict(failing)
        self.reading = reading or Reading(load=0.5, cores=4)
        self.visits = []
        self.opened = []

    def true_ms(self, instance, split_k, problem):
        return math.exp(random.Random(f"{instance} {split_k} {problem.input}").uniform(0, 2.5))

    def open_problem(self, planned):
        self.opened.append(planned.problem)

    def observe(self):
        return self.reading

    def measure(self, planned, visit):
        self.visits.append((planned.problem, visit))
        cell = visit.cell
        name = planned.kernels[cell.instance].info.name
        if name in self.failing:
            return VisitResult(status=self.failing[name], reason="as told")
        time_ms = self.true_ms(*cell, planned.problem) * math.exp(self.chance.gauss(0, self.noise))
        samples = tuple(time_ms * factor for factor in (1.01, 1.0, 0.99))
        return VisitResult(
            status=Status.OK,
            split_chosen=cell.split_k,
            measurement=Measurement(
                median_ms=time_ms,
                spread_ms=time_ms * 0.005,
                min_ms=time_ms * 0.99,
                mean_ms=time_ms,
                samples=3,
                stopped_by="stdrel",
                samples_ms=samples,
            ),
            verification=Verification(max_error=0, wrong_elements=0, elements=9, rtol=0.1, atol=0.1),
        )
