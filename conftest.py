"""Options and fixtures that all tests share: the core's below ``tests``, and those of feature packages."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import settings

from ckprof.cli.main import GARBAGE_THRESHOLDS, main
from ckprof.errors import ToolchainError
from ckprof.model.catalog import Catalog
from ckprof.model.recipe import BuildRequest, Purpose
from ckprof.model.types import DataType
from ckprof.paths import conf_root
from ckprof.plugin.manager import PluginManager
from ckprof.plugin.registry import Registry
from ckprof_plugins.directions._convolution.layout import find_layout
from ckprof_plugins.pipelines.gemm_families import ImplicitGemmPipeline
from tests.called import Called, Ckprof, ckprof_apart
from tests.e2e.forked_calls import ForkedCalls
from tests.places import QUICK_COMPILER, TESTS, cxx

# Python's own limit has all objects looked through again and again while thousands of tests are collected.
gc.set_threshold(*GARBAGE_THRESHOLDS)

# What follows is for commands that tests start and for processes of pytest-xdist, which get it as well.
# A module is compiled once, and not by each command.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# Commands fit what they print to a width that somebody has set.
os.environ.pop("COLUMNS", None)
# Matrices of tests are small: threads that wait for each other take many times as long, above all on a busy
# machine.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Of a large processor's caches a flush before each sample would be most of the time of most commands; what is
# measured means nothing here. test_host.py has the machine's own, test_main_job.py a whole command with them.
os.environ.setdefault("CKPROF_LAST_LEVEL_CACHE", "8M")

# How long an example takes says nothing on a busy machine; other runs draw other examples.
settings.register_profile("ckprof", deadline=None, max_examples=50)
settings.load_profile("ckprof")

#: The forward instance for which a literal instance string is known, as a catalog spells it.
FORWARD_RECORD = {
    "id": 7,
    **{"tile_m": 128, "tile_n": 128, "tile_k": 32},
    **{"warp_m": 4, "warp_n": 1, "warp_k": 1},
    **{"warp_tile_m": 16, "warp_tile_n": 16, "warp_tile_k": 16},
    **{"vector_size_a": 4, "vector_size_b": 4, "vector_size_c": 4},
    "pipeline": "compv3",
    "scheduler": "intrawave",
    "epilogue": "cshuffle",
    "double_smem_buffer": False,
    "num_groups_to_merge": 1,
    "num_wave_groups": 1,
    "specialization": "default",
    "two_stage": False,
    "explicit_gemm": False,
    "split_image": False,
    "streamk_enabled": False,
    "streamk_reduction_strategy": None,
    "streamk_persistent": False,
    "compute_type": None,
    "elementwise_op": None,
    "d_layouts": None,
    "dtype_b": None,
    "dtype_result": None,
    "d_dtypes": None,
    "fold_stride": None,
    "store_immediate": None,
    "channel_padding": None,
}


#: seconds after which a test that compiles is taken to hang: many times as long as on an idle machine
COMPILING_S = 1500


def pytest_addoption(parser):
    parser.addoption("--refresh-golden", action="store_true", help="rewrite the files below golden folders")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    """Have Ctrl-C work in tests and what they start, and compile in half the time unless tests are slow ones.

    Shells ignore Ctrl-C for commands in the background, and so do some machines that test automatically.
    Thorough tests find the kernels of the fast suite in the gate's cache; see :func:`usual_compiler`. Those
    for AMD GPUs compile the emulated device, which takes minutes otherwise.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    quick = any(marked in config.option.markexpr for marked in ("thorough", "amd and not slow"))
    if quick and shutil.which("c++"):
        os.environ.setdefault("CXX", str(QUICK_COMPILER))


@pytest.hookimpl(optionalhook=True, wrapper=True)
def pytest_xdist_auto_num_workers():
    """Have one process more than there are cores: some tests wait for what they have started."""
    count = yield
    return count if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ else count + 1


