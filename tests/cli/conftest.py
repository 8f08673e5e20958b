"""Calling ckprof within the test's process."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from ckprof.cli.main import main


class Called(NamedTuple):
    """What a call gave."""

    code: int
    out: str
    err: str


@pytest.fixture
def ckprof(capfd, tmp_path, monkeypatch):
    """Call ``ckprof`` in ``tmp_path``."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        capfd.readouterr()
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as exc:
            code = exc.code
        out, err = capfd.readouterr()
        assert "Traceback" not in err
        return Called(int(code), out, err)

    return call
