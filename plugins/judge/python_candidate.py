"""A function in Python as a candidate, in its own process: arrays by their names, and what it may not do."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import sys
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from ckprof.measure.verify.storage import decode, encode
from ckprof.model.types import DataType
from ckprof_plugins.judge.native_candidate import UnusableError

_OK, _REJECTED = 0, 1
#: functions that clocks and comparisons are made of, by module; all of ``time``
_WATCHED = {
    "time": (),
    "builtins": ("abs", "all", "any", "max", "min", "sum"),
    "json": ("dumps", "loads"),
    "numpy": ("abs", "allclose", "array_equal", "isclose", "copyto", "max"),
    "numpy.testing": ("assert_allclose", "assert_array_equal", "assert_array_almost_equal"),
    "torch": ("allclose", "equal", "isclose"),
    "torch.testing": ("assert_close",),
    "torch.cuda": ("Event", "synchronize", "current_stream"),
}
#: what holds the operation's reference
OURS = ("ckprof", "ckprof_plugins", "ckprof_converters")
#: modules of the program that serves a candidate
_PROGRAM = ("__main__", __name__)


class _NoReference:
    """Keeps a candidate from importing the reference, and remembers that it wanted to."""

    def __init__(self) -> None:
        self.wanted = ""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """Refuse the judge's own packages."""
        if name.partition(".")[0] in OURS:
            self.wanted = name
            raise ImportError(f"{name}: a candidate does without what judges it", name=name)


