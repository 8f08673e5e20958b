"""Commands are called as processes, as in the core's tests of whole commands; most are given one kernel."""

import json
import os
import shutil
from pathlib import Path

import pytest

from tests.e2e.catalogs import write_catalog
from tests.e2e.conftest import ckprof

__all__ = ["ckprof"]

TARGET = ("--target", "hip", "--arch", "gfx942")
PROBLEM = "convfp16 -n 1 -c 40 -H 5 -W 7 -k 24 -y 3 -x 3 -p 1 -q 1 -F 1"


def changed_headers(root, folder, changes):
    """Link a tree's headers in a folder, and change some there.

    :param changes: header below ``ck_tile`` -> what makes another text of its text.
    """
    shutil.copytree(Path(root, "include"), folder, copy_function=os.link)
    for name, change in changes.items():
        header = folder / "ck_tile" / name
        text = change(header.read_text())
        # the file itself belongs to the tree that was linked
        header.unlink()
        header.write_text(text)
    return folder


def outcome_of(called):
    """Return status and reason of the one kernel that was run on one problem."""
    assert called.code in (0, 1), called.err
    (problem,) = json.loads(called.out)["problems"]
    (outcome,) = problem["outcomes"]
    return outcome["status"], outcome.get("reason") or ""


@pytest.fixture
def catalog(tmp_path):
    """A catalog with one kernel."""
    return write_catalog(tmp_path / "one.json", "forward", [{"pipeline": "compv1"}])
