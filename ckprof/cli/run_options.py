"""The options that say how kernels are run, verified and timed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ckprof.cli import shared_options
from ckprof.errors import UsageError
from ckprof.run.operands import InitKind
from ckprof.run.options import AUTO_SPLITS, CacheMode, ReferencePlace, RunOptions
from ckprof.run.stopping import CRITERIA

if TYPE_CHECKING:
    import argparse

    from ckprof.cli.session import Session

#: ckProfiler's sweep
ALL_SPLITS: Final = (AUTO_SPLITS, 1, 2, 4, 8, 16, 32, 64, 128)


def add_run_options(parser: argparse.ArgumentParser, session: Session) -> None:
    """Add the options of a run."""
    default = RunOptions()
    group = add_timing_options(parser, session, default, time_option="--max-time")
    group.add_argument(
        "--no-verify", action="store_true", help="do not compare with the reference; nothing is ranked then"
    )
    group.add_argument(
        "--rounds",
        type=shared_options.positive,
        default=default.rounds,
        metavar="N",
        help="rounds over which the samples of a kernel are spread: in each, all kernels of a problem run in "
        "shuffled order, those that are surely slower than the best leave, and it ends early where the order "
        f"is known; 1: one kernel after the other (default: {default.rounds})",
    )
    group.add_argument("--samples", action="store_true", help="keep all raw samples in the JSON report")


def add_timing_options(
    parser: argparse.ArgumentParser, session: Session, default: RunOptions, *, time_option: str
) -> argparse._ArgumentGroup:
    """Add the options that runs and sweeps have in common, and return their group.

    :param default: the values without options.
    :param time_option: the option for the time that is spent on timing one kernel.
    """
    group = parser.add_argument_group("run")
    group.add_argument(
        "--init",
        default=default.init.value,
        choices=[kind.value for kind in InitKind],
        help=f"what the operands hold (default: {default.init.value})",
    )
    group.add_argument(
        "--seed", type=int, default=default.seed, help=f"seed of the operands (default: {default.seed})"
    )
    group.add_argument(
        "--reference",
        default=default.reference.value,
        choices=[place.value for place in ReferencePlace],
        help="where operands and reference are computed and results compared: host, out of reach of the "
        "kernels; device, in double precision as well, without copies; auto: on the device where target and "
        f"operation can (default: {default.reference.value})",
    )
    group.add_argument(
        "--cache",
        default=default.cache.value,
        choices=[mode.value for mode in CacheMode],
        help="state of the caches before each sample (default: cold)",
    )
    _add_sampling_options(group, default, time_option)
    group.add_argument(
        "--split-k",
        metavar="N,N,...|all|auto",
        help="splits of the reduction to run, one after the other; auto is deduced by the kernel, all is "
        "auto and the powers of two up to 128 (default: what the problem line says, else 1)",
    )
    group.add_argument(
        "--timeout",
        type=float,
        metavar="S",
        help=f"seconds for one kernel's runs (default: {session.settings.timeout:g})",
    )
    group.add_argument(
        "--threads",
        type=int,
        default=default.cpu_threads,
        metavar="N",
        help="CPU threads of the kernels (default: all)",
    )
    group.add_argument(
        "--device",
        type=int,
        default=default.device,
        metavar="N",
        help=f"index of the device (default: {default.device})",
    )
    return group


def _add_sampling_options(group: argparse._ArgumentGroup, default: RunOptions, time_option: str) -> None:
    """Add the options that say how a kernel is sampled, and when that ends."""
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
        help=f"least measured kernel time in s (default: {default.min_time_s:g})",
    )
    group.add_argument(
        time_option,
        dest="kernel_time",
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
    group.add_argument(
        "--warmup",
        type=int,
        default=default.warmup,
        metavar="N",
        help=f"untimed runs after the verified one (default: {default.warmup})",
    )


def chosen_run_options(arguments: argparse.Namespace, session: Session) -> RunOptions:
    """Return what the options say, but for the splits.

    :raises UsageError: a value is out of range, or the criterion is unknown.
    """
    criterion, _, parameters = arguments.criterion.partition(":")
    return RunOptions(
        verify=not getattr(arguments, "no_verify", False),
        reference=ReferencePlace(arguments.reference),
        seed=arguments.seed,
        init=InitKind(arguments.init),
        cache=CacheMode(arguments.cache),
        warmup=arguments.warmup,
        min_samples=arguments.min_samples,
        min_time_s=arguments.min_time,
        max_time_s=arguments.kernel_time,
        criterion=criterion,
        criterion_parameters=tuple(_criterion_parameters(parameters)),
        timeout_s=session.settings.timeout if arguments.timeout is None else arguments.timeout,
        cpu_threads=arguments.threads,
        device=arguments.device,
        keep_samples=getattr(arguments, "samples", True),
        rounds=getattr(arguments, "rounds", 1),
    )


def chosen_splits(arguments: argparse.Namespace) -> tuple[int, ...]:
    """Return the splits of ``--split-k``: ``1,2,4``, ``all`` or ``auto``; nothing without the option.

    :raises UsageError: it is none of these.
    """
    text = arguments.split_k
    if text is None:
        return ()
    if text == "all":
        return ALL_SPLITS
    try:
        splits = tuple(
            AUTO_SPLITS if part in ("auto", str(AUTO_SPLITS)) else int(part) for part in text.split(",")
        )
    except ValueError:
        splits = ()
    if not splits or any(split < 1 and split != AUTO_SPLITS for split in splits):
        raise UsageError(f"--split-k: expected positive integers, all or auto, got {text!r}")
    return splits


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