class PythonCandidate:
    """A function of a file.

    :raises UnusableError: it has no such function, or the function takes something else.
    """

    def __init__(self, config: dict[str, Any]) -> None:
        path, self._file = Path(config["file"]), config["file"]
        text = path.read_bytes()
        for name in _WATCHED:
            # what it may change is to be seen before
            if name.rpartition(".")[2].encode() in text and b"import" in text:
                with suppress(ImportError):
                    importlib.import_module(name)
        self._refusal = _NoReference()
        program = {name: sys.modules[name] for name in _PROGRAM}
        for name in [name for name in sys.modules if name.partition(".")[0] in OURS]:
            del sys.modules[name]
        self._program = program
        sys.meta_path.insert(0, self._refusal)
        self._before = self._functions()
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
            raise UnusableError(f"it has no function {name}; it has {names or 'none'}")
        self._gpu = config.get("gpu")
        self.kind = getattr(module, "ARRAYS", "numpy" if self._gpu is None else "torch")
        if self.kind not in ("numpy", "torch"):
            raise UnusableError(f"ARRAYS is {self.kind!r}, expected 'numpy' or 'torch'")
        if self._gpu is not None:
            if self.kind == "numpy":
                raise UnusableError('numpy has no arrays on a GPU: say ARRAYS = "torch"')
            _fill_gpu_memory(self._gpu)
        parameters = inspect.signature(self._function).parameters.values()
        self._takes_all = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters)
        self._names = {
            one.name for one in parameters if one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL)
        }
        self._required = {one.name for one in parameters if one.default is inspect.Parameter.empty}
        offered = {*config["names"], "problem", "split_k"}
        if unknown := sorted(self._required & self._names - offered):
            known = ", ".join((*config["names"], "problem", "split_k"))
            raise UnusableError(f"its parameter {unknown[0]!r} is not among {known}")
        self.splits = "split_k" in self._names
        self._work: Any = None

    def set_work(self, work: dict[str, Any], memory: list[Any]) -> None:
        """Take the tensors of a problem."""
        import numpy

        self._views: dict[str, Any] = {}
        for tensor, place, block in zip(work["tensors"], work["places"], memory, strict=True):
            if self._gpu is not None:
                self._views[tensor["name"]] = _gpu_view(tensor, place, block, self._gpu)
            elif self.kind == "torch":
                self._views[tensor["name"]] = _torch_view(tensor, place["offset"], block)
            else:
                self._views[tensor["name"]] = numpy.ndarray(
                    tensor["lengths"],
                    tensor["storage"],
                    block,
                    place["offset"],
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
        return self._taken(returned, in_place)

    def _taken(self, returned: Any, in_place: Any) -> tuple[int, str]:
        """Put what it has returned to where the result belongs."""
        import numpy

        work = self._work
        result = work.result["name"]
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
        if any(name.partition(".")[0] in OURS for name in sys.modules):
            return "it loaded the package that holds the reference"
        now = self._functions()
        changed = [name for name, before in self._before.items() if now.get(name) is not before]
        return f"it changed {changed[0]}" if changed else ""

    def _functions(self) -> dict[str, object]:
        """Return what the names of functions mean now that clocks and comparisons are made of."""
        found = {}
        for module_name, names in _WATCHED.items():
            module = sys.modules.get(module_name)
            for name in names or (vars(module) if module is not None else ()):
                if callable(one := getattr(module, name, None)):
                    found[f"{module_name}.{name}"] = one
        # and the program itself
        for module in self._program.values():
            for owner, members in (("", vars(module)), ("PythonCandidate.", vars(PythonCandidate))):
                found |= {f"{owner}{name}": one for name, one in members.items() if inspect.isfunction(one)}
        return found


#: bytes of a GPU's memory that hold large numbers when torch gives them to a candidate for the first time, in
#: pieces of these sizes: torch keeps small ones and large ones apart
_FILLED_BYTES = 1 << 28
_FILLED_PIECES = (1 << 19, 1 << 26)
_FILLED_BYTE = 0xFE


class _GpuBytes:
    """Memory of a GPU as torch takes it from others; tensors of it keep it."""

    def __init__(self, memory: Any, address: int, size_bytes: int) -> None:
        self._memory = memory
        self.__cuda_array_interface__ = {
            "shape": (size_bytes,),
            "typestr": "|u1",
            "data": (address, False),
            "version": 3,
        }


def _torch() -> Any:
    import torch

    return torch


def _fill_gpu_memory(index: int) -> None:
    torch = _torch()
    if not torch.cuda.is_available():
        raise UnusableError(f"torch {torch.__version__} sees no GPU; install the build for its driver")
    torch.cuda.set_device(index)
    held = [
        torch.full((piece,), _FILLED_BYTE, dtype=torch.uint8, device="cuda")
        for piece in _FILLED_PIECES
        for _ in range(_FILLED_BYTES // piece // len(_FILLED_PIECES))
    ]
    torch.cuda.synchronize(index)
    del held


def _gpu_view(tensor: dict[str, Any], place: dict[str, Any], memory: Any, index: int) -> Any:
    given = _GpuBytes(memory, memory.address + place["offset"], place["bytes"])
    flat = _torch().as_tensor(given, device=f"cuda:{index}")
    return flat.view(_torch_type(tensor)).as_strided(tensor["lengths"], tensor["strides"])


def _torch_view(tensor: dict[str, Any], offset: int, block: Any) -> Any:
    flat = _torch().frombuffer(block, dtype=_torch_type(tensor), offset=offset, count=tensor["extent"])
    return flat.as_strided(tensor["lengths"], tensor["strides"])


def _torch_type(tensor: dict[str, Any]) -> Any:
    return getattr(_torch(), torch_name(tensor["dtype"], ocp=tensor["ocp"]))


def torch_name(dtype: str, *, ocp: bool) -> str:
    """Return what torch calls a type of elements."""
    return {
        "fp32": "float32",
        "fp16": "float16",
        "bf16": "bfloat16",
        "int8": "int8",
        "int32": "int32",
        "fp8": "float8_e4m3fn" if ocp else "float8_e4m3fnuz",
        "bf8": "float8_e5m2" if ocp else "float8_e5m2fnuz",
    }[dtype]


def _widened(raw: Any, said: dict[str, Any]) -> Any:
    """Return values of a type that numpy lacks."""
    return decode(raw, DataType(said["dtype"]), ocp=said["ocp"]).astype("float32")


def _rounded(values: Any, said: dict[str, Any]) -> Any:
    return encode(values, DataType(said["dtype"]), ocp=said["ocp"])
