"""The table of what kernels pay for what is fused to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ckprof.compare.epilogue_cost import epilogue_costs, without_cost
from ckprof.report.table import Column, Table
from ckprof.wording import agreeing, counted, percent

if TYPE_CHECKING:
    from ckprof.compare.epilogue_cost import EpilogueCost
    from ckprof.model.results import RunResults
    from ckprof.report.rows import Row

_MEANING: Final = (
    "Each kernel beside the same one without its epilogue, in the same rounds: 'ratio' is time with / time "
    "without, of rounds side by side; 'bytes' is the share of what is read and written that the epilogue "
    "adds."
)


def cost_table(results: RunResults, problem_index: int) -> Table[EpilogueCost] | None:
    """Return the costs on a problem, the fastest kernels first; ``None`` where nothing ran beside it."""
    if problem_index not in results.unfused_problems:
        return None
    names = {instance.key: f"[{instance.index}] {instance.name}" for instance in results.instances}
    rows = epilogue_costs(results, problem_index)
    columns: list[Column[EpilogueCost]] = [
        Column("instance", lambda cost: names[cost.fused.key], names=lambda cost: names[cost.fused.key])
    ]
    if any(cost.fused.split_k != 1 for cost in rows):
        columns.append(Column("SplitK", lambda cost: cost.fused.split_k, align="right"))
    columns += [
        Column("time", lambda cost: cost.time_ms, unit="ms", align="right", form=".4f"),
        Column("without", lambda cost: cost.unfused_ms, unit="ms", align="right", form=".4f"),
        Column("ratio", lambda cost: cost.ratio, align="right", form=".3f"),
        Column("95 % interval", lambda cost: f"{cost.low:.3f} to {cost.high:.3f}", priority=3),
        Column(
            "bytes", lambda cost: cost.bytes_share, align="right", text=lambda cost: percent(cost.bytes_share)
        ),
    ]
    left = without_cost(results, problem_index)
    notes = [_MEANING]
    if left:
        notes.append(
            f"{counted(left, 'kernel')} {agreeing(left, 'has', 'have')} no cost: the same without the "
            f"epilogue has no time on problem {results.unfused_problems[problem_index]}"
        )
    return Table(columns, rows, notes=lambda left_out: notes)


def cost_columns(results: RunResults) -> list[Column[Row]]:
    """Return the columns of CSV; none of runs that had nothing beside their kernels."""
    if not results.unfused_problems:
        return []
    costs = {
        id(cost.fused): cost_as_json(cost)
        for index in results.unfused_problems
        for cost in epilogue_costs(results, index)
    }

    def column(name: str) -> Column[Row]:
        return Column(f"epilogue_{name}", lambda row: costs.get(id(row.outcome), {}).get(name))

    return [column(name) for name in ("unfused_ms", "ratio", "ratio_low", "ratio_high", "bytes_share")]


def cost_as_json(cost: EpilogueCost) -> dict[str, Any]:
    """Return a cost as plain values, with units in the keys."""
    return {
        "key": cost.fused.key,
        "split_k": cost.fused.split_k,
        "unfused_key": cost.unfused.key,
        "unfused_problem": cost.unfused.problem_index,
        "time_ms": cost.time_ms,
        "unfused_ms": cost.unfused_ms,
        "ratio": cost.ratio,
        "ratio_low": cost.low,
        "ratio_high": cost.high,
        "bytes_share": cost.bytes_share,
    }
