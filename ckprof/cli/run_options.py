"""The options that say how kernels are run, verified and timed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof.errors import UsageError
from ckprof.run.inputs import InitKind
from ckprof.run.options import CacheMode, RunOptions
from ckprof.run.stopping import CRITERIA

if TYPE_CHECKING:
    import argparse

    from ckprof.cli.session import Session


def add_run_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    default = RunOptions()
    group = parser.add_argument_group("run")
    group.add_argument(
        "--no-verify", action="store_true", help="do not compare with the reference; nothing is ranked then"
    )
    group.add_argument(
        "--init",
        default=default.init.value,
        choices=[kind.value for kind in InitKind],
        help=f"what the operands hold (default: {default.init.value})",
    )
    group.add_argument("--seed", type=int, default=default.seed, help="seed of the operands (default: 0)")
    group.add_argument(
        "--cache",
        default=default.cache.value,
        choices=[mode.value for mode in CacheMode],
        help="state of the caches before each sample (default: cold)",
    )
    group.add_argument(
        "--min-samples",
        type=int,
        default=default.min_samples,
        metavar="N",
        help=f"samples before the criterion is asked (default: {default.min_samples})",
    )
    group.add_argument(
        "--min-time",
        type=float,
        default=default.min_time_s,
        metavar="S",
        help="least measured kernel time in s",
    )
    group.add_argument(
        "--max-time",
        type=float,
        default=default.max_time_s,
        metavar="S",
        help=f"most time spent on timing one kernel in s (default: {default.max_time_s:g})",
    )
    group.add_argument(
        "--criterion",
        default=default.criterion,
        metavar="NAME[:KEY=VALUE,...]",
        help=f"when sampling stops: {', '.join(CRITERIA)} (default: {default.criterion})",
    )
    group.add_argument("--warmup", type=int, default=default.warmup, metavar="N", help="untimed runs")
    group.add_argument("--timeout", type=float, metavar="S", help="seconds for one kernel's runs")
    group.add_argument("--threads", type=int, default=0, metavar="N", help="CPU threads of the kernels")
    group.add_argument("--device", type=int, default=0, metavar="N", help="index of the device")
    group.add_argument("--samples", action="store_true", help="keep all raw samples in the JSON report")


def chosen_run_options(arguments: argparse.Namespace, session: Session) -> RunOptions:
    """Return what the options say.

    :raises UsageError: a value is out of range, or the criterion is unknown.
    """
    criterion, _, parameters = arguments.criterion.partition(":")
    return RunOptions(
        verify=not arguments.no_verify,
        seed=arguments.seed,
        init=InitKind(arguments.init),
        cache=CacheMode(arguments.cache),
        warmup=arguments.warmup,
        min_samples=arguments.min_samples,
        min_time_s=arguments.min_time,
        max_time_s=arguments.max_time,
        criterion=criterion,
        criterion_parameters=tuple(_criterion_parameters(parameters)),
        timeout_s=session.settings.timeout if arguments.timeout is None else arguments.timeout,
        workers=arguments.threads,
        device=arguments.device,
        keep_samples=arguments.samples,
    )


def _criterion_parameters(text: str) -> list[tuple[str, float]]:
    """Parse ``key=value,key=value``.

    :raises UsageError: a part has no ``=`` or no number.
    """
    parameters = []
    for part in filter(None, text.split(",")):
        name, _, value = part.partition("=")
        try:
            parameters.append((name, float(value)))
        except ValueError:
            raise UsageError(f"--criterion: expected KEY=NUMBER, got {part!r}") from None
    return parameters
