"""The program of a candidate's process: it loads the candidate, and runs it when it is asked to.

Nothing here decides anything: operands and result are memory of the worker, which has the clock, poisons,
freezes this process between launches and compares elsewhere. What this process says of itself is evidence
against the candidate at most, never for it: the candidate can change anything here.

A request is one packet: its first byte says what it is, the rest is JSON.
"""

from __future__ import annotations

import array
import ctypes
import importlib
import importlib.util
import inspect
import json
import mmap
import os
import socket
import sys
import time
import traceback
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from ckprof.measure.verify.storage import decode, encode
from ckprof.model.types import DataType
from ckprof_plugins.judge.confine import confine

_PACKET = 1 << 20
_MOST_TENSORS = 64
_MOST_FILES = 100
_REASON_BYTES = 4096
_OK, _REJECTED, _FAILED = 0, 1, 2
#: functions that clocks and comparisons are made of, by module; all of ``time``
_WATCHED = {
    "time": (),
    "builtins": ("abs", "all", "any", "max", "min", "sum"),
    "numpy": ("abs", "allclose", "array_equal", "isclose", "copyto", "max"),
    "numpy.testing": ("assert_allclose", "assert_array_equal", "assert_array_almost_equal"),
    "torch": ("allclose", "equal", "isclose"),
    "torch.testing": ("assert_close",),
    "torch.cuda": ("Event", "synchronize", "current_stream"),
}
#: functions of libraries that must not have others in their place
_CLOCKS = ("clock_gettime", "gettimeofday", "clock", "times")
_CPP_CLOCKS = ("_ZNSt6chrono3_V212steady_clock3nowEv", "_ZNSt6chrono3_V212system_clock3nowEv")
_DEVICE_CLOCKS = tuple(
    f"{prefix}{name}"
    for prefix in ("cuda", "hip")
    for name in ("EventElapsedTime", "EventRecord", "EventSynchronize", "DeviceSynchronize")
)
#: what holds the operation's reference
_OURS = ("ckprof", "ckprof_plugins", "ckprof_converters")


class _Unusable(Exception):
    """A file is no candidate; the message says why."""


class _Problem(ctypes.Structure):
    _fields_ = (("ndim", ctypes.c_int32), ("split_k", ctypes.c_int32), ("values", ctypes.c_int64 * 32))


class _NoReference:
    """Keeps a candidate from importing the reference, and remembers that it wanted to."""

    def __init__(self) -> None:
        self.wanted = ""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """Refuse the judge's own packages."""
        if name.partition(".")[0] in _OURS:
            self.wanted = name
            raise ImportError(f"{name}: a candidate does without what judges it", name=name)


