"""What a hunt has found right is handed to a device that runs it in several orders."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest

from ckprof_plugins.hunt.boundaries import KernelBoundaries
from ckprof_plugins.hunt.hunting import Hunt, run_kinds
from ckprof_plugins.hunt.orders import OrderingDevice, order_findings


class ScriptedDevice:
    """Results of kernels depend on the order where a function of the problem says so."""

    def __init__(self, depends=lambda problem: False, unsupported=lambda problem: False):
        self.depends, self.unsupported, self.tried = depends, unsupported, []

    def orders(self, library, arch, device):
        assert (library, arch, device) == (Path("k.so"), "gfx942", "scripted")
        return nullcontext(self)

    def run(self, key, problem, *, split_k, seed):
        self.tried.append((key, problem, split_k))
        cannot = self.unsupported(problem)
        found = "" if cannot or not self.depends(problem) else "differs"
        return SimpleNamespace(found=found, unsupported="gaps" if cannot else "")


@pytest.fixture
def hunt(hunted):
    def make(device):
        hunt = hunted("fwd", lambda problem, _: problem.batch == 2)
        hunt.device, hunt.device_name, hunt.emit = device, "scripted", lambda event: None
        hunt.library = SimpleNamespace(path=Path("k.so"), recipe=SimpleNamespace(arch="gfx942"))
        hunt.ordered = hunt.unordered = 0
        return hunt

    return make


def test_what_is_right_is_tried_where_it_is_smallest_and_largest(hunt):
    device = ScriptedDevice()
    hunt = hunt(device)
    assert order_findings(hunt) == [] and hunt.ordered == len(device.tried) > 3
    assert all(problem.batch != 2 for _, problem, _ in device.tried)
    assert len(device.tried) == len(set(device.tried)) < len(hunt.planned) / 4
    by_kind = {}
    for pair in hunt.planned:
        for kind, _ in hunt.planned[pair] if pair[1].batch != 2 else ():
            by_kind.setdefault(kind, []).append(pair[1].flop)
    tried = {kind: [] for kind in by_kind}
    for pair in device.tried:
        for kind, _ in hunt.planned[pair]:
            tried[kind].append(pair[1].flop)
    assert all((min(tried[kind]), max(tried[kind])) == (min(of), max(of)) for kind, of in by_kind.items())


def test_a_kernel_is_found_once_with_its_problem(hunt):
    device = ScriptedDevice(lambda problem: problem.groups > 1, lambda problem: problem.batch > 8)
    hunt = hunt(device)
    (found,) = order_findings(hunt)
    assert found.text == "differs" and found.problem.groups > 1
    assert (*found.kernels, found.problem, found.split_k) == device.tried[-1]
    assert hunt.ordered == sum(problem.batch <= 8 for _, problem, _ in device.tried)


def test_nothing_is_tried_by_others_or_when_time_is_over(hunt):
    assert order_findings(hunt(None)) == []
    late = hunt(ScriptedDevice())
    late.seconds_left = lambda share=1.0: 0.0
    assert order_findings(late) == [] and late.unordered > 3 and not Hunt.complete.fget(late)


def test_what_was_found_before_an_interruption_is_shown(hunt):
    device = ScriptedDevice()
    ended = hunt(device)

    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    device.run = interrupted
    assert order_findings(ended) == [] and isinstance(ended.error, KeyboardInterrupt)


@pytest.mark.parametrize(
    ("asked", "run"),
    [
        ((), True),
        (("orders",), True),
        (("orders", "large"), True),
        (("range", "large"), False),
        (("orders", "loops"), ["loops"]),
        (("loops", "large"), ["loops"]),
    ],
)
def test_boundaries_at_which_whole_problems_are_run(hunted, asked, run):
    """All, none of them, or those that were named."""
    hunt = hunted("fwd")
    (candidate,) = hunt.candidates.values()
    boundaries = KernelBoundaries(candidate.instance, hunt.usual(candidate.instance.key), hunt.arch, 0)
    found = {place.kind for place in boundaries.places(run_kinds(asked))}
    every = {place.kind for place in boundaries.places()}
    assert found == (every if run is True else set(run or ()))


def test_a_device_that_chooses_the_order_itself(ckprof):
    called = ckprof("hunt", "fwd", "--rule-set", "tiny", "--boundary", "orders")
    assert called.code == 2 and "the device chooses the order itself" in called.err


def test_the_emulated_device_is_one(registry):
    emulated = [device for device in registry.devices if device.id == "emulated"]  # where its package is
    assert all(isinstance(device, OrderingDevice) for device in emulated)
