"""How kernels are run, verified and timed, and what follows for how a worker samples them."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Final

import msgspec

from ckprof.errors import UsageError
from ckprof.measure.stopping import CRITERIA, make_criterion
from ckprof.measure.verify.operands import InitKind
from ckprof.model.types import DataType
from ckprof.option import command, device_choice, duration, positive, settable
from ckprof.settings import Settings

if TYPE_CHECKING:
    from ckprof.kernels.requests import BuildOptions
    from ckprof.measure.rounds import RoundOptions
    from ckprof.measure.worker.sampling import TimingSettings
    from ckprof.model.recipe import BuildRecipe


#: not split at all: what is run unless the user or a problem line says otherwise
DEFAULT_SPLITS: Final = (1,)


class CacheMode(Enum):
    """State of the target's caches when a timed sample starts."""

    #: evicted before every sample
    COLD = "cold"
    #: as the previous run left them
    WARM = "warm"


class ReferencePlace(Enum):
    """Where operands and reference are computed, and results compared."""

    #: on the device where its target and the operation know how, else on the host
    AUTO = "auto"
    #: in the process that has started the worker, where no kernel can reach them
    HOST = "host"
    #: on the device, in double precision as well
    DEVICE = "device"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What the user asked for, the same for every kernel of a run.

    :raises UsageError: a value is out of range, or the criterion or one of its parameters is unknown.
    """

    verify: bool = settable(
        True, "do not compare with the reference; what is not compared is not ranked", flag="--no-verify"
    )
    exact: bool = settable(
        True,
        "do not run each kernel on operands as well whose sums are exact; for kernels that do more than "
        "add up products",
        flag="--no-exact",
    )
    second_problem: bool = settable(
        True,
        "do not verify each kernel on small problems of its own as well: groups, strides, tails, splits",
        flag="--no-second-problem",
    )
    reference: ReferencePlace = settable(
        ReferencePlace.AUTO,
        "where operands and reference are computed and results compared: host, out of reach of the "
        "kernels; device, in double precision as well, without copies; auto: on the device where target "
        "and operation can",
    )
    seed: int = settable(0, "seed of what is drawn at random", metavar="N")
    init: InitKind = settable(InitKind.DECIMAL, "what the operands hold")
    cache: CacheMode = settable(CacheMode.COLD, "state of the caches before each sample")
    #: bytes to touch before a cold sample; ``None``: twice the host's last-level cache
    flush_bytes: int | None = None
    #: last-level cache of the device, which the usual flush exceeds; 0 for that of the host
    last_level_cache_bytes: int = 0
    #: floating-point operations per second that the device cannot exceed, by data type; none where unknown
    peak_flops: tuple[tuple[DataType, float], ...] = ()
    #: left out when it would exceed ``max_time_s``
    warmup: int = settable(1, "untimed runs before the timed ones", metavar="N")
    #: ``max_time_s`` may end the sampling with fewer, but not under 3
    min_samples: int = settable(10, "samples before the criterion is asked; 0: not timed", metavar="N")
    min_time_s: float = settable(0.0, "least measured kernel time in s", flag="--min-time", metavar="S")
    #: flushes and warm-up included
    max_time_s: float = settable(
        0.5, "most time spent on timing one kernel in s", flag="--max-time", metavar="S"
    )
    rounds: int = settable(
        5,
        "rounds over which the samples of a kernel are spread: in each, all kernels of a problem run in "
        "shuffled order; between passes those that are significantly slower than the best are pruned, and a "
        "problem whose order is known is finished; 1: one kernel after the other",
        metavar="N",
        parse=positive,
    )
    passes: int | None = settable(
        None,
        "passes over all problems at least, each by a fresh worker process (default: 3, --rounds if that is "
        "less, 1 for a kernel alone)",
        metavar="N",
        parse=positive,
    )
    criterion: str = settable(
        "stdrel", f"when sampling stops: {', '.join(CRITERIA)}", metavar="NAME[:KEY=VALUE,...]"
    )
    #: parameters of the criterion that differ from their defaults
    criterion_parameters: tuple[tuple[str, float], ...] = ()
    #: support test, runs and timing, in each round; verification is not counted
    timeout_s: float = settable(
        Settings().timeout, "seconds, or e.g. 5m, for one kernel's runs", flag="--timeout", parse=duration
    )
    #: 0 leaves it to the target
    cpu_threads: int = settable(0, "CPU threads of the kernels (default: all)", flag="--threads", metavar="N")
    #: numbers of splits of the reduction, each of which is run; less than 1 lets the kernel deduce it
    splits: tuple[int, ...] = DEFAULT_SPLITS
    #: a text is the name of a device that the target has beside those of the machine
    device: int | str = settable(
        0,
        "index of the device, or the name of one that the target brings along",
        metavar="N|NAME",
        parse=device_choice,
    )
    checks: tuple[str, ...] = settable(
        (),
        "what a device that the target brings along looks for while kernels run, beside wrong results",
        flag="--check",
        metavar="NAME,...|all",
        parse=lambda text: tuple(text.split(",")),
        several="store",
    )
    launcher: tuple[str, ...] = settable(
        (),
        "start the processes that run kernels by this command, with theirs as its last arguments: a "
        "debugger, a profiler, another emulator; nothing of it is stored",
        metavar="'COMMAND ...'",
        parse=command,
        several="store",
    )
    keep_samples: bool = settable(False, "keep all raw samples in the JSON report", flag="--samples")

    @property
    def device_index(self) -> int:
        """Index of the device in what its library sees: one with a name is the only one there."""
        return self.device if isinstance(self.device, int) else 0

    @property
    def device_name(self) -> str:
        """What the target is to build for beside the machine's own devices; empty for these."""
        if not isinstance(self.device, str):
            return ""
        checks = f"check={'+'.join(self.checks)}" if self.checks else ""
        return self.device + (("," if ":" in self.device else ":") + checks if checks else "")

    def built_for(self, build: BuildOptions) -> BuildOptions:
        """Return how kernels are built that shall run so."""
        return replace(build, device=build.device or self.device_name)

    def as_plain(self) -> dict[str, object]:
        """Return the options as values that JSON has, for records of what a run was asked for."""
        plain: dict[str, object] = {
            name: value.value if isinstance(value, Enum) else value for name, value in asdict(self).items()
        }
        return plain | {"peak_flops": {dtype.value: peak for dtype, peak in self.peak_flops}}

    def __post_init__(self) -> None:
        for name, least in _LEAST.items():
            value = self.device_index if name == "device" else getattr(self, name)
            if value is not None and not (math.isfinite(value) and value >= least):
                raise UsageError(f"{name} is {value}, expected at least {least}")
        if not (math.isfinite(self.timeout_s) and self.timeout_s > 0):
            raise UsageError(f"timeout_s is {self.timeout_s}, expected more than 0 seconds")
        if self.checks and not isinstance(self.device, str):
            raise UsageError(
                f"--check {','.join(self.checks)}: device {self.device} is one of this machine, which checks "
                "nothing; give --device the name of one that the target brings along"
            )
        if not self.splits or len(set(self.splits)) < len(self.splits):
            raise UsageError(f"splits are {list(self.splits)}, expected at least one, and each once")
        make_criterion(self.criterion, dict(self.criterion_parameters))


