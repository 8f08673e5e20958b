"""A model of a sweep of 10,000 problems x 3,000 kernels on many devices.

``python -m plugins.cluster.tests.benchmarks.cluster_model`` prints what it assumes, what comes out, and where
each assumption breaks the goal: 85 % of 5,000 devices busy.
"""

from dataclasses import fields, replace

from plugins.cluster.tests.benchmarks.cluster_costs import Costs, Fleet
from plugins.cluster.tests.benchmarks.cluster_simulation import simulate

GOAL = 0.85

#: assumption -> values that are tried with 5,000 devices, one assumption at a time
BREAKS = {
    "spread": (1.0, 1.2),
    "kernel_spread": (0.0, 1.0),
    "device_spread": (0.1, 0.3),
    "hanging": (0.0, 1e-4),
    "timeout_s": (10.0,),
    "failing": (1e-3,),
    "guess": (0.0, 1.0),
    "finalists": (0.02, 0.1, 0.33),
    "prepare_attempts": (50,),
    "folder_bytes_per_s": (1e9, 5e9),
    "folder_syncs_per_s": (1_000,),
    "sync_s": (0.0,),
    "start_s": (30,),
    "plan_s": (10e-3,),
    "hand_out_s": (1e-3, 5e-3),
    "queue_s": (0, 600),
    "walltime_s": (600,),
    "mtbf_h": (10, 1e6),
    "problems": (40_000,),
}


def main():
    """Print assumptions, results and limits."""
    costs = Costs()
    print("assumptions")
    for item in fields(costs):
        print(f"  {item.name:20} {getattr(costs, item.name):>12g}  {item.metadata['text']}")
    print(
        f"\n{'devices':>8} {'spread':>7} {'busy':>7} {'useful':>7} {'whole':>7} {'hung':>7} "
        f"{'hours':>7} {'units':>8} {'folder':>7} {'coord.':>7} {'merging':>8}"
    )
    for devices in (100, 512, 1000, 5000):
        for spread in (0.8, 1.0, 1.2):
            changed = replace(costs, spread=spread)
            found = simulate(changed, Fleet(devices=devices))
            whole = simulate(changed, Fleet(devices=devices, divides=False))
            print(
                f"{devices:8} {spread:7} {found.busy:7.1%} {found.useful:7.1%} {whole.busy:7.1%} "
                f"{found.hung:7.1%} {found.run_s / 3600:7.2f} {found.units:8} {found.folder_load:7.1%} "
                f"{found.coordinator_load:7.1%} {found.merge_after_s / 60:4.0f} min"
            )
    print("\n5,000 devices busy, by seed; * below the goal of 85 %")
    for name, changed in (("as above", costs), ("finalists 0.33", replace(costs, finalists=0.33))):
        shares = [simulate(changed, Fleet(devices=5000, seed=seed)).busy for seed in range(3)]
        cells = (f"{share:.1%}{'*' if share < GOAL else ''}" for share in shares)
        print(f"  {name:20} {',  '.join(cells)}; mean {sum(shares) / len(shares):.1%}")
    print("\n5,000 devices busy, one assumption changed at a time; * below the goal of 85 %")
    for name, values in BREAKS.items():
        shares = [simulate(replace(costs, **{name: value}), Fleet(devices=5000)).busy for value in values]
        cells = (
            f"{value:g}: {share:.1%}{'*' if share < GOAL else ''}"
            for value, share in zip(values, shares, strict=True)
        )
        print(f"  {name:20} {',  '.join(cells)}")


if __name__ == "__main__":
    main()
