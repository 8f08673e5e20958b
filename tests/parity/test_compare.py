"""What a comparison finds: matches, copies, losses, skipped instances, nearest partners."""

import itertools
import random
from collections import Counter

import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from ckprof.errors import InputError
from ckprof.model.parity import FieldDifference, Loss, ParityFinding, Skipped
from ckprof.parity import compare as pairing
from ckprof.parity.compare import COLLAPSED, INDISTINCT, closest_pairs, compare
from ckprof.parity.side import Entry, StringSide
from tests.cases import each

from .samples import BACKWARD_DATA, BACKWARD_WEIGHT, FORWARD, STREAM_K

OTHER = FORWARD.replace("COMPUTE_V3", "MEMORY")
FAR = FORWARD.replace("COMPUTE_V3,Intrawave", "MEMORY,Interwave").replace("4,4,4,1", "8,8,8,1")


@pytest.fixture(scope="module")
def compared(side_of, registry):
    def run(first, second, **more):
        one = first if isinstance(first, StringSide) else side_of(first, "CK Builder")
        other = second if isinstance(second, StringSide) else side_of(second)
        return compare(one, other, registry.strings)

    return run


def test_equal_sides_match_in_any_order_and_spelling(compared):
    numbers = FORWARD.replace(",0,0,", ",false,0,")
    found = compared([FORWARD, OTHER], [OTHER, numbers])
    assert found.matched == 2
    assert not any(found.counts.values())


TEXTS = st.lists(st.sampled_from([FORWARD, OTHER, FAR, BACKWARD_DATA]), min_size=1, max_size=12)


@given(first=TEXTS, second=TEXTS)
def test_every_instance_is_accounted_for_once(compared, first, second):
    found = compared(first, second)
    ours, theirs = Counter(first), Counter(second)
    assert Counter(match.text for match in found.matches) == ours & theirs
    assert Counter(item.text for item in found.extra) == theirs - ours
    assert Counter(item.text for item in found.missing) == Counter(
        {text: count for text, count in ours.items() if text not in theirs}
    )
    collapsed = Counter(loss.text for loss in found.lossy if loss.rule == COLLAPSED)
    assert collapsed == Counter({text: n for text, n in (ours - theirs).items() if text in theirs})
    assert not found.duplicates


def test_what_only_one_side_has(compared):
    found = compared([FORWARD, OTHER], [FORWARD, FAR])
    assert [item.text for item in found.missing] == [OTHER]
    assert [item.text for item in found.extra] == [FAR]
    assert found.failed((ParityFinding.MISSING,))
    assert found.failed((ParityFinding.EXTRA,))
    assert not found.failed((ParityFinding.DUPLICATE, ParityFinding.LOSSY, ParityFinding.SKIPPED))


def test_the_nearest_partner_is_one_without_partner_if_there_is_one(compared):
    found = compared([FORWARD, OTHER], [FORWARD, FAR])
    nearest = found.missing[0].nearest
    assert nearest.text == FAR
    assert nearest.source == "catalog:2"
    assert {item.field for item in nearest.differences} == {
        *("vector_size_a", "vector_size_b", "vector_size_c", "scheduler")
    }
    assert found.extra[0].nearest.text == OTHER
    # the other side's value stands second, whichever side the string is on
    assert FieldDifference(field="scheduler", first="Intrawave", second="Interwave") in nearest.differences
    assert (
        FieldDifference(field="scheduler", first="Intrawave", second="Interwave")
        in found.extra[0].nearest.differences
    )


def test_who_is_the_nearest(compared):
    found = compared([FORWARD], [FORWARD, OTHER])
    assert found.extra[0].nearest.text == FORWARD
    found = compared([FORWARD], [BACKWARD_DATA])
    assert found.missing[0].nearest is None
    assert found.extra[0].nearest is None
    found = compared([STREAM_K], [BACKWARD_WEIGHT])
    assert {item.field for item in found.missing[0].nearest.differences} == {
        *("streamk_enabled", "streamk_reduction_strategy", "streamk_persistent")
    }


