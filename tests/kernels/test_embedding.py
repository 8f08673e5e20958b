"""Trees for other build systems: what they hold, what is left as it is, and a program that uses one."""

import json
import os
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from ckprof.cli.main import main
from ckprof.errors import UsageError
from ckprof.kernels.build_dir import BuildDir
from ckprof.kernels.manifest import RECORD_FILE
from ckprof.kernels.source_tree import generate_tree
from ckprof.model.recipe import BuildRecipe, Compiler, CompilerFamily
from ckprof_plugins.directions.fwd import Forward
from ckprof_plugins.pipelines.gemm_families import ImplicitGemmPipeline
from ckprof_plugins.targets.cpu.target import INCLUDE_DIR, SOURCE_DIR
from tests.candidates import candidates_of

PIPELINE = ImplicitGemmPipeline()


@pytest.fixture(scope="module")
def recipe():
    compiler = Compiler(
        command=("c++",), family=CompilerFamily.GCC, version=(12, 0, 0), description="", identity=""
    )
    return BuildRecipe(
        target="cpu",
        arch="gfx942",
        api_level="2026-06",
        compiler=compiler,
        compile_flags=("-std=c++20", "-O3"),
        link_flags=("-pthread",),
        include_dirs=(INCLUDE_DIR,),
        prefix_header="",
        support_sources=tuple(sorted(SOURCE_DIR.glob("*.cpp"))),
        machine_identity="",
        kernel_flags=("-O1",),
    )


@pytest.fixture
def generate(tmp_path, recipe):
    def call(instances, chunk_size=25, root=tmp_path / "tree", recipe=recipe):
        return generate_tree(
            BuildDir(
                root=root,
                direction=Forward(),
                target=None,
                arch="gfx942",
                recipe=recipe,
                chunk_size=chunk_size,
            ),
            candidates_of(instances, {PIPELINE.id: PIPELINE}),
        )

    return call


@pytest.fixture
def instances(make_instance):
    return [make_instance(vector_size_a=size, pipeline=p) for size in (1, 2, 4) for p in ("mem", "compv3")]


def files_of(root):
    return {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}


@pytest.mark.parametrize(("chunk_size", "chunks"), [(1, 6), (4, 2), (6, 1), (25, 1)])
def test_registration_in_chunks(chunk_size, chunks, generate, instances):
    root = generate(instances, chunk_size).root
    sources = sorted((root / "registration").glob("register_fwd_chunk_*.cpp"))
    assert len(sources) == chunks
    text = "".join(path.read_text() for path in sources)
    for instance in instances:
        assert f"ckprof_kernel_{instance.key}" in text
    top = (root / "registration" / "register_fwd_kernels.cpp").read_text()
    called = re.findall(r"registration::(\w+)\(kernels\);", top)
    assert called == [f"register_fwd_chunk_{number}" for number in range(chunks)]
    assert "void register_fwd_kernels(registry& kernels)" in top


def test_every_field_is_in_the_key(generate, instances):
    root = generate(instances).root
    text = (root / "registration" / "register_fwd_chunk_0.cpp").read_text()
    keys = re.findall(r"fields\[\] = \{(.*?)\};", text, re.DOTALL)
    assert len(set(keys)) == len(instances)
    for name, value in instances[0].fields().items():
        spelt = str(value).lower() if isinstance(value, bool) else value
        assert f'{{"{name}", "{spelt}"}}' in keys[0]


def test_the_tree_is_self_contained_and_the_same_everywhere(generate, instances, tmp_path):
    first, second = (generate(instances, root=tmp_path / name).root for name in ("a", "b"))
    assert files_of(first) == files_of(second)
    assert (first / "include" / "ck_tile" / "core.hpp").is_file()
    for name in files_of(first) - {RECORD_FILE, "compile_commands.json"}:
        text = (first / name).read_text()
        assert text == (second / name).read_text()
        assert str(tmp_path) not in text
    manifest = json.loads((first / "manifest.json").read_text())
    kernels = {name for kernel in manifest["kernels"] for name in kernel["files"]}
    assert kernels | set(manifest["files"]) | {"manifest.json", RECORD_FILE} == files_of(first)
    for kernel in manifest["kernels"]:
        assert kernel["instance"]["tile"]["m"] == 128 and kernel["instance_string"]


