"""AITER's lists of kernels, read without running them, and rows of its tables for verified winners.

A file has a dataclass with a property ``name`` and a dictionary number -> instance of it. The property is an
expression of joins, maps, texts and fields, which is evaluated here and nowhere else.

A row names a kernel of the tree's lists by number and name, so both are looked up: the winner's list line has
the numbers that the name has, but for those of the copies between memories. Where several kernels differ in
these alone, or none has the numbers, nothing is written.
"""

from __future__ import annotations

import ast
import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final

from ckprof.errors import InputError, UsageError, input_errors
from ckprof.model.types import DataType
from ckprof_plugins.consumers.audit import read_file
from ckprof_plugins.consumers.records import ConsumerFiles, LeftOutError
from ckprof_plugins.operations.gemm.problem import GemmProblem

if TYPE_CHECKING:
    from pathlib import Path

    from ckprof_plugins.consumers.records import ExportRequest, TunedKernel


#: places of the lists below the root of a tree or of an installed package
_PLACES: Final = ("csrc", "aiter_meta/csrc", "../aiter_meta/csrc")
_LIST: Final = "kernels_list"


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelsOfFile:
    """One list."""

    path: Path
    #: first word of all names, e.g. ``a8w8_rowwise``
    prefix: str
    #: number -> name
    names: Mapping[int, str]


def read_tree(root: Path) -> tuple[KernelsOfFile, ...]:
    """Return the lists of a tree.

    :raises InputError: the tree has none, or one cannot be read.
    """
    for place in _PLACES:
        paths = sorted((root / place).glob("*/*_common.py"))
        lists = [found for path in paths for found in _lists_of(path)]
        if lists:
            return tuple(lists)
    raise InputError(f"has no lists of kernels below {' or '.join(_PLACES[:2])}", root)


def _lists_of(path: Path) -> Iterator[KernelsOfFile]:
    with input_errors((SyntaxError, ValueError), "is no Python source", path):
        module = ast.parse(read_file(path).decode())
    classes = {node.name: node for node in module.body if isinstance(node, ast.ClassDef)}
    for node in module.body:
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Dict):
            continue
        if [target.id for target in node.targets if isinstance(target, ast.Name)] != [_LIST]:
            continue
        names = {}
        for key, value in zip(node.value.keys, node.value.values, strict=True):
            if not isinstance(key, ast.Constant) or not isinstance(key.value, int):
                continue
            if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
                names[key.value] = _name_of(value, classes.get(value.func.id), path)
        if names:
            # the words that all names begin with, up to the first number
            words = zip(*(name.split("_") for name in names.values()), strict=False)
            common = takewhile(lambda group: len(set(group)) == 1 and not group[0][:1].isdigit(), words)
            prefix = "_".join(group[0] for group in common)
            yield KernelsOfFile(path=path, prefix=prefix, names=names)


def _name_of(call: ast.Call, kind: ast.ClassDef | None, path: Path) -> str:
    if kind is None:
        raise InputError("a kernel is of a class that this file does not define", path, call.lineno)
    fields = [
        node.target.id
        for node in kind.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    ]
    try:
        values = [ast.literal_eval(argument) for argument in call.args]
        named = {item.arg: ast.literal_eval(item.value) for item in call.keywords if item.arg}
    except ValueError:
        raise InputError("an argument of a kernel is no constant", path, call.lineno) from None
    known = {**dict(zip(fields, values, strict=False)), **named}
    for node in kind.body:
        if isinstance(node, ast.FunctionDef) and node.name == "name":
            for statement in node.body:
                if isinstance(statement, ast.Return) and statement.value is not None:
                    return str(_evaluated(statement.value, {"self": known}, path))
    raise InputError("the class of the kernels has no property 'name'", path, kind.lineno)


def _evaluated(node: ast.expr, scope: Mapping[str, Any], path: Path) -> Any:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return [_evaluated(item, scope, path) for item in items]
        case ast.Name(id=name) if name in scope:
            return scope[name]
        case ast.Attribute(value=ast.Name(id="self"), attr=name) if name in scope["self"]:
            return scope["self"][name]
        case ast.JoinedStr(values=parts):
            return "".join(str(_evaluated(part, scope, path)) for part in parts)
        case ast.FormattedValue(value=inner, format_spec=None):
            return _evaluated(inner, scope, path)
        case ast.Lambda(args=ast.arguments(args=[ast.arg(arg=name)]), body=body):
            return lambda value: _evaluated(body, {**scope, name: value}, path)
        case ast.Call(func=ast.Attribute(value=owner, attr="join"), args=[items]):
            return str(_evaluated(owner, scope, path)).join(map(str, _evaluated(items, scope, path)))
        case ast.Call(func=ast.Attribute(value=owner, attr="lower"), args=[]):
            return str(_evaluated(owner, scope, path)).lower()
        case ast.Call(func=ast.Name(id="str"), args=[inner]):
            return str(_evaluated(inner, scope, path))
        case ast.Call(func=ast.Name(id="map"), args=[ast.Name(id="str"), items]):
            return [str(item) for item in _evaluated(items, scope, path)]
        case ast.Call(func=ast.Name(id="map"), args=[function, items]):
            call: Callable[[Any], Any] = _evaluated(function, scope, path)
            return [call(item) for item in _evaluated(items, scope, path)]
        case _:
            raise InputError(f"cannot evaluate {ast.unparse(node)[:60]!r}", path, node.lineno)


