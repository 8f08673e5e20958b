"""Generated kernels on the hip target's runtime, without a GPU: those of the host model, launched by the fake
HIP runtime, which counts their time. Their memory is looked at on the emulated device."""

from dataclasses import replace
from pathlib import Path

import pytest

from ckprof.events import Message
from ckprof.kernels.build_dir import BuildDir
from ckprof.kernels.builder import build_tree
from ckprof.kernels.cache import ObjectCache
from ckprof.kernels.source_tree import generate_tree
from ckprof.measure.options import RunOptions
from ckprof.model.outcome import Status
from ckprof.model.recipe import BuildRequest
from ckprof.paths import object_cache_dir
from ckprof_plugins.directions._convolution.problem import ConvProblem
from ckprof_plugins.directions.bwd_weight import BackwardWeight
from ckprof_plugins.directions.fwd import Forward
from ckprof_plugins.pipelines.gemm_families import ImplicitGemmPipeline
from ckprof_plugins.targets.cpu.target import CpuTarget
from ckprof_plugins.targets.hip.recipe import INCLUDE_DIR, PREFIX_HEADER
from tests.candidates import candidates_of
from tests.measure.run_instances import run_instances

pytestmark = [pytest.mark.compiler, pytest.mark.thorough]

#: its headers are found before those of the host model
FAKE_HIP = Path(__file__).parent / "fake_hip"
RUNTIME = INCLUDE_DIR.parent / "src" / "target.cpp"
#: what the host model models unless requested otherwise
ARCH = CpuTarget().default_arch
MIB = 1 << 20
TILE = {
    **{"tile_m": 64, "tile_n": 64, "tile_k": 32, "warp_m": 2, "warp_n": 2},
    **{"vector_size_a": 8, "vector_size_b": 8, "vector_size_c": 8},
}
PROBLEM = ConvProblem(
    **{"groups": 2, "batch": 2, "out_channels": 32, "in_channels": 16},
    **{"filter": (3, 3), "input": (8, 8), "strides": (1, 1), "dilations": (1, 1)},
    **{"left_pads": (1, 1), "right_pads": (1, 1)},
)
#: of the device, for each block
BLOCK_MS = 0.010


@pytest.fixture(scope="module")
def make_library(amdhip, tmp_path_factory):
    """Return a function that builds generated kernels with the hip target's runtime source."""

    def make(direction, instances):
        folder = amdhip.parent
        # the problem is tiny: what compiling takes is all that counts
        host = CpuTarget().recipe(BuildRequest(arch=ARCH, extra_flags=("-O0",)))
        (table,) = (source for source in host.support_sources if source.name == "device_table.cpp")
        model = [source for source in host.support_sources if source.name.startswith("host_model_")]
        recipe = replace(
            host,
            target="hip",
            include_dirs=(FAKE_HIP, *host.include_dirs),
            prefix_header=PREFIX_HEADER,
            functions_per_unit=2,
            support_sources=(RUNTIME, *model, table),
            link_flags=(*host.link_flags, f"-L{folder}", f"-Wl,-rpath,{folder}", "-lamdhip64"),
        )
        root = tmp_path_factory.mktemp(direction.id)
        tree = generate_tree(
            BuildDir(root=root, direction=direction, target=None, arch=recipe.arch, recipe=recipe),
            candidates_of(instances, {"implicit_gemm": ImplicitGemmPipeline()}),
        )
        cache = ObjectCache(object_cache_dir())
        built = build_tree(tree, recipe, work_dir=root, cache=cache, timeout_s=300, jobs=1)
        assert not built.failures
        return built.library

    return make


@pytest.fixture(scope="module")
def forward(make_instance):
    changes = {**TILE, "dtype": "fp16"}
    return [make_instance(**changes, id=id, pipeline=name) for id, name in enumerate(("compv1", "mem"))]


@pytest.fixture(scope="module")
def forward_library(make_library, forward):
    return make_library(Forward(), forward)


@pytest.fixture
def measure(tmp_path, monkeypatch):
    """Return a function that measures kernels on the second device and returns outcomes and events."""
    monkeypatch.setenv("FAKE_HIP_DEVICES", f"gfx90a,{ARCH}")

    def call(library, direction, instances, **options):
        seen = []
        given = {"rounds": 1, "timeout_s": 60.0, "max_time_s": 0.05, "flush_bytes": 4 * MIB, **options}
        (tmp_path / "locks").mkdir()
        outcomes = run_instances(
            library,
            ARCH,
            direction,
            instances,
            [PROBLEM],
            RunOptions(device=1, cpu_threads=1, **given),
            lock_dir=tmp_path / "locks",
            on_event=seen.append,
        )
        return list(outcomes), seen

    return call


def test_forward_kernels_are_verified_and_timed(forward_library, forward, measure, tmp_path, monkeypatch):
    """Two tiles of each of two groups; the flush hides the launch."""
    monkeypatch.setenv("FAKE_HIP_LOG", str(tmp_path / "calls"))
    outcomes, seen = measure(forward_library, Forward(), forward)
    assert [outcome.key for outcome in outcomes] == [instance.key for instance in forward]
    for outcome in outcomes:
        assert outcome.status is Status.OK, outcome.reason
        assert outcome.verification.passed
        assert outcome.measurement.time_ms == pytest.approx(4 * BLOCK_MS, abs=1e-6)
    texts = [event.text for event in seen if isinstance(event, Message)]
    devices = [text.split(",")[0] for text in texts if text.startswith("device: ")]
    assert devices == [f"device: Fake GPU 1 ({ARCH})"]
    calls = (tmp_path / "calls").read_text().split()
    # at least the verified run and three samples of each
    assert calls.count("hipLaunchKernel") >= 8
    assert calls.count("hipEventElapsedTime") == calls.count("hipLaunchKernel")


def test_a_split_reduction_is_verified_and_timed(make_library, make_instance, measure):
    """Three tiles of two groups in two parts, behind the zeroing of the result."""
    instances = [make_instance(direction="bwd_weight", dtype="fp16", pipeline="compv3", **TILE)]
    library = make_library(BackwardWeight(), instances)
    (outcome,), _ = measure(library, BackwardWeight(), instances, splits=(2,))
    assert outcome.status is Status.OK, outcome.reason
    assert outcome.verification.passed
    zeroing_ms = 0.040 * (2 * PROBLEM.weight_elements) / MIB
    assert outcome.measurement.time_ms == pytest.approx(12 * BLOCK_MS + zeroing_ms, abs=1e-6)


def test_a_fault_costs_a_worker_and_no_outcome(forward_library, forward, measure, tmp_path, monkeypatch):
    fault = tmp_path / "fault"
    fault.touch()
    monkeypatch.setenv("FAKE_HIP_LOG", str(tmp_path / "calls"))
    monkeypatch.setenv("FAKE_HIP_FAIL", "hipLaunchKernel:1:719")
    monkeypatch.setenv("FAKE_HIP_ONCE", str(fault))
    (faulty, last), seen = measure(forward_library, Forward(), forward)
    # measured again: the device may fail for once
    assert faulty.status is Status.OK, faulty.reason
    assert last.status is Status.OK, last.reason
    assert last.verification.passed
    assert not fault.exists()
    texts = [event.text for event in seen if isinstance(event, Message)]
    assert len([text for text in texts if text.startswith("worker lost: ")]) == 1
    # each worker selects its device once
    assert (tmp_path / "calls").read_text().split().count("hipSetDevice") == 2
