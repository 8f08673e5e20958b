"""Values of a file, piece by piece."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ckprof.run.stored_file import StoredFile


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.uint16, np.float64])
def test_pieces_are_those_of_the_array(dtype: type, tmp_path: Path) -> None:
    values = np.arange(24).astype(dtype).reshape(2, 3, 4)
    np.save(tmp_path / "v.npy", values)
    stored = StoredFile(tmp_path / "v.npy").reshape(-1)
    assert stored.size == 24
    for start, stop in ((0, 24), (5, 9), (20, 40), (24, 30)):
        np.testing.assert_array_equal(stored[start:stop], values.reshape(-1)[start:stop])
        assert stored[start:stop].dtype == dtype


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"no\.npy"):
        StoredFile(tmp_path / "no.npy")