#: the table that is written, its columns, and the list of the kernels that it names
_TABLE: Final = "bf16_tuned_batched_gemm.csv"
_COLUMNS: Final = (
    "cu_num",
    "B",
    "M",
    "N",
    "K",
    "kernelId",
    "splitK",
    "us",
    "kernelName",
    "tflops",
    "bw",
    "errRatio",
)
_PREFIX: Final = "bf16_batched"
_LINE: Final = re.compile(
    r"BlkSize: (\d+), BlkTile: (\d+)x(\d+)x(\d+), WaveTile: (\d+)x(\d+), .*?WaveMap: (\d+)x(\d+), "
    r".*?Scheduler: (\w+), BlkGemmPipelineVersion: v(\d)"
)
_NAME: Final = re.compile(
    r"_(\d+)x(\d+)x(\d+)x(\d+)_(\d+)x(\d+)_(\d+)x(\d+)_[\dx_]+_(intrawave|interwave)_v(\d)"
)


def export(request: ExportRequest) -> ConsumerFiles:
    """Return the tables.

    :raises UsageError: there is no tree.
    :raises InputError: the tree cannot be read.
    """
    if request.tree is None:
        raise UsageError("AITER's rows have numbers of its own lists: add --tree, its installation")
    lists = read_tree(request.tree)
    rows, left_out = request.fastest(lambda winner: _row(winner, request.compute_units, lists))
    files = {}
    if rows:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(_COLUMNS)
        writer.writerows((*key, *cells) for key, cells in sorted(rows.items()))
        files[_TABLE] = text.getvalue().encode()
    return ConsumerFiles(files=files, entries=len(rows), left_out=left_out)


def _row(
    winner: TunedKernel, units: int, lists: tuple[KernelsOfFile, ...]
) -> tuple[tuple[int, ...], tuple[object, ...]]:
    """Return the cells of a winner's key, and the others."""
    problem = winner.problem
    if not isinstance(problem, GemmProblem):
        raise LeftOutError(f"{winner.direction} is no product of matrices")
    if winner.dtype is not DataType.BF16 or winner.layout != "rcr":
        raise LeftOutError(f"no table has products of {winner.dtype.value} {winner.layout}")
    if winner.splits < 1 or winner.splits & (winner.splits - 1):
        raise LeftOutError(f"rows say the power of two that the splits are, not {winner.splits}")
    number, name = _kernel(winner.line, lists)
    size = 2 * problem.batch * (problem.m * problem.k + problem.k * problem.n + problem.m * problem.n)
    time_ms, exponent = winner.time_ms, winner.splits.bit_length() - 1
    figures = f"{problem.flop / time_ms / 1e9:.2f}", f"{size / time_ms / 1e6:.2f}", "0.0"
    key = (units, problem.batch, problem.m, problem.n, problem.k)
    return key, (number, exponent, f"{time_ms * 1e3:.4f}", name, *figures)


def _kernel(line: str, lists: tuple[KernelsOfFile, ...]) -> tuple[int, str]:
    """Return number and name of the kernel of a line."""
    found = _LINE.search(line)
    if found is None:
        raise LeftOutError("no list that was given has the kernel, or its line is of another library")
    wanted = (*found.groups()[:8], found[9].lower(), found[10])
    listed = next((one for one in lists if one.prefix == _PREFIX), None)
    if listed is None:
        raise LeftOutError(f"the tree has no list of kernels called {_PREFIX}...")
    parts = ((number, name, _NAME.search(name)) for number, name in listed.names.items())
    fitting = [(number, name) for number, name, part in parts if part and part.groups() == wanted]
    if len(fitting) > 1:
        raise LeftOutError(f"{len(fitting)} kernels of {listed.path.name} have its numbers")
    if not fitting:
        raise LeftOutError(f"no kernel of {listed.path.name} has its numbers")
    return fitting[0]
