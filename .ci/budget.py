"""Counts lines of code, records and modules per package, and holds them against ``.ci/budget.toml``.

``python .ci/budget.py`` prints what there is beside what is allowed; its exit code is 1 above a limit.

A line of code has a token that is neither comment nor docstring. A record is a dataclass, a ``msgspec``
struct, a named tuple or a typed dictionary. Tests are not counted.
"""

from __future__ import annotations

import ast
import sys
import tokenize
from collections import Counter, defaultdict
from io import StringIO
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("ckprof", "plugins", "converters")
RECORD_BASES = {"Struct", "NamedTuple", "TypedDict"}
_NO_CODE = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT),
    tokenize.ENDMARKER,
}
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def package_of(path: Path) -> str:
    """Return the package of a module: the first folder below the core, ``plugins/`` or ``converters/``."""
    parts = path.relative_to(ROOT).parts
    return "/".join(parts[: min(2, len(parts) - 1)])


def modules() -> list[Path]:
    """Return every module that is counted."""
    found = (path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py")))
    return [path for path in found if "tests" not in path.relative_to(ROOT).parts]


def code_lines(text: str, tree: ast.Module) -> int:
    """Return how many lines have a token that is neither comment nor docstring."""
    documentation: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            documentation |= {*range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1)}
    lines: set[int] = set()
    for token in tokenize.generate_tokens(StringIO(text).readline):
        if token.type not in _NO_CODE:
            lines |= {*range(token.start[0], token.end[0] + 1)}
    return len(lines - documentation)


def counted() -> dict[str, Counter[str]]:
    """Return ``code``, ``records`` and ``modules`` of each package, and of the folders as wholes."""
    trees = {path: ast.parse(path.read_text()) for path in modules()}
    classes = [
        (path, node)
        for path, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    ]
    records = _record_bases([node for _, node in classes])
    result: dict[str, Counter[str]] = defaultdict(Counter)
    for path, tree in trees.items():
        code = code_lines(path.read_text(), tree)
        for name in {package_of(path), package_of(path).partition("/")[0]}:
            result[name] += Counter(code=code, modules=1)
    for path, node in classes:
        if _is_dataclass(node) or _bases(node) & records:
            for name in {package_of(path), package_of(path).partition("/")[0]}:
                result[name] += Counter(records=1)
    return dict(result)


def repeated_class_names() -> dict[str, int]:
    """Return the names that more than one class has, with their number."""
    names = Counter(
        node.name
        for path in modules()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef)
    )
    return {name: number for name, number in names.items() if number > 1}


def limits() -> dict[str, dict[str, int]]:
    """Return the limits of each package."""
    found: dict[str, dict[str, int]] = tomllib.loads((ROOT / ".ci" / "budget.toml").read_text())
    return found


def excesses(found: dict[str, Counter[str]]) -> list[str]:
    """Return what is above its limit, a sentence each.

    :param found: what :func:`counted` returns.
    """
    allowed = limits()
    sentences = [
        f"{package}: {found[package][kind]} {kind}, limit {limit}"
        for package, kinds in allowed.items()
        for kind, limit in kinds.items()
        if package in found and found[package][kind] > limit
    ]
    limited = found.keys() - {"plugins"}  # its packages have limits of their own
    return sentences + [
        f"{package}: no limit in .ci/budget.toml" for package in sorted(limited - allowed.keys())
    ]


def main() -> int:
    """Print the table."""
    found, allowed = counted(), limits()
    for package, numbers in sorted(found.items()):
        kinds = allowed.get(package, {})
        columns = (f"{kind} {numbers[kind]:>6} of {kinds.get(kind, 0):>6}" for kind in ("code", "records"))
        print(f"{package:<24} {'   '.join(columns)}   modules {numbers['modules']:>4}")
    repeated = repeated_class_names()
    print(f"class names that exist more than once: {len(repeated)}")
    for sentence in (problems := excesses(found)):
        print(f"above its limit: {sentence}")
    return bool(problems)


def _record_bases(classes: list[ast.ClassDef]) -> set[str]:
    """Return the names of all classes that make a record of what derives from them."""
    known = set(RECORD_BASES)
    while True:
        found = {node.name for node in classes if _bases(node) & known} - known
        if not found:
            return known
        known |= found


def _bases(node: ast.ClassDef) -> set[str]:
    return {ast.unparse(base).partition("[")[0].rpartition(".")[2] for base in node.bases}


def _is_dataclass(node: ast.ClassDef) -> bool:
    return any("dataclass" in ast.unparse(decorator) for decorator in node.decorator_list)


if __name__ == "__main__":
    sys.exit(main())
