"""Where the tests of stores have their store."""

import pytest


@pytest.fixture
def path(tmp_path):
    return tmp_path / "results.db"
