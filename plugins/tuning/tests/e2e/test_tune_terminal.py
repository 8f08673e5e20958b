"""What a search shows on a terminal."""

import pytest

from tests.e2e.test_terminal import LAYERS, SWEEP, check_progress, check_width

pytestmark = [pytest.mark.compiler, pytest.mark.thorough]


@pytest.mark.parametrize("width", [80, pytest.param(120, marks=pytest.mark.slow)])
def test_progress_and_tables_fit(shown, tmp_path, short_list, width):
    (tmp_path / "layers.txt").write_text(LAYERS)
    tuned = shown(
        *("tune", "--conf", short_list, *SWEEP, "--store", "tuned.db", "--budget", "20s"),
        width=width,
        progress=True,
    )
    check_progress(tuned, width, "tune: ")
    check_width(tuned, width)
