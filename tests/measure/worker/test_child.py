"""What a worker process does besides its session: it answers line by line, and ends with its parent."""

import os
import resource
import signal

import msgspec
import pytest

from ckprof.measure.worker import child
from ckprof.measure.worker.guards import CHUNK_BYTES, new_memory


@pytest.fixture
def killed(monkeypatch):
    """Note which signals the process would send to its group instead of sending them."""
    numbers, files = [], []

    def kept(descriptor, mode, fdopen=os.fdopen):
        files.append(fdopen(descriptor, mode))
        return files[-1]

    # the end of a process closes them
    monkeypatch.setattr(child.os, "fdopen", kept)
    monkeypatch.setattr(child.os, "killpg", lambda group, number: numbers.append(number))
    yield numbers
    for file in files:
        file.close()


@pytest.fixture
def worker(monkeypatch, killed):
    """Return a function that has requests served, as by a worker that a launcher has started."""
    limits = resource.getrlimit(resource.RLIMIT_CORE)
    memory, (asked, ask), (answer, answered) = new_memory(), os.pipe(), os.pipe()
    watched = []

    def watch(descriptor):
        watched.append(os.path.realpath(f"/proc/self/fd/{descriptor}"))
        os.close(descriptor)

    monkeypatch.setattr(child, "watch", watch)
    # of the descriptors that it gets, the last two by their paths
    paths = [f"/proc/self/fd/{descriptor}" for descriptor in (asked, answered)]
    monkeypatch.setattr("sys.argv", ["child", str(memory), "/dev/null", *paths])

    def serve(*lines):
        os.write(ask, b"".join(lines))
        os.close(ask)
        code = child.main()
        replies = os.read(answer, CHUNK_BYTES).splitlines()
        for descriptor in (asked, answer, answered):
            os.close(descriptor)
        return code, replies

    yield serve
    assert watched == ["/dev/null"]
    assert resource.getrlimit(resource.RLIMIT_CORE) == (0, limits[1]), "crashes leave no core dump"
    resource.setrlimit(resource.RLIMIT_CORE, limits)


def test_each_line_is_answered_with_its_nonce_until_an_empty_one_comes(worker):
    line = b'n%d {"method":"%b","arguments":[]}\n'
    code, replies = worker(line % (0, b"describe"), line % (1, b"describe"), b"\n", b"n3 never read\n")
    assert code == 0
    assert [reply.partition(b" ")[0] for reply in replies] == [b"n0", b"n1"]
    bodies = [msgspec.json.decode(reply.partition(b" ")[2]) for reply in replies]
    assert [body["fault"] for body in bodies] == ["call", "call"]
    assert "the first call must open a library" in bodies[0]["reason"]


@pytest.mark.parametrize("leads", [True, False])
def test_where_requests_end_the_worker_and_its_group_end(worker, killed, monkeypatch, leads):
    monkeypatch.setattr(child.os, "getpgrp", lambda: os.getpid() if leads else os.getpid() + 1)
    waited = []
    monkeypatch.setattr(child.signal, "sigtimedwait", lambda signals, seconds: waited.append(seconds))
    code, replies = worker(b'n0 {"method":"describe","arguments":[]}\n')
    assert code == 1 and len(replies) == 1
    assert len(waited) == 1 and waited[0] > 1, "a parent that lives has time to say so"
    assert killed == ([signal.SIGKILL] if leads else [])


def test_descriptors_are_numbers_or_paths(tmp_path):
    assert child._descriptor("17", os.O_RDONLY) == 17
    path = tmp_path / "given"
    path.write_text("text")
    opened = child._descriptor(str(path), os.O_RDONLY)
    assert os.read(opened, 9) == b"text" and not os.get_inheritable(opened)
    os.close(opened)
