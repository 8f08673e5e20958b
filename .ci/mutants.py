"""Changes the modules that decide, one operator at a time, and prints what their tests do not notice.

``python .ci/mutants.py`` draws 400 of all mutants that the default operators of cosmic-ray make of the
modules of ``.ci/mutants.toml``, runs the tests of its module on each, in copies of the checkout, and prints
killed and survived by module, and what survived as a difference. The exit code is 1 if less than 92 % were
killed. The same seed draws the same mutants of the same code::

    python .ci/mutants.py --count 50 --seed 7 ckprof/compare/change.py
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from cosmic_ray.commands import init
from cosmic_ray.mutating import mutate_and_test
from cosmic_ray.work_db import WorkDB, use_db
from cosmic_ray.work_item import TestOutcome, WorkerOutcome
from mirror import mirrored

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cosmic_ray.work_item import MutationSpec, WorkResult

ROOT = Path(__file__).resolve().parent.parent
SETTINGS = tomllib.loads((ROOT / ".ci" / "mutants.toml").read_text())
#: share of the mutants that tests have to notice, and share that may be named as equivalent to the code
LEAST_KILLED, MOST_EQUIVALENT = 0.92, 0.03
#: a mutant whose loop never ends is killed after this multiple of the time without one, and these seconds
PATIENCE, LEAST_SECONDS = 5, 20


def tests_of(module: str) -> list[str]:
    """Return the files whose tests have to notice a change of a module: its mirrored one, or those named."""
    named = SETTINGS["modules"][module]
    return named or [mirrored(module)]


def mutants_of(modules: Iterable[str]) -> list[MutationSpec]:
    """Return all mutants of modules that are run: see :func:`not_run`."""
    with tempfile.TemporaryDirectory() as folder:
        with use_db(Path(folder, "mutants"), WorkDB.Mode.create) as database:
            init([Path(module) for module in modules], database, {})
            found = [mutation for item in database.work_items for mutation in item.mutations]
    left_out = {module: not_run(ROOT / module) for module in modules}
    return sorted(
        (one for one in found if tuple(one.start_pos) not in left_out[str(one.module_path)]),
        key=lambda one: (str(one.module_path), one.start_pos, one.operator_name, one.occurrence),
    )


def not_run(path: Path) -> set[tuple[int, int]]:
    """Return lines and columns of a module that nothing evaluates.

    These are annotations, what only type checkers see, and the ``*`` in front of arguments that have to be
    named, which cosmic-ray takes for a product.
    """
    found: set[tuple[int, int]] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.arguments) and node.kwonlyargs:
            first = node.kwonlyargs[0]
            found |= {(first.lineno, first.col_offset - 3), (first.lineno - 1, first.col_offset)}
        checked = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        unseen = getattr(node, "body", []) if checked else []
        for part in (getattr(node, "annotation", None), getattr(node, "returns", None), *unseen):
            if isinstance(part, (ast.expr, ast.stmt)):
                last = part.end_lineno or part.lineno
                for line in range(part.lineno, last + 1):
                    begin = part.col_offset if line == part.lineno else 0
                    end = part.end_col_offset if line == last and part.end_col_offset is not None else 200
                    found |= {(line, column) for column in range(begin, end)}
    return found


def copy_checkout() -> None:
    """Copy what is under version control; the copy is the working folder, and what tests import."""
    folder = tempfile.mkdtemp(prefix="mutants-")
    listed = ("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    names = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True).stdout
    copy = ("xargs", "-0", "cp", "-P", "--parents", "-t", folder)
    subprocess.run(copy, cwd=ROOT, check=True, input=names)
    os.chdir(folder)
    os.environ["PYTHONPATH"] = os.pathsep.join((folder, str(Path(folder, ".ci", "types"))))
    os.environ["CKPROF_CACHE_DIR"] = str(Path(folder, ".cache"))


def command(files: Iterable[str]) -> str:
    """Return the command that runs the tests of some files, up to the first failure."""
    return f"{sys.executable} -m pytest -q -x --no-header -p no:cacheprovider {' '.join(files)}"


def tried(mutants: list[MutationSpec]) -> list[tuple[MutationSpec, WorkResult]]:
    """Try mutants of one module.

    :raises SystemExit: its tests fail without a mutant.
    """
    tests = command(tests_of(str(mutants[0].module_path)))
    begin = time.monotonic()
    without = subprocess.run(tests.split(), capture_output=True, text=True, check=False)
    if without.returncode:
        raise SystemExit(f"without a mutant, {tests} ends with {without.returncode}:\n{without.stdout}")
    limit = LEAST_SECONDS + PATIENCE * (time.monotonic() - begin)
    return [(one, mutate_and_test([one], tests, limit)) for one in mutants]


def named_as_equivalent(mutant: MutationSpec, result: WorkResult) -> bool:
    """Say if a mutant is named as equivalent to the code: its operator, or its line of a module."""
    lines = SETTINGS["equivalent"]
    named = {**SETTINGS["equivalent_operators"], **lines["*"], **lines.get(str(mutant.module_path), {})}
    return mutant.operator_name.split("/")[-1] in named or changed_line(result) in named


def changed_line(result: WorkResult) -> str:
    """Return the line of the mutant, as the table of equivalent ones names it: with ``-`` if it is gone."""
    lines = [line for line in (result.diff or "").splitlines() if line[:3] not in ("+++", "---")]
    added = (line[1:].strip() for line in lines if line.startswith("+"))
    removed = (f"- {line[1:].strip()}" for line in lines if line.startswith("-"))
    return next(added, next(removed, ""))


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
    with ProcessPoolExecutor(arguments.jobs, initializer=copy_checkout) as pool:
        for results in pool.map(tried, parts):
            for mutant, result in results:
                report(mutant, result, outcomes[str(mutant.module_path)])
    print(f"\n{'module':48} killed survived equivalent")
    for module, counts in sorted(outcomes.items()):
        print(f"{module:48} {counts[0]:6} {counts[1]:8} {counts[2]:10}")
    killed, survived, equivalent = (sum(counts[place] for counts in outcomes.values()) for place in range(3))
    share = killed / max(1, killed + survived)
    print(f"{killed} of {killed + survived} mutants killed: {share:.1%}; {equivalent} named as equivalent")
    return int(share < LEAST_KILLED or equivalent > MOST_EQUIVALENT * len(drawn))


def report(mutant: MutationSpec, result: WorkResult, counts: list[int]) -> None:
    """Count what became of a mutant, and print it if it survived.

    :raises SystemExit: it could not be tried.
    """
    if result.worker_outcome is not WorkerOutcome.NORMAL:
        raise SystemExit(f"{mutant.module_path}: {mutant.operator_name} cannot be tried:\n{result.output}")
    if result.test_outcome is not TestOutcome.SURVIVED:
        counts[0] += 1
    elif named_as_equivalent(mutant, result):
        counts[2] += 1
    else:
        counts[1] += 1
        print(f"\nsurvived: {mutant.operator_name} in {mutant.definition_name}\n{result.diff}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
