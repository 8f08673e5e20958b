import os
from pathlib import Path

from ckprof import paths


def test_the_environment_moves_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("CKPROF_CACHE_DIR", str(tmp_path))
    assert paths.cache_dir() == tmp_path
    assert paths.object_cache_dir().parent == paths.work_dir().parent == tmp_path
    monkeypatch.setenv("CKPROF_CACHE_DIR", "~/somewhere")
    assert paths.cache_dir() == Path.home() / "somewhere"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CKPROF_CACHE_DIR", "relative")
    assert paths.cache_dir() == tmp_path / "relative"


def test_builds_are_elsewhere_where_the_cache_is_read_only(tmp_path, monkeypatch):
    monkeypatch.setenv("CKPROF_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(os, "access", lambda path, mode: (path, mode) != (tmp_path, os.W_OK))
    assert paths.object_cache_dir().parent == tmp_path
    assert not paths.work_dir().is_relative_to(tmp_path)


def test_the_system_decides_without_it_and_lists_are_found(monkeypatch, tmp_path):
    monkeypatch.delenv("CKPROF_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert paths.cache_dir().name == "ckprof"
    assert paths.cache_dir().is_absolute()
    assert list(paths.conf_root().rglob("*.conf"))


def test_a_shipped_list_has_its_name_wherever_it_lies(tmp_path, monkeypatch):
    assert (
        paths.lasting_name(paths.conf_root() / "forward" / "tests" / "nhwgc_fp16.conf")
        == "forward/tests/nhwgc_fp16.conf"
    )
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here.conf").touch()
    assert paths.lasting_name(tmp_path / "here.conf") == "here.conf"
    assert paths.lasting_name("--problem") == "--problem"