class _PythonCandidate:
    def __init__(self, config: dict[str, Any]) -> None:
        path, self._file = Path(config["file"]), config["file"]
        text = path.read_bytes()
        for name in _WATCHED:
            # what it may change is to be seen before
            if name.rpartition(".")[2].encode() in text and b"import" in text:
                with suppress(ImportError):
                    importlib.import_module(name)
        self._refusal = _NoReference()
        for name in [name for name in sys.modules if name.partition(".")[0] in _OURS]:
            del sys.modules[name]
        sys.meta_path.insert(0, self._refusal)
        self._before = _functions()
        sys.path.insert(0, str(path.parent))
        spec: Any = importlib.util.spec_from_file_location("candidate", path)
        module = importlib.util.module_from_spec(spec)
        sys.modules["candidate"] = module
        spec.loader.exec_module(module)
        name = config["function"]
        self._function: Any = getattr(module, name, None)
        if not callable(self._function):
            names = ", ".join(
                known for known, one in vars(module).items() if inspect.isfunction(one) and known[0] != "_"
            )
            raise _Unusable(f"it has no function {name}; it has {names or 'none'}")
        self.kind = getattr(module, "ARRAYS", "numpy")
        if self.kind not in ("numpy", "torch"):
            raise _Unusable(f"ARRAYS is {self.kind!r}, expected 'numpy' or 'torch'")
        parameters = inspect.signature(self._function).parameters.values()
        self._takes_all = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters)
        self._names = {
            one.name for one in parameters if one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL)
        }
        self._required = {one.name for one in parameters if one.default is inspect.Parameter.empty}
        offered = {*config["names"], "problem", "split_k"}
        if unknown := sorted(self._required & self._names - offered):
            known = ", ".join((*config["names"], "problem", "split_k"))
            raise _Unusable(f"its parameter {unknown[0]!r} is not among {known}")
        self.splits = "split_k" in self._names
        self._work: Any = None

    def set_work(self, work: dict[str, Any], memory: list[mmap.mmap]) -> None:
        """Take the tensors of a problem."""
        import numpy

        self._views: dict[str, Any] = {}
        for tensor, block in zip(work["tensors"], memory, strict=True):
            if self.kind == "torch":
                self._views[tensor["name"]] = _torch_view(tensor, block)
            else:
                self._views[tensor["name"]] = numpy.ndarray(
                    tensor["lengths"],
                    tensor["storage"],
                    block,
                    tensor["offset"],
                    [stride * numpy.dtype(tensor["storage"]).itemsize for stride in tensor["strides"]],
                )
        sizes = {name: tuple(v) if isinstance(v, list) else v for name, v in work["problem"].items()}
        self._work = SimpleNamespace(
            problem=SimpleNamespace(**sizes),
            split_k=work["split_k"],
            result=work["tensors"][-1],
            widened={
                tensor["name"]: tensor["decode"]
                for tensor in work["tensors"]
                if self.kind == "numpy" and tensor["decode"]
            },
        )

    def run(self) -> tuple[int, str]:
        """Call it once, and put what it returns to where the result belongs."""
        import numpy

        work = self._work
        result = work.result["name"]
        given = {**self._views, "problem": work.problem, "split_k": work.split_k}
        for name in work.widened:
            given[name] = _widened(given[name], work.widened[name])
        in_place = given[result]
        if not (self._takes_all and result not in self._names):
            given = {name: value for name, value in given.items() if name in self._names or self._takes_all}
        if result not in self._names:
            given.pop(result, None)
        try:
            returned = self._function(**given)
        except NotImplementedError as exc:
            return _REJECTED, str(exc) or "it raised NotImplementedError"
        out = self._views[result]
        if returned is None and result in self._names:
            if result in work.widened:
                numpy.copyto(out, _rounded(in_place, work.widened[result]))
            return _OK, ""
        if returned is None:
            raise ValueError(f"it returned nothing, and has no parameter {result}")
        if self.kind == "torch":
            if tuple(returned.shape) != tuple(out.shape):
                raise ValueError(f"the result has shape {tuple(returned.shape)}, expected {tuple(out.shape)}")
            out.copy_(returned)
            return _OK, ""
        returned = numpy.asarray(returned)
        if returned.shape != out.shape:
            raise ValueError(f"the result has shape {returned.shape}, expected {out.shape}")
        if result in work.widened and returned.dtype.kind == "f":
            returned = _rounded(returned, work.widened[result])
        numpy.copyto(out, returned, casting="unsafe")
        return _OK, ""

    def files(self) -> list[str]:
        """Return the files of modules that it has imported from its own folder."""
        found = {getattr(module, "__file__", None) or "" for module in [*sys.modules.values()]}
        own = (path for path in found - {self._file} if path.startswith(f"{Path(self._file).parent}{os.sep}"))
        return sorted(path for path in own if "site-packages" not in path)

    def evidence(self) -> str:
        """Return what it has changed or looked for that it has no business with."""
        if self._refusal.wanted:
            return f"it imported {self._refusal.wanted}, which holds the reference"
        if any(name.partition(".")[0] in _OURS for name in sys.modules):
            return "it loaded the package that holds the reference"
        now = _functions()
        changed = [name for name, before in self._before.items() if now.get(name) is not before]
        return f"it changed {changed[0]}" if changed else ""


