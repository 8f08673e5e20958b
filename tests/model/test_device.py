"""What observers saw, and what users are told of it."""

from dataclasses import replace

from ckprof.model.device import Reading


def test_a_calm_machine_is_not_mentioned():
    calm = Reading(load=9.0, cores=8, clock_mhz=970.0, base_clock_mhz=1000.0, other_processes=0)
    for reading in (Reading(), calm, Reading(load=99.0), Reading(clock_mhz=1.0), Reading(base_clock_mhz=1.0)):
        assert reading.warnings() == [] and not reading.low_clock


def test_what_disturbs_times_is_said():
    busy = Reading(load=9.1, cores=8)
    assert busy.warnings() == ["the load average is 9.1 on 8 cores: other work disturbs the times"]
    slow = Reading(clock_mhz=969.0, base_clock_mhz=1000.0)
    assert slow.low_clock
    assert slow.warnings() == ["the clock is 969 MHz, below its base of 1000 MHz"]
    # why it is low says more
    throttled = replace(slow, throttled_by=("heat", "power"))
    assert throttled.low_clock and Reading(throttled_by=("heat",)).low_clock
    assert throttled.warnings() == ["the device is throttled: heat, power"]
    for count, words in ((1, "1 other process uses the device"), (3, "3 other processes use the device")):
        assert Reading(other_processes=count).warnings() == [words]
