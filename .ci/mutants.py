"""Changes the modules that decide, one operator at a time, and prints what their tests do not notice.

``python .ci/mutants.py`` draws 400 of all mutants that the default operators of cosmic-ray make of the
modules of ``.ci/mutants.toml``, runs the tests of its module on each, in copies of the checkout, and prints
killed and survived by module, and what survived as a difference. The exit code is 1 if less than 92 % were
killed, or more than 3 % are named as equivalent. The same seed draws the same mutants of the same code::

    python .ci/mutants.py --count 50 --seed 7 ckprof/compare/change.py
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from contextlib import redirect_stderr, redirect_stdout
from difflib import unified_diff
from functools import lru_cache
from io import StringIO
from itertools import count, groupby
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from cosmic_ray.commands import init
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator
from cosmic_ray.work_db import WorkDB, use_db
from hypothesis import Phase, settings
from mirror import mirrored

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cosmic_ray.work_item import MutationSpec

ROOT = Path(__file__).resolve().parent.parent
SETTINGS = tomllib.loads((ROOT / ".ci" / "mutants.toml").read_text())
#: share of the mutants that tests have to notice, and share that may be named as equivalent to the code
LEAST_KILLED, MOST_EQUIVALENT = 0.92, 0.03
#: a mutant whose loop never ends is killed after this multiple of the time without one, and these seconds
PATIENCE, LEAST_SECONDS = 5, 20
#: what decorators and bases of records say
OF_RECORDS = ("frozen", "kw_only", "slots")
#: what is no change: a member of an enum equals itself alone, and small numbers that are equal are the same
COMPARED = "core/ReplaceComparisonOperator_"
MEMBER = re.compile(r"is (not )?[A-Z]\w*\.[A-Z][A-Z0-9_]*\b")
OF_MEMBERS = (f"{COMPARED}Is_Eq", f"{COMPARED}IsNot_NotEq")
OF_NUMBERS = (f"{COMPARED}Eq_Is", f"{COMPARED}NotEq_IsNot")
OPTIONS = ("-q", "--no-header", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning")
FORK = get_context("fork")
SECONDS = count(1_000_000_000)


def tests_of(module: str) -> list[str]:
    """Return the files whose tests have to notice a change of a module: its mirrored one, or those named."""
    named = SETTINGS["modules"][module]
    return named or [mirrored(module)]


def mutants_of(modules: Iterable[str]) -> list[MutationSpec]:
    """Return all mutants of modules that are run, see :func:`not_run`, and change something, see MEMBER."""
    with tempfile.TemporaryDirectory() as folder:
        with use_db(Path(folder, "mutants"), WorkDB.Mode.create) as database:
            init([Path(module) for module in modules], database, {})
            found = [mutation for item in database.work_items for mutation in item.mutations]
    lines = {module: (ROOT / module).read_text().splitlines() for module in modules}
    skipped = {module: not_run(ROOT / module) for module in modules}

    def is_change(mutant: MutationSpec) -> bool:
        module, (line, column) = str(mutant.module_path), mutant.start_pos
        text = lines[module][line - 1]
        same = mutant.operator_name in OF_MEMBERS and MEMBER.match(text, column)
        # cosmic-ray cannot replace exceptions that are named with their module
        fails = mutant.operator_name == "core/ExceptionReplacer" and "." in text
        unchanged = same or mutant.operator_name in OF_NUMBERS or fails
        return not unchanged and mutant.start_pos not in skipped[module]

    return sorted(
        filter(is_change, found),
        key=lambda one: (str(one.module_path), one.start_pos, one.operator_name, one.occurrence),
    )


def not_run(path: Path) -> set[tuple[int, int]]:
    """Return lines and columns of a module that nothing evaluates.

    These are annotations, what only type checkers see, what they alone see to (that fields of records are
    named, and nothing assigns to them) and the ``*`` in front of arguments that have to be named, which
    cosmic-ray takes for a product.
    """
    found: set[tuple[int, int]] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.arguments) and node.kwonlyargs:
            first = node.kwonlyargs[0]
            found |= {(first.lineno, first.col_offset - 3), (first.lineno - 1, first.col_offset)}
        if isinstance(node, ast.ClassDef):
            calls = (node, *(call for call in node.decorator_list if isinstance(call, ast.Call)))
            found |= {
                (one.value.lineno, one.value.col_offset)
                for call in calls
                for one in call.keywords
                if one.arg in OF_RECORDS
            }
        checked = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        unseen = [node.test, *node.body] if isinstance(node, ast.If) and checked else []
        for part in (getattr(node, "annotation", None), getattr(node, "returns", None), *unseen):
            if isinstance(part, (ast.expr, ast.stmt)):
                last = part.end_lineno or part.lineno
                for line in range(part.lineno, last + 1):
                    begin = part.col_offset if line == part.lineno else 0
                    end = part.end_col_offset if line == last and part.end_col_offset is not None else 200
                    found |= {(line, column) for column in range(begin, end)}
    return found


def copy_checkout(folder: str) -> None:
    """Copy what is under version control; the copy is the working folder, and what tests import."""
    copy = tempfile.mkdtemp(dir=folder)
    listed = ("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    names = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True).stdout
    subprocess.run(("xargs", "-0", "cp", "-P", "--parents", "-t", copy), cwd=ROOT, check=True, input=names)
    os.chdir(copy)
    paths = [copy, str(Path(copy, ".ci", "types"))]
    sys.path[:0] = paths
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)
    os.environ["CKPROF_CACHE_DIR"] = f"{copy}-cache"
    # Each module is compiled once, and not for every mutant.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    # What makes an example short is of no use here, and the same seed has the same mutants killed.
    phases = (Phase.explicit, Phase.generate)
    settings.register_profile("mutants", deadline=None, derandomize=True, database=None, phases=phases)


def tests_end(files: Iterable[str], limit: float | None, *options: str) -> tuple[bool, str]:
    """Say whether the tests of some files pass, up to the first failure, and what they print.

    They run in a fork of this process, which has imported what they need of other projects.
    """
    output = Path(f"{Path.cwd()}-output")
    process = FORK.Process(target=run_tests, args=(files, output, options))
    process.start()
    process.join(limit)
    if process.is_alive():
        os.killpg(process.pid or 0, signal.SIGKILL)
        process.join()
    return process.exitcode == 0, output.read_text(errors="replace")


def run_tests(files: Iterable[str], output: Path, options: Iterable[str]) -> None:
    """Run the tests of some files, and end this process with pytest's exit code."""
    os.setsid()
    written = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for stream, descriptor in enumerate((os.open(os.devnull, os.O_RDONLY), written, written)):
        os.dup2(descriptor, stream)
    profile = ("-x", "--hypothesis-profile=mutants", f"--basetemp={Path.cwd()}-tests")
    sys.exit(pytest.main([*OPTIONS, *profile, *options, *files]))


