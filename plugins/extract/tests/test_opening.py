"""What is kept of libraries between runs."""

from ckprof_plugins.extract import opening
from ckprof_plugins.extract.opening import CachedLibrary, load, save


def test_names_are_read_again_where_a_word_is_called_otherwise(monkeypatch, tmp_path):
    monkeypatch.setenv("CKPROF_CACHE_DIR", str(tmp_path))
    names = {"_ZTV1a": ["DeviceA", "fp8"]}
    save("digest", CachedLibrary(archive="a.a", readable=dict(names), headers={"a.hpp": "text"}))
    assert load("digest").readable == names
    monkeypatch.setattr(opening, "words_digest", lambda: "of other words")
    kept = load("digest")
    # what does not depend on them stays
    assert (kept.readable, kept.archive, kept.headers) == ({}, "a.a", {"a.hpp": "text"})
    save("digest", kept)
    assert load("digest").words == "of other words"
