"""Rule sets leave out the kernels that support no problem, and no others.

A program decides what supports a problem: it asks the host model's support tests about random ones, and knows
nothing of the rule.
"""

import subprocess

import pytest

from ckprof.model.architecture import find_architecture
from ckprof_plugins.pipelines.gemm_instance import GemmInstance
from ckprof_plugins.pipelines.universal_gemm.reading import native_vectors
from ckprof_plugins.rule_sets.gemm_config import RULE, entry_of
from ckprof_plugins.targets.cpu.recipe import device_table_source
from tests.plugins.targets.cpu.cpp_programs import COMPILERS, INCLUDES, STANDARD, WARNINGS, run

pytestmark = [pytest.mark.compiler, pytest.mark.skipif(not COMPILERS, reason="no C++ compiler found")]


@pytest.fixture(scope="module")
def supporters(tmp_path_factory):
    """Return, for lines of kernels, which of them support a problem."""
    folder = tmp_path_factory.mktemp("supporters")
    program, source = folder / "supporters", __file__.replace("test_no_problem.py", "supporters.cpp")
    flags = [*STANDARD, *WARNINGS, "-O1", *INCLUDES]
    run([COMPILERS[0], *flags, source, device_table_source(), "-o", program])

    def ask(lines, problems):
        done = subprocess.run(
            [program, str(problems)], input="\n".join(lines), capture_output=True, text=True, check=True
        )
        firsts = map(int, done.stdout.split())
        return {line: bool(first) for line, first in zip(lines, firsts, strict=True)}

    return ask


def line_of(instance, arch):
    """Return what a support test looks at: tiles in stream-K kernels alone."""
    stream_k = instance.pipeline == "stream_k"
    tile = instance.tile.sizes if stream_k else (64, 64, 64)
    words = (
        arch, instance.direction, instance.ndim, instance.specialization.value, *instance.vector_sizes,
        instance.num_groups_to_merge, int(stream_k),
        int("async" in instance.gemm_pipeline.value), int(instance.explicit_gemm), *tile,
        instance.dtype.properties.size_bytes,
    )  # fmt: skip
    return " ".join(map(str, words))


def judged(entries, arch):
    """Return line -> whether the rule leaves kernels like it out; what other rules leave out is not asked."""
    lines = {}
    for instance, defect in entries:
        # an explicit GEMM without its specialization breaks a rule of its own
        explicit = isinstance(instance, GemmInstance) and instance.explicit_gemm
        if isinstance(instance, GemmInstance) and (
            not explicit or instance.specialization.value == "filter1x1_stride1_pad0"
        ):
            left_out = defect is not None and defect.rule == RULE
            assert lines.setdefault(line_of(instance, arch), left_out) == left_out
    return lines


def check(supporters, entries_of, rule_set, arch, problems):
    lines = judged(entries_of(rule_set, arch), arch)
    # a kernel that supports problems shows it soon
    found = supporters([line for line, left_out in lines.items() if not left_out], 200_000)
    assert [line for line, supports in found.items() if not supports] == []
    never = [line for line, left_out in lines.items() if left_out]
    found = supporters(never, problems)
    assert [line for line, supports in found.items() if supports] == []
    return len(lines), len(never)


@pytest.mark.parametrize("arch", ["gfx942", pytest.param("gfx950", marks=pytest.mark.thorough)])
def test_full_leaves_out_what_supports_none_of_many_problems(supporters, entries_of, arch):
    kinds, never = check(supporters, entries_of, "full-tests", arch, 500)
    assert kinds > never > 10


@pytest.mark.slow
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
@pytest.mark.parametrize("rule_set", ["full", "default"])
def test_none_of_100_000_problems_is_supported(supporters, entries_of, rule_set, arch):
    check(supporters, entries_of, rule_set, arch, 100_000)


@pytest.mark.thorough
@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
def test_every_product_of_the_rule_set_supports_some_problem(supporters, registry, entries_of, arch):
    lanes = find_architecture(arch).lanes_per_wave
    lines = dict.fromkeys(
        f"{arch} gemm {instance.layout.name} {' '.join(map(str, native_vectors(instance, lanes)))} "
        f"{' '.join(map(str, instance.tile.sizes))} {getattr(instance, 'num_d_tensors', 0)}"
        for instance, _ in entries_of("gemm", arch, ("gemm",), (0,))
    )
    assert all(supporters([*lines], 10_000).values()) and lines


def test_the_reason_names_both_sides_of_the_contradiction(make_instance):
    instance = make_instance(direction="fwd", specialization="filter3x3", vector_size_a=1, vector_size_b=4)
    entry = entry_of(instance, find_architecture("gfx942"))
    assert entry.defect.message == (
        "filter3x3 allows one input channel, vector_size_b needs a multiple of 4: "
        "the kernel supports no problem"
    )
    single = make_instance(direction="fwd", specialization="filter3x3", vector_size_a=1, vector_size_b=1)
    assert entry_of(single, find_architecture("gfx942")).defect is None
