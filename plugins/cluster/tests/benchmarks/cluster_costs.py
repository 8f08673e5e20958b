"""What the model of a cluster assumes: what things cost, and how often they go wrong."""

from __future__ import annotations

from dataclasses import dataclass, field

from ckprof.measure.options import RunOptions
from ckprof_plugins.cluster.folder import LeasePolicy

#: shorter jobs are not modelled
LEAST_WALLTIME_S = 600


def assumed(value, text):
    """Return a field of the costs: what it stands for, with its source."""
    return field(default=value, metadata={"text": text})


@dataclass(frozen=True, kw_only=True)
class Costs:
    """What things cost.

    Measured on one H200 (27,800 attempts in 530 s; 200 problems x 68 kernels with 2.04 attempts each; 54
    kernels compiled in 12.7 s on 16 cores), by the benchmarks beside this file, or assumed.
    """

    problems: int = assumed(10_000, "problems")
    kernels: int = assumed(3_000, "kernels that compete on each")
    attempts: float = assumed(2.04, "attempts per kernel and problem (measured: H200)")
    attempt_s: float = assumed(
        0.019, "s of a device per attempt, its share of operands included (measured: H200)"
    )
    spread: float = assumed(0.8, "standard deviation of the log time of a pair between problems (assumed)")
    kernel_spread: float = assumed(0.5, "the same between kernels on one problem (assumed)")
    guess: float = assumed(0.5, "the same of the time by what a problem's FLOPs say of it (assumed)")
    device_spread: float = assumed(0.02, "the same between devices (assumed)")
    hanging: float = assumed(1e-5, "share of the pairs of kernel and problem that hang (assumed)")
    timeout_s: float = assumed(RunOptions().timeout_s, "s that each of them takes (the code's --timeout)")
    failing: float = assumed(1e-4, "share of the pairs that end their process (assumed)")
    restart_s: float = assumed(3.0, "s until another process has opened library and operands (assumed)")
    finalists: float = assumed(
        0.05, "share of the kernels of a sharded problem that its parts leave (assumed)"
    )
    tied: float = assumed(
        0.05,
        "share that cannot be left out between devices: within 7 % of the best (simulated: 0.03 to 0.08)",
    )
    narrowed: float = assumed(
        0.45, "share of what is left beyond that which is left when it runs in parts again (simulated)"
    )
    final_attempts: float = assumed(4.0, "attempts of each of them (assumed)")
    prepare_attempts: float = assumed(
        10.0, "attempts that the operands of a further unit take the time of (assumed)"
    )
    compile_s: float = assumed(3.8, "s of a CPU per kernel that is compiled (measured)")
    object_bytes: float = assumed(150e3, "bytes of a kernel in the library (measured: H200)")
    outcome_bytes: float = assumed(2_700.0, "bytes of an outcome in a shard (measured)")
    copied_per_s: float = assumed(
        140_000.0, "outcomes per second that the coordinator copies from partial stores (measured)"
    )
    read_per_s: float = assumed(9_000.0, "outcomes per second that a process reads of shards (measured)")
    readers: float = assumed(16, "such processes (assumed)")
    plan_s: float = assumed(
        1.3e-3, "s of the coordinator per problem before the first one is handed out (measured)"
    )
    hand_out_s: float = assumed(
        0.5e-3, "s of the coordinator per unit (0.23 ms measured; the engine's share is assumed)"
    )
    turn_s: float = assumed(0.3, "s between looks at answers, while shards are merged (measured)")
    start_s: float = assumed(
        5.0, "s until a worker has opened device and library, and checked its device (assumed)"
    )
    gpus_per_host: int = assumed(8, "devices of a host; its workers share one copy of the library (assumed)")
    gpus_per_job: int = assumed(32, "devices of a job of the scheduler (assumed)")
    folder_bytes_per_s: float = assumed(
        50e9, "bytes per second of the shared folder (assumed: parallel file system)"
    )
    host_bytes_per_s: float = assumed(1e9, "bytes per second of one host from there (assumed)")
    folder_syncs_per_s: float = assumed(50_000.0, "synchronised writes per second that it takes (assumed)")
    sync_s: float = assumed(1.0, "s between synchronised writes of a worker; 0: one per outcome (the code's)")
    queue_s: float = assumed(60.0, "mean s that jobs begin after the first one (assumed)")
    walltime_s: float = assumed(4 * 3600.0, "s after which the scheduler ends a job (assumed)")
    mtbf_h: float = assumed(100.0, "hours of a device between two losses of its worker (assumed)")
    silence_s: float = assumed(
        60.0, "s until the loss of a worker is noticed, and another one started (assumed)"
    )
    doubt_s: float = assumed(
        1.25 * LeasePolicy().doubt_s,
        "s of silence until a device that has nothing to do begins with the same unit (the code's)",
    )
    suspect_s: float = assumed(
        LeasePolicy().suspect_s, "s until a worker says that a kernel seems to hang (the code's)"
    )

    def __post_init__(self):
        """:raises ValueError: jobs end before the model can say anything about them."""
        if self.walltime_s < LEAST_WALLTIME_S:
            raise ValueError(
                f"jobs of {self.walltime_s:g} s are not modelled, expected {LEAST_WALLTIME_S} s or more: "
                "units would end with their jobs again and again"
            )


@dataclass(frozen=True, kw_only=True)
class Fleet:
    """What it runs on."""

    devices: int
    build_cpus: int = 0
    seed: int = 0
    #: problems are sharded, as the coordinator does, or not
    divides: bool = True


@dataclass(frozen=True, kw_only=True)
class Result:
    """What came out."""

    problems: int
    units: int
    sharded: int
    build_s: float
    #: from the first job to the last unit
    run_s: float
    #: until the last outcome is in the store, after the last unit
    merge_after_s: float
    #: share of the devices' time, from the begin of their jobs on, in which they measure
    busy: float
    #: the same without what is measured because problems are sharded or workers were lost
    useful: float
    #: share in which they wait for kernels that hang, which is part of ``busy``
    hung: float
    #: attempts that hung
    hangs: int
    outcomes: float
    #: shares of what the shared folder and the coordinator can take
    folder_load: float
    coordinator_load: float

    def figures(self):
        """Return what a reader wants to see."""
        return {
            "hours of builds": self.build_s / 3600,
            "hours of runs": self.run_s / 3600,
            "units": self.units,
            "problems that are sharded": self.sharded,
            "share of devices busy": self.busy,
            "share of devices busy with what one device would do": self.useful,
            "share of devices that wait for kernels that hang": self.hung,
            "attempts that hung": self.hangs,
            "hours of merging afterwards": self.merge_after_s / 3600,
            "outcomes": self.outcomes,
            "load of the shared folder": self.folder_load,
            "load of the coordinator": self.coordinator_load,
        }
