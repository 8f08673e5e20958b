"""Both loops of a kernel next to each other."""

from ckprof_plugins.tuning.gate.loops import loop_table, side_by_side
from plugins.tuning.tests.gate.sides import LOOP, loop


def test_loops_are_aligned_and_the_first_difference_is_marked():
    # other registers are no difference; a barrier is one, and so is the narrower read behind it
    after = LOOP.replace("v11", "v99").replace("ds_read_b128", "s_barrier\nds_read_b64")
    rows = side_by_side(loop(), loop(after))
    assert [row.before for row in rows if row.before] == LOOP.splitlines()
    assert [row.after for row in rows if row.after] == after.splitlines()
    assert [(row.before, row.after, row.mark) for row in rows if row.mark] == [
        ("ds_read_b128 v[30:33], v11", "s_barrier", "first difference"),
        ("", "ds_read_b64 v[30:33], v99", "differs"),
    ]
    table = loop_table(rows)
    assert [style for row in rows if (style := table.style(row))] == ["first-difference", "warn"]
    assert [column.name for column in table.columns] == ["#", "before", "after", "difference"]
    assert [table.columns[0].value(row) for row in rows] == [*range(1, len(rows) + 1)]


def test_the_same_loop_has_no_difference():
    assert not any(row.mark for row in side_by_side(loop(), loop(LOOP.replace("v[20:23]", "v[60:63]"))))