@pytest.hookimpl(tryfirst=True)  # pytest-xdist's own hook chooses otherwise
def pytest_cmdline_main(config):
    """Give each process of pytest-xdist whole files, in our order: what a module shares is made once."""
    if getattr(config.option, "numprocesses", None) and config.option.dist == "no":
        config.option.dist = "loadfile"
        config.option.loadscopereorder = False


def pytest_collection_modifyitems(items):
    """Give what compiles time, and skip it where there is no compiler; the first process compiles for all.

    Whole commands take the longest: they come first, so that no process is left with them in the end.
    """
    if "PYTEST_XDIST_WORKER" in os.environ:
        items.sort(key=lambda item: not calls_whole_commands(Path(item.location[0])))
    for item in items:
        compiles = any(map(item.get_closest_marker, ("compiler", "amd", "cuda")))
        if compiles and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(COMPILING_S))
        if not item.get_closest_marker("compiler"):
            continue
        if cxx() is None:
            item.add_marker(pytest.mark.skip(reason="no C++ compiler found"))
        if "PYTEST_XDIST_WORKER" in os.environ and "host_runtime" not in item.fixturenames:
            item.fixturenames.insert(0, "host_runtime")


def calls_whole_commands(path: Path) -> bool:
    """Say whether the tests of a file do, by its place in the checkout and its name."""
    return not {"e2e", "docs"}.isdisjoint(path.parts) or path.name.startswith("test_amd")


def pytest_collection_finish():
    """Leave what was collected alone from now on, and compile what tests write each time.

    The collector need not look at tests and modules, which stay. Two modules of one size in a second would
    pass for the same.
    """
    gc.freeze()
    sys.dont_write_bytecode = True


@pytest.fixture(scope="session", autouse=True)
def shared_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep the tests' objects out of the user's cache, but let the tests share them."""
    if "CKPROF_CACHE_DIR" not in os.environ:
        os.environ["CKPROF_CACHE_DIR"] = str(tmp_path_factory.getbasetemp().parent / "ckprof-cache")


def of_all_processes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that the processes of this run of the tests share, and no other run."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


@pytest.fixture(scope="session")
def host_runtime(shared_cache: None, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Compile what every library for the CPU is linked with, which takes longer than most tests' kernels.

    Test processes that need it at the same time would each compile it: builds share what is finished.
    """
    from filelock import FileLock

    folder = of_all_processes(tmp_path_factory) / "host-runtime"
    conf = TESTS / "data" / "shipped" / "forward" / "tests" / "nhwgc_fp16.conf"
    # with more kernels than compilers, the header that they share is precompiled: later builds use it as well
    command = ["build", "fwd", "--conf", conf, "--instance", "0-2", "--jobs", "2"]
    command += ["--build-dir", folder / "build"]
    with FileLock(f"{folder}.lock"):
        if not folder.exists():
            folder.mkdir()
            # where it fails, the tests that need it say why
            ckprof_apart(*command)


@pytest.fixture(scope="session")
def host_model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where objects of the host model's runtime are kept, see :func:`cpp_programs.runtime_objects`."""
    return of_all_processes(tmp_path_factory) / "host-model"


@pytest.fixture(scope="session")
def host_model_objects(host_runtime: None) -> list[Path]:
    """The host model's runtime and device table, as all libraries for the CPU are linked with them.

    What is linked with them takes ``-march=native``.
    """
    from tests.plugins.targets.cpu.cpp_programs import objects_of_builds

    return objects_of_builds()


