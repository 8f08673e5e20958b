"""Problems beyond 2 GiB are handed to a device that runs chosen workgroups, until a kernel is wrong."""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from ckprof_plugins.hunt import cmd_hunt
from ckprof_plugins.hunt.boundaries import formulas
from ckprof_plugins.hunt.hunting import Hunt
from ckprof_plugins.hunt.judging import large_answers
from ckprof_plugins.hunt.large import SamplingDevice, large_findings, sampling_device
from ckprof_plugins.pipelines.family import KernelFamily


class ScriptedDevice:
    """Kernels are wrong from some images on, and cannot be sampled on some."""

    def __init__(self, wrong, unsupported=0):
        self.wrong, self.unsupported, self.tried = wrong, unsupported, []

    def sampler(self, library, arch, device):
        assert (library, arch, device) == (Path("k.so"), "gfx942", "scripted:seed=7")
        return nullcontext(self)

    def run(self, key, problem):
        self.tried.append(problem)
        wrong = problem.batch >= self.wrong
        unsupported = problem.batch <= self.unsupported
        return SimpleNamespace(unsupported=unsupported, found="wrong" if wrong and not unsupported else "")


def found_by(hunt):
    return large_findings(hunt, large_answers(hunt))


@pytest.fixture
def hunt(hunted):
    def make(device):
        hunt = hunted("fwd", lambda problem, _: problem.batch == 64)
        hunt.sampling, hunt.device_name, hunt.emit = device, "scripted:seed=7", lambda event: None
        hunt.library = SimpleNamespace(path=Path("k.so"), recipe=SimpleNamespace(arch="gfx942"))
        return hunt

    return make


def test_the_smallest_problem_on_which_a_kernel_is_wrong(hunt):
    device = ScriptedDevice(wrong=100, unsupported=2)
    hunt = hunt(device)
    (found,) = found_by(hunt)
    assert found.problem.batch == 127 and found.text == "wrong" and len(found.kernels) == 1
    batches = {problem.batch for problem in device.tried}
    assert {1, 63, 65, 127} <= batches and 64 not in batches  # it is not supported
    # what is beyond more ends is not tried any more
    assert 131 not in batches and "2^31 bytes of input or more" in found.beyond
    assert hunt.sampled == sum(problem.batch > 2 for problem in device.tried)
    assert [problem.flop for problem in device.tried] == sorted(problem.flop for problem in device.tried)


def test_nothing_is_tried_by_others_or_when_time_is_over(hunt):
    assert found_by(hunt(None)) == []
    late = hunt(ScriptedDevice(wrong=1))
    late.seconds_left = lambda: 0.0
    assert found_by(late) == [] and late.unsampled > 10 and not Hunt.complete.fget(late)


def test_what_was_found_before_an_interruption_is_shown(hunt, monkeypatch):
    device = ScriptedDevice(wrong=63)
    run, ended = device.run, hunt(device)

    def until_there_is_one(key, problem):
        if device.tried:
            raise KeyboardInterrupt
        run(key, problem)
        return SimpleNamespace(unsupported=False, found="wrong")

    monkeypatch.setattr(device, "run", until_there_is_one)
    assert len(found_by(ended)) == ended.sampled == 1
    assert isinstance(ended.error, KeyboardInterrupt) and ended.unsampled > 10


def test_a_device_that_runs_whole_problems_alone(ckprof, monkeypatch):
    monkeypatch.setattr(cmd_hunt, "sampling_device", lambda registry, device, target: None)
    called = ckprof("hunt", "fwd", "--rule-set", "tiny", "--boundary", "large")
    assert called.code == 2 and "the device runs whole problems alone" in called.err


def test_what_samples_a_library(registry):
    able = [one.id for one in registry.devices if isinstance(one, SamplingDevice)]  # where packages bring any
    for name in able:
        assert sampling_device(registry, f"{name}:seed=7", "hip").id == name
    found = sampling_device(registry, "", "cpu")
    assert (found is not None) == ("emulated" in able)
    assert sampling_device(registry, "", "hip") is sampling_device(registry, "none", "cpu") is None


@pytest.mark.compiler
@pytest.mark.thorough
@pytest.mark.timeout(600)
@pytest.mark.parametrize("limit", [2**31, None])
def test_large_tensors_on_the_cpu(ckprof, short_list, registry, monkeypatch, tmp_path, limit):
    """A launcher that does nothing beyond a number of elements is found; one without a fault is right."""
    if sampling_device(registry, "", "cpu") is None:
        pytest.skip("nothing samples kernels for the CPU")
    monkeypatch.setenv("CKPROF_WORK_DIR", str(tmp_path / "work"))
    # the smallest image first; sums are short
    monkeypatch.setitem(
        formulas(), "range", [{"taps": [1], "image": [512], "batch": [2, 96, 128], "channels": [64]}]
    )
    render = KernelFamily.render_named

    def planted(self, instance, name, arch, api_level):
        source = render(self, instance, name, arch, api_level)
        place = "const dim3 grids"
        fault = f"if(std::int64_t{{args.N_}} * 512 * 512 * 64 >= {limit}) {{ return 1; }}\n" if limit else ""
        assert place in source.header
        return replace(source, header=source.header.replace(place, f"{fault}{place}"))

    monkeypatch.setattr(KernelFamily, "render_named", planted)
    called = ckprof(
        "hunt", "fwd", "--conf", short_list, "--instance", "0", "--boundary", "large", "--format", "json"
    )
    said = json.loads(called.out)
    assert called.code == (limit is not None), called.err
    assert said["sampled"] == 3 and said["complete"]
    found = [one["text"] for one in said["large_findings"]]
    assert found == ["12 of 12 workgroups stored nothing"] * (limit is not None)


def test_the_emulated_device_is_one(registry):
    emulated = [device for device in registry.devices if device.id == "emulated"]  # where its package is
    assert all(isinstance(device, SamplingDevice) for device in emulated)