def test_compile_commands_name_every_source(generate, instances):
    root = generate(instances).root
    commands = json.loads((root / "compile_commands.json").read_text())
    sources = {name for name in files_of(root) if name.endswith(".cpp")}
    assert {command["file"] for command in commands} == sources
    for command in commands:
        assert Path(command["directory"]) == root
        assert command["arguments"][0] == "c++" and "-Iinclude" in command["arguments"]
    cmake = (root / "CMakeLists.txt").read_text()
    for name in sources:
        assert f"    {name}\n" in cmake


def test_nothing_is_touched_when_nothing_changed(generate, instances):
    tree = generate(instances, 2)
    before = {name: (tree.root / name).stat().st_mtime_ns for name in files_of(tree.root)}
    again = generate(instances, 2)
    assert again.kernels == tree.kernels and again.written == () and again.removed == ()
    assert {name: (tree.root / name).stat().st_mtime_ns for name in files_of(tree.root)} == before


@pytest.mark.parametrize("corruption", ["edit", "remove", "forget"])
def test_what_was_touched_is_restored(corruption, generate, instances):
    tree = generate(instances)
    victim = tree.root / "registration" / "register_fwd_kernels.cpp"
    good = victim.read_text()
    if corruption == "edit":
        victim.write_text(good.replace("register", "forget__"))
    elif corruption == "remove":
        victim.unlink()
    else:
        (tree.root / RECORD_FILE).unlink()
    again = generate(instances)
    assert victim.read_text() == good
    assert again.written == (() if corruption == "forget" else (victim,))


def test_stale_files_go_by_the_manifest(generate, instances):
    root = generate(instances, 1).root
    mine = root / "registration" / "register_fwd_chunk_99.cpp"
    mine.write_text("// not generated\n")
    tree = generate(instances[:4], 2)
    gone = {path.relative_to(root).as_posix() for path in tree.removed}
    assert {f"registration/register_fwd_chunk_{number}.cpp" for number in range(2, 6)} < gone
    assert len(gone) == 4 + 2 * 2
    assert mine.is_file()
    # without the files for other build systems, those go as well
    assert not (generate(instances[:4], None).root / "CMakeLists.txt").exists()


def test_a_chunk_holds_a_kernel(recipe):
    with pytest.raises(UsageError, match="a chunk of 0 kernels"):
        BuildDir(root=Path(), direction=Forward(), target=None, arch="", recipe=recipe, chunk_size=0)


@pytest.mark.compiler
def test_libraries_are_linked_behind_what_needs_them(tmp_path, generate, recipe, instances):
    """By a program that links the static library, as well as by the shared one."""
    cmake = shutil.which("cmake")
    if cmake is None:
        pytest.skip("no cmake found")
    located = "-L/opt/some/lib -Wl,-rpath,/opt/some/lib -lsome"
    linked = replace(recipe, link_flags=("-pthread", "-Wl,-z,defs", *located.split()))
    generate(instances[:1], root=tmp_path / "tree", recipe=linked)
    (tmp_path / "user.cpp").write_text("int main() {}\n")
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.20)\nproject(user LANGUAGES CXX)\nadd_subdirectory(tree)\n"
        "add_executable(user user.cpp)\ntarget_link_libraries(user PRIVATE ckprof_conv_fwd_kernels)\n"
    )
    configure = [cmake, "-G", "Unix Makefiles", "-S", tmp_path, "-B", tmp_path / "out"]
    subprocess.run(configure, check=True, capture_output=True, timeout=120)
    commands = [path.read_text() for path in (tmp_path / "out").rglob("link.txt")]
    commands = [command for command in commands if " qc " not in command]
    assert len(commands) == 2
    for command in commands:
        archives, behind = command.strip().rsplit("_support.a ", 1)
        assert located in behind
        assert "-lsome" not in archives


