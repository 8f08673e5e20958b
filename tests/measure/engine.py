"""An engine for tests: multiplies with the single weight, in numpy, and misbehaves where the name says so."""

import ctypes
import math
import os
import time

import numpy as np

from ckprof.measure.worker.baseline_session import BaselineUnusable
from ckprof.model.requirement import UnmetRequirement
from tests.measure.local_worker import HostTarget


def make_good(device, on_host):
    return Engine(f"numpy on {'the host' if on_host else 'a device'} {device.index}")


def make_wrong(device, on_host):
    return Engine("wrong", factor=1.5)


def make_outside(device, on_host):
    return Engine("outside", beyond=4)


def make_stepping(device, on_host):
    return Stepping("stepping")


def make_crash(device, on_host):
    return Engine("crash", action=lambda: os._exit(7))


def make_raise(device, on_host):
    def fail():
        raise RuntimeError("no algorithm")

    return Engine("raise", action=fail)


def make_picky(device, on_host):
    return Engine("picky", unmet=[UnmetRequirement(rule="baseline-odd", message="nothing odd")])


def make_unusable(device, on_host):
    raise BaselineUnusable("no such library; install it")


def make_broken(device, on_host):
    raise OSError("libsomething.so is missing")


class Engine(HostTarget):
    operations = ("scale",)

    def __init__(self, description, *, factor=1.0, beyond=0, action=None, unmet=()):
        super().__init__()
        self.description = description
        self._factor, self._beyond, self._action, self._unmet = factor, beyond, action, list(unmet)
        self.flushed = 0

    def flush_cache(self, size_bytes):
        self.flushed += 1

    def unmet_requirements(self, work):
        return self._unmet

    def run(self, work, addresses):
        start = time.perf_counter()
        if self._action is not None:
            self._action()
        sizes = {view.name: math.prod(view.lengths) for view in work.tensors}
        values, weight = (array(addresses[name], sizes[name]) for name in ("input", "weight"))
        elements = sizes["output"]
        result = array(addresses["output"], elements + self._beyond)
        result[:elements] = self._factor * values * weight[0]
        result[elements:] = 0
        return (time.perf_counter() - start) * 1e3


class Stepping(Engine):
    def roundings(self, work):
        return 9


def array(address, size):
    return np.ctypeslib.as_array((ctypes.c_float * size).from_address(address))
