"""How a sweep goes on, and where outcomes go: frozen, typed, each default in one place."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ckprof.measure.options import RunOptions
from ckprof.measure.rounds import RoundOptions
from ckprof.option import duration, numbers, option, same_option

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def _never() -> bool:
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepOptions:
    """How a sweep goes on, and where its outcomes go."""

    store: str | Path = field(
        metadata=option(
            "add the outcomes to this result store, made if it does not exist; a folder (or a name that ends "
            "in /) takes shards, for machines that share no local disk",
            metavar="PATH",
        )
    )
    #: when kernels leave the rounds, and when these are enough
    rounds: RoundOptions = field(default_factory=RoundOptions)
    fresh: bool = field(default=False, metadata=option("measure again; adds to the store, deletes nothing"))
    retry_failed: bool = field(default=False, metadata=option("try again what failed"))
    #: seconds after which no further kernel is measured; ``None`` for as long as it takes
    max_time_s: float | None = field(
        default=None,
        metadata=option(
            "end after this time, e.g. 90s, 30m or 2h", flag="--budget", metavar="TIME", parse=duration
        ),
    )
    wait: bool = field(default=False, metadata=option("wait while another process writes the store"))
    tags: tuple[str, ...] = field(
        default=(), metadata=option("name the outcomes, to find them again", flag="--tag", metavar="NAME")
    )
    devices: tuple[int, ...] = field(
        default=(),
        metadata=option(
            "indices of the devices of this machine that measure at once, each problem on one of them",
            metavar="I,J,...",
            parse=numbers,
            several="store",
        ),
    )
    #: ``None`` for this process and one device, unless ``devices`` or ``cluster`` ask for more
    engine: str | None = field(
        default=None,
        metadata=option(
            "what hands problems to workers: local (default with --devices), or one that a plugin adds",
            metavar="NAME",
        ),
    )
    cluster: Path | None = field(
        default=None,
        metadata=option("settings of the engine: machines, pools, folders", metavar="FILE"),
    )
    #: asked before every attempt
    should_stop: Callable[[], bool] = _never

    @property
    def on_engine(self) -> bool:
        """True when problems are handed to workers instead of being measured by this process."""
        return self.engine is not None or bool(self.devices) or self.cluster is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundRunOptions(RunOptions):
    """How kernels are run in each round.

    Rounds are short: what varies between them is larger than what more samples within one would tell.
    """

    min_samples: int = field(default=5, metadata=same_option(RunOptions, "min_samples"))
    max_time_s: float = field(
        default=0.1,
        metadata=option("most time spent on timing one kernel in s", flag="--round-time", metavar="S"),
    )
    keep_samples: bool = True
    #: no option here: the rounds of a sweep are those of its :class:`RoundOptions`
    sessions: int | None = None
