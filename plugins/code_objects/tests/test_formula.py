"""Formulas: their values beside Python's, the C++ beside both, and what is refused."""

import random
import subprocess

import pytest

from ckprof.errors import InputError
from ckprof.kernels.toolchain import find_compiler
from ckprof_plugins.code_objects.family import INCLUDE_DIR
from ckprof_plugins.code_objects.formula import formula
from ckprof_plugins.code_objects.sizes import PRODUCT, sizes_of
from ckprof_plugins.targets.cpu.recipe import LEVEL_INCLUDE_DIRS
from ckprof_plugins.targets.cpu.target import INCLUDE_DIR as MODEL_DIR

NAMES = PRODUCT.names
FORMULAS = (
    "7",
    "M * N + K - stride_a",
    "-M // 3 + M // -3 + (M - 200) // 7",
    "(M - 50) % 7 + M % -5 - -M % 9",
    "ceil_div(M, 128) * ceil_div(-N, 16)",
    "min(M, N) - max(K, 3) + min(M - N, -4)",
    "M % 8 == 0 and N != K or not K < 5",
    "(M > N) + (M >= N) + (M <= N) + (not (M < N))",
    "N if M % 2 else K * 3",
    "M if M > 100 and N > 5 else N if K > 9 else stride_b",
    "stride_e * split_k * 1000000007 + 9007199254740993",
)


def floor(a, b):
    """Division to the lower side, from the definition."""
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient - (abs(a) % abs(b) != 0)


def cpp(text):
    return formula(text, NAMES).cpp


def test_values_are_those_of_python_and_of_the_generated_cpp(tmp_path):
    draw = random.Random(7)
    cases = [{name: draw.randint(1, 300) for name in NAMES} for _ in range(12)]
    lines, expected = [], []
    for sizes in cases:
        values = ", ".join(str(sizes[name]) for name in NAMES)
        for text in FORMULAS:
            lines.append(
                f"    show(product::sizes{{{values}}}, [](const auto& s) {{ (void)s; return {cpp(text)}; }});"
            )
            helpers = {"ceil_div": lambda a, b: -floor(-a, b), "min": min, "max": max, "__builtins__": {}}
            # the test's own expressions, computed by Python itself
            expected.append(int(eval(text, helpers, dict(sizes))))  # noqa: S307
            assert formula(text, NAMES).value(sizes) == expected[-1], text
    body = "\n".join(lines)
    source = tmp_path / "formulas.cpp"
    source.write_text(
        '#include <cstdio>\n#include "ckprof_code_object.hpp"\nusing namespace ckprof::code_object;\n'
        "template <typename F> void show(const product::sizes& s, F f)\n"
        f'{{ std::printf("%lld\\n", static_cast<long long>(f(s))); }}\nint main() {{\n{body}\n}}\n'
    )
    folders = [f"-I{folder}" for folder in (INCLUDE_DIR, MODEL_DIR, *LEVEL_INCLUDE_DIRS.values())]
    flags = ("-std=c++20", "-Wall", "-Wextra", "-Werror", "-DCKPROF_SUPPORT_ONLY")
    program = tmp_path / "formulas"
    subprocess.run([*find_compiler().command, *flags, *folders, source, "-o", program], check=True)
    found = subprocess.run([program], capture_output=True, text=True, check=True).stdout.split()
    assert list(map(int, found)) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("M * * N", "column 5: invalid syntax"),
        ("M / 2", "column 1: there is no division with '/', only '//' and ceil_div"),
        ("1 + m", "column 5: there is no size 'm'; there are K, M, N, split_k, stride_a"),
        ("M < N < K", "column 1: expected"),
        ("abs(M)", "column 1: unknown function 'abs'"),
        ("min(M)", "column 1: expected"),
        ("min(M, N, K)", "column 1: expected"),
        ("1.5 * M", "column 1: expected"),
        ("True", "column 1: expected"),
        ("M.real", "column 1: expected"),
        ("[M][0]", "column 1: expected"),
        ("(lambda: M)()", "column 1: expected"),
        ("9223372036854775808", "column 1: expected"),
        ("M" + " + M" * 1000, "a formula of 4001 characters, the longest has 500"),
        ("__import__('os')", "column 1: unknown function '__import__'"),
        ("ceildiv(M, 2)", "unknown function 'ceildiv'; did you mean 'ceil_div'"),
        ("min + 1", "column 1: there is no size 'min'"),
        ("-" * 490 + "M", ""),
    ],
)
def test_what_is_no_formula_is_said_with_its_column(text, message):
    if not message:
        assert formula(text, NAMES).value({"M": 5}) == 5
        return
    with pytest.raises(InputError, match=message):
        formula(text, NAMES)


def test_divisions_by_nothing():
    with pytest.raises(InputError, match=r"formula 'M // \(N - N\)' divides by 0"):
        formula("M // (N - N)", NAMES).value({"M": 3, "N": 2})


def test_operations_without_descriptions_are_named():
    with pytest.raises(InputError, match="kernels of softmax cannot be described, only those of fwd, "):
        sizes_of("softmax")
