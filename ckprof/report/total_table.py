"""Totals of networks as a table: the same columns in reports, at the end of runs, and in ``results show``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ckprof.compare.side import ProblemKey
from ckprof.model.ranking import time_of, unranked_ms
from ckprof.report.document import Document, Heading
from ckprof.report.figures import number_column
from ckprof.report.table import Column, Table
from ckprof.report.totals import KernelTime, NetworkTimes, networks
from ckprof.sweep.evidence import Layer, Layers
from ckprof.wording import change

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ckprof.compare.side import Side
    from ckprof.model.results import RunResults
    from ckprof.report.totals import Network, Total

    Line = tuple[Network, Total]


def total_lines(found: Sequence[Network]) -> list[Line]:
    """Return a line per total."""
    return [(network, total) for network in found for total in network.totals]


def network_labels(found: Sequence[Network]) -> dict[Network, str]:
    """Return what tells networks apart: names, and what else is not the same of all."""
    facets: list[Callable[[Network], str]] = [
        lambda network: network.direction,
        lambda network: network.dtype,
        lambda network: network.layout,
        lambda network: network.device,
    ]
    telling = [facet for facet in facets if len(set(map(facet, found))) > 1]
    named = any(network.name for network in found)

    def label(network: Network) -> str:
        name = network.name or ("other problems" if named else "")
        return " ".join(filter(None, (name, *(facet(network) for facet in telling))))

    return {network: label(network) for network in found}


def total_columns(found: Sequence[Network], missing: Callable[[Sequence[int]], str]) -> list[Column[Line]]:
    """Return the columns of a table of totals.

    :param missing: names problems by their numbers.
    """
    labels = network_labels(found)
    lines = total_lines(found)
    name: list[Column[Line]] = [Column("network", lambda line: labels[line[0]])]
    left_out: list[Column[Line]] = [
        Column("not in the sum", lambda line: missing(line[1].missing), priority=3)
    ]
    return [
        *(name if any(labels.values()) else []),
        Column("kernels", lambda line: line[1].library),
        number_column("total ms", lambda line: line[1].time_ms),
        number_column("slower", lambda line: line[1].ratio, slower, _hint),
        Column(
            "layers",
            lambda line: line[1].layers,
            align="right",
            text=lambda line: f"{line[1].layers} of {line[0].layers}",
            priority=4,
        ),
        *(left_out if any(total.missing for _, total in lines) else []),
    ]


def slower(ratio: float) -> str:
    """Return how much slower a total is than that of the best kernels."""
    return change(ratio) if ratio != 1 else "0 %"


def _hint(line: Line) -> str:
    same = "on the layers that both serve" if line[1].missing else ""
    exact = "" if line[1].exact else "chosen one after the other: another choice may be better"
    return "; ".join(filter(None, (same, exact)))


def add_totals(document: Document, found: Sequence[Network]) -> None:
    """Add the totals of networks to what a terminal or a file shows, if there are any."""
    lines = total_lines(found)
    if not lines:
        return
    columns = total_columns(found, lambda numbers: ", ".join(f"P{number}" for number in numbers))
    table: Table[Any] = Table(columns, lines)
    document.add(Heading("Network" if len(found) == 1 else "Networks"), table)


def networks_of_side(side: Side) -> tuple[Network, ...]:
    """Return the totals of what was measured, where sources name networks or say how often layers occur."""
    layers = Layers(side.sessions).of_keys(side.by_problem)
    return networks(NetworkTimes.of_side(side), layers) if layers else ()


def networks_of_run(results: RunResults) -> tuple[Network, ...]:
    """Return the totals of a run, where the source of its problems names networks or counts layers."""
    cases = results.cases
    if not any(case.network or case.count > 1 for case in cases):
        return ()
    kernels: dict[ProblemKey, list[KernelTime]] = {}
    counts: dict[ProblemKey, dict[str, int]] = {}
    instances = {instance.key: instance for instance in results.instances}

    def key_of(index: int, dtype: str, layout: str) -> ProblemKey:
        return ProblemKey(
            direction=results.direction, problem=results.problems[index], dtype=dtype, layout=layout
        )

    for index, case in enumerate(cases):
        keys = set()
        for outcome in results.of_problem(index):
            instance = instances[outcome.key]
            key = key_of(index, instance.dtype.value, instance.layout)
            keys.add(key)
            timed = kernels.setdefault(key, [])
            time = time_of(outcome)
            if time is not None:
                timed.append(KernelTime(outcome.key, instance.name, time.time_ms))
        for key in keys:
            of_key = counts.setdefault(key, {})
            of_key[case.network] = of_key.get(case.network, 0) + case.count
    baselines: dict[str, dict[ProblemKey, float]] = {}
    for one in results.baselines:
        time_ms = unranked_ms(one.outcome)
        if time_ms is not None:
            key = key_of(one.outcome.problem_index, one.dtype.value, one.layout)
            baselines.setdefault(one.baseline, {})[key] = time_ms
    layers = {key: Layer(counts=of_key) for key, of_key in counts.items()}
    return networks(NetworkTimes(kernels=kernels, baselines=baselines), layers)
