"""Pieces of shards."""

import json

from ckprof.store.shard import BadLine, attempt_line, header_line, read_lines
from ckprof_plugins.cluster import pieces
from ckprof_plugins.cluster.pieces import decode_lines
from tests.store.samples import make_attempt
from tests.store.test_shard import write_shard


def test_pieces_of_a_shard_are_read_as_all_of_it(tmp_path, monkeypatch):
    """From any line on, with the numbers of bad lines; as in turns, while others append."""
    monkeypatch.setattr(pieces, "_PIECE_BYTES", 64)
    path = write_shard(tmp_path, *(make_attempt(n, n) for n in range(3)))
    lines = path.read_bytes().splitlines(keepends=True)
    assert lines[0] == header_line() == b'{"schema":"ckprof.attempts","version":1}\n'
    assert lines[1] == attempt_line(make_attempt(0, 0)) and [*json.loads(lines[1])] == ["attempt"]
    lines[2:2] = [b"{}x\n"]
    path.write_bytes(b"".join(lines) + b"torn")
    expected = list(read_lines(path))
    assert [(one.line, one.torn) for one in expected if isinstance(one, BadLine)] == [(3, False), (6, True)]
    data = path.read_bytes()
    for number in range(len(lines)):
        start = sum(map(len, lines[:number]))
        assert list(decode_lines(data[start:], path, start)) == expected[max(0, number - 1) :], number
