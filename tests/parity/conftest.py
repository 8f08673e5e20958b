"""Sides of comparisons, and ``ckprof`` called in the test's own process."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest

from ckprof.cli.main import main
from ckprof.lists.list_files import read_list
from ckprof.model.conversion import ConversionRequest
from ckprof.model.strings.kind import default_revision
from ckprof.parity.side import Entry, StringSide, builder_side, catalog_side, read_builder
from ckprof.plugin.manager import PluginManager
from ckprof.plugin.registry import Registry


@dataclass(frozen=True)
class Called:
    """What one call of ckprof gave."""

    code: int
    out: str
    err: str


@pytest.fixture(scope="session")
def registry() -> Registry:
    manager = PluginManager()
    manager.load_all()
    return Registry(manager)


@pytest.fixture
def ckprof(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Call ``ckprof`` in ``tmp_path``."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str | Path) -> Called:
        capsys.readouterr()
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as exc:
            code = int(exc.code or 0)
        printed = capsys.readouterr()
        return Called(code, printed.out, printed.err)

    return call


@pytest.fixture(scope="session")
def side_of(registry: Registry) -> Callable[..., StringSide]:
    """Make a side of texts; each stands for an instance of its own unless ``identities`` says otherwise."""

    def make(
        texts: Iterable[str],
        name: str = "catalog",
        identities: Iterable[object] | None = None,
        **more: object,
    ) -> StringSide:
        texts = list(texts)
        marks = list(identities) if identities is not None else list(range(len(texts)))
        entries = tuple(
            Entry(
                text=text,
                parsed=registry.strings.parse(text),
                source=f"{name}:{number}",
                identity=mark,
            )
            for number, (text, mark) in enumerate(zip(texts, marks, strict=True), 1)
        )
        return StringSide(name=name, origin=name, entries=entries, **more)

    return make


@pytest.fixture(scope="session")
def builder_of(registry: Registry) -> Callable[..., StringSide]:
    """Read lines as CK Builder does."""

    def read(*lines: str, name: str = "list.conf", **request: object) -> StringSide:
        data = "\n".join([*lines, ""]).encode()
        found = ConversionRequest(path=Path(name), data=data, **request)
        return builder_side([read_builder(found, registry, default_revision())], registry.strings)

    return read


@pytest.fixture(scope="session")
def catalog_of(registry: Registry) -> Callable[[Path], StringSide]:
    """Convert a list and compute the strings of its instances."""

    def compute(path: Path) -> StringSide:
        return catalog_side([read_list(path, registry)], registry)

    return compute
