"""A device is quarantined when it is slower than its peers by more than its noise, twice in a row."""

import random

import pytest

from ckprof.errors import UsageError
from ckprof.store.key import DeviceKey
from ckprof_plugins.cluster.devices import DeviceTable
from ckprof_plugins.cluster.messages import ReferenceCheck, ReferencePolicy, WorkerDevice


def note(table, name, times, *, partition="SPX", **evidence):
    device = WorkerDevice(id=name, key=DeviceKey(target="gpu", partition=partition))
    table.note(device, ReferenceCheck(instance="i", times_ms=tuple(times), **evidence))
    return table.judge([name])


def steady(level, noise=0.001, seed=0):
    chance = random.Random(f"{level} {seed}")
    return [level * (1 + chance.uniform(-noise, noise)) for _ in range(5)]


def test_the_slow_one_of_several_is_found_at_its_second_check():
    table = DeviceTable(ReferencePolicy())
    for name in "abc":
        assert note(table, name, steady(1.0, seed=name)) == ([], [])
    assert note(table, "d", steady(1.2), clock_mhz=1200.0) == ([], [])
    assert (table.suspected, table.quarantined) == (("d",), ())
    begun, ended = note(table, "d", steady(1.2, seed=1))
    assert ([one.device.id for one in begun], ended) == (["d"], [])
    assert table.quarantined == ("d",)
    assert "% slower than its peers: neither" in begun[0].quarantine
    begun, ended = note(table, "d", steady(1.01))
    assert (begun, [one.device.id for one in ended], table.quarantined) == ([], ["d"], ())


@pytest.mark.parametrize(
    ("times", "slow"),
    [
        (steady(1.04), False),  # within the limit
        (steady(0.7), False),  # faster
        ([1.3, 1.0, 1.3, 1.3, 1.3], False),  # disturbed, but one attempt shows what it can do
        ([1.1, 1.6, 1.2, 1.9, 1.4], False),  # its own noise is larger than the difference
        (steady(1.08), True),
    ],
)
def test_noise_and_limit_decide(times, slow):
    table = DeviceTable(ReferencePolicy())
    for name in "abc":
        note(table, name, steady(1.0, seed=name))
    note(table, "d", times)
    note(table, "d", times)
    assert (table.quarantined == ("d",)) is slow


def test_of_two_devices_the_slower_one_is_meant():
    table = DeviceTable(ReferencePolicy())
    note(table, "a", steady(1.5))
    for _ in range(2):
        note(table, "b", steady(1.0))
    assert table.quarantined == ()
    note(table, "a", steady(1.5, seed=2))
    assert table.quarantined == ("a",)


@pytest.mark.parametrize(
    ("slow", "found"), [("f", ("f",)), ("def", ("d", "e", "f")), ("cdef", ()), ("bcdef", ())]
)
def test_never_more_than_half_of_the_devices(slow, found):
    table = DeviceTable(ReferencePolicy())
    for _ in range(3):
        for name in "abcdef":
            note(table, name, steady(1.5 if name in slow else 1.0, seed=name))
    assert table.quarantined == found


def test_many_devices_are_compared_alike():
    table = DeviceTable(ReferencePolicy())
    for _ in range(2):
        for number in range(200):
            level = 1.3 if number % 50 == 7 else 1.0
            note(table, f"c{number:03}", steady(level, seed=number))
    assert table.quarantined == ("c007", "c057", "c107", "c157")
    assert note(table, "c007", steady(1.0))[1][0].device.id == "c007"


def test_what_may_be_the_reason_is_named():
    table = DeviceTable(ReferencePolicy())
    for name in "abc":
        note(table, name, steady(1.0, seed=name), clock_mhz=1700.0, temperature_c=60.0)
    for _ in range(2):
        note(table, "d", steady(1.4), clock_mhz=1200.0, temperature_c=95.0, partition="CPX")
    reason = table.devices["d"].quarantine
    assert "its clock is 1200 MHz, theirs 1700 MHz" in reason
    assert "it has 95 degrees, they have 60" in reason
    assert "its partition mode is CPX" in reason


def test_other_kernels_are_not_compared():
    table = DeviceTable(ReferencePolicy())
    note(table, "a", steady(1.0))
    device = WorkerDevice(id="b", key=DeviceKey(target="gpu"))
    other = ReferenceCheck(instance="other", times_ms=(9.0, 9.0, 9.0))
    for _ in range(3):
        table.note(device, other)
        assert table.judge(["b"]) == ([], [])


@pytest.mark.parametrize("wrong", [{"every": 0}, {"samples": 2}, {"limit": -1}, {"park_s": float("nan")}])
def test_a_wrong_policy_is_an_error(wrong):
    with pytest.raises(UsageError, match=next(iter(wrong))):
        ReferencePolicy(**wrong)
