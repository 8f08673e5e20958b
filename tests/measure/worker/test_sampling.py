import pytest
import scipy

from ckprof.measure.worker.sampling import (
    MOST_LAUNCHES,
    SHORT_MS,
    TimingSettings,
    launches_per_sample,
    take_samples,
)
from ckprof.model.ranking import summarise


class FakeMachine:
    """A clock, a kernel and a flush whose durations are given, in milliseconds."""

    def __init__(self, kernel_ms, flush_ms=0.0):
        self.kernel_ms = kernel_ms if callable(kernel_ms) else lambda _: kernel_ms
        self.flush_ms = flush_ms
        self.now_s = 100.0
        self.runs = 0
        self.flushes = 0

    def clock(self):
        return self.now_s

    def run_once(self):
        time_ms = self.kernel_ms(self.runs)
        self.runs += 1
        self.now_s += time_ms / 1e3
        return time_ms

    def flush(self):
        self.flushes += 1
        self.now_s += self.flush_ms / 1e3


def settings(**changes):
    values = {
        "warmup": 1,
        "min_samples": 10,
        "min_time_s": 0.0,
        "max_time_s": 0.5,
        "timeout_s": 30.0,
        "criterion": "stdrel",
        "criterion_parameters": {},
        "flush_bytes": 0,
        "keep_samples": False,
    }
    return TimingSettings(**(values | changes))


def sample(machine, *, cold=False, first_ms=1.0, after_warmup=None, **changes):
    return take_samples(
        machine.run_once,
        settings(**changes),
        first_ms=first_ms,
        first_s=first_ms / 1e3,
        flush=machine.flush if cold else None,
        after_warmup=after_warmup,
        clock=machine.clock,
    )


def test_steady_kernel_stops_at_min_samples():
    machine = FakeMachine(1.0)
    sampling = sample(machine)
    assert sampling.stopped_by == "stdrel"
    assert sampling.samples_ms == (1.0,) * 10
    assert machine.runs == 11
    assert sampling.wall_s == pytest.approx(0.011)
    assert sampling.flush_s == 0


def test_cold_mode_flushes_before_every_sample_and_max_time_counts_that():
    machine = FakeMachine(1.0, flush_ms=10.0)
    sampling = sample(machine, cold=True)
    assert machine.flushes == 10
    assert sampling.flush_s == pytest.approx(0.1)
    assert set(sampling.samples_ms) == {1.0}
    sampling = sample(FakeMachine(lambda run: 1 + run % 2, flush_ms=50.0), cold=True)
    assert sampling.stopped_by == "max-time"
    assert len(sampling.samples_ms) == 10


def test_times_that_end_a_slow_kernel():
    machine = FakeMachine(2000.0)
    sampling = sample(machine, first_ms=2000.0)
    assert sampling.stopped_by == "max-time"
    assert len(sampling.samples_ms) == machine.runs == 3
    sampling = sample(FakeMachine(10.0), min_time_s=2.0)
    assert sum(sampling.samples_ms) >= 2000
    assert len(sampling.samples_ms) == 200
    machine = FakeMachine(2000.0)
    sampling = sample(machine, first_ms=2000.0, timeout_s=6.0)
    assert sampling.stopped_by == "timeout"
    assert len(sampling.samples_ms) == 1
    assert machine.now_s - 100 + 2 < 6
    machine = FakeMachine(4000.0)
    sampling = sample(machine, first_ms=4000.0, timeout_s=6.0)
    assert machine.runs == 0
    assert (sampling.samples_ms, sampling.stopped_by) == ((4000.0,), "timeout")


def test_single_sample():
    sampling = sample(
        FakeMachine(1.0), min_samples=1, criterion="sample-count", criterion_parameters={"count": 1}
    )
    measurement = summarise(sampling.samples_ms, sampling.stopped_by, keep_samples=True)
    assert (measurement.samples, measurement.spread_ms, measurement.samples_ms) == (1, 0.0, (1.0,))


def test_summary():
    samples = (4.0, 1.0, 2.0, 10.0, 3.0)
    measurement = summarise(samples, "stdrel", keep_samples=True)
    assert measurement.time_ms == 3
    assert measurement.spread_ms == pytest.approx(scipy.stats.iqr(samples) / 2)
    assert (measurement.min_ms, measurement.mean_ms, measurement.samples) == (1, 4, 5)
    assert measurement.samples_ms == samples
    assert summarise(samples, "stdrel", keep_samples=False).samples_ms == ()


def test_equal_samples_do_not_collapse():
    assert summarise((1.0, 1.0, 1.0, 5.0), "stdrel", keep_samples=False).time_ms == 1


def test_what_is_done_between_warmup_and_samples():
    machine = FakeMachine(1.0)
    seen = []
    sampling = sample(machine, warmup=3, after_warmup=lambda: seen.append(machine.runs))
    assert seen == [sampling.warmup] == [3]


@pytest.mark.parametrize(
    ("duration_ms", "flushed", "launches"),
    [
        (1.0, False, 1),
        (SHORT_MS, False, 1),
        (0.0199, False, 11),
        (0.008, False, 25),
        (0.001, False, MOST_LAUNCHES),
        (0.001, True, 1),
        (0.0, False, 1),
    ],
)
def test_launches_per_sample(duration_ms, flushed, launches):
    assert launches_per_sample(duration_ms, flushed=flushed) == launches


class LatentMachine(FakeMachine):
    """Each batch takes a latency besides."""

    latency_ms = 0.005

    def run_batch(self, launches):
        total_ms = self.latency_ms + sum(self.kernel_ms(n) for n in range(launches))
        self.runs += launches
        self.now_s += total_ms / 1e3
        return total_ms / launches

    def run_once(self):
        return self.run_batch(1)


def batched(machine, *, cold=False, **changes):
    return take_samples(
        machine.run_once,
        settings(**changes),
        first_ms=0.05,
        first_s=5e-5,
        run_batch=machine.run_batch,
        flush=machine.flush if cold else None,
        clock=machine.clock,
    )


def test_how_many_launches_samples_hold():
    machine = LatentMachine(0.004)
    sampling = batched(machine)
    # decided by four launches in a row, which share 5 us of latency
    assert sampling.launches == launches_per_sample(0.004 + 0.005 / 4, flushed=False) == 39
    assert machine.runs == 1 + 4 + 39 * len(sampling.samples_ms)
    assert sampling.samples_ms[0] == pytest.approx(0.004 + 0.005 / 39)
    assert batched(LatentMachine(0.02)).launches == 1
    cold = batched(LatentMachine(0.004), cold=True)
    assert cold.launches == 1
    assert cold.samples_ms[0] == pytest.approx(0.009)
    # ``min_time_s`` is about time that the kernel ran.
    machine = LatentMachine(0.004)
    sampling = batched(machine, min_time_s=0.01, max_time_s=0.0)
    total_s = sum(sampling.samples_ms) * sampling.launches / 1e3
    assert 0.01 <= total_s < 0.011
