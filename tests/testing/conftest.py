"""The example package, and lists to try objects on."""

import importlib
import sys
from pathlib import Path

import pytest

from ckprof.kernels.requests import BuildOptions
from ckprof.paths import conf_root
from ckprof.profiler import Profiler
from ckprof.testing.contract import CheckVerdict, ContractCheck
from ckprof.testing.fixtures import ckprof_list, ckprof_registry, ckprof_run  # noqa: F401 - fixtures
from ckprof.testing.samples import Samples

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "naive_gather"


@pytest.fixture(scope="module")
def example():
    """The example's plugin module, without installing it."""
    sys.path.insert(0, str(EXAMPLE))
    try:
        yield importlib.import_module("ckprof_naive_gather.plugin")
    finally:
        sys.path.remove(str(EXAMPLE))


#: instances that are small to compile
LIST = conf_root() / "forward" / "tests" / "nhwgc_fp16.conf"


@pytest.fixture
def samples(tmp_path):
    """Make samples of some lists; nothing is built before they are asked for a run."""

    def make(*lists, kind=Samples):
        return kind(Profiler(), [*lists] or [LIST], tmp_path, BuildOptions())

    return make


def verdicts(trials):
    """Try all up to the first that fails; return the name of each with its verdict and what was found."""
    found = {}
    for name, action in trials:
        tried = ContractCheck.of("it", name, action)
        found[name] = (tried.verdict.value, tried.detail)
        if tried.verdict is not CheckVerdict.PASSED:
            break
    return found
