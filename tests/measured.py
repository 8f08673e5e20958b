"""Made-up measurements for the tests of comparisons and reports."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ckprof.model.kernel import KernelRef
from ckprof.model.outcome import CANARY_MS, Conditions, Measurement, Status, Verification
from ckprof.model.types import DataType
from ckprof.store.attempt import CANARIES, PROCESS, Attempt, Session
from ckprof.store.key import DeviceKey, KernelKey, MeasurementKey, MethodKey, OperationKey, ToolchainKey
from ckprof.store.writer import StoreWriter
from ckprof_plugins.directions._convolution.sample import SampleSpec, sample

SESSION = Session(uid="a" * 32, started=1000.0, host="lab", ckprof_version="1.0", git_commit="c" * 40, seed=1)
DEVICE = DeviceKey(target="cpu", model="Model 7", arch="x86-64", compute_units=8, partition="avx2")
TOOLCHAIN = ToolchainKey(compiler="clang 19.1", compiler_identity="1" * 32, flags=("-O3",), headers="2" * 32)


@dataclass(frozen=True, kw_only=True)
class Made:
    """What is made up."""

    problems: int = 3
    instances: int = 4
    rounds: int = 6
    #: passes that the rounds are dealt to, and what these differ by
    processes: int = 3
    process_noise: float = 0.0
    noise: float = 0.01
    seed: int = 0
    session: Session = SESSION
    #: the machine's reference kernels were measured, too
    canaries: bool = True
    load: float | None = None
    device: DeviceKey = DEVICE
    toolchain: ToolchainKey = TOOLCHAIN
    operand_seed: int = 0
    #: (problem, instance) -> status of attempts that are not ok
    failing: Callable[[int, int], Status | None] = lambda problem, instance: None
    #: (problem, instance) -> factor on the time
    factor: Callable[[int, int], float] = lambda problem, instance: 1.0


def problems(count):
    return [one.problem for one in sample(SampleSpec(count=count, seed=11, edges=0, max_flop=1e10))]


def attempts(made):
    """Yield what a sweep would add: per problem, round after round, every instance once."""
    generator = np.random.default_rng(made.seed)
    session = made.session
    if made.canaries:
        kept = {**session.environment, CANARIES: {"object": "3" * 32, "device": made.device.model}}
        session = replace(session, environment=kept)
    base = np.random.default_rng(99)
    sequence = 0
    for number, problem in enumerate(problems(made.problems)):
        # no kernel is faster than memory, and the second best is a few percent behind
        speed = problem.flop / 5e7 * (1 + 0.1 * np.sort(base.exponential(1, made.instances)))
        times = base.permutation(speed)
        keys = [_key(made, problem, index) for index in range(made.instances)]
        offsets = generator.normal(0, made.process_noise, (made.processes, made.instances))
        for round_number in range(1, made.rounds + 1):
            canaries = {
                name: float(np.exp(generator.normal(0, 0.002))) for name in ("arithmetic", "bandwidth")
            }
            for order, index in enumerate(generator.permutation(made.instances)):
                status = made.failing(number, int(index)) or Status.OK
                process = (round_number - 1) * made.processes // made.rounds
                noise = generator.normal(0, made.noise) + offsets[process, index]
                time = times[index] * made.factor(number, int(index)) * np.exp(noise)
                ok = status is Status.OK
                yield Attempt(
                    key=keys[index],
                    session=session,
                    sequence=sequence,
                    kernel=_kernel(int(index)),
                    status=status,
                    reason="" if ok else f"it is {status.value}",
                    requirements=("vector_size",) if status is Status.UNSUPPORTED else (),
                    split_chosen=1 if ok else None,
                    measurement=_measurement(float(time), generator) if ok else None,
                    verification=_verification() if ok else None,
                    conditions=Conditions(
                        started=made.session.started + sequence / 100,
                        round=round_number,
                        order=order,
                        load=made.load,
                        extra={PROCESS: process, **({CANARY_MS: canaries} if made.canaries else {})},
                    ),
                )
                sequence += 1


def _key(made, problem, index):
    return MeasurementKey(
        operation=OperationKey(direction="fwd", api_level="2026-06"),
        problem=problem,
        kernel=KernelKey(instance=f"{index:032x}", object_digest=f"{hash(made.toolchain) & 0xFFFF:032x}"),
        device=made.device,
        toolchain=made.toolchain,
        method=MethodKey(flush_bytes=1 << 25, seed=made.operand_seed),
    )


def _kernel(index):
    tile = 32 << (index % 4)
    return KernelRef(
        name=f"grouped_conv_fwd_fp16_nhwgc_tile_{tile}x{tile}x32_variant_{index}",
        instance_string=f"GroupedConvFwd<{index}>",
        pipeline="implicit_gemm",
        dtype=DataType.FP16,
        layout="nhwgc",
    )


def _measurement(time_ms, generator):
    samples = time_ms * np.exp(generator.normal(0, 0.002, 5))
    return Measurement(
        time_ms=float(np.median(samples)),
        spread_ms=float(samples.std()),
        min_ms=float(samples.min()),
        mean_ms=float(samples.mean()),
        samples=5,
        stopped_by="stdrel",
        samples_ms=tuple(samples.tolist()),
    )


def _verification():
    return Verification(max_error=1e-4, wrong_elements=0, elements=100, rtol=1e-3, atol=1e-3)


def later(session=SESSION, **changes):
    """Return another session, a day later."""
    return replace(session, uid="b" * 32, started=session.started + 86400, **changes)  # type: ignore[arg-type]


def stored(path, *made):
    """Write a store with what is made up."""
    with StoreWriter(path) as writer:
        for one in made:
            writer.append_many(attempts(one))
    return path


#: a later measurement, in which one kernel became slower on one problem
SLOW = Made(
    seed=2, noise=0.004, session=later(tags=("branch",)), factor=lambda p, i: 1.3 if (p, i) == (1, 1) else 1.0
)