@lru_cache
def limit_of(module: str) -> float:
    """Return the seconds that the tests of a module may take with a mutant.

    Before, what they import of other projects is imported into this process: collecting them imports it, and
    what is the checkout's own is forgotten again.

    :raises SystemExit: they fail without a mutant.
    """
    files = tests_of(module)
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        pytest.main([*OPTIONS, "--collect-only", *files])
    own = (str(Path.cwd()), str(ROOT))
    for name, imported in list(sys.modules.items()):
        file = getattr(imported, "__file__", None) or ""
        # the environment may lie in the checkout
        if name != "__main__" and file.startswith(own) and not file.startswith(sys.prefix):
            del sys.modules[name]
    begin = time.monotonic()
    passed, output = tests_end(files, None)
    if not passed:
        raise SystemExit(f"without a mutant, tests of {module} fail:\n{output}")
    return LEAST_SECONDS + PATIENCE * (time.monotonic() - begin)


def tried(mutants: list[MutationSpec]) -> list[tuple[MutationSpec, bool, str]]:
    """Try mutants of one module, and return of each whether it was killed, and what it changes.

    :raises SystemExit: the tests fail without a mutant, or one cannot be made.
    """
    path = mutants[0].module_path
    limit = limit_of(str(path))
    code, found = path.read_text(), []
    for mutant in mutants:
        operator = get_operator(mutant.operator_name)(**mutant.operator_args)
        changed = mutate_code(code, operator, mutant.occurrence)
        if changed is None:
            raise SystemExit(f"{path}: {mutant.operator_name} {mutant.occurrence} changes nothing")
        write(path, changed)
        passed, _ = tests_end(tests_of(str(path)), limit, "--tb=no")
        difference = unified_diff(code.splitlines(), changed.splitlines(), n=1, lineterm="")
        found.append((mutant, not passed, "\n".join(difference)))
    write(path, code)
    return found


