"""The process that learns times, the table of devices, and the time of a device from counts of launches."""

import sys
from dataclasses import replace

import pytest
from msgspec.structs import replace as replace_time

from ckprof.errors import ToolchainError, UsageError
from ckprof_plugins.emulator import prediction
from ckprof_plugins.emulator.child import Question, Setup
from ckprof_plugins.emulator.library import ARCHITECTURES
from ckprof_plugins.emulator.predicted_time import Launch, UnitTime, compose
from ckprof_plugins.emulator.prediction import LaunchTimer
from ckprof_plugins.emulator.tables import PASS_CYCLES, device_value, find_model, models, table, unit_table
from plugins.emulator.tests.timing.machine_code_analyser import analysed, available, matrix_instructions

QUESTION = Question(key="0" * 32, ndim=2, values=(1,) * 22, split_k=1, tensor_bytes=(4, 4, 4))
#: answers the set-up and so many questions, then ends
ANSWERS = """
import sys
for _ in range(1 + {count}):
    sys.stdin.readline()
    print("{{}}", flush=True)
sys.stdin.readline()
"""


def _setup(library):
    return Setup(library=str(library), arch="gfx942", table="", compute_units=4, most_steps=1000)


def test_a_library_that_is_none_is_refused(tmp_path):
    library = tmp_path / "some.so"
    library.write_text("no library")
    with (
        LaunchTimer(_setup(library)) as times,
        pytest.raises(ToolchainError, match=r"some\.so: times cannot"),
    ):
        times.ask(QUESTION)


def test_processes_that_end_or_do_not_start(monkeypatch, tmp_path):
    monkeypatch.setattr(prediction, "_command", lambda: [sys.executable, "-c", ANSWERS.format(count=2)])
    with LaunchTimer(_setup(tmp_path)) as times:
        reasons = [times.ask(QUESTION).reason for _ in range(7)]
    ended = "the kernel ended the process that predicts its time"
    assert reasons == ["", "", ended, "", "", ended, ""]
    monkeypatch.setattr(prediction, "_command", lambda: [sys.executable, "-c", "pass"])
    with LaunchTimer(_setup(tmp_path)) as times, pytest.raises(ToolchainError, match="its process ended"):
        times.ask(QUESTION)


MODEL = replace(find_model("gfx942"), clock_mhz=1000, memory_gb_per_s=1000, last_level_gb_per_s=2000)
UNITS = ("vector", "matrix", "scalar", "branch", "lds", "memory", "message", "control")
STALLS = ("unit", "result", "memory", "local", "barrier", "code")


def _launch(cycles=1e5, *, busy=None, **fields):
    time = UnitTime(
        cycles=cycles,
        error_cycles=fields.pop("error", 0.0),
        busy=dict.fromkeys(UNITS, 0.0) | (busy or {}),
        stalled=dict.fromkeys(STALLS, 0.0) | fields.pop("stalled", {}),
        steps=fields.pop("steps", 100.0),
        conflict_cycles=0.0,
        missed_lines=fields.pop("missed", 0.0),
    )
    return Launch(**({"workgroups": 304, "queue": 1, "resident": 2, "time": time} | fields))


def _composed(*launches, traffic_bytes=0, peak_us=0.0):
    return compose(launches, MODEL, traffic_bytes=traffic_bytes, peak_us=peak_us, line_bytes=128)


def test_cycles_become_microseconds_and_launches_add_up():
    unit_us = device_value("unit_scale") * 100
    assert _composed(_launch()).time_us == pytest.approx(device_value("launch_us") + unit_us)
    assert _composed(_launch(), _launch()).time_us == pytest.approx(2 * (device_value("launch_us") + unit_us))
    assert _composed(_launch(error=1000)).extrapolation_us == pytest.approx(device_value("unit_scale"))


def test_a_last_workgroup_that_takes_longer_counts_once():
    launch = _launch()
    assert launch.time is not None
    alone = replace_time(launch.time, cycles=2e4)
    longer, shorter = (replace_time(launch.time, cycles=cycles) for cycles in (3e4, 1e4))
    usual = _composed(launch).parts["compute_units"]
    added = _composed(replace_time(launch, alone=alone, edge=longer)).parts["compute_units"]
    assert added == pytest.approx(usual + device_value("unit_scale") * 10)
    assert _composed(replace_time(launch, alone=alone, edge=shorter)).parts["compute_units"] == usual


