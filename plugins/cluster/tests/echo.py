"""The least that a worker can run."""

import os


def echo(payload, slot):
    """Answer, fail or end, as a payload says."""
    if payload == b"fail":
        raise ValueError("as told")
    if payload == b"end":
        os._exit(7)
    if payload == b"print":
        print("this must not end up between the answers")
    if payload == b"who":
        return f"{slot.device} {slot.label} {sorted(os.sched_getaffinity(0))}".encode()
    return payload[::-1]
