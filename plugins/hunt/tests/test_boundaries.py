"""Problems have the sizes that their formulas say, by figures of one kernel."""

from __future__ import annotations

import re
from math import prod

import pytest

from ckprof_plugins.hunt.boundaries import ATTEMPTS, formulas

#: tile 64x64x64, vectors 4, 8, 8 in the record of the tests
SIZES = {"tile_m": 64, "tile_n": 64, "tile_k": 64, "vector_size_a": 4, "vector_size_b": 8, "vector_size_c": 8}


def pixels_of(problem, direction):
    return problem.batch * prod(problem.input if direction == "bwd_data" else problem.output)


@pytest.mark.parametrize(
    ("direction", "rows", "reduction"),
    [("fwd", pixels_of, "in_channels"), ("bwd_data", pixels_of, "out_channels"), ("bwd_weight", None, None)],
)
def test_boundaries_are_met_and_passed_by_one(hunted, make_instance, direction, rows, reduction):
    hunt = hunted(direction)
    (candidate,) = hunt.candidates.values()
    fields = candidate.instance.fields()
    seen = {}
    for (_, problem, splits), places in hunt.planned.items():
        for kind, _ in places:
            seen.setdefault(kind, []).append((problem, splits))
    tile_m = {pixels_of(problem, direction) for problem, _ in seen["tiles"]}
    if rows is None:
        tile_m = {problem.out_channels for problem, _ in seen["tiles"]}
    assert {fields["tile_m"] - 1, fields["tile_m"], fields["tile_m"] + 1} <= tile_m
    depth = {
        getattr(p, reduction) if reduction else pixels_of(p, direction) for p, s in seen["loops"] if s == 1
    }
    steps = {fields["tile_k"] * loops + more for loops in range(1, 8) for more in (-1, 0, 1)}
    assert steps <= depth
    # a last split that is empty: as many splits as steps of the main loop, and one more
    if direction != "fwd":
        assert any(splits > 2 for _, splits in seen["splits"])
    assert {problem.groups for problem, _ in seen["counters"]} >= {65535, 65536, 65537}


def test_draws_are_the_same_for_a_seed_and_differ_in_what_is_open(hunted):
    first, again = hunted("fwd"), hunted("fwd")
    assert list(first.planned) == list(again.planned)
    assert len({(p.filter, p.strides, p.left_pads) for _, p, _ in first.planned}) > 20


def test_every_row_has_a_kind_and_every_kind_a_row():
    kinds = {row["kind"] for row in formulas()["row"]} | {"range", "large", "orders"}
    assert kinds == {*formulas()["kinds"]}
    assert ATTEMPTS > 2


def test_every_formula_has_its_names_in_some_family():
    """A name that nothing has would be a row that never applies."""
    words = {
        word
        for row in formulas()["row"]
        for text in (*row.get("at", ()), *row.get("set", {}).values())
        for word in re.findall(r"[a-z_]+", text)
    }
    assert words <= {
        *SIZES,
        *("c", "k", "m_step", "n_step", "k_step", "split", "num_groups_to_merge", "compute_units", "nbatch"),
        *(
            "mma_tile_k",
            "wave_grid_m",
            "wave_grid_n",
            "wave_grid_k",
            "tile_w",
            "tile_h",
            "sub_w",
            "sub_h",
            "in_vec",
            "out_vec",
        ),
    }
