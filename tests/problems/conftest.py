"""The directions that problem lines can name."""

import pytest

from ckprof_plugins.directions import shipped_directions


@pytest.fixture(scope="session")
def directions():
    return tuple(sorted(shipped_directions(), key=lambda direction: direction.id))
