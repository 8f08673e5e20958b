"""The same as pytest fixtures: put ``pytest_plugins = ["ckprof.testing.fixtures"]`` into ``conftest.py``."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ckprof.testing.plugins import registry_with, run_instance, write_list

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ckprof.plugin.registry import Registry
    from ckprof.results import Result


@pytest.fixture
def ckprof_registry() -> Callable[..., Registry]:
    """Return :func:`ckprof.testing.registry_with`."""
    return registry_with


@pytest.fixture
def ckprof_list(tmp_path: Path) -> Callable[[str, Iterable[str]], Path]:
    """Return a function that writes a list of a name and lines into the test's folder."""

    def write(name: str, lines: Iterable[str]) -> Path:
        return write_list(tmp_path / name, lines)

    return write


@pytest.fixture
def ckprof_run(tmp_path: Path) -> Callable[..., Result]:
    """Return :func:`ckprof.testing.run_instance`, building in the test's folder."""
    return partial(run_instance, build_dir=tmp_path / "ckprof-build")
