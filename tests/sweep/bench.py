"""A bench with simulated kernels, for sweeps without a compiler."""

import math
import random

from ckprof.events import Level, Message
from ckprof.measure.rounds import RoundOptions
from ckprof.measure.workers import DeviceLostError
from ckprof.model.device import Reading
from ckprof.model.kernel import SelectedKernel
from ckprof.model.outcome import Measurement, Outcome, Status, Verification
from ckprof.model.types import DataType, TypeSet
from ckprof.store.key import DeviceKey, MethodKey, OperationKey, ToolchainKey
from ckprof.store.query import SharedKey
from ckprof.sweep.plan import PlanRequest, make_plan
from tests.store.samples import make_problem

SHARED = SharedKey(
    operation=OperationKey(direction="fwd", api_level="2026-06"),
    device=DeviceKey(target="simulated", model="none"),
    toolchain=ToolchainKey(compiler="c 1"),
    method=MethodKey(),
)


def make_kernels(count, *, ndim=2, dtype=DataType.FP16, digest="o"):
    return [
        SelectedKernel(
            key=f"{ndim}{dtype.value}{number:028x}",
            name=f"kernel_{number}",
            dtype=dtype,
            layout="nhwgc",
            ndim=ndim,
            types=TypeSet.shared(dtype),
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

    def __init__(self, *, noise=0.01, seed=0, failing=(), reading=None, lost=False, killing=(), second=""):
        #: the device: no kernel is launched
        self.lost = lost
        #: names of kernels beside which the device is lost
        self.killing = set(killing)
        self.noise, self.second = noise, second
        self.chance = random.Random(seed)
        self.failing = dict(failing)
        self.reading = reading or Reading(load=0.5, cores=4)
        self.samples = []
        self.opened = []
        #: worker processes that there were
        self.processes = 1

    def true_ms(self, instance, split_k, problem):
        return math.exp(random.Random(f"{instance} {split_k} {problem.input}").uniform(0, 2.5))

    def open_group(self, planned):
        self.opened.append(planned.problem)

    def observe(self):
        return self.reading

    def new_process(self):
        self.processes += 1

    @property
    def process(self):
        return f"worker {self.processes}"

    def measure(self, planned, sample):
        self.samples.append((planned.problem, sample))
        cell = sample.cell
        name = planned.kernels[cell.instance].name
        if self.lost:
            status = Status.RUN_ERROR
            return Outcome(key=cell.instance, problem_index=0, status=status, reason="lost", launched=False)
        if name in self.killing:
            lost = Outcome(
                key=cell.instance,
                problem_index=0,
                status=Status.RUN_ERROR,
                reason="the device failed beside this kernel, in the first run: gone",
                launched=False,
            )
            raise DeviceLostError("the device is gone", lost)
        if name in self.failing:
            return Outcome(key=cell.instance, problem_index=0, status=self.failing[name], reason="as told")
        time_ms = self.true_ms(cell.instance, cell.split_k, planned.problem) * math.exp(
            self.chance.gauss(0, self.noise)
        )
        samples = tuple(time_ms * factor for factor in (1.01, 1.0, 0.99))
        return Outcome(
            key=cell.instance,
            problem_index=planned.problem_index,
            status=Status.OK,
            second=self.second,
            split_k=cell.split_k,
            measurement=Measurement(
                time_ms=time_ms,
                spread_ms=time_ms * 0.005,
                min_ms=time_ms * 0.99,
                mean_ms=time_ms,
                samples=3,
                stopped_by="stdrel",
                samples_ms=samples,
            ),
            verification=Verification(max_error=0, wrong_elements=0, elements=9, rtol=0.1, atol=0.1),
        )


def noting(kind, seen):
    """Return a listener that notes the events of a kind, or the texts of messages of a level, in a list."""

    def emit(event):
        if isinstance(kind, Level):
            if isinstance(event, Message) and event.level is kind:
                seen.append(event.text)
        elif isinstance(event, kind):
            seen.append(event)

    return emit
