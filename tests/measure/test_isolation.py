"""The parent process must never load a kernel library."""

import ast
import re
from pathlib import Path

import ckprof.measure

FOLDER = Path(ckprof.measure.__file__).parent
#: what the parent imports of this package
ENTRY_POINTS = ("run", "bench", "support")


def file_of(module):
    return FOLDER / f"{module.replace('.', '/')}.py"


def imported_modules(module):
    """Return every module that the source names in an import, type checking included."""
    tree = ast.parse(file_of(module).read_text())
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def parent_modules():
    pending, seen = list(ENTRY_POINTS), set()
    while pending:
        module = pending.pop()
        if module in seen:
            continue
        seen.add(module)
        for name in imported_modules(module):
            rest = name.removeprefix("ckprof.measure.")
            if rest != name and file_of(rest).exists():
                pending.append(rest)
    return seen


def test_parent_does_not_reach_the_loader():
    reached = parent_modules()
    assert {"executor", "worker.process", "prepare"} <= reached
    assert {"kernel_measurement", "verify.comparison"} <= reached
    child = ("abi", "canaries", "device_checks", "device_reference", "memory", "session", "child")
    assert not reached & {"timing", *(f"worker.{name}" for name in child)}


def test_only_the_loader_uses_ctypes():
    """The parent has structures for what a device is told, and nothing that loads or calls."""
    for path in FOLDER.rglob("*.py"):
        module = ".".join(path.relative_to(FOLDER).with_suffix("").parts)
        names = {name for name in imported_modules(module) if name.split(".")[0] == "ctypes"}
        if module == "worker.check_work":
            assert {name for name in names if not name.startswith("ctypes.c_")} == {"ctypes"}
            used = set(re.findall(r"ctypes\.(\w+)", path.read_text()))
            assert used == {"Array", "Structure"}
        else:
            assert bool(names) is (module in ("worker.abi", "worker.canaries", "worker.device_checks")), path
