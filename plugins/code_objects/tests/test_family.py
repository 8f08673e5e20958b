"""The C++ that is made of a description: its answers, grids and arguments, compiled for the host."""

import struct
import subprocess
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from ckprof.errors import InputError
from ckprof.kernels.keys import digest_parts
from ckprof.kernels.toolchain import find_compiler
from ckprof.model.recipe import Product
from ckprof.model.types import DataType
from ckprof_plugins.code_objects import family as families
from ckprof_plugins.code_objects.description import (
    Cleared,
    Condition,
    LaunchDescription,
    Pointer,
    Scalar,
    Struct,
)
from ckprof_plugins.code_objects.family import (
    INCLUDE_DIR,
    CodeObjectError,
    CodeObjectFamily,
    OtherTargetError,
)
from ckprof_plugins.directions._convolution.layout import find_layout
from ckprof_plugins.targets.cpu.target import INCLUDE_DIR as MODEL_DIR
from plugins.code_objects.tests.toy_family import ToyFamily, ToyRecord

DESCRIPTION = LaunchDescription(
    kernel="k",
    arguments=(
        Pointer("output", "4 * N"),
        Scalar("i8", "C - 100"),
        Struct(24, ((4, Scalar("f32", "out_w")), (16, Pointer("workspace")))),
        Scalar("u64", "in_h * in_w * split_k"),
    ),
    grid=("ceil_div(N * out_h * out_w, 16)", "K", "G"),
    block=(64,),
    dynamic_lds="2 * C",
    workspace="8 * N",
    conditions=(Condition("channels", "C % 8 == 0", "C is a multiple of 8"),),
    cleared=(Cleared("output", "N + K"),),
)
#: as the compiler's metadata have them, of size and place
ARGUMENTS = ((8, 0, "global_buffer"), (1, 8, "by_value"), (24, 16, "by_value"), (8, 40, "by_value"))


class Described(ToyFamily):
    """A family whose code is not looked at."""

    description = DESCRIPTION

    def code_object(self, instance, arch):
        return b"code of " + arch.encode()

    def launch_description(self, instance):
        return self.description


@pytest.fixture
def instance():
    catalog = SimpleNamespace(ndim=2, layout=find_layout("nhwgc"), dtype=DataType.FP16)
    return ToyFamily().make_instance(catalog, "fwd", ToyRecord(id=0, block=64))


@pytest.fixture
def metadata(monkeypatch):
    arguments = [{".size": size, ".offset": at, ".value_kind": kind} for size, at, kind in ARGUMENTS]
    monkeypatch.setattr(
        families, "metadata_of", lambda code, where: (({".name": "k", ".args": arguments},), {})
    )


@pytest.mark.usefixtures("metadata")
def test_the_launcher_says_what_the_description_says(instance, tmp_path):
    source = Described().render_named(instance, "k", "gfx942:xnack-", "2025-11")
    assert (source.launcher, source.host_args) == ("ns_k::Launcher", "ns_k::Launcher::HostArgs")
    # "code of gfx942"
    assert ",".join(map(str, b"code of gfx942")) in source.header
    assert (
        f"// Launcher: {digest_parts((INCLUDE_DIR / 'ckprof_code_object.hpp').read_text())}" in source.header
    )
    (tmp_path / "k.hpp").write_text(source.header)
    flags = ("-std=c++20", "-Wall", "-Wextra", "-Werror", "-DCKPROF_SUPPORT_ONLY")
    folders = (f"-I{tmp_path}", f"-I{INCLUDE_DIR}", f"-I{MODEL_DIR}")
    command = [*find_compiler().command, *flags, *folders, Path(__file__).with_name("launcher_answers.cpp")]
    subprocess.run([*command, "-o", tmp_path / "k"], check=True)
    printed = subprocess.run([tmp_path / "k"], capture_output=True, text=True, check=True).stdout.splitlines()
    assert printed == [
        "channels: C is a multiple of 8: C = 12",
        "0 0",
        # beyond one byte, and no grid of splits
        "argument-range: argument 2 of k (C - 100, i8) is 140, expected -128 to 127",
        "0 0",
        "1 1",
        # windows of 2 x 3 in 10 x 10: 5 x 8, of 5 images
        "13 7 3 64 1 192 40",
        struct.pack("<Qb11xf8xQQ", 0x1000 + 20, -4, 8.0, 0x2000, 9 * 8 * 4).hex(),
        "0x1000 12",
        "ToyForward<fp16,64>",
    ]


@pytest.mark.usefixtures("metadata")
def test_a_description_without_splits_takes_no_splits(instance):
    class Whole(Described):
        description = LaunchDescription(
            kernel="k", arguments=(*DESCRIPTION.arguments[:3], Scalar("u64", 1)), grid=(1,), block=(64,)
        )

    header = Whole().render(instance, "gfx942", "2025-11").header
    assert '"split-k"' in header and "the kernel does not split its reduction" in header
    assert '"split-k"' not in Described().render(instance, "gfx942", "2025-11").header


