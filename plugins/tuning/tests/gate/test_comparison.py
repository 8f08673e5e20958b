"""What fails a comparison of predictions, and which sides are none."""

import pytest

from ckprof.errors import InputError
from ckprof.option import limits
from ckprof_plugins.tuning.gate.comparison import Regression, compare_figures
from plugins.tuning.tests.gate.sides import figures, side

SPILLED = {**figures().needs, "vgpr_spills": 2}
GRADED = (Regression.SLOWER, Regression.FASTER)


def _compared(old, new, fail_on="slower,faster,spills,occupancy,status,missing"):
    return compare_figures(("a", "b"), side(*old), side(*new), limits(Regression, fail_on, GRADED))


#: name -> before, after, --fail-on, what fails
CASES = {
    "the same": ([figures()], [figures()], "slower,faster", []),
    "slower than asked for": ([figures()], [figures(time_us=10.4)], "slower=3%", ["1 slower"]),
    "not as slow as asked for": ([figures()], [figures(time_us=10.2)], "slower=3%", []),
    "a thousandth": ([figures()], [figures(time_us=10.01)], "slower", ["1 slower"]),
    "nothing asked for": ([figures()], [figures(time_us=99.0)], "none", []),
    "faster is not a failure": ([figures()], [figures(time_us=9.0)], "slower,spills", []),
    "faster, where asked for": ([figures()], [figures(time_us=9.0)], "faster=5%", ["1 faster"]),
    "spills": ([figures()], [figures(needs=SPILLED)], "slower,spills", ["1 spills"]),
    "fewer spills": ([figures(needs=SPILLED)], [figures()], "spills", []),
    "occupancy": ([figures()], [figures(resident=1)], "occupancy", ["1 occupancy"]),
    "no longer supported": (
        [figures()], [figures(status="unsupported", reason="K")], "status", ["1 status"],
    ),
    "supported by now": ([figures(status="unsupported")], [figures()], "status,slower", []),
    "never built": ([figures(status="not built")], [figures(status="not built")], "status", []),
    "no longer in the list": (
        [figures(), figures(key="cd" * 16)], [figures()], "missing", ["1 missing"],
    ),
    "new in the list": ([figures()], [figures(), figures(key="cd" * 16)], "missing,status", []),
    "other splits are another row": (
        [figures()], [figures(), figures(split_k=2, time_us=50.0)], "slower", [],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_fails(name):
    before, after, fail_on, failures = CASES[name]
    assert _compared(before, after, fail_on).failures == failures


def test_rows_stand_by_what_is_lost():
    keys = [letter * 32 for letter in "abcd"]
    old = [figures(key=key) for key in keys]
    new = [
        figures(key=keys[0], time_us=11.0),
        figures(key=keys[1], status="failed"),
        figures(key=keys[2], time_us=12.0),
        figures(key=keys[3]),
    ]
    found = _compared(old, new)
    assert [row.either.key[0] for row in found.rows] == ["b", "c", "a", "d"]
    assert [row.either.key[0] for row in found.differing] == ["b", "c", "a"]
    # of 1.1, 1.2 and 1
    assert found.ratio == pytest.approx((1.1 * 1.2) ** (1 / 3))


def test_kernels_are_matched_by_instance_and_then_by_line():
    keys = {letter: letter * 32 for letter in "abcde"}
    old = [
        figures(key=keys["a"], line="l.conf:1", time_us=10.0),
        figures(key=keys["b"], line="l.conf:2", time_us=20.0),
        figures(key=keys["c"], line="l.conf:3", time_us=30.0),
        figures(key=keys["d"], line="catalog.json", time_us=40.0),
    ]
    new = [
        # the lines of a and b have changed places, that of c is another instance, catalogs have no lines
        figures(key=keys["b"], line="m.conf:1", time_us=20.0),
        figures(key=keys["a"], line="m.conf:2", time_us=11.0),
        figures(key=keys["e"], line="m.conf:3", time_us=33.0),
        figures(key="f" * 32, line="catalog.json", time_us=40.0),
    ]
    found = {
        (row.old.key[0] if row.old else "", row.new.key[0] if row.new else ""): row.ratio
        for row in _compared(old, new).rows
    }
    ratios = {("a", "a"): pytest.approx(1.1), ("b", "b"): 1.0, ("c", "e"): pytest.approx(1.1)}
    assert found == {**ratios, ("d", ""): None, ("", "f"): None}


@pytest.mark.parametrize("field", ["model", "gpu", "arch", "direction"])
def test_nothing_is_compared_that_another_model_predicted(field):
    with pytest.raises(InputError, match=r"a: it was predicted .* than b .*not comparable") as caught:
        compare_figures(("a", "b"), side(**{field: "other"}), side(), ())
    assert "ckprof predict --write" in str(caught.value)
