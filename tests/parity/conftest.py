"""Sides of comparisons."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckprof.kernels.candidates import list_candidates
from ckprof.lists.list_files import read_list
from ckprof.model.conversion import ConversionRequest
from ckprof.model.strings.kind import default_revision
from ckprof.parity.side import Entry, StringSide, builder_side, read_builder
from ckprof.paths import conf_root

from .samples import STREAM_K_LIST
from .told_library import build_told_library


@pytest.fixture(scope="session")
def side_of(registry):
    """Make a side of texts; each stands for an instance of its own unless ``identities`` says otherwise."""

    def make(texts, name="catalog", identities=None, **more):
        texts = list(texts)
        marks = list(identities) if identities is not None else list(range(len(texts)))
        entries = tuple(
            Entry(text=text, parsed=registry.strings.parse(text), source=f"{name}:{number}", identity=mark)
            for number, (text, mark) in enumerate(zip(texts, marks, strict=True), 1)
        )
        return StringSide(name=name, origin=name, entries=entries, **more)

    return make


@pytest.fixture(scope="session")
def builder_of(registry):
    """Read lines as CK Builder does."""

    def read(*lines, name="list.conf", **request):
        data = "\n".join([*lines, ""]).encode()
        found = ConversionRequest(path=Path(name), data=data, **request)
        return builder_side([read_builder(found, registry, default_revision())], registry.strings)

    return read


@pytest.fixture(scope="session")
def told(registry):
    """Content key -> string of the instances of a list."""
    conversion = read_list(conf_root() / f"{STREAM_K_LIST}.conf", registry)
    return {c.instance.key: c.instance_string for c in list_candidates([conversion], registry)}


@pytest.fixture(scope="session")
def truthful(told, tmp_path_factory):
    """A library whose kernels say what they should."""
    return build_told_library(tmp_path_factory.mktemp("told") / "libtold.so", told)
