"""What a search shows on a terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.test_terminal import LAYERS, SWEEP, Shown, check_progress, check_width

pytestmark = [pytest.mark.compiler, pytest.mark.thorough]


@pytest.mark.parametrize("width", [80, pytest.param(120, marks=pytest.mark.slow)])
def test_progress_and_tables_fit(shown: Shown, tmp_path: Path, short_list: Path, width: int) -> None:
    (tmp_path / "layers.txt").write_text(LAYERS)
    tuned = shown(
        *("tune", "--conf", short_list, *SWEEP, "--store", "tuned.db", "--budget", "20s"),
        width=width,
        progress=True,
    )
    check_progress(tuned, width, "tune: ")
    check_width(tuned, width)
