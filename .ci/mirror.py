"""Says which modules of the core have no tests at their mirrored place.

That is ``tests/a/test_b.py`` for ``ckprof/a/b.py``. ``python .ci/mirror.py`` lists them; those of
``.ci/mirror.toml`` need none, for the reasons given there. With ``--measure`` each file is run alone, and the
share of its module's lines that it executes is printed; below 60 % it does not count. The exit code is 1 if a
module has no file, or one that does not count::

    python .ci/mirror.py --measure ckprof/compare/change.py
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
SETTINGS = ROOT / ".ci" / "mirror.toml"
#: share of a module's statements that its tests alone have to execute
LEAST_COVERED = 0.6
#: exceptions that there may be
MOST_EXCEPTIONS = 20
#: what needs minutes, or other machines, does not count
_MARKED = "not (slow or amd or cuda or ck_package or torch)"


def mirrored(module: str) -> str:
    """Return where the tests of a module are: ``tests/a/test_b.py``, or the same in a feature package."""
    path = Path(module)
    top = Path("plugins", path.parts[1], "tests") if path.parts[0] == "plugins" else Path("tests")
    inside = path.parts[2 if path.parts[0] == "plugins" else 1 if path.parts[0] == "ckprof" else 0 : -1]
    return str(top.joinpath(*inside, f"test_{path.name.removeprefix('_')}"))


def exceptions() -> dict[str, str]:
    """Return the modules that need no tests of their own, each with its reason."""
    found: dict[str, str] = tomllib.loads(SETTINGS.read_text())["exceptions"]
    return found


def core_modules() -> list[str]:
    """Return every module of the core; packages, which only name what they hold, are none."""
    found = sorted((ROOT / "ckprof").rglob("*.py"))
    return [str(path.relative_to(ROOT)) for path in found if path.name != "__init__.py"]


def without_tests() -> list[str]:
    """Return the modules that have no mirrored file, and are no exception."""
    known = exceptions()
    return [
        module for module in core_modules() if module not in known and not (ROOT / mirrored(module)).exists()
    ]


def covered(module: str) -> float:
    """Return the share of a module's statements that its mirrored file executes, also in what it starts.

    :raises ValueError: the tests fail.
    """
    import coverage

    with tempfile.TemporaryDirectory() as folder:
        data, settings = Path(folder, "data"), Path(folder, "settings")
        settings.write_text(
            f"[run]\ndata_file = {data}\nsource = {ROOT / 'ckprof'}\nparallel = true\npatch = subprocess\n"
        )
        command = [sys.executable, "-m", "coverage", "run", f"--rcfile={settings}", "-m", "pytest", "-q"]
        command += ["-x", "-p", "no:cacheprovider", "-m", _MARKED, mirrored(module)]
        run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if run.returncode:
            raise ValueError(f"{mirrored(module)} fails:\n{run.stdout[-2000:]}{run.stderr[-2000:]}")
        measured = coverage.Coverage(config_file=str(settings))
        measured.combine([folder])
        _, statements, _, missing, _ = measured.analysis2(str(ROOT / module))
    return 1 - len(missing) / len(statements) if statements else 1.0


def main() -> int:
    """Print what is missing, or what is covered."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--measure", action="store_true", help="run the mirrored files, each alone")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="runs at once")
    parser.add_argument("modules", nargs="*", help="these modules; by default all that have a mirrored file")
    arguments = parser.parse_args()
    missing = [] if arguments.modules else without_tests()
    for module in missing:
        print(f"no tests at {mirrored(module)}")
    if not arguments.measure:
        return int(bool(missing))
    modules = arguments.modules or [one for one in core_modules() if (ROOT / mirrored(one)).exists()]
    too_few = 0
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for module, future in [(module, pool.submit(covered, module)) for module in modules]:
            try:
                share = future.result()
            except ValueError as error:
                share = 0.0
                print(error)
            too_few += share < LEAST_COVERED
            print(f"{share:4.0%}  {module}" + ("  too few" if share < LEAST_COVERED else ""), flush=True)
    return int(bool(missing) or too_few > 0)


if __name__ == "__main__":
    raise SystemExit(main())