def test_the_slowest_of_what_goes_on_at_once_decides():
    unit_us, launch_us = device_value("unit_scale") * 100, device_value("launch_us")
    memory = MODEL.memory_gb_per_s * 1e3 * device_value("memory_share")
    bound = _composed(_launch(), traffic_bytes=int(1000 * memory))
    assert bound.parts["memory"] == pytest.approx(1000)
    assert bound.time_us == pytest.approx(1000 + launch_us, rel=1e-3)
    assert bound.limit == "bandwidth of memory"
    equal = _composed(_launch(), traffic_bytes=int(unit_us * memory))
    assert equal.time_us == pytest.approx(launch_us + unit_us * 2**0.25)
    # lines of 128 bytes at 2 TB/s, by each of 304 compute units
    missed = _composed(_launch(missed=1e5))
    assert missed.parts["last_level_cache"] == pytest.approx(304 * 1e5 * 128 / 2e6)


def test_memory_that_is_set_is_a_launch_of_its_own():
    zeroed = _composed(Launch(set_bytes=7 * 10**8), _launch())
    assert zeroed.parts["set"] == pytest.approx(7e8 / (1e6 * device_value("memory_share")))
    assert zeroed.parts["launch"] == 2 * device_value("launch_us")


@pytest.mark.parametrize(
    ("busy", "stalled", "limit"),
    [
        ({"matrix": 3.2e5}, {"memory": 1e5}, "matrix units"),
        ({"lds": 0.9e5}, {"memory": 1e5}, "LDS"),
        ({"vector": 1e5}, {"memory": 1e5}, "latency of global memory"),
        ({"vector": 1e5}, {"barrier": 1e5}, "barriers"),
        ({"vector": 1e5}, {"unit": 1e5}, "vector instructions"),
    ],
)
def test_the_limit_is_named(busy, stalled, limit):
    assert _composed(_launch(busy=busy, stalled=stalled)).limit == limit


def test_what_limits_a_device():
    few = _composed(_launch(busy={"lds": 0.9e5}, workgroups=76, queue=1))
    assert few.limit == "LDS; 25% of the compute units' time is used"
    time = _composed(_launch(), traffic_bytes=10**7, peak_us=20)
    assert time.ceiling_share == pytest.approx(20 / time.time_us)
    time = _composed(_launch(), traffic_bytes=3 * 10**7, peak_us=20)
    assert time.ceiling_share == pytest.approx(30 / time.time_us)


def _rules(arch):
    rules = {}
    for line in unit_table(arch).splitlines():
        name, *rest = line.split()
        if name == "instruction":
            pattern, unit, *numbers = rest
            busy, latency, chained = map(int, numbers)
            rules.setdefault(pattern, (unit, busy, latency, chained))
    return rules


def test_every_number_has_a_source():
    content = table()
    records = [
        *content["properties"].values(),
        *content["instructions"],
        *content["models"].values(),
        *content["device"].values(),
    ]
    assert {record["source"] for record in records} <= set(content["sources"])


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_every_architecture_has_every_property(arch):
    lines = [line.split() for line in unit_table(arch).splitlines()]
    numbers = {line[0]: float(line[1]) for line in lines if line[0] != "instruction"}
    assert set(table()["properties"]) < set(numbers)
    assert all(number >= 0 for number in numbers.values())
    assert models(arch)[0].arch == arch


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_every_matrix_instruction_is_in_the_table(arch):
    assert set(matrix_instructions(arch)) <= set(_rules(arch))


@pytest.mark.amd
@pytest.mark.skipif(not available(), reason="llvm-mca 22 is not installed")
@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_the_analyser_agrees_on_matrix_instructions(arch):
    names = matrix_instructions(arch)
    rules, figures = _rules(arch), analysed(arch, names)
    assert set(figures) == set(names)
    for name, (latency, throughput) in figures.items():
        busy = PASS_CYCLES * throughput
        assert rules[name] == ("matrix", busy, PASS_CYCLES * latency, busy), name


def test_products_are_found_by_their_names():
    assert find_model("gfx942").name == "MI300X"
    assert find_model("gfx942", "mi308x").compute_units == 80
    assert find_model("gfx950").name == "MI355X"
    with pytest.raises(UsageError, match="MI300X"):
        find_model("gfx942", "MI355X")
    with pytest.raises(UsageError, match="not in the table"):
        find_model("gfx1201")