EXAMPLE = Path(__file__).parents[3] / "examples" / "embed"
#: one small kernel that supports the example's problem
KERNEL = (
    *("--instance-spec", "tile=32x32x16,waves=1x1x1,mma=16x16x16,gemm_pipeline=mem,vectors=1,1,1"),
    *("--arch", "gfx942", "--dtype", "fp32", "--ndim", "2"),
)

needs_cmake = pytest.mark.skipif(shutil.which("cmake") is None, reason="no cmake found")


def call(*command):
    done = subprocess.run([*map(str, command)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tree") / "kernels"
    assert main(["generate", "fwd", *KERNEL, "--build-dir", str(folder), "-q"]) == 0
    return folder


def test_nothing_is_compiled_for_this_machine_alone_unless_asked(tree):
    text = (tree / "CMakeLists.txt").read_text()
    assert text.count("-march=native") == 1
    before, _, _ = text.partition("-march=native")
    assert before.rstrip().splitlines()[-2:][0] == "if(CKPROF_NATIVE)"
    assert "option(CKPROF_NATIVE" in text and " OFF)" in text


def test_flags_that_the_user_names_stay(tmp_path):
    folder = tmp_path / "kernels"
    chosen = ["--compiler", "g++", "--build-dir", str(folder), "-q"]
    assert main(["generate", "fwd", *KERNEL, *chosen]) == 0
    assert (folder / "CMakeLists.txt").read_text().count("-ffp-contract=fast") == 3


@needs_cmake
@pytest.mark.slow
@pytest.mark.compiler
@pytest.mark.parametrize("native", ["OFF", "ON"])
def test_the_example_finds_the_installed_library_and_runs(tree, tmp_path, native):
    out, prefix = tmp_path / "out", tmp_path / "prefix"
    call("cmake", "-S", tree, "-B", out, f"-DCKPROF_NATIVE={native}")
    call("cmake", "--build", out, "--parallel", os.cpu_count())
    call("cmake", "--install", out, "--prefix", prefix)
    # what is installed does not need what it was built from
    shutil.rmtree(out)
    moved = tmp_path / "elsewhere"
    prefix.rename(moved)
    call("cmake", "-S", EXAMPLE, "-B", tmp_path / "user", f"-DCMAKE_PREFIX_PATH={moved}")
    call("cmake", "--build", tmp_path / "user")
    said = call(tmp_path / "user" / "embed").splitlines()
    assert said[0] == "1 kernels, 1 support the problem"
    assert said[1].startswith("chosen: grouped_conv_fwd_fp32_nhwgc_2d_mem")
    assert said[2:] == ["output in the middle: 36, expected 36", "timed: yes"]


@needs_cmake
@pytest.mark.slow
@pytest.mark.compiler
def test_the_shared_library_is_found_as_well(tree, tmp_path):
    call("cmake", "-S", tree, "-B", tmp_path / "out")
    call("cmake", "--build", tmp_path / "out", "--parallel", os.cpu_count())
    call("cmake", "--install", tmp_path / "out", "--prefix", tmp_path / "prefix")
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.20)\n"
        "project(user LANGUAGES C CXX)\n"
        "find_package(ckprof_conv_fwd 0.1.0 REQUIRED)\n"
        "add_executable(user user.c)\n"
        "target_link_libraries(user PRIVATE ckprof::ckprof_conv_fwd)\n"
    )
    (tmp_path / "user.c").write_text(
        '#include <stdio.h>\n#include "ckprof_conv_api.h"\n'
        'int main(void) { printf("%d\\n", conv_dispatcher_get_kernel_count()); return 0; }\n'
    )
    call("cmake", "-S", tmp_path, "-B", tmp_path / "user", f"-DCMAKE_PREFIX_PATH={tmp_path / 'prefix'}")
    call("cmake", "--build", tmp_path / "user")
    assert call(tmp_path / "user" / "user") == "1\n"