_NOT_NEGATIVE: Final = ("seed", "warmup", "cpu_threads", "device", "min_time_s", "max_time_s", "flush_bytes")
#: least values
_LEAST: Final = {**dict.fromkeys(_NOT_NEGATIVE, 0), "min_samples": 0, "rounds": 1, "passes": 1}


#: the flush must not fit into the last-level cache together with what it evicts
_FLUSH_FACTOR: Final = 2


def options_on(options: RunOptions, recipe: BuildRecipe) -> RunOptions:
    """Return the options with what is known of the device that a library is built for."""
    return replace(
        options, last_level_cache_bytes=recipe.last_level_cache_bytes, peak_flops=recipe.peak_flops
    )


def cache_bytes(options: RunOptions) -> int:
    """Return the size of the last-level cache of the device, that of the host where no target says it."""
    from ckprof.measure.host import last_level_cache_bytes

    return options.last_level_cache_bytes or last_level_cache_bytes()


def timing_settings(options: RunOptions) -> TimingSettings:
    """Return what the worker needs to know about sampling."""
    # help shows the options, and needs nothing of what they are for
    from ckprof.measure.worker.sampling import TimingSettings

    flush_bytes = 0
    if options.cache is CacheMode.COLD:
        if options.flush_bytes is None:
            flush_bytes = _FLUSH_FACTOR * cache_bytes(options)
        else:
            flush_bytes = options.flush_bytes
    return TimingSettings(
        warmup=options.warmup,
        min_samples=options.min_samples,
        min_time_s=options.min_time_s,
        max_time_s=options.max_time_s,
        timeout_s=options.timeout_s,
        criterion=options.criterion,
        criterion_parameters=dict(options.criterion_parameters),
        flush_bytes=flush_bytes,
        keep_samples=options.keep_samples,
    )


def round_options(options: RunOptions) -> RoundOptions:
    """Return how rounds are decided on in a run."""
    from ckprof.measure.rounds import RoundOptions

    usual = RoundOptions()
    return RoundOptions(
        min_rounds=min(usual.min_rounds, options.rounds),
        max_rounds=options.rounds,
        passes=usual.passes if options.passes is None else options.passes,
        seed=options.seed,
    )


def share_of_round(options: RunOptions, rounds: RoundOptions) -> TimingSettings:
    """Return how a kernel is sampled in one round, so that all rounds give what the options ask for.

    Leaders reach the least numbers in the least number of rounds, and the most time in all of them.
    """
    from ckprof.measure.worker.sampling import FEWEST_SAMPLES

    least = rounds.least_rounds
    criterion = CRITERIA[options.criterion]
    share = replace(
        options,
        min_samples=math.ceil(options.min_samples / least),
        min_time_s=options.min_time_s / least,
        max_time_s=options.max_time_s / rounds.max_rounds,
        criterion_parameters=tuple(criterion.share(dict(options.criterion_parameters), least).items()),
        keep_samples=True,
    )
    return msgspec.structs.replace(timing_settings(share), fewest_samples=math.ceil(FEWEST_SAMPLES / least))


def round_timing(options: RunOptions, *, once: bool) -> tuple[TimingSettings, TimingSettings]:
    """Return how a kernel is sampled in its first round, and in later ones.

    :param once: there is only one round.
    """
    if once:
        whole = timing_settings(replace(options, keep_samples=True))
        return whole, whole
    rounds = round_options(options)
    # the run before the samples, which is not timed, warms up as well
    later = share_of_round(replace(options, warmup=max(0, options.warmup - 1)), rounds)
    return share_of_round(options, rounds), later
