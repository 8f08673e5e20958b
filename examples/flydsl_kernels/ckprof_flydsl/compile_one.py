"""Compiles one kernel with FlyDSL, in a process of its own: ``python compile_one.py SPEC OUTPUT``.

``SPEC`` is JSON: ``kernel``, ``arch`` and what :class:`ckprof_flydsl.kernels.Tile` takes; ``OUTPUT`` gets the
code object. This process needs FlyDSL and numpy, not ckprof, so that it may belong to another environment.
"""

import importlib.util
import json
import os
import re
import sys
import types
from pathlib import Path
from tempfile import TemporaryDirectory

#: FlyDSL imports torch for the types of tensors, and does not require it; the kernels have pointers alone
_TORCH_TYPES = "float16 bfloat16 float32 float64 bool uint8 int8 int16 int32 int64".split()
#: the bytes in MLIR's text, with its escapes
_BINARY = re.compile(r'\bbin = "((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(rb"\\([0-9A-Fa-f]{2}|[\\\"])")


def main(words):
    """Compile; return an exit code."""
    spec, output = json.loads(words[0]), Path(words[1])
    with TemporaryDirectory() as folder:
        _set_variables(spec["arch"], Path(folder), spec["linker"])
        if importlib.util.find_spec("torch") is None:
            sys.modules["torch"] = _torch()
        code = _compile(spec, Path(folder))
    output.write_bytes(code)
    return 0


def _set_variables(arch, folder, linker):
    """Set what FlyDSL reads: it compiles without a GPU, and takes from ROCm the linker alone."""
    (folder / "rocm" / "llvm" / "bin").mkdir(parents=True)
    (folder / "rocm" / "amdgcn" / "bitcode").mkdir(parents=True)
    (folder / "rocm" / "llvm" / "bin" / "ld.lld").symlink_to(linker)
    os.environ |= {
        "COMPILE_ONLY": "1",
        "ARCH": arch,
        "ROCM_PATH": str(folder / "rocm"),
        "FLYDSL_DUMP_IR": "1",
        "FLYDSL_DUMP_DIR": str(folder / "dump"),
        "FLYDSL_RUNTIME_ENABLE_CACHE": "0",
    }


def _torch():
    """Return a module with the names of torch that are used when FlyDSL is imported."""
    torch = types.ModuleType("torch")
    for name in (*_TORCH_TYPES, "Tensor"):
        setattr(torch, name, type(name, (), {}))
    torch.cuda = types.SimpleNamespace(Stream=type("Stream", (), {}), is_available=lambda: False)
    return torch


def _compile(spec, folder):
    sys.path.insert(0, str(Path(__file__).parent.parent))
    import flydsl.compiler as flyc

    from ckprof_flydsl.kernels import KERNELS, TYPES

    make, pointers, numbers = KERNELS[spec["kernel"]]
    # an address of 16 bytes, as all allocations of devices have; numbers are arguments of the kernel
    pointer = flyc.from_c_void_p(TYPES[spec["dtype"]], 0, assumed_align=2 * spec["vector"])
    make(spec)(*[pointer] * pointers, *[1] * numbers)
    (path,) = folder.glob("dump/*/*gpu_module_to_binary.mlir")
    found = _BINARY.findall(path.read_text())
    if len(found) != 1:
        raise SystemExit(f"FlyDSL's dump has {len(found)} code objects, expected 1")
    return _ESCAPE.sub(_byte, found[0].encode())


def _byte(escape):
    """Return what an escape of MLIR stands for."""
    text = escape[1]
    return text if text in b'\\"' else bytes([int(text, 16)])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
