"""The program of a candidate's process: it loads the candidate, and runs it when it is asked to.

Nothing here decides anything: operands and result are memory of the worker, which has the clock, poisons,
stops this process between launches and compares elsewhere. What this process says of itself is evidence
against the candidate at most, never for it: the candidate can change anything here.

The first packet is the configuration. A request is one packet: its first byte says what it is, the rest is
JSON.
"""

from __future__ import annotations

import array
import faulthandler
import importlib
import json
import os
import socket
import sys
import time
import traceback
from typing import Any

from ckprof_plugins.judge.confine import confine
from ckprof_plugins.judge.cuda_driver import Gpu
from ckprof_plugins.judge.mapped import mapped
from ckprof_plugins.judge.native_candidate import LibraryKernel, NativeCandidate, UnusableError
from ckprof_plugins.judge.python_candidate import PythonCandidate

_PACKET = 1 << 20
_MOST_TENSORS = 64
_MOST_FILES = 100
_REASON_BYTES = 4096
_OK, _FAILED = 0, 2
#: loads libraries that ckprof has built
_ABI = "ckprof.measure.worker.abi"
#: serves a library of others
_BASELINE = "ckprof_plugins.judge.served_baseline"


def _loaded(config: dict[str, Any], abi: Any) -> dict[str, Any]:
    reply: dict[str, Any] = {}
    try:
        if config.get("gpu") is not None:
            # before the candidate can have begun anything there
            reply["gpu"] = Gpu(config["gpu"])
        if config["kind"] == "kernels":
            return {**reply, "candidate": LibraryKernel(config, abi)}
        if config["kind"] == "baseline":
            baseline = importlib.import_module(_BASELINE).ServedBaseline(config)
            return {**reply, "candidate": baseline, "description": baseline.description}
        make = PythonCandidate if config["kind"] == "python" else NativeCandidate
        return {**reply, "candidate": make(config)}
    except BaseException as exc:  # whatever a file does when it is loaded
        where = traceback.extract_tb(exc.__traceback__)[-1]
        place = f" ({where.filename}:{where.lineno})" if where.filename == config["file"] else ""
        kind = "" if isinstance(exc, UnusableError) else f"{type(exc).__name__}: "
        return {"error": f"{kind}{exc}{place}"[:_REASON_BYTES]}


def _launched(candidate: Any, gpu: Gpu | None) -> dict[str, Any]:
    try:
        status, reason = candidate.run()
        if gpu is not None:
            # whatever it has begun, on any stream
            gpu.synchronize()
    except BaseException as exc:  # whatever a candidate raises is its outcome
        where = traceback.extract_tb(exc.__traceback__)[-1]
        status, reason = _FAILED, f"{type(exc).__name__}: {exc} ({where.filename}:{where.lineno})"
    clocks = [time.perf_counter(), time.monotonic(), time.time()]
    return {"status": int(status), "reason": str(reason)[:_REASON_BYTES], "clocks": clocks}


def _set_work(candidate: Any, body: bytes, descriptors: array.array[int], gpu: Gpu | None) -> dict[str, Any]:
    try:
        work = json.loads(body)
        places = [*zip(descriptors, work["places"], strict=True)]
        if gpu is None:
            memory: list[Any] = [mapped(one, writable=place["writable"]) for one, place in places]
        else:
            memory = [gpu.imported(one, place["bytes"], writable=place["writable"]) for one, place in places]
        candidate.set_work(work, memory)
    except Exception as exc:
        return {"error": f"{type(exc).__name__}: {exc}"[:_REASON_BYTES]}
    finally:
        for descriptor in descriptors:
            os.close(descriptor)
    return {}


def main() -> None:
    """Serve requests until the worker closes the socket."""
    line = socket.socket(fileno=int(sys.argv[1]))
    config = json.loads(line.recv(_PACKET))
    abi = importlib.import_module(_ABI) if config["kind"] == "kernels" else None
    isolation = confine(config["writable"], config["hidden"], [config["file"], *config["shown"]])
    # how it is run says nothing about what for
    os.environ.pop("MALLOC_PERTURB_", None)
    if "LD_PRELOAD" not in os.environ:
        # sanitizers say more of it
        faulthandler.enable(open(config["fault"], "w"))  # noqa: PTH123 - for good
    candidate: Any = None
    gpu: Gpu | None = None
    while True:
        packet, ancillary, _, _ = line.recvmsg(_PACKET, socket.CMSG_SPACE(4 * _MOST_TENSORS))
        if not packet:
            return
        kind, body = packet[:1], packet[1:]
        if kind == b"g":
            reply = _launched(candidate, gpu)
        elif kind == b"n":
            reply = {"status": _OK, "reason": "", "clocks": [time.perf_counter()]}
        elif kind == b"l":
            reply = _loaded(config, abi)
            candidate = reply.pop("candidate", None)
            gpu = reply.pop("gpu", None)
            arrays = getattr(candidate, "kind", "")
            splits = getattr(candidate, "splits", False)
            reply |= {"isolation": isolation, "splits": splits, "arrays": arrays}
        elif kind == b"s":
            reply = candidate.support(json.loads(body))
        elif kind == b"e":
            reply = {"evidence": candidate.evidence(), "files": candidate.files()[:_MOST_FILES]}
        else:
            descriptors = array.array("i")
            for _, _, data in ancillary:
                descriptors.frombytes(data)
            reply = _set_work(candidate, body, descriptors, gpu)
        line.send(json.dumps(reply).encode())


if __name__ == "__main__":
    main()
