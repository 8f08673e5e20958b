from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest

from ckprof.errors import InputError
from ckprof.model.ranking import TIE
from ckprof_plugins.judge.new import write_template
from ckprof_plugins.judge.operands import Place
from ckprof_plugins.judge.stored_kernel import built_again
from ckprof_plugins.judge.timing import Comparison
from tests.e2e.test_baseline import plugin

from .test_places import task_of

SMALL = "conv -n 1 -c 16 -H 10 -W 10 -k 16 -y 3 -x 3 -p 1 -q 1 -F 1"


@pytest.mark.parametrize(
    ("low", "high", "relation", "slower", "slower_by_half"),
    [
        (0.5, 0.9, "faster", False, False),
        (0.5, 1.1, "tied", False, False),
        (0.985, 0.99, "tied", False, False),
        (1.0, 1 + TIE, "tied", False, False),
        (1.03, 1.2, "slower", True, False),
        (1.6, 2.0, "slower", True, True),
    ],
)
def test_what_is_significant(registry, low, high, relation, slower, slower_by_half):
    _, usual = task_of(registry, "gemm")
    one = Comparison(
        place=Place(usual), name="a", what="", time_ms=1.0, ratio=1.0, low=low, high=high, paired=True
    )
    assert (one.relation, one.is_slower(0.0), one.is_slower(0.5)) == (relation, slower, slower_by_half)
    assert replace(one, low=high, high=high).is_slower(0.0) == (high > 1 + TIE)


@pytest.mark.compiler
@pytest.mark.thorough
def test_it_is_compared_with_a_baseline_and_with_a_store(ckprof, short_list, registry, tmp_path):
    """A kernel of a library, beside numpy and the kernel of a store, built again, in the same rounds."""
    kernel = ("--conf", short_list, "--instance", "1")
    ckprof("run", "fwd", *kernel, "--problem", SMALL, "--max-time", "0.02", "--store", "r.db").ok()
    ckprof("build", "fwd", *kernel, "--build-dir", "out").ok()
    task, usual = task_of(registry, "fwd")
    write_template(task, usual, tmp_path / "slow.py")
    both = ("--problem", SMALL, "--store", "r.db", "--format", "json", "--baseline", "numpy")
    how = ("--plugin", plugin(tmp_path))
    library = "out/libckprof_conv_fwd.so"
    for budget in ("8s", "80s"):  # a busy machine has spent the first before the stored kernel is built
        said = json.loads(ckprof("judge", "fwd", library, *both, *how, "--budget", budget).ok().out)
        if "the budget is spent" not in said["comparisons"][-1]["what"]:
            break
    assert said["candidate"]["kind"] == "kernels" and said["verdict"] == "right"
    baseline, stored = said["comparisons"]
    assert (baseline["name"], baseline["paired"]) == ("baseline numpy", True)
    assert (stored["name"], stored["paired"]) == ("best kernel of r.db", True)
    assert stored["what"] == f"{said['candidate']['function']}, built again"
    # it is the same kernel
    assert stored["low"] < 1.5 and stored["high"] > 0.67
    (time,) = said["times"]
    assert time["checked"] == time["launches"] >= 5
    for one in said["comparisons"]:
        assert 0 <= one["low"] <= one["ratio"] <= one["high"]
    # waits 50 ms where numpy takes one
    with (tmp_path / "slow.py").open("a") as file:
        file.write("\n\nimport time\nfast = candidate\n\n\ndef slow(input, weight, problem):\n")
        file.write("    time.sleep(0.05)\n    return fast(input, weight, problem)\n")
    called = ckprof("judge", "fwd", "slow.py:slow", *both, *how, "--budget", "8s", "--fail-on", "slower=50%")
    said = json.loads(called.out)
    assert called.code == 1 and said["verdict"] == "right"
    assert "slower than baseline numpy" in said["shortcomings"]


@pytest.mark.parametrize(
    ("target", "arch", "on_device", "gpu"),
    [
        ("hip", "gfx942", False, None),
        ("hip", "gfx950", True, None),
        ("cpu", "gfx942", True, None),
        ("cpu", "gfx942", False, 0),
    ],
    ids=["of-a-gpu", "of-another-gpu", "of-the-cpu", "of-the-cpu-beside-torch"],
)
def test_a_stored_kernel_runs_where_the_candidate_does(registry, tmp_path, target, arch, on_device, gpu):
    device = SimpleNamespace(target=target, arch=arch, model="a model")
    best = SimpleNamespace(key=SimpleNamespace(device=device))
    profiler = SimpleNamespace(registry=registry)
    beside = SimpleNamespace(on_device=on_device, arch="gfx942", gpu=gpu)
    with pytest.raises(InputError, match="it was measured on a model, which the candidate does not run on"):
        built_again(profiler, best, None, None, tmp_path, beside)
