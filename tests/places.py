"""Folders of files that tests read, and the compiler that they call."""

import importlib.util
import os
import shutil
from pathlib import Path

from ckprof_plugins import FEATURE_PACKAGES

TESTS = Path(__file__).parent
GOLDEN = TESTS / "golden"
PLUGINS = TESTS.parent / "plugins"
#: A compiler whose kernels are slow, which small matrices do not show.
QUICK_COMPILER = TESTS / "quick_c++"


def belongs_to_tests(path):
    """Say whether a file of the checkout, which may lie anywhere, belongs to tests."""
    return "tests" in path.relative_to(TESTS.parent).parts


def left_out(path):
    """Say whether a path leads into a feature package that is not there."""
    if not path.is_relative_to(PLUGINS):
        return False
    package = path.relative_to(PLUGINS).parts[0]
    return package in FEATURE_PACKAGES and not (PLUGINS / package).exists()


def ci_script(name):
    """Return a script of the gate as a module."""
    spec = importlib.util.spec_from_file_location(name, TESTS.parent / ".ci" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def cxx():
    """Return the C++ compiler that tests call by themselves, if there is one."""
    return os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++")
