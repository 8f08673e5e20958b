"""What is in the digest of the time model."""

from dataclasses import replace

import pytest

from ckprof_plugins.emulator import model_digest as module
from ckprof_plugins.emulator.model_digest import model_digest
from ckprof_plugins.emulator.tables import find_model

MODEL = find_model("gfx942")


def test_the_product_and_the_architecture_are_in_it():
    digests = {
        model_digest("gfx942", MODEL),
        model_digest("gfx942", find_model("gfx942", "MI308X")),
        model_digest("gfx942", replace(MODEL, clock_mhz=MODEL.clock_mhz + 1)),
        model_digest("gfx950", find_model("gfx950")),
    }
    assert len(digests) == 4
    assert model_digest("gfx942", MODEL) in digests


@pytest.mark.parametrize("name", ["timing.cpp", "kernel.hpp"])
def test_the_sources_of_the_emulated_device_are_in_it(name, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "SOURCE_DIR", tmp_path)
    (tmp_path / name).write_text("int a;")
    before = model_digest("gfx942", MODEL)
    (tmp_path / name).write_text("int b;")
    assert model_digest("gfx942", MODEL) != before


def test_the_modules_that_compose_times_are_in_it(tmp_path, monkeypatch):
    for name in module._MODULES:
        (tmp_path / name).write_text("one")
    monkeypatch.setattr(module, "__file__", str(tmp_path / "model_digest.py"))
    before = model_digest("gfx942", MODEL)
    for name in module._MODULES:
        (tmp_path / name).write_text("two")
        changed = model_digest("gfx942", MODEL)
        assert changed != before, name
        before = changed
