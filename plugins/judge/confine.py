"""What a candidate's process gives up before it loads the candidate: it may read files, and write its own.

`Landlock <https://docs.kernel.org/userspace-api/landlock.html>`_ keeps a process from writing elsewhere, and
from looking into processes outside of its own domain or sending them signals: the reference is in one of
these. Where the kernel has none of it, capabilities are dropped all the same, and the report says so.
"""

from __future__ import annotations

import ctypes
import os
import struct

#: numbers of system calls, the same on all architectures since Linux 5.13
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_QUERY_VERSION = 1
_PATH_BENEATH = 1
_NO_NEW_PRIVILEGES, _DROP_BOUND_CAPABILITY, _PARENT_DEATH = 38, 24, 1
_KILL = 9
#: WRITE_FILE, REMOVE_DIR, REMOVE_FILE, MAKE_* (7 of them); version 2 adds REFER, version 3 TRUNCATE
_WRITES = (1 << 1) | sum(1 << bit for bit in range(4, 13))
_LATER_WRITES = {2: 1 << 13, 3: 1 << 14}
#: from this version on: signals, and sockets of other processes without a path
_SCOPES_FROM, _SCOPES = 6, 0b11
_LAST_CAPABILITY = 63


def confine(writable: list[str]) -> str:
    """Restrict this process, for good.

    :param writable: folders below which files may be written.
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
    handled = _WRITES | sum(bits for least, bits in _LATER_WRITES.items() if version >= least)
    attributes = struct.pack("=QQQ", handled, 0, _SCOPES)[: 24 if version >= _SCOPES_FROM else 8]
    ruleset = libc.syscall(_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), ctypes.c_uint32(0))
    if ruleset < 0:
        return ""
    for folder in writable:
        try:
            opened = os.open(folder, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue
        rule = struct.pack("=Qi", handled, opened)
        libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, rule, ctypes.c_uint32(0))
        os.close(opened)
    restricted = libc.syscall(_RESTRICT_SELF, ruleset, ctypes.c_uint32(0)) == 0
    os.close(ruleset)
    return f"Landlock {version}" if restricted else ""