@pytest.fixture(scope="session")
def upstream_lists(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The lists as upstream ships them: those for which upstream's catalogs are known, byte for byte."""
    root = tmp_path_factory.mktemp("upstream") / "conf"
    for path in conf_root().glob("*/*/*.conf"):  # lists deeper down have element-wise operations
        if path.parts[-3] != "gemm":
            copy = root / path.relative_to(conf_root())
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
    shutil.copytree(TESTS / "data" / "shipped", root, dirs_exist_ok=True)
    return root


@pytest.fixture
def golden(request):
    """Compare a text with a golden file, or write the file with ``--refresh-golden``.

    Golden files lie in the folder ``golden`` of the nearest folder ``tests`` above the test.
    """
    tests = next(folder for folder in request.path.parents if folder.name == "tests")

    def compare(name, text):
        path = tests / "golden" / name
        if request.config.getoption("--refresh-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        assert text == path.read_text()

    return compare


@pytest.fixture(scope="session")
def registry() -> Registry:
    """What all plugins that come with ckprof have registered."""
    manager = PluginManager()
    manager.load_all()
    return Registry(manager)


@pytest.fixture(scope="session")
def make_record():
    """Return a record of a forward catalog, with changes."""
    return lambda **changes: SimpleNamespace(**{**FORWARD_RECORD, **changes})


@pytest.fixture(scope="session")
def make_instance(make_record):
    """Return an instance of a record with changes; of the implicit-GEMM family unless requested otherwise."""

    def make(*, family=ImplicitGemmPipeline, layout="nhwgc", dtype="bf16", direction="fwd", **changes):
        found = find_layout(layout)
        catalog = Catalog(variant="forward", ndim=found.ndim, layout=found, dtype=DataType(dtype), records=())
        return family().make_instance(catalog, direction, make_record(**changes))

    return make


@pytest.fixture
def ckprof(ckprof_within: Ckprof) -> Ckprof:
    """Call ``ckprof`` in ``tmp_path``, within the test's process unless the folder's tests do otherwise."""
    return ckprof_within


@pytest.fixture
def ckprof_within(capfd, tmp_path, monkeypatch) -> Ckprof:
    """Call ``ckprof`` in ``tmp_path``, within the test's process."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        capfd.readouterr()
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as exc:
            code = exc.code
        out, err = capfd.readouterr()
        assert "Traceback" not in err
        return Called(int(code), out, err)

    return call


@pytest.fixture(scope="session")
def forked_calls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForkedCalls]:
    """A process that has imported ckprof."""
    calls = ForkedCalls(tmp_path_factory.mktemp("forked-calls"))
    yield calls
    calls.end()


@pytest.fixture
def ckprof_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forked_calls: ForkedCalls) -> Ckprof:
    """Call ``ckprof`` as a process, in ``tmp_path``, with a cache that the session shares."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str | Path, env: dict[str, str] | None = None, timeout: float = 240) -> Called:
        words = [*map(str, arguments)]
        environment = {**os.environ, "NO_COLOR": "1", **(env or {})}
        if forked_calls.serves(environment):
            return Called(*forked_calls.call(words, tmp_path, environment, timeout))
        return ckprof_apart(*words, timeout=timeout, cwd=tmp_path, env=environment)

    return call


@pytest.fixture
def short_list(tmp_path: Path) -> Path:
    """Four forward instances: one for fp16 3x3 problems of each kind, and one that needs C == 1."""
    lines = (TESTS / "data" / "shipped" / "forward" / "tests" / "nhwgc_fp16.conf").read_text().splitlines()
    path = tmp_path / "short.conf"
    path.write_text("\n".join(["# a comment", lines[0], lines[13], lines[28], lines[59]]) + "\n")
    return path


@pytest.fixture(scope="module")
def usual_compiler() -> Iterator[None]:
    """Compile as users do, where kernels' numbers are what a thorough test is about."""
    with pytest.MonkeyPatch.context() as patch:
        if os.environ.get("CXX") == str(QUICK_COMPILER):
            patch.delenv("CXX")
        yield


@pytest.fixture(scope="module")
def amd_toolchain() -> None:
    """Skip what needs a compiler for AMD GPUs and CK Tile headers in ``$CK_ROOT`` where one is missing."""
    if not os.environ.get("CK_ROOT"):
        pytest.skip("CK_ROOT names no CK Tile headers")
    from ckprof_plugins.targets.hip.target import DEFAULT_ARCH, HipTarget

    try:
        HipTarget().recipe(BuildRequest(arch=DEFAULT_ARCH, purpose=Purpose.INSPECT))
    except ToolchainError as exc:
        pytest.skip(str(exc).splitlines()[0])
