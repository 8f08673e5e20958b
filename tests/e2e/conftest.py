"""Calls ckprof as a user does: as a process, in a folder of its own."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
LISTS = ROOT / "conf"
#: upstream's own lists, whose lines tests name by number
SHIPPED = ROOT / "tests" / "data" / "shipped"


@pytest.fixture
def ckprof(ckprof_process):
    """Call ``ckprof`` as a process, in ``tmp_path``, with a cache that the session shares."""
    return ckprof_process
