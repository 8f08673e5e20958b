"""Folders of sweeps that others have made, or can change, are refused."""

# ruff: noqa: F811 - fixtures are parameters

from pathlib import Path

import pytest

from ckprof_plugins.cluster.folder import ObjectFolder, SweepFolder
from ckprof_plugins.cluster.messages import Loaded
from ckprof_plugins.cluster.partial import MergePool
from tests.shared_folders import (  # noqa: F401 - fixtures
    Place,
    check_made_is_private,
    check_others_are_refused,
    check_writable_is_refused,
    give,
    places,
    plant,
    shared,
)

PLACES = {
    "folder of a sweep": ("place.sweep", lambda shared: SweepFolder.beside(shared / "place").make()),
    "shared folder of a sweep": (
        SweepFolder.below(Path("/"), Path("/r.db")).root.name,
        lambda shared: SweepFolder.below(shared, Path("/r.db")).make(),
    ),
    "objects of a sweep": ("place", lambda shared: ObjectFolder(shared / "place").put(b"job")),
    "partial stores": ("place", lambda shared: MergePool(shared / "place", 1, Loaded())._submit(())),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", ["folder", "link"])
def test_what_another_user_made_is_refused(place, kind, plant, give, places, tmp_path):
    check_others_are_refused(PLACES[place], kind, plant, give, places, tmp_path)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("mode", [0o777, 0o757])
def test_a_folder_that_others_can_write_to_is_refused(place, mode, plant, places):
    check_writable_is_refused(PLACES[place], mode, plant, places)


@pytest.mark.parametrize("place", PLACES)
def test_nobody_else_gets_into_what_is_made(place, places, monkeypatch):
    check_made_is_private(PLACES[place], places, monkeypatch)
