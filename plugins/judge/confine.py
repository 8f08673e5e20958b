"""What a candidate's process gives up before it loads the candidate.

`Landlock <https://docs.kernel.org/userspace-api/landlock.html>`_ keeps a process from writing elsewhere than
into its own folder, from reading what it has no business with (the judge's files, and the packages that the
reference is in), and from looking into processes outside of its own domain or sending them signals. Where the
kernel has none of it, capabilities are dropped all the same, and the report says so.

Landlock can only allow: everything may be read that lies beside the way to what is hidden.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterator, Sequence

#: numbers of system calls, the same on all architectures since Linux 5.13
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_QUERY_VERSION = 1
_PATH_BENEATH = 1
_NO_NEW_PRIVILEGES, _DROP_BOUND_CAPABILITY, _PARENT_DEATH = 38, 24, 1
_KILL = 9
#: WRITE_FILE, REMOVE_DIR, REMOVE_FILE, MAKE_* (7 of them); version 2 adds REFER, version 3 TRUNCATE
_WRITES = (1 << 1) | sum(1 << bit for bit in range(4, 13))
_LATER_WRITES = {2: 1 << 13, 3: 1 << 14}
_READ_FILE = 1 << 2
#: the rights above that a file can have: WRITE_FILE, TRUNCATE
_OF_FILES = (1 << 1) | (1 << 14) | _READ_FILE
#: from this version on: signals, and sockets of other processes without a path
_SCOPES_FROM, _SCOPES = 6, 0b11
_LAST_CAPABILITY = 63


def confine(writable: Sequence[str], hidden: Sequence[str] = (), shown: Sequence[str] = ()) -> str:
    """Restrict this process, for good.

    :param writable: folders below which files may be written, and read.
    :param hidden: folders below which no file may be read.
    :param shown: folders and files that may be read all the same, but for what of the hidden ones is in them.
    :returns: what it is, in a few words; empty where the kernel has nothing for it.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PARENT_DEATH, _KILL, 0, 0, 0)
    libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    for capability in range(_LAST_CAPABILITY + 1):
        libc.prctl(_DROP_BOUND_CAPABILITY, capability, 0, 0, 0)
    # version 3 of the header, this process; no capability in any of the sets
    libc.capset(struct.pack("=Ii", 0x20080522, 0), bytes(24))
    version = libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_QUERY_VERSION))
    if version < 1:
        return ""
    written = _WRITES | sum(bits for least, bits in _LATER_WRITES.items() if version >= least)
    handled = written | _READ_FILE
    attributes = struct.pack("=QQQ", handled, 0, _SCOPES)[: 24 if version >= _SCOPES_FROM else 8]
    ruleset = libc.syscall(_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), ctypes.c_uint32(0))
    if ruleset < 0:
        return ""

    def allow(path: str, rights: int, *, follow: bool) -> None:
        try:
            opened = os.open(path, os.O_PATH | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW))
        except OSError:
            return
        # a folder may have all of them
        rights &= -1 if os.path.isdir(path) else _OF_FILES  # noqa: PTH112 - of every entry beside the way
        rule = struct.pack("=Qi", handled & rights, opened)
        libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, rule, ctypes.c_uint32(0))
        os.close(opened)

    for folder in writable:
        allow(folder, written | _READ_FILE, follow=True)
    away = [os.path.realpath(path) for path in hidden]
    for path in _beside("/", away):
        allow(path, _READ_FILE, follow=False)
    for one in map(os.path.realpath, shown):
        for path in _beside(one, [path for path in away if path.startswith(f"{one}/")]):
            allow(path, _READ_FILE, follow=False)
    restricted = libc.syscall(_RESTRICT_SELF, ruleset, ctypes.c_uint32(0)) == 0
    os.close(ruleset)
    return f"Landlock {version}" if restricted else ""


def _beside(path: str, hidden: Sequence[str]) -> Iterator[str]:
    """Yield the fewest folders and files that hold all that is below a path but for what is hidden."""
    if path in hidden:
        return
    below = [one for one in hidden if one.startswith(f"{path.rstrip('/')}/")]
    if not below:
        yield path
        return
    try:
        entries = [*os.scandir(path)]
    except OSError:
        return
    for entry in entries:
        # what a link leads to is allowed where it lies
        if not entry.is_symlink():
            yield from _beside(entry.path, below)