def test_copies_of_the_same_instance_are_duplicates(compared, side_of):
    found = compared(side_of([FORWARD, FORWARD, OTHER], "CK Builder", ["a", "a", "b"]), [FORWARD, OTHER])
    assert found.matched == 2
    (copy,) = found.duplicates
    assert (copy.text, copy.side, copy.superfluous) == (FORWARD, "CK Builder", 1)
    assert copy.sources == ("CK Builder:1", "CK Builder:2")
    assert found.counts[ParityFinding.DUPLICATE] == 1
    other = compared([FORWARD], side_of([FORWARD] * 3, "catalog", ["a"] * 3))
    assert other.duplicates[0].superfluous == 2
    assert not other.extra


def test_different_instances_that_end_in_one_are_lossy(compared, registry):
    parsed = registry.strings.parse(FORWARD)
    entries = tuple(
        Entry(
            text=FORWARD, parsed=parsed, source=f"x:{n}", identity=n, origin={"kernel": "a", "k1_b": str(n)}
        )
        for n in (1, 2, 3)
    )
    found = compared(StringSide(name="CK Builder", origin="x", entries=entries), [FORWARD])
    assert found.matched == 1
    assert [loss.rule for loss in found.lossy] == [COLLAPSED] * 2
    assert found.lossy[1].sources == ("x:1", "x:3")
    assert found.lossy[1].differences == (FieldDifference(field="k1_b", first="1", second="3"),)
    assert "x:3 differs from x:1 in k1_b" in found.lossy[1].reason
    assert not found.missing


def test_more_instances_of_one_string(compared):
    found = compared([FORWARD], [FORWARD, FORWARD])
    assert found.matched == 1
    assert len(found.extra) == 1
    assert found.extra[0].nearest.differences == ()
    found = compared([FORWARD, FORWARD], [FORWARD, FORWARD])
    assert found.matched == 2
    assert [loss.rule for loss in found.lossy] == [INDISTINCT]


def test_a_known_change_is_no_silent_match(compared, registry):
    loss = Loss(rule="async-v4", reason="because")
    entry = Entry(
        text=FORWARD,
        parsed=registry.strings.parse(OTHER),
        source="x:1",
        identity=0,
        losses=(loss,),
        said=registry.strings.parse(FORWARD),
    )
    found = compared(StringSide(name="CK Builder", origin="x", entries=(entry,)), [OTHER])
    assert found.matched == 1
    (item,) = found.lossy
    assert (item.rule, item.text, item.written) == ("async-v4", FORWARD, OTHER)
    assert item.differences == (FieldDifference(field="pipeline_name", first="COMPUTE_V3", second="MEMORY"),)


def _skip(text, source="list:9"):
    return Skipped(text=text, source=source, rule="one-wave-coverage", reason="too wide")


def test_what_a_rule_leaves_out_is_skipped_not_matched(compared, registry, side_of):
    skipped = ((registry.strings.parse(OTHER), _skip(OTHER)),)
    found = compared(side_of([FORWARD], "CK Builder", skipped=skipped), [FORWARD])
    assert found.matched == 1
    assert [item.rule for item in found.skipped] == ["one-wave-coverage"]
    assert found.failed((ParityFinding.SKIPPED,))
    # a library that has no kernel for it by its own rules
    built = side_of([FORWARD], "library", skipped=skipped)
    found = compared([FORWARD, OTHER], built)
    assert found.matched == 1
    assert [item.source for item in found.skipped] == ["CK Builder:2"]
    assert not found.missing


def test_what_one_side_leaves_out_and_the_other_has_is_told(compared, registry, side_of):
    skipped = ((registry.strings.parse(OTHER), _skip(OTHER)),)
    found = compared(side_of([FORWARD], "CK Builder", skipped=skipped), [FORWARD, OTHER])
    assert found.extra[0].note == "CK Builder omits it by rule one-wave-coverage: too wide"
    dropping = side_of([FORWARD], "catalog", invalid={"CK Builder:2": "the conversion drops it"})
    assert compared([FORWARD, OTHER], dropping).missing[0].note == "the conversion drops it"


