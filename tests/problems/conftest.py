"""The directions that problem lines can name."""

from __future__ import annotations

import pytest

from ckprof_plugins.directions import shipped_directions
from ckprof_plugins.directions._convolution.direction import Direction


@pytest.fixture(scope="session")
def directions() -> tuple[Direction, ...]:
    return tuple(sorted(shipped_directions(), key=lambda direction: direction.id))
