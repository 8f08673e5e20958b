"""Commands are called as processes, as in the core's tests of whole commands; most are given one kernel."""

import pytest

from tests.e2e.catalogs import write_catalog
from tests.e2e.conftest import ckprof

__all__ = ["ckprof"]

TARGET = ("--target", "hip", "--arch", "gfx942")
PROBLEM = "convfp16 -n 1 -c 40 -H 5 -W 7 -k 24 -y 3 -x 3 -p 1 -q 1 -F 1"


@pytest.fixture
def catalog(tmp_path):
    """A catalog with one kernel."""
    return write_catalog(tmp_path / "one.json", "forward", [{"pipeline": "compv1"}])
