"""What makes another measurement, and what does not."""

import hashlib
import json
from dataclasses import asdict, fields, replace

from ckprof.store.key import MEASURED, PREDICTED, DeviceKey, MethodKey, ToolchainKey, canonical, origin_of
from tests.store.samples import make_attempt, make_key, make_problem, make_session, make_store

PARTS = ("operation", "problem", "kernel", "device", "toolchain", "method")
ANOTHER = {str: lambda text: f"{text}x", int: lambda number: number + 1, tuple: lambda texts: (*texts, "x")}


def test_any_field_of_any_part_of_the_key_makes_another_measurement():
    key = make_key()
    variants = [key, replace(key, split_k=2), replace(key, problem=make_problem(9))]
    for name in (name for name in PARTS if name != "problem"):
        part = getattr(key, name)
        for field in fields(part):
            value = getattr(part, field.name)
            changed = replace(part, **{field.name: ANOTHER[type(value)](value)})
            variants.append(replace(key, **{name: changed}))
    assert len(variants) == 3 + 2 + 2 + 8 + 5 + 6
    assert len({one.digest for one in variants}) == len({*variants}) == len(variants)
    base = make_attempt()
    with make_store(*(replace(base, key=one, sequence=n) for n, one in enumerate(variants))) as store:
        assert [summary.key for summary in store.measurements()] == variants
        assert [one.key for one in store] == variants


def test_the_digest_is_that_of_json_with_sorted_names():
    """Stores of other machines, and of earlier releases, have it."""
    key = replace(make_key(), split_k=-1)
    texts = [
        json.dumps(asdict(getattr(key, name)), sort_keys=True, separators=(",", ":")).encode()
        for name in PARTS
    ]
    assert [canonical(getattr(key, name)) for name in PARTS] == texts
    expected = hashlib.blake2b(b"\0".join([b"1", b"-1", *texts]), digest_size=16).digest()
    assert key.digest == expected == replace(key).digest


def test_what_is_not_said_is_no_part_of_the_text():
    """Nothing, or what held before a field came: keys of earlier stores stay what they are."""
    unsaid = {
        DeviceKey(target="t"): {"target": "t", "compute_units": 0, "memory_bytes": 0, "threads": 0},
        MethodKey(): {"clock": "wall", "version": 1, "cache": "cold", "flush_bytes": 0, "seed": 0},
        ToolchainKey(): {"flags": ()},
    }
    for part, values in unsaid.items():
        assert asdict(part) == {**dict.fromkeys(asdict(part), ""), **values}
    assert replace(make_key(), split_k=1) == make_key()


def test_predicted_times_are_those_of_their_model():
    # read from a file, it is equal and not the same
    predicted = MethodKey(clock=f"{PREDICTED} "[:-1])
    assert origin_of(DeviceKey(target="t", host="model"), predicted) == "times that model predicts"
    assert origin_of(DeviceKey(target="t", host="model"), MethodKey()) == make_key().origin == MEASURED


def test_what_splits_measurements():
    elsewhere = make_attempt(0, 0, 2.0, session=make_session(7, host="elsewhere"))
    with make_store(make_attempt(0, 0, 2.0), elsewhere) as store:
        (summary,) = store.measurements()
        assert (summary.attempts, summary.time_ms) == (2, 2.0)
    assert DeviceKey(target="hip", host="2 cores").is_emulated
    assert not DeviceKey(target="hip").is_emulated
