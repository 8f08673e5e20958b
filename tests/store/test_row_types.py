"""What rows may hold, and the digest of each."""

import hashlib
import math
import sqlite3
from typing import get_args

import pytest

from ckprof.store.errors import DamagedRow
from ckprof.store.row_types import (
    ROW_TYPES,
    cells_of,
    columns_of,
    damaged_rows,
    read_row,
    row_digest,
    selected,
    store_digest,
    store_digests,
    typed_row_of,
)
from tests.store.samples import fill, make_attempt


@pytest.fixture
def connection(path):
    fill(path, make_attempt(0, 0, reason="slow"), make_attempt(1, 1))
    connection = sqlite3.connect(path, isolation_level=None)
    yield connection
    connection.close()


def test_every_column_has_a_type_and_a_digest(connection):
    for table, kind in ROW_TYPES.items():
        rows = connection.execute("SELECT name FROM pragma_table_info(?)", (table,))
        columns = [name for (name,) in rows]
        assert columns == [*columns_of(table), "digest"]
        assert len(columns) - 1 == len(get_args(kind) or kind.__struct_fields__)
        assert columns[:-1] == [*getattr(kind, "__struct_fields__", columns_of(table))]
    assert selected("kernels", "k") == "k.id, k.instance_id, k.object_digest, k.digest"
    assert selected("samples") == "attempt_id, data, digest"


def test_the_digest_is_of_the_name_of_the_table_and_the_cells():
    # MessagePack by hand: an array of 3, a text of 5 bytes, a small number, a text of 2 bytes
    packed = b"\x93\xa5texts\x01\xa2ok"
    expected = int.from_bytes(hashlib.blake2b(packed, digest_size=8).digest(), "little", signed=True)
    assert row_digest("texts", (1, "ok")) == expected
    others = [("texts", (1, "ok ")), ("texts", (2, "ok")), ("methods", (1, "ok")), ("texts", (1, b"ok"))]
    assert len({expected, *(row_digest(*other) for other in others)}) == 1 + len(others)
    assert row_digest("texts", (1, "\udcff")) is None, "such a text is never stored"


def test_changed_rows_are_found_until_their_digests_are_stored(connection):
    assert list(damaged_rows(connection)) == []
    connection.execute("UPDATE texts SET body = 'fast' WHERE body = 'slow'")
    connection.execute("UPDATE attempts SET digest = NULL WHERE id = 2")
    connection.execute("UPDATE attempts SET round = 'x' WHERE id = 1")
    damaged = [str(row) for row in damaged_rows(connection)]
    assert damaged == [
        "table texts, row 1: is not what was stored: its digest differs",
        "table attempts, row 1, column round: Expected `int`, got `str`, found 'x'",
        "table attempts, row 2: is not what was stored: its digest differs",
    ]
    store_digest(connection, "texts", 1)
    store_digest(connection, "texts", 999)
    assert [str(row) for row in damaged_rows(connection)] == damaged[1:]
    connection.execute("UPDATE attempts SET round = 3 WHERE id = 1")
    store_digests(connection, after={**dict.fromkeys(ROW_TYPES, 9), "attempts": 1})
    (left,) = damaged_rows(connection)
    assert str(left).startswith("table attempts, row 1: ")
    store_digests(connection, after=dict.fromkeys(ROW_TYPES, 0))
    assert list(damaged_rows(connection)) == []


#: the year 10000
LAST_SECOND = 253_402_300_799
LIMITS = {
    "id": (1, 0),
    "sequence": (0, -1),
    "status": ("ok", "fine"),
    "workspace_bytes": (0, -1),
    "time_ms": (1e-300, 0.0),
    "spread_ms": (0.0, -1e-9),
    "mean_ms": (1.7e308, math.inf),
    "max_error": (0.0, math.inf),
    "started": (LAST_SECOND, LAST_SECOND + 1.0),
    "round": (0, -1),
    "wall_s": (0.0, math.inf),
    "temperature_c": (-273.0, -math.inf),
    "extra": (None, 5),
    "split_chosen": (-1, 1.5),
}


@pytest.mark.parametrize("column", LIMITS)
def test_cells_are_held_against_the_limits_of_their_column(connection, column):
    cells = connection.execute(f"SELECT {selected('attempts')} FROM attempts").fetchone()  # noqa: S608
    place = columns_of("attempts").index(column)
    right, wrong = LIMITS[column]
    row = typed_row_of("attempts", (*cells[:place], right, *cells[place + 1 :]))
    assert cells_of(row)[place] == right
    with pytest.raises(DamagedRow) as caught:
        read_row("attempts", (*cells[:place], wrong, *cells[place + 1 :]))
    assert caught.value.column == column
    assert f", column {column}: " in str(caught.value) and str(caught.value).endswith(f", found {wrong!r}")
