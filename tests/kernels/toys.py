"""Toy instances, what writes them, and what is built of them: nothing is compiled."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import ClassVar

from ckprof.kernels.build_dir import BuildDir
from ckprof.kernels.source_tree import generate_tree
from ckprof.model.instance import Instance
from ckprof.model.recipe import BuildRecipe, Compiler, CompilerFamily
from ckprof.model.types import DataType
from ckprof.plugin.protocols import KernelSource
from ckprof_plugins.directions._convolution.layout import find_layout
from ckprof_plugins.directions.fwd import Forward
from ckprof_plugins.pipelines.gemm_families import ImplicitGemmPipeline
from tests.candidates import candidates_of

PIPELINES = {"implicit_gemm": ImplicitGemmPipeline()}


def build_dir_at(root):
    recipe = SimpleNamespace(api_level="2026-06", target="")
    return BuildDir(root=root, direction=Forward(), target=None, arch="gfx942", recipe=recipe)


def generate(root, instances, pipelines=PIPELINES):
    return generate_tree(build_dir_at(root), candidates_of(instances, pipelines))


@dataclass(frozen=True, slots=True, kw_only=True)
class Toy(Instance):
    pipeline: ClassVar[str] = "toy"

    number: int


class ToyPipeline:
    """Gives all its kernels the same name."""

    id = "toy"

    def kernel_name(self, instance):
        return "toy"

    def instance_string(self, instance):
        return f"Toy<{instance.number}>"

    def render(self, instance, arch, api_level):
        return self.render_named(instance, "toy", arch, api_level)

    def render_named(self, instance, name, arch, api_level):
        header = f'#include "toy.hpp"\nstruct {name}_Launcher {{ /* a toy */ }};\n'
        return KernelSource(name=name, header=header, launcher=f"{name}_Launcher")


class OldPipeline:
    """A pipeline that knows nothing of names that are given to it."""

    id = "toy"

    def __init__(self, *parts):
        self.parts = parts

    def kernel_name(self, instance):
        return "_".join(["toy", *(str(getattr(instance, part)) for part in self.parts)])

    def instance_string(self, instance):
        return f"Toy<{instance.number}>"

    def render(self, instance, arch, api_level):
        name = self.kernel_name(instance)
        return KernelSource(name=name, header=f"struct {name} {{}};\n", launcher=name)


def toy(number):
    return Toy(
        id=number, direction="fwd", ndim=2, layout=find_layout("nhwgc"), dtype=DataType.FP16, number=number
    )


RECIPE = BuildRecipe(
    target="t",
    arch="gfx942",
    api_level="2026-06",
    compiler=Compiler(
        command=("device-compiler", "-x"),
        family=CompilerFamily.GCC,
        version=(1, 0, 0),
        description="",
        identity="1",
    ),
    compile_flags=(),
    link_flags=("-lone",),
    include_dirs=(),
    prefix_header="",
    support_sources=(),
    machine_identity="",
)


def compiled(calls):
    return sorted(word for line in calls() for word in line.split() if word.endswith((".cpp", ".hpp")))
