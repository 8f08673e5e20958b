"""Stores of predictions with few kernels, made without a device model."""

from __future__ import annotations

from ckprof.store.attempt import Session
from ckprof.store.key import DeviceKey, MethodKey
from ckprof.store.query import SharedKey
from ckprof.store.writer import StoreWriter
from ckprof_plugins.tuning.stored.attempts import Predictor, stored_attempt
from plugins.tuning.tests.gate.sides import PROBLEM, figures, loop
from tests.store.samples import make_attempt, make_key

MODEL = "0123456789abcdef"
KEY = make_key()


def predictor(model=MODEL):
    return Predictor(model=model, gpu="MI300X", arch="gfx942", compute_units=304)


def shared(model=MODEL):
    """Return what keys of predictions have in common."""
    device = DeviceKey(
        target="hip", model="MI300X", arch="gfx942", compute_units=304, host=predictor(model).host
    )
    return SharedKey(
        operation=KEY.operation,
        device=device,
        toolchain=KEY.toolchain,
        method=MethodKey(clock="predicted", cache=""),
    )


class Kernel:
    """What is stored of a kernel, without an instance."""

    def __init__(self, one):
        self.key, self.object_digest = one.key, "0b" * 16
        self.ref = make_attempt().kernel


def attempts(*kernels, model=MODEL, uid="f0" * 16, started=100.0, text=None, tags=()):
    """Return attempts of predictions; the first one brings the loop that all of them have."""
    session = Session(uid=uid, started=started, tags=tags, environment=predictor(model).environment)
    given = kernels or (figures(),)
    return [
        stored_attempt(
            shared(model),
            session,
            number,
            PROBLEM,
            Kernel(one),
            one,
            loop=(loop() if text is None else loop(text)) if number == 0 else (),
        )
        for number, one in enumerate(given)
    ]


def store(path, *kernels, **changes):
    """Write a store of predictions; return the path."""
    with StoreWriter(path) as writer:
        writer.append_new(attempts(*kernels, **changes))
    return path
