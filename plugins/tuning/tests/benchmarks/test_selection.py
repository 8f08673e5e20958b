"""How long choosing a kernel and fitting a model take.

Run with ``pytest .../benchmarks/test_selection.py``; the goals are 10 us for a choice among 30 kernels in
Python, 1 us
in C++, and 1 s for a fit.
"""

import shutil
import subprocess

from ckprof.kernels.c_interface import ABI_INCLUDE_DIR
from ckprof_plugins.directions._convolution.problem import ConvProblem
from ckprof_plugins.pipelines.kernel_name import traits_of_name
from ckprof_plugins.tuning.measured_tables import read_csv
from ckprof_plugins.tuning.time_model.embedding import render_cpp
from ckprof_plugins.tuning.time_model.measurements import merged
from ckprof_plugins.tuning.time_model.selector import Selector
from plugins.tuning.tests.sizes import FORMS, forward_sizes
from plugins.tuning.tests.time_model.conftest import MEASURED, fitted
from plugins.tuning.tests.time_model.test_cpp_model import SOURCE, line

TABLES = tuple(
    read_csv(MEASURED / f"gfx950_fwd_bf16_{name}.csv", traits_of_name, (ConvProblem,))
    for name in ("20kernels", "30kernels_even")
)


def test_fit(benchmark):
    both = merged(TABLES)
    benchmark(lambda: fitted(both))


def test_choice_in_python(benchmark):
    table = TABLES[1]
    selector = Selector(fitted(merged(TABLES)), table.kernels, forward_sizes)
    problem = table.problems[40]
    selector.best(problem)
    benchmark(selector.best, problem)


def test_choices_in_cpp(benchmark, tmp_path):
    table = TABLES[1]
    selector = Selector(fitted(merged(TABLES)), table.kernels, forward_sizes)
    (tmp_path / "time_model.hpp").write_text(
        render_cpp(selector, list(table.kernels), FORMS, by_values=False)
    )
    compiler = shutil.which("g++") or shutil.which("clang++")
    assert compiler is not None
    program = tmp_path / "choose"
    includes = [f"-I{tmp_path}", f"-I{ABI_INCLUDE_DIR}"]
    subprocess.run([compiler, "-std=c++17", "-O2", *includes, str(SOURCE), "-o", str(program)], check=True)
    given = "\n".join(map(line, table.problems * 100))

    def nanoseconds():
        done = subprocess.run([program, "time"], input=given, text=True, capture_output=True, check=True)
        return float(done.stdout.split()[0])

    benchmark.extra_info["ns_per_choice"] = min(nanoseconds() for _ in range(5))
    benchmark(nanoseconds)
