"""How a worker samples a kernel: all at once, or in each of several rounds."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import msgspec

from ckprof.measure.host import last_level_cache_bytes
from ckprof.measure.options import CacheMode, RunOptions
from ckprof.measure.rounds import RoundOptions
from ckprof.measure.stopping import CRITERIA
from ckprof.measure.worker.sampling_messages import FEWEST_SAMPLES, TimingSettings

if TYPE_CHECKING:
    from ckprof.model.recipe import BuildRecipe

#: the flush must not fit into the last-level cache together with what it evicts
_FLUSH_FACTOR: Final = 2
#: rounds that are repeated at most on one problem: a run, unlike a sweep, shall be over soon
_MOST_REPEATS: Final = 2


def options_on(options: RunOptions, recipe: BuildRecipe) -> RunOptions:
    """Return the options with what is known of the device that a library is built for."""
    return replace(
        options, last_level_cache_bytes=recipe.last_level_cache_bytes, peak_flops=recipe.peak_flops
    )


def cache_bytes(options: RunOptions) -> int:
    """Return the size of the last-level cache of the device, that of the host where no target says it."""
    return options.last_level_cache_bytes or last_level_cache_bytes()


def timing_settings(options: RunOptions) -> TimingSettings:
    """Return what the worker needs to know about sampling."""
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
    usual = RoundOptions()
    return RoundOptions(
        min_rounds=min(usual.min_rounds, options.rounds),
        max_rounds=options.rounds,
        sessions=options.sessions,
        max_repeats=_MOST_REPEATS,
        seed=options.seed,
    )


def share_of_round(options: RunOptions, rounds: RoundOptions) -> TimingSettings:
    """Return how a kernel is sampled in one round, so that all rounds give what the options ask for.

    Leaders reach the least numbers in the least number of rounds, and the most time in all of them.
    """
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


def visit_timing(options: RunOptions, *, in_turn: bool) -> tuple[TimingSettings, TimingSettings]:
    """Return how a kernel is sampled in its first visit, and in later ones.

    :param in_turn: one visit takes all samples.
    """
    if in_turn:
        whole = timing_settings(replace(options, keep_samples=True))
        return whole, whole
    rounds = round_options(options)
    # the run before the samples, which is not timed, warms up as well
    later = share_of_round(replace(options, warmup=max(0, options.warmup - 1)), rounds)
    return share_of_round(options, rounds), later
