"""Attempts for tests, and how hypothesis makes them."""

import sqlite3
import statistics
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import strategies as st

from ckprof.model.kernel import KernelRef
from ckprof.model.outcome import Conditions, Measurement, Status, Verification
from ckprof.model.types import DataType
from ckprof.plugin.protocols.converters import ImportHints
from ckprof.store.attempt import Attempt, Mark, Session
from ckprof.store.key import DeviceKey, KernelKey, MeasurementKey, MethodKey, OperationKey, ToolchainKey
from ckprof.store.query import StoreQuery
from ckprof.store.rows import Evidence
from ckprof.store.schema import create_tables, transaction
from ckprof.store.store import Store
from ckprof.store.writer import AttemptRows, StoreWriter
from ckprof_plugins.directions._convolution.problem import ConvProblem


def make_problem(size=8, ndim=2, **changes):
    ones, zeros = (1,) * ndim, (0,) * ndim
    values = {
        **{"groups": 1, "batch": 2, "out_channels": 16, "in_channels": 8},
        **{"filter": ones, "input": (size,) * ndim, "strides": ones, "dilations": ones},
        **{"left_pads": zeros, "right_pads": zeros},
    }
    return ConvProblem(**{**values, **changes})


def make_session(number=0, **changes):
    values = {
        **{"uid": f"{number:032x}", "started": 1_700_000_000.0 + number, "host": "here", "seed": number},
        **{"argv": ("sweep", "fwd"), "tags": (f"day{number}",), "environment": {"cores": 2}},
    }
    return Session(**{**values, **changes})


def make_key(kernel=0, problem=None, **changes):
    values = {
        "operation": OperationKey(direction="fwd", api_level="2026-06"),
        "problem": problem or make_problem(),
        "kernel": KernelKey(instance=f"{kernel:032x}", object_digest=f"o{kernel}"),
        "device": DeviceKey(target="cpu", model="a CPU", arch="x86", compute_units=2, partition="avx2"),
        "toolchain": ToolchainKey(
            compiler="g++ 12", compiler_identity="abc", flags=("-O3", "-x"), headers="d"
        ),
        "method": MethodKey(flush_bytes=2**20, init="decimal"),
    }
    return MeasurementKey(**{**values, **changes})


def make_attempt(
    kernel=0,
    sequence=0,
    time_ms=1.5,
    *,
    problem=None,
    session=None,
    status=Status.OK,
    round=1,
    verified=True,
    **changes,
):
    measurement = verification = None
    if status is Status.OK and time_ms is not None:
        measurement = Measurement(
            time_ms=time_ms,
            spread_ms=time_ms / 100,
            min_ms=time_ms * 0.98,
            mean_ms=time_ms * 1.01,
            samples=3,
            stopped_by="stdrel",
            samples_ms=(time_ms, time_ms * 0.98, time_ms * 1.05),
            units=("tiles", "fp32") if time_ms > 1.2 else (),
        )
        if verified:
            verification = Verification(max_error=1e-3, wrong_elements=0, elements=4096, rtol=1e-2, atol=1e-4)
    values = {
        "key": make_key(kernel, problem),
        "session": session or make_session(),
        "sequence": sequence,
        "kernel": KernelRef(
            name=f"kernel_{kernel}",
            instance_string=f"Kernel<{kernel}>",
            pipeline="some",
            dtype=DataType.FP16,
            layout="nhwgc",
            fields={"tile": {"m": 64}, "n": kernel},
        ),
        "status": status,
        "measurement": measurement,
        "verification": verification,
        "split_chosen": 1,
        "conditions": Conditions(started=1_700_000_000.0 + sequence, round=round, order=sequence),
    }
    return Attempt(**{**values, **changes})


_times = st.floats(1e-6, 1e6, allow_nan=False)
_texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=30)


@st.composite
def _measurements(draw):
    """Draw figures that are possible: none is outside of the samples, the fastest is not above the median."""
    samples = tuple(draw(st.lists(_times, max_size=20)))
    inside = st.sampled_from(samples) if samples else _times
    fastest, median = sorted((draw(inside), draw(inside)))
    return Measurement(
        time_ms=median,
        spread_ms=draw(_times),
        min_ms=fastest,
        mean_ms=draw(inside),
        samples=draw(st.integers(1, 1000)),
        stopped_by=draw(_texts.filter(bool)),
        samples_ms=samples,
    )