def write(path: Path, code: str) -> None:
    """Write a module as of a second of its own: Python takes two of one size and second for the same."""
    path.write_text(code)
    second = next(SECONDS)
    os.utime(path, (second, second))


def named_as_equivalent(module: str, difference: str) -> bool:
    """Say if a mutant is named as equivalent to the code: its line, or with ``-`` one that is gone."""
    lines = [line for line in difference.splitlines() if line[:3] not in ("+++", "---")]
    added = {line[1:].strip() for line in lines if line.startswith("+")}
    removed = {f"- {line[1:].strip()}" for line in lines if line.startswith("-")}
    named = SETTINGS["equivalent"]
    return not {**named["*"], **named.get(module, {})}.keys().isdisjoint(added or removed)


def main() -> int:
    """Draw mutants, try them and print what became of them."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("modules", nargs="*", help="modules of .ci/mutants.toml (default: all)")
    parser.add_argument("--count", type=int, default=400, help="mutants to draw; 0 for all (default: 400)")
    parser.add_argument("--seed", type=int, default=0, help="draws others (default: 0)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="mutants at a time")
    arguments = parser.parse_args()
    os.chdir(ROOT)
    unknown = [module for module in arguments.modules if module not in SETTINGS["modules"]]
    if unknown:
        parser.error(f".ci/mutants.toml has no {', '.join(unknown)}")
    mutants = mutants_of(arguments.modules or SETTINGS["modules"])
    dice = random.Random(arguments.seed)  # noqa: S311 - a sample
    drawn = dice.sample(mutants, min(arguments.count or len(mutants), len(mutants)))
    drawn.sort(key=lambda one: str(one.module_path))
    groups = [list(group) for _, group in groupby(drawn, key=lambda one: str(one.module_path))]
    # Small parts, so that no process is left with one long file at the end.
    parts = [group[begin : begin + 8] for group in groups for begin in range(0, len(group), 8)]
    outcomes: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    with (
        tempfile.TemporaryDirectory(prefix="mutants-") as folder,
        ProcessPoolExecutor(arguments.jobs, FORK, initializer=copy_checkout, initargs=(folder,)) as pool,
    ):
        for results in pool.map(tried, parts):
            for mutant, killed, difference in results:
                report(mutant, killed, difference, outcomes[str(mutant.module_path)])
    print(f"\n{'module':48} killed survived equivalent")
    for module, counts in sorted(outcomes.items()):
        print(f"{module:48} {counts[0]:6} {counts[1]:8} {counts[2]:10}")
    dead, alive, equivalent = (sum(counts[place] for counts in outcomes.values()) for place in range(3))
    share = dead / max(1, dead + alive)
    print(f"{dead} of {dead + alive} mutants killed: {share:.1%}; {equivalent} named as equivalent")
    return int(share < LEAST_KILLED or equivalent > MOST_EQUIVALENT * len(drawn))


def report(mutant: MutationSpec, killed: bool, difference: str, counts: list[int]) -> None:
    """Count what became of a mutant, and print it if it survived."""
    equivalent = not killed and named_as_equivalent(str(mutant.module_path), difference)
    counts[0 if killed else 2 if equivalent else 1] += 1
    if not killed and not equivalent:
        where = f"{mutant.module_path}, {mutant.definition_name}"
        print(f"\nsurvived: {mutant.operator_name} in {where}\n{difference}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
