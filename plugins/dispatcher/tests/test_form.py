"""The files of the form: what is written, what is excluded, and that the dispatcher registers and runs it."""

import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import ckprof
from ckprof.errors import UsageError
from ckprof.kernels.requests import BuildOptions
from tests.plugins.targets.cpu.cpp_programs import COMPILERS, HERE, WARNINGS

#: what needs no problem of its own is compiled for this machine, as the runtime is that it is linked with
FLAGS = ["-std=c++20", "-pthread", "-O0", "-march=native", *WARNINGS, "-Wno-shadow"]
DRIVER = Path(__file__).parent / "run_registered.cpp"
#: names of some kernels of each direction: every family, one buffer and two, several types
SAMPLE = {
    "fwd": (
        "depthwise_fp16_.*_f3_s1x1.*nb8",
        "_64x64x32_.*_bfp8",
        "_fp16_nhwgc.*compv4.*_128x128x64_",
        "int8_nhwgc_2d_mem.*intrawave_16x32x64_.*filter1x1_pad0",
    ),
    "bwd_data": ("_bf16_ndhwgc.*_64x64x32_",),
    "bwd_weight": (
        "_fp16_nhwgc_2d_mem.*streamk",
        "_bf16_nhwgc.*_64x64x64_.*2stage",
        "_fp16_nhwgc.*_128x128x64.*explicit",
    ),
}
#: one input channel, which is read by eights: it supports no problem
_NEVER = (
    "grouped_conv_fwd_int8_nhwgc_2d_compv1_cshuffle_intrawave_32x64x32_1x1x1_32x32x16_vec8_8_1_gm8_filter3x3"
)


def compile_and_run(root, sources, compiler, objects, *flags):
    """Compile sources, each by itself, and return what the program prints."""
    includes = [f"-I{root / name}" for name in ("include", "dispatcher_model", "dispatcher")]
    made = {source: root / f"{source.stem}.{compiler}.o" for source in sources}

    def call(*arguments):
        done = subprocess.run([*map(str, arguments)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr[:5000]
        return done.stdout

    def make(source):
        call(compiler, *FLAGS, *flags, *includes, f"-I{HERE}", "-c", source, "-o", made[source])

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(make, sources))
    program = root / f"program.{compiler}"
    call(compiler, "-pthread", *made.values(), *objects, "-o", program)
    return call(program)


def registers_and_runs(root, selection, compiler, objects):
    """Assert that the registry has all kernels, and return those that do not run right."""
    candidates = selection.candidates
    register = f"-DCKPROF_REGISTER=register_all_grouped_conv_{candidates[0].instance.direction}_kernels"
    sources = [*sorted((root / "dispatcher").glob("*.cpp")), DRIVER]
    lines = iter(compile_and_run(root, sources, compiler, objects, register).splitlines())
    found = [(*line.split(), next(lines)) for line in lines]
    assert [(name, text) for _, name, text in found] == [
        (one.name, one.pipeline.instance_string(one.instance)) for one in candidates
    ]
    return [name for verdict, name, _ in found if verdict != "right"]


@pytest.mark.compiler
@pytest.mark.thorough
@pytest.mark.parametrize("direction", SAMPLE)
def test_some_kernels_compile_register_and_run(direction, kernels_of, generate, host_model_objects, tmp_path):
    selection = kernels_of(direction, *SAMPLE[direction])
    root = generate(selection, tmp_path / "out", chunk_size=2)
    assert len(list(root.glob("dispatcher/register_*_chunk_*.cpp"))) == -(-len(selection.candidates) // 2)
    assert registers_and_runs(root, selection, COMPILERS[0], host_model_objects) == []
    if direction == "bwd_data":
        wrappers = Path(__file__).with_name("uses_wrappers.cpp")
        compile_and_run(root, [wrappers], COMPILERS[0], host_model_objects)


@pytest.mark.compiler
@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("direction", SAMPLE)
def test_all_kernels_compile_register_and_run(
    direction, compiler, kernels_of, generate, host_model_objects, tmp_path
):
    selection = kernels_of(direction)
    root = generate(selection, tmp_path / "out")
    never = [_NEVER] if direction == "fwd" else []
    assert registers_and_runs(root, selection, compiler, host_model_objects) == never


def test_files_of_a_form_go_when_it_is_not_asked_for(ckprof, tmp_path):
    asked = (
        "generate",
        "bwd_data",
        "--conf",
        "backward_data/tests/nhwgc_fp32",
        "--build-dir",
        tmp_path / "out",
    )
    code, _, _ = ckprof(*asked, "--form", "dispatcher", "--chunk-size", "5")
    assert code == 0
    found = {path.name for path in (tmp_path / "out" / "dispatcher").iterdir() if path.suffix == ".cpp"}
    assert found == {
        "register_all_grouped_conv_kernels.cpp",
        *(f"register_bwd_data_chunk_{number}.cpp" for number in range(3)),
    }
    wrappers = list((tmp_path / "out" / "dispatcher" / "dispatcher_wrappers").iterdir())
    assert len(wrappers) == 12 + 1
    assert ckprof(*asked)[0] == 0
    assert not list((tmp_path / "out").glob("dispatcher*/**/*.*pp"))


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("gemm", "--rule-set", "gemm"), 2, "is for fwd, bwd_data, bwd_weight, not for gemm"),
        (
            ("fwd", "--conf", "forward/clamp/tests/nhwgc_fp16"),
            2,
            "CK's dispatcher can run none of the kernels: it hands no operation such as Clamp to a kernel",
        ),
        (
            (
                "fwd",
                "--ndim",
                "1,2",
                "--instance-spec",
                "tile=64x64x64,waves=2x2x1,mma=16x16x16,pipeline=mem",
            ),
            0,
            "excludes 1 kernel (grouped_conv_fwd_fp16_nwgc_1d_mem_cshuffle_intrawave_64x64x64_2x2x1_16x16x"
            "16): its problems have 2 or 3 dimensions, not 1",
        ),
    ],
)
def test_what_the_dispatcher_cannot_run(arguments, code, message, ckprof, tmp_path):
    got, _, err = ckprof("generate", *arguments, "--build-dir", tmp_path / "out", "--form", "dispatcher")
    assert (got, message in " ".join(err.split())) == (code, True), err


def test_a_form_that_does_not_exist(kernels_of, tmp_path):
    build = BuildOptions(build_dir=tmp_path / "out", plugin_options={"form": "dispatch"})
    with pytest.raises(UsageError, match="unknown form 'dispatch'"):
        ckprof.Profiler().generate(kernels_of("bwd_data"), build)