measurements = _measurements()
verifications = st.builds(
    Verification,
    max_error=st.floats(0, 1e300),
    wrong_elements=st.integers(0, 10),
    elements=st.integers(1, 2**40),
    spacing=st.just(0.0) | st.floats(1e-30, 1e30),
    rtol=_times,
    atol=_times,
)
#: how many of some launches were checked, where that is known
shares = st.just((0, 0)) | st.integers(1, 10**6).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n)))
verifications = st.builds(
    lambda check, share: replace(check, launches=share[0], checked=share[1]), verifications, shares
)
conditions = st.builds(
    Conditions,
    started=st.floats(0, 2e9),
    round=st.integers(0, 99),
    order=st.integers(0, 999),
    wall_s=st.none() | _times,
    load=st.none() | _times,
    clock_mhz=st.none() | _times,
    temperature_c=st.none() | _times,
    # names that the store reads itself, which hypothesis knows from its source, have values of their own
    extra=st.dictionaries(
        _texts.filter(lambda name: name not in Evidence.__struct_fields__),
        st.integers(-(2**53), 2**53) | _texts | st.dictionaries(_texts, st.floats(1e-6, 1e6), max_size=2),
        max_size=3,
    ),
)


@st.composite
def attempts(draw, max_kernels=4):
    """Any attempt whose parts agree with each other, as those of real sweeps do."""
    kernel = draw(st.integers(0, max_kernels - 1))
    status = draw(st.sampled_from(Status))
    problem = make_problem(draw(st.integers(1, 4)), draw(st.integers(1, 3)))
    return make_attempt(
        kernel,
        draw(st.integers(0, 50)),
        key=make_key(kernel, problem, split_k=draw(st.integers(-1, 4))),
        session=make_session(draw(st.integers(0, 2))),
        status=status,
        reason=draw(_texts),
        requirements=tuple(draw(st.lists(_texts, max_size=3))),
        split_chosen=draw(st.none() | st.integers(1, 8)),
        measurement=draw(measurements) if status is Status.OK else None,
        verification=draw(st.none() | verifications),
        workspace_bytes=draw(st.none() | st.integers(0, 2**50)),
        marks=tuple(mark for mark in Mark if draw(st.booleans())),
        conditions=draw(conditions),
    )


def fill(path, *added):
    with StoreWriter(path) as writer:
        writer.append_many(added)


def check_summaries(store, expected):
    """Compare the store's figures with those of the attempts, computed the plain way."""
    by_key = {}
    for attempt in expected:
        by_key.setdefault(attempt.key, []).append(attempt)
    summaries = list(store.measurements())
    assert [summary.key for summary in summaries] == list(by_key)
    for summary in summaries:
        own = sorted(by_key[summary.key], key=latest)
        count = len(own)
        own = [one for one in own if Mark.NOT_LAUNCHED not in one.marks] or own
        times = [one.measurement.time_ms for one in own if one.ranked]
        failed = own[-1].status.is_failure
        time_ms, least_ms = (None, None) if failed or not times else plain_time(own)
        assert (summary.status, summary.reason) == (own[-1].status, own[-1].reason)
        assert (summary.attempts, summary.ranked_attempts) == (count, len(times))
        assert summary.time_ms == (time_ms if time_ms is None else pytest.approx(time_ms))
        assert summary.min_ms == (least_ms if least_ms is None else pytest.approx(least_ms))


def latest(attempt):
    return attempt.conditions.started, attempt.session.uid, attempt.sequence


def plain_time(attempts):
    """Return the time of attempts of one kernel, and that of its fastest round."""
    ranked = [one for one in attempts if one.ranked]
    certain = [one for one in ranked if not {Mark.DISTURBED, Mark.SLOW_DEVICE} & {*one.marks}]
    steady = [one for one in certain if Mark.PART not in one.marks] or certain or ranked
    rounds = {}
    for number, one in enumerate(steady):
        place = (one.session.uid, one.conditions.round) if one.conditions.round else number
        rounds.setdefault(place, []).append(one.measurement.time_ms)
    times = sorted(statistics.geometric_mean(some) for some in rounds.values())
    return times[(len(times) - 1) // 4], times[0]


def make_store(*added):
    """Return a store with attempts, for reading; it is in memory, as no test of disks needs it elsewhere."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    create_tables(connection)
    rows = AttemptRows(connection)
    with transaction(connection):
        for attempt in added:
            rows.add(attempt)
        rows.sum_up_changed()
    return Store("memory", connection)


def check_format(form, folder, added):
    """Have a format that says everything write attempts and read them again."""
    file = folder / f"it's{form.suffixes[0]}"
    with make_store(*added) as store:
        expected = list(store)
        result = form.write(store, StoreQuery(), file)
    assert (result.rows, result.left_out) == (len(expected), Counter())
    assert form.recognises(file.read_bytes())
    assert list(form.read(file, ImportHints())) == expected
