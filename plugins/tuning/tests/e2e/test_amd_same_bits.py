"""Predicted times are the same to the bit in any order, with any threads, whatever built the device."""

from __future__ import annotations

import shutil
from itertools import product
from pathlib import Path

import pytest

import ckprof
from ckprof.kernels.requests import BuildOptions
from tests.e2e.catalogs import write_catalog

pytest.importorskip("ckprof_plugins.emulator")

from ckprof_plugins.emulator import answers, library, prediction
from ckprof_plugins.tuning import PredictOptions, predict

pytestmark = [pytest.mark.amd, pytest.mark.usefixtures("amd_toolchain"), pytest.mark.timeout(3600)]

ARCH = "gfx942"
KERNELS = [{"pipeline": "compv1"}, {"pipeline": "compv3", "tile_m": 128, "tile_n": 128}]
#: compilers and levels of optimisation of the emulated device
BUILDS = [*product(("g++", "clang++-19"), ("-O2", "-O3"))]


def lines(count):
    """Return so many problems, each of other sizes."""
    sizes = product((1, 2, 4), (7, 8, 10, 14), (64, 72, 96, 128), (64, 128, 192), (1, 3), (1, 2))
    made = [
        f"convfp16 -n {n} -c {c} -H {image} -W {image} -k {k} -y {y} -x {y} -p {y // 2} -q {y // 2} "
        f"-u {stride} -v {stride} -F 1"
        for n, image, c, k, y, stride in sizes
    ]
    # neighbours of the list are alike
    step = max(1, len(made) // count)
    return made[::step][:count]


def predicted(folder, problems, kernels=KERNELS, *, profile=False):
    """Return (problem, kernel) -> everything that was predicted, nothing of which is taken from the cache."""
    profiler = ckprof.Profiler()
    conf = write_catalog(folder / "kernels.json", "forward", kernels)
    query = ckprof.InstanceQuery(conf=conf, directions="fwd", target="hip", arch=ARCH)
    options = PredictOptions(
        selection=profiler.instances(query).require(),
        problems=tuple(profiler.problems("fwd", problems)),
        build=BuildOptions(target="hip", arch=ARCH),
        profile=profile,
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(answers.AnswerCache, "find", lambda *_: None)
        found = predict(profiler, options)
    return {
        (case.problem, row.kernel.name): row.time or row.answer.reason
        for case, rows in found.problems
        for row in rows
    }


def runtime_of(compiler, level, patch):
    """Compile the emulated device; return the variable that makes kernels use it."""
    patch.setenv("CXX", compiler)
    flags = tuple(level if flag == "-O3" else flag for flag in library._FLAGS)
    patch.setattr(library, "_FLAGS", flags)
    return str(library.emulator_library().parent)


def with_build(compiler, level, folder, problems, **more):
    """Return the same, predicted by an emulated device that was built so."""
    started = []
    start = prediction.LaunchTimer._start

    def noted(self):
        start(self)
        maps = Path(f"/proc/{self._process.pid}/maps").read_text()
        started.append({line.split()[-1] for line in maps.splitlines() if library.RUNTIME_LIBRARY in line})

    with pytest.MonkeyPatch.context() as patch:
        place = runtime_of(compiler, level, patch)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LD_LIBRARY_PATH", place)
        patch.setattr(prediction.LaunchTimer, "_start", noted)
        found = predicted(folder, problems, **more)
    # it is that one that has answered
    assert started and all(maps == {f"{place}/{library.RUNTIME_LIBRARY}"} for maps in started)
    return found


def test_order_threads_and_profiles_change_no_bit(tmp_path, monkeypatch):
    problems = lines(6)
    first = predicted(tmp_path, problems)
    assert len(first) == 12
    assert sum(not isinstance(time, str) for time in first.values()) > 6
    for threads, order in (("1", problems), ("2", problems[::-1])):
        monkeypatch.setenv("CKPROF_EMULATED_THREADS", threads)
        assert predicted(tmp_path, order) == first
    profiles = predicted(tmp_path, problems, profile=True)
    times = {at: time if isinstance(time, str) else time.cycles for at, time in first.items()}
    assert {at: time if isinstance(time, str) else time.cycles for at, time in profiles.items()} == times


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("clang++-19"), reason="there is no clang++-19")
def test_compilers_and_levels_of_optimisation_change_no_bit(tmp_path):
    problems = lines(24)
    found = [with_build(*build, tmp_path, problems) for build in BUILDS]
    assert all(other == found[0] for other in found[1:])
