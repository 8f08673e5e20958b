"""Values of a file, piece by piece."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ckprof.measure.verify.storage import StoredFile


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.uint16, np.float64])
def test_pieces_are_those_of_the_array(dtype: type, tmp_path: Path) -> None:
    values = np.arange(24).astype(dtype).reshape(2, 3, 4)
    np.save(tmp_path / "v.npy", values)
    stored = StoredFile.open(tmp_path / "v.npy").reshape(-1)
    assert stored.size == 24
    for start, stop in ((0, 24), (5, 9), (20, 40), (24, 30)):
        np.testing.assert_array_equal(stored[start:stop], values.reshape(-1)[start:stop])
        assert stored[start:stop].dtype == dtype


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"no\.npy"):
        StoredFile.open(tmp_path / "no.npy")


def test_a_file_without_a_name(tmp_path: Path) -> None:
    stored = StoredFile.unnamed(tmp_path, np.dtype(np.float64), 5)
    stored.append(np.array([[1.0, 2.0]]))
    stored.append(np.array([3, 4, 5], dtype=np.float32))
    assert list(tmp_path.iterdir()) == []
    np.testing.assert_array_equal(stored[1:4], [2.0, 3.0, 4.0])


def test_a_file_that_ends_too_early(tmp_path: Path) -> None:
    stored = StoredFile.unnamed(tmp_path, np.dtype(np.float64), 5)
    with pytest.raises(OSError, match="ends too early"):
        stored[0:5]


def test_a_closed_file_is_given_back_once(tmp_path: Path) -> None:
    stored = StoredFile.unnamed(tmp_path, np.dtype(np.float64), 1)
    stored.append(np.array([1.0]))
    assert stored[0:1] == [1.0]
    stored.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        stored[0:1]
    stored.close()
