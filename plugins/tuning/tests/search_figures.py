"""Prints what a search needs with and without predicted times, for ``plugins/tuning/docs/tune-figures.md``.

``python -m plugins.tuning.tests.search_figures [HALF]``; what it needs is what
:mod:`plugins.tuning.tests.prediction_figures` needs.
"""

import csv
import sys
import tempfile
from pathlib import Path

import ckprof
from ckprof.model.types import DataType
from ckprof_plugins.tuning import ReplayOptions, SearchOptions, replay
from ckprof_plugins.tuning.time_model.model_file import render_model
from plugins.tuning.tests.prediction_figures import TABLES, as_columns, fitted, lines_of, predicted, tables


def searched(path, model):
    """Return the measurements of a settled search, and the sum of the best times that it found."""
    options = ReplayOptions(
        files=(path,), direction="fwd", dtype=DataType.BF16, search=SearchOptions(model=model)
    )
    end = replay(ckprof.Profiler(), options).progress[-1]
    return end.measured, end.total_us


def _write(path, judged):
    """Write the lines of the problems that are asked about."""
    header, lines = lines_of(judged)
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, header)
        writer.writeheader()
        writer.writerows(lines)


def main():
    """Print a line for each table, and for a search without and with predicted times."""
    judged = tables(sys.argv[1] if len(sys.argv) > 1 else "1")
    times, _, _ = predicted(list(dict.fromkeys(problem for one in judged for problem in one.problems)))
    print("| table | predicted times | problems | measurements per problem | best times, sum |")
    print("| --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        for one, name in zip(judged, TABLES, strict=True):
            path, model = Path(folder) / f"{name}_gfx950.csv", Path(folder) / "model.json"
            _write(path, one)
            model.write_text(render_model(fitted(as_columns(times, one), one, one.problems)))
            for what, used in (("none", None), ("of all problems", model)):
                count, total = searched(path, used)
                problems = len(one.problems)
                print(f"| {name} | {what} | {problems} | {count / problems:.1f} | {total:.0f} us |")


if __name__ == "__main__":
    main()
