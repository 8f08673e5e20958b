"""What a store of predictions says, and that it says nothing of measured times."""

from dataclasses import replace

import pytest

from ckprof.errors import InputError
from ckprof.store.errors import StoreError
from ckprof.store.store import Store
from ckprof_plugins.tuning.gate.sides import GateSide
from ckprof_plugins.tuning.stored.reading import origins_of, read_store, require_predictions
from plugins.tuning.tests.gate.sides import figures, loop, side
from plugins.tuning.tests.stored.stores import KEY, attempts, store
from tests.store.samples import fill, make_attempt

OTHER = figures("", key="cd" * 16, name="other", status="unsupported", reason="its channels are odd")


def test_figures_come_back_as_they_were_stored(tmp_path):
    path = store(tmp_path / "p.db", figures(interval_us=(7.0, 14.0)), OTHER)
    expected = side(figures(interval_us=(7.0, 14.0)), OTHER, compiler=KEY.toolchain.compiler)
    held = read_store(path)
    assert held.sides == {"fwd": expected} and held.side() == held.side("fwd") == expected
    assert held.predictor.gpu == "MI300X"
    # as a side of a comparison, a store is what a baseline with the same figures is
    assert GateSide.of(str(path)).baseline == expected
    with pytest.raises(InputError, match=r"p\.db: the predictions are none of bwd_data: it has those of fwd"):
        GateSide.of(str(path), "bwd_data")


def test_the_latest_prediction_counts(tmp_path):
    path = store(tmp_path / "p.db", figures(time_us=9.0), tags=("main",))
    store(path, figures(time_us=8.0), uid="f1" * 16, started=200.0)
    (problem,) = read_store(path).side().problems
    assert [one.time_us for one in problem.kernels] == [8.0]
    assert read_store(path).side().loops == {"l": loop()}
    (problem,) = read_store(f"{path}@main").side().problems
    assert [one.time_us for one in problem.kernels] == [9.0]
    with pytest.raises(InputError, match="it has no prediction that fits"):
        read_store(f"{path}@absent")


def test_nothing_takes_predictions_for_measured_times(tmp_path):
    path = store(tmp_path / "p.db", figures(), OTHER)
    with Store(path) as opened:
        assert [one.measurement.time_ms for one in opened if one.measurement] == [0.01]
        assert opened.best() == [] and not any(one.ranked for one in opened)
        assert [one.status.value for one in opened] == ["ok", "unsupported"]


def test_origins_are_told_apart(tmp_path):
    predicted = store(tmp_path / "p.db")
    another = store(tmp_path / "q.db", model="another")
    fill(tmp_path / "m.db", make_attempt())
    fill(tmp_path / "empty.db")
    (tmp_path / "a.json").write_text("{}")
    assert origins_of(predicted) == {"times that time model 0123456789abcdef predicts"}
    assert origins_of(tmp_path / "a.json") == origins_of(tmp_path / "absent") == set()
    assert require_predictions([predicted, f"{predicted}@tag"])
    assert not require_predictions([tmp_path / "absent"]) and not require_predictions([predicted, "absent"])
    for measured in ("m.db", "empty.db", "a.json"):
        assert not require_predictions([tmp_path / measured])
        with pytest.raises(StoreError, match=r"measured times and times that time model 0123.* do not mix"):
            require_predictions([predicted, tmp_path / measured])
    with pytest.raises(StoreError, match=r"that time model 0123.* and times that time model another"):
        require_predictions([predicted, another])
    with pytest.raises(InputError, match="it has measured times, expected a store of"):
        read_store(tmp_path / "m.db")


def test_evidence_that_is_none_is_named(tmp_path):
    (attempt,) = attempts()
    for extra in ({}, {"prediction": {"key": 1}}, {"prediction": "x"}):
        conditions = replace(attempt.conditions, extra=extra)
        path = tmp_path / f"{len(str(extra))}.db"
        fill(path, replace(attempt, conditions=conditions))
        with pytest.raises(InputError, match="the figures of a prediction cannot be read: Expected"):
            read_store(path)