class _NativeCandidate:
    kind, splits = "native", True

    def __init__(self, config: dict[str, Any]) -> None:
        self._library = ctypes.CDLL(config["file"])
        # a library may have those of a runtime that is linked to it
        clocks = (*_CLOCKS, *_DEVICE_CLOCKS, *(_CPP_CLOCKS if config["kind"] == "source" else ()))
        self._own_clock = next((name for name in clocks if self._is_own(name, config["file"])), "")
        name = config["function"]
        try:
            self._function = getattr(self._library, name)
        except AttributeError:
            raise _Unusable(f"it exports no function {name}; see ckprof_candidate.h") from None
        self._function.restype = ctypes.c_int
        self._reason = ctypes.create_string_buffer(_REASON_BYTES)

    def _is_own(self, name: str, path: str) -> bool:
        """Say whether the library itself defines what a name means."""
        address = _address(self._library, name)
        found = (ctypes.c_char_p * 4)()
        if not address or not ctypes.CDLL(None).dladdr(ctypes.c_void_p(address), found):
            return False
        return os.path.realpath(found[0] or b"") == os.path.realpath(path).encode()

    def set_work(self, work: dict[str, Any], memory: list[mmap.mmap]) -> None:
        """Take the tensors of a problem."""
        self._problem = _Problem(work["ndim"], work["split_k"], (ctypes.c_int64 * 32)(*work["values"]))
        self._memory = memory
        addresses = [0] * 8
        for tensor, block in zip(work["tensors"], memory, strict=True):
            base = ctypes.addressof(ctypes.c_char.from_buffer(block))
            addresses[tensor["position"]] = base + tensor["offset"]
        self._buffers = (ctypes.c_void_p * 8)(*addresses)

    def run(self) -> tuple[int, str]:
        """Call it once."""
        self._reason[0] = b"\0"
        status = self._function(
            ctypes.byref(self._problem),
            ctypes.byref(self._buffers),
            self._reason,
            ctypes.c_size_t(_REASON_BYTES),
        )
        return status, self._reason.value.decode(errors="replace")

    def evidence(self) -> str:
        """Return that it has a clock of its own in the place of the system's."""
        return f"it defines {self._own_clock}, a clock of the system" if self._own_clock else ""


class _LibraryKernel:
    """A kernel of a library that ckprof has built."""

    splits = True

    def __init__(self, config: dict[str, Any]) -> None:
        from ckprof.measure.worker.abi import Library

        library = Library.load(Path(config["file"]))
        if library.target.id != config["host"]:
            raise _Unusable(f"its kernels are for target {library.target.id}: say --device")
        library.target.select_device(config["arch"], 0)
        self._kernel = library.kernels[config["key"]]

    def set_work(self, work: dict[str, Any], memory: list[mmap.mmap]) -> None:
        """Take the tensors of a problem."""
        from ckprof.measure.worker.abi import CBuffers, CProblem

        self._problem = CProblem.from_values(work["ndim"], work["values"], work["split_k"])
        self._memory = memory
        addresses = dict.fromkeys(range(len(memory)), 0)
        for tensor, block in zip(work["tensors"], memory, strict=True):
            addresses[tensor["position"]] = (
                ctypes.addressof(ctypes.c_char.from_buffer(block)) + tensor["offset"]
            )
        self._buffers = CBuffers.of(*addresses.values())
        self._support = self._kernel.is_supported(self._problem)

    def run(self) -> tuple[int, str]:
        """Launch it once, if it supports the problem."""
        if not self._support.supported:
            return int(self._support.status), self._support.reason
        status, reason, _ = self._kernel.run(self._problem, self._buffers)
        return int(status), reason

    def evidence(self) -> str:
        """Return nothing: its sources are ckprof's own."""
        return ""


_KINDS = {"python": _PythonCandidate, "kernels": _LibraryKernel}


def _address(library: ctypes.CDLL, name: str) -> int:
    try:
        return ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0
    except AttributeError:
        return 0


def _functions() -> dict[str, object]:
    """Return what the names of functions mean now that clocks and comparisons are made of."""
    found = {}
    for module_name, names in _WATCHED.items():
        module = sys.modules.get(module_name)
        for name in names or (vars(module) if module is not None else ()):
            if callable(one := getattr(module, name, None)):
                found[f"{module_name}.{name}"] = one
    # and the program itself
    for owner, members in (("", globals()), ("_PythonCandidate.", vars(_PythonCandidate))):
        found |= {f"{owner}{name}": one for name, one in members.items() if inspect.isfunction(one)}
    return found


