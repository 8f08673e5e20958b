from __future__ import annotations

import pytest

from .fakes import build_library, find_compiler


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    """The fake kernel library, compiled once."""
    if find_compiler() is None:
        pytest.skip("no C++ compiler")
    return build_library(tmp_path_factory.mktemp("library") / "libfake.so")