def test_what_does_not_compile_is_an_error_of_its_source_and_is_tried_once(instance):
    tried = []

    class Failing(Described):
        def code_object(self, instance, arch):
            tried.append(arch)
            raise CodeObjectError("first line\n\n  second \\ line\n" + "more\n" * 20)

    family = Failing()
    for _ in range(2):
        lines = family.render(instance, "gfx942", "2025-11").header.splitlines()
        errors = [line for line in lines if line.startswith("#error")]
        assert errors[:2] == ["#error first line", "#error   second / line"]
        assert len(errors) == 8
    assert tried == ["gfx942"]


def test_code_that_is_none_is_an_error_of_input(instance):
    for code, message in (
        (b"no ELF", "code object of toy_fwd_fp16_64: not a code object"),
        (
            b"__CLANG_OFFLOAD_BUNDLE__" + bytes(64),
            "an offload bundle, expected .* with --no-gpu-bundle-output",
        ),
        (None, r"code_object\(\) returned NoneType, expected bytes"),
    ):
        family = Described()
        family.code_object = lambda instance, arch, code=code: code
        with pytest.raises(InputError, match=message):
            family.render(instance, "gfx942", "2025-11")


@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_second_problems_of_any_kernel_have_tails(instance, ndim):
    (alternatives,) = Described().second_problems(replace(instance, ndim=ndim))
    first, last = alternatives[0], alternatives[-1]
    assert first.groups == 2 and (first.out_channels, first.in_channels) == (65, 17)
    assert len(set(first.strides)) == ndim and first.left_pads != first.right_pads
    assert last.groups == 1 and (last.out_channels, last.in_channels) == (128, 64)
    assert all(problem.ndim == ndim for problem in alternatives)


def test_second_products_of_any_kernel_are_of_several_tiles_and_of_less_than_one(instance):
    found = Described().second_problems(replace(instance, direction="gemm"))
    sizes = [[(one.m, one.n, one.k) for one in alternatives] for alternatives in found]
    assert [one[0] for one in sizes] == [(129, 65, 33), (2, 2, 2)]
    assert sizes[0][1:3] == [(136, 72, 40), (144, 80, 48)] and sizes[1][-1] == (64, 64, 64)


def recipe(**changes):
    """What the family reads and changes of a recipe."""
    from ckprof.model.recipe import BuildRecipe, Compiler, CompilerFamily

    compiler = Compiler(
        command=("c++",), family=CompilerFamily.CLANG, version=(1, 0, 0), description="", identity=""
    )
    usual = {
        **{"target": "hip", "arch": "gfx942:xnack-", "api_level": "2025-11", "compiler": compiler},
        **{"compile_flags": (), "link_flags": (), "include_dirs": (INCLUDE_DIR.parent,)},
        **{"prefix_header": "#include <x>", "functions_per_unit": 7},
        **{"support_sources": (), "machine_identity": ""},
    }
    return BuildRecipe(**{**usual, **changes})


def test_recipes_compile_what_is_missing_and_show_code_that_is_inspected(instance):
    compiled = []

    class Missing(Described):
        def code_object(self, instance, arch):
            compiled.append((instance.key, arch))
            return b""

        def missing(self, instances, arch):
            return [one for one in instances if (one.key, arch) not in compiled]

    family = Missing()
    changed = family.compilation([instance], recipe())
    usual = recipe()
    assert changed == replace(
        usual,
        include_dirs=(*usual.include_dirs, INCLUDE_DIR),
        digested_dirs=usual.include_dirs,
        parts=changed.parts,
    )
    (part,) = changed.parts
    assert part.name == "1 code objects of toy" and not part.present
    steps = []
    part.make(1, lambda *step: steps.append(step))
    assert steps == [(1, 1, "toy_fwd_fp16_64")]
    assert compiled == [(instance.key, "gfx942")]
    assert family.compilation([instance], recipe()).parts == ()
    for further, prefix in (((), ""), ((SimpleNamespace(pipeline="other"),), "#include <x>")):
        inspected = family.compilation([instance, *further], recipe(product=Product.CODE_OBJECTS))
        assert inspected.kernel_flags == ("-DCKPROF_SHOW_CODE_OBJECTS",)
        assert (inspected.prefix_header, inspected.functions_per_unit) == (prefix, 1)
    with pytest.raises(
        OtherTargetError, match="kernels of toy are code objects for AMD GPUs: they need --target hip"
    ):
        family.compilation([instance], recipe(target="cpu"))


def test_the_base_class_asks_for_code_and_description(instance):
    for member in (
        lambda: CodeObjectFamily.code_object(ToyFamily(), instance, "gfx942"),
        lambda: CodeObjectFamily.launch_description(ToyFamily(), instance),
    ):
        with pytest.raises(NotImplementedError):
            member()