def _torch_view(tensor: dict[str, Any], block: mmap.mmap) -> Any:
    import torch

    kinds = {
        "fp32": torch.float32,
        "fp16": torch.float16,
        "bf16": torch.bfloat16,
        "int8": torch.int8,
        "int32": torch.int32,
        "fp8": torch.float8_e4m3fn if tensor["ocp"] else torch.float8_e4m3fnuz,
        "bf8": torch.float8_e5m2 if tensor["ocp"] else torch.float8_e5m2fnuz,
    }
    kind = kinds[tensor["dtype"]]
    flat = torch.frombuffer(block, dtype=kind, offset=tensor["offset"], count=tensor["extent"])
    return flat.as_strided(tensor["lengths"], tensor["strides"])


def _widened(raw: Any, said: dict[str, Any]) -> Any:
    """Return values of a type that numpy lacks."""
    return decode(raw, DataType(said["dtype"]), ocp=said["ocp"]).astype("float32")


def _rounded(values: Any, said: dict[str, Any]) -> Any:
    return encode(values, DataType(said["dtype"]), ocp=said["ocp"])


def _loaded(config: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"candidate": _KINDS.get(config["kind"], _NativeCandidate)(config)}
    except BaseException as exc:  # whatever a file does when it is loaded
        where = traceback.extract_tb(exc.__traceback__)[-1]
        place = f" ({where.filename}:{where.lineno})" if where.filename == config["file"] else ""
        kind = "" if isinstance(exc, _Unusable) else f"{type(exc).__name__}: "
        return {"error": f"{kind}{exc}{place}"[:_REASON_BYTES]}


def _launched(candidate: Any) -> dict[str, Any]:
    try:
        status, reason = candidate.run()
    except BaseException as exc:  # whatever a candidate raises is its outcome
        where = traceback.extract_tb(exc.__traceback__)[-1]
        status, reason = _FAILED, f"{type(exc).__name__}: {exc} ({where.filename}:{where.lineno})"
    clocks = [time.perf_counter(), time.monotonic(), time.time()]
    return {"status": int(status), "reason": str(reason)[:_REASON_BYTES], "clocks": clocks}


def _memory(descriptors: array.array[int]) -> list[mmap.mmap]:
    blocks = []
    for descriptor in descriptors:
        blocks.append(mmap.mmap(descriptor, os.fstat(descriptor).st_size))
        os.close(descriptor)
    return blocks


def main() -> None:
    """Serve requests until the worker closes the socket."""
    line = socket.socket(fileno=int(sys.argv[1]))
    config = json.loads(sys.argv[2])
    isolation = confine(config["writable"])
    # how it is run says nothing about what for
    os.environ.pop("MALLOC_PERTURB_", None)
    candidate: Any = None
    while True:
        packet, ancillary, _, _ = line.recvmsg(_PACKET, socket.CMSG_SPACE(4 * _MOST_TENSORS))
        if not packet:
            return
        kind, body = packet[:1], packet[1:]
        if kind == b"g":
            reply = _launched(candidate)
        elif kind == b"n":
            reply = {"status": _OK, "reason": "", "clocks": [time.perf_counter()]}
        elif kind == b"l":
            reply = _loaded(config)
            candidate = reply.pop("candidate", None)
            reply |= {"isolation": isolation, "splits": getattr(candidate, "splits", False)}
        elif kind == b"e":
            files = candidate.files()[:_MOST_FILES] if isinstance(candidate, _PythonCandidate) else []
            reply = {"evidence": candidate.evidence(), "files": files}
        else:
            descriptors = array.array("i")
            for _, _, data in ancillary:
                descriptors.frombytes(data)
            try:
                candidate.set_work(json.loads(body), _memory(descriptors))
                reply = {}
            except Exception as exc:
                reply = {"error": f"{type(exc).__name__}: {exc}"[:_REASON_BYTES]}
        line.send(json.dumps(reply).encode())


if __name__ == "__main__":
    main()