def test_an_empty_side_is_an_error():
    with pytest.raises(InputError, match=r"x\.log: no instance string at all on the side of CK Builder"):
        StringSide(name="CK Builder", origin="x.log", entries=())
    with pytest.raises(InputError, match=r"side of CK Builder \(line 1 is cut off\)"):
        StringSide(name="CK Builder", origin="x.log", entries=(), notes=("line 1 is cut off",))


def test_changes_are_paired_once(compared):
    # Both are most like the same one, which can have become only one of them.
    wide, wider = FORWARD.replace("128,128,32", "256,128,32"), FORWARD.replace("128,128,32", "256,256,32")
    found = compared([wide, FAR], [wider, FORWARD])
    partners = {item.text: item.nearest.text for item in found.missing}
    assert sorted(partners.values()) == sorted([wider, FORWARD])
    assert {item.nearest.text: item.text for item in found.extra} == partners
    found = compared([OTHER, FAR], [OTHER.replace("128,128,32", "256,128,32")])
    first, second = found.missing
    assert first.nearest is not None
    assert second.nearest is None
    assert found.extra[0].nearest.text == first.text


def things(rng, count, fields=6, values=3, kind="k"):
    return [(kind, tuple(rng.choice("abcdefgh"[:values]) for _ in range(fields))) for _ in range(count)]


def differing(one, other):
    return sum(a != b for a, b in zip(one[1], other[1], strict=True))


def total(first, second, pairs):
    return sum(differing(first[i], second[j]) for i, j in pairs.items())


@each(seed=range(60))
def test_no_assignment_of_few_is_better(seed):
    rng = random.Random(seed)
    first, second = (things(rng, rng.randint(1, 5)) for _ in range(2))
    pairs = closest_pairs(first, second)
    assert len(set(pairs.values())) == len(pairs)
    small, large = sorted((len(first), len(second)))
    swap = len(first) > len(second)
    costs = (
        sum(
            differing(first[j], second[i]) if swap else differing(first[i], second[j])
            for i, j in enumerate(p)
        )
        for p in itertools.permutations(range(large), small)
    )
    # what has nothing in common is no pair, and costs as much as it has fields
    assert total(first, second, pairs) + 6 * (small - len(pairs)) == min(costs)


@pytest.mark.parametrize(("rows", "columns"), [(40, 40), (70, 25), (20, 90)])
def test_many_are_paired_as_scipy_does(rows, columns):
    rng = random.Random(rows)
    first, second = things(rng, rows, 30, 8), things(rng, columns, 30, 8)
    pairs = closest_pairs(first, second)
    costs = [[differing(one, other) for other in second] for one in first]
    chosen = scipy.optimize.linear_sum_assignment(costs)
    assert len(pairs) == min(rows, columns)
    assert total(first, second, pairs) == sum(costs[i][j] for i, j in zip(*chosen, strict=True))
    assert closest_pairs(first, second) == pairs


def test_only_things_of_a_kind_with_something_in_common_are_paired():
    first = [("k", ("a", "b")), ("other", ("a", "b")), ("k", ("x", "y")), ("k", ("a",))]
    second = [("k", ("a", "c")), ("third", ("a", "b")), ("k", ("p", "q"))]
    assert closest_pairs(first, second) == {0: 0}
    assert closest_pairs(first, []) == closest_pairs([], second) == {}


def test_very_many_are_paired_once_each(monkeypatch):
    monkeypatch.setattr(pairing, "_LARGEST", 100)
    rng = random.Random(3)
    first, second = things(rng, 30, 12, 4), things(rng, 50, 12, 4)
    pairs = closest_pairs(first, second)
    assert len(pairs) == len(set(pairs.values())) == 30
    # the most alike of all are together
    least = min(differing(one, other) for one in first for other in second)
    assert min(differing(first[i], second[j]) for i, j in pairs.items()) == least
