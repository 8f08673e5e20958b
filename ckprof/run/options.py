"""How kernels are run, verified and timed."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Final

from ckprof.config.settings import Settings
from ckprof.errors import UsageError
from ckprof.model.dtype import DataType
from ckprof.run.operands import InitKind
from ckprof.run.stopping import make_criterion

#: what the interface of kernel libraries takes for "deduce the number of splits"
AUTO_SPLITS: Final = -1

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

    #: compare with the double-precision reference
    verify: bool = True
    #: where the reference is computed
    reference: ReferencePlace = ReferencePlace.AUTO
    seed: int = 0
    init: InitKind = InitKind.DECIMAL
    cache: CacheMode = CacheMode.COLD
    #: bytes to touch before a cold sample; ``None``: twice the host's last-level cache
    flush_bytes: int | None = None
    #: last-level cache of the device, which the usual flush exceeds; 0 for that of the host
    last_level_cache_bytes: int = 0
    #: floating-point operations per second that the device cannot exceed, by data type; none where unknown
    peak_flops: tuple[tuple[DataType, float], ...] = ()
    #: untimed runs after the verified one; left out when they would exceed ``max_time_s``
    warmup: int = 1
    #: samples before the criterion is asked; ``max_time_s`` may end the sampling with fewer, but not under 3
    min_samples: int = 10
    #: seconds of measured kernel time before sampling may stop
    min_time_s: float = 0.0
    #: seconds that timing one kernel may take, flushes and warm-up included
    max_time_s: float = 0.5
    #: rounds in which the samples are taken, at most; with 1, all of a kernel come at once
    rounds: int = 5
    #: id of the stopping criterion
    criterion: str = "stdrel"
    #: its parameters that differ from their defaults
    criterion_parameters: tuple[tuple[str, float], ...] = ()
    #: seconds for support test, runs and timing of one kernel, in each round; verification is not counted
    timeout_s: float = Settings().timeout
    #: CPU threads that kernels may use; 0 leaves it to the target
    cpu_threads: int = 0
    #: numbers of splits of the reduction, each of which is run; less than 1 lets the kernel deduce it
    splits: tuple[int, ...] = DEFAULT_SPLITS
    #: index of the device
    device: int = 0
    #: keep the raw samples in each measurement
    keep_samples: bool = False

    def as_plain(self) -> dict[str, object]:
        """Return the options as values that JSON has, for records of what a run was asked for."""
        plain: dict[str, object] = {
            name: value.value if isinstance(value, Enum) else value for name, value in asdict(self).items()
        }
        return plain | {"peak_flops": {dtype.value: peak for dtype, peak in self.peak_flops}}

    def __post_init__(self) -> None:
        for name, least in _LEAST:
            _check(name, getattr(self, name), least)
        for name in ("min_time_s", "max_time_s"):
            _check(name, getattr(self, name), 0)
        if not (math.isfinite(self.timeout_s) and self.timeout_s > 0):
            raise UsageError(f"timeout_s is {self.timeout_s}, expected more than 0 seconds")
        if self.flush_bytes is not None:
            _check("flush_bytes", self.flush_bytes, 0)
        if not self.splits or len(set(self.splits)) < len(self.splits):
            raise UsageError(f"splits are {list(self.splits)}, expected at least one, and each once")
        make_criterion(self.criterion, dict(self.criterion_parameters))


#: least values of the counts
_LEAST: Final = (
    ("seed", 0),
    ("warmup", 0),
    ("min_samples", 1),
    ("rounds", 1),
    ("cpu_threads", 0),
    ("device", 0),
)


def _check(name: str, value: float, least: int) -> None:
    if not (math.isfinite(value) and value >= least):
        raise UsageError(f"{name} is {value}, expected at least {least}")
