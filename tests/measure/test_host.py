import os

import pytest

from ckprof.errors import UsageError
from ckprof.measure.host import (
    LAST_LEVEL_CACHE_VARIABLE,
    cpu_model,
    cpuinfo_field,
    host_properties,
    last_level_cache_bytes,
)


@pytest.fixture(autouse=True)
def machine_says(monkeypatch):
    """Ask the machine: the other tests name a small cache."""
    monkeypatch.delenv(LAST_LEVEL_CACHE_VARIABLE, raising=False)


def cache(root, cpu, index, level, size, shared, kind="Unified"):
    folder = root / f"cpu{cpu}" / "cache" / f"index{index}"
    folder.mkdir(parents=True)
    for name, text in {"level": str(level), "size": size, "shared_cpu_list": shared, "type": kind}.items():
        (folder / name).write_text(f"{text}\n")


def test_each_last_level_cache_counts_once(tmp_path):
    for cpu, shared in enumerate(("0-1", "0-1", "2-3", "2-3")):
        cache(tmp_path, cpu, 0, 1, "32K", str(cpu), "Data")
        cache(tmp_path, cpu, 1, 1, "64M", str(cpu), "Instruction")
        cache(tmp_path, cpu, 3, 3, "16M", shared)
    (tmp_path / "cpufreq").mkdir()
    assert last_level_cache_bytes(tmp_path) == 32 * 2**20


def test_unreadable_caches_are_left_out(tmp_path):
    cache(tmp_path, 0, 0, 1, "48K", "0", "Data")
    cache(tmp_path, 0, 2, 2, "?", "0")
    (tmp_path / "cpu0" / "cache" / "index3").mkdir()
    assert last_level_cache_bytes(tmp_path) == 48 * 2**10


def test_an_unknown_size_is_assumed(tmp_path):
    assert last_level_cache_bytes(tmp_path) == 32 * 2**20


@pytest.mark.parametrize(("text", "size"), [("4096", 4096), ("512k", 2**19), (" 8M", 2**23), ("1G", 2**30)])
def test_the_environment_wins(tmp_path, monkeypatch, text, size):
    cache(tmp_path, 0, 3, 3, "16M", "0-1")
    monkeypatch.setenv(LAST_LEVEL_CACHE_VARIABLE, text)
    assert last_level_cache_bytes(tmp_path) == size
    assert host_properties()["last_level_cache_bytes"] == size
    monkeypatch.setenv(LAST_LEVEL_CACHE_VARIABLE, "")
    assert last_level_cache_bytes(tmp_path) == 16 * 2**20


@pytest.mark.parametrize("text", ["much", "0", "-1", "M", "1.5M", "3T"])
def test_an_environment_that_names_no_size_is_an_error(tmp_path, monkeypatch, text):
    monkeypatch.setenv(LAST_LEVEL_CACHE_VARIABLE, text)
    with pytest.raises(UsageError, match=f"{LAST_LEVEL_CACHE_VARIABLE} is '{text}', expected bytes"):
        last_level_cache_bytes(tmp_path)


def test_reads_the_first_processor(tmp_path):
    first = "processor\t: 0\nmodel name\t: Some CPU @ 2 GHz: fast\nflags\t\t: avx fma\n"
    (tmp_path / "cpuinfo").write_text(f"{first}\nprocessor\t: 1\nflags\t: none\n")
    assert cpu_model(tmp_path / "cpuinfo") == "Some CPU @ 2 GHz: fast"
    assert cpuinfo_field("flags", tmp_path / "cpuinfo") == "avx fma"
    assert cpuinfo_field("Features", tmp_path / "cpuinfo") == ""
    assert cpuinfo_field("flags", tmp_path / "none") == ""
    assert cpu_model(tmp_path / "none")


def test_facts_of_this_machine():
    properties = host_properties()
    assert 1 <= properties["cores"] <= (os.cpu_count() or 1)
    assert properties["memory_bytes"] > 2**20 and properties["last_level_cache_bytes"] > 2**10
    assert all(properties[name] for name in ("processor", "machine", "os", "kernel", "python"))
