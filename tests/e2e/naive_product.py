"""A kernel family of an out-of-tree plugin that multiplies matrices element by element: ``--plugin FILE``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import msgspec

from ckprof import hookimpl
from ckprof.model.instance import Instance
from ckprof.plugin.protocols import CatalogVariant, KernelSource
from ckprof_plugins.operations.gemm.problem import GEMM_TYPES, LAYOUTS, types_of

_HEADER = """\
#pragma once
#include <string>
#include "ck_tile/core.hpp"
#include "ck_tile/host/kernel_launch.hpp"
#include "ck_tile/host_model/rejection.hpp"
#include "ck_tile/ops/gemm.hpp"

struct {name}_Kernel
{{
    using Args = ck_tile::GemmHostArgs;
    void operator()(const ck_tile::host_model::block_position& block, const Args* args) const
    {{
        const auto& p  = *args;
        const auto* a  = static_cast<const {a}*>(p.a_ptr);
        const auto* b  = static_cast<const {b}*>(p.b_ptr);
        auto* e        = static_cast<{result}*>(p.e_ptr);
        const long row = block.x;
        for(long column = 0; column < p.N; ++column)
        {{
            {acc} sum = 0;
            for(long k = 0; k < p.K; ++k)
            {{
                const long at_a = {a_row} ? row * p.stride_A + k : k * p.stride_A + row;
                const long at_b = {b_row} ? k * p.stride_B + column : column * p.stride_B + k;
                sum += ck_tile::type_convert<{acc}>(a[at_a]) * ck_tile::type_convert<{acc}>(b[at_b]);
            }}
            e[row * p.stride_E + column] = ck_tile::type_convert<{result}>(sum{fault});
        }}
        {extra}
    }}
}};

struct {name}_Launcher
{{
    template <bool Rows>
    using layout  = std::conditional_t<Rows,
                                      ck_tile::tensor_layout::gemm::RowMajor,
                                      ck_tile::tensor_layout::gemm::ColumnMajor>;
    using ALayout = layout<{a_row}>;
    using BLayout = layout<{b_row}>;
    using ELayout = layout<true>;

    static bool is_supported(const ck_tile::GemmHostArgs& p, int k_batch)
    {{
        using ck_tile::host_model::reject;
        if(k_batch != 1) return reject("split-K " + std::to_string(k_batch) + " is not 1");
        if(p.K % {step} != 0) return reject("K = " + std::to_string(p.K) + " is not a multiple of {step}");
        return true;
    }}

    static float launch(const ck_tile::GemmHostArgs& args, const ck_tile::stream_config& s)
    {{
        return ck_tile::launch_kernel(
            s,
            ck_tile::make_kernel({name}_Kernel{{}}, dim3(static_cast<unsigned>(args.M)), dim3(64), 0, &args));
    }}

    static std::string get_instance_string() {{ return "NaiveProduct<{step}>"; }}
}};
"""

_FAULTS = {"wrong": (" + 1", ""), "gap": ("", "e[row * p.stride_E + p.N] = {result}(0);")}


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One instance in a catalog."""

    id: int
    #: what K must be a multiple of
    step: int
    #: what the kernel does wrong; empty for nothing
    fault: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NaiveProduct(Instance):
    """One configuration."""

    pipeline: ClassVar[str] = "naive_product"
    step: int
    fault: str = ""
    tile_m: int = 1
    tile_n: int = 2
    tile_k: int = 3

    @property
    def types(self):
        return types_of(self.dtype)


class NaiveProductPipeline:
    """The family."""

    id = NaiveProduct.pipeline
    label = "matrices element by element; for tests"
    directions = frozenset({"gemm"})

    def make_instance(self, catalog, direction, record):
        return NaiveProduct(
            id=record.id, direction=direction, ndim=catalog.ndim, layout=catalog.layout, dtype=catalog.dtype,
            step=record.step, fault=record.fault,
        )  # fmt: skip

    def kernel_name(self, instance):
        fault = f"_{instance.fault}" if instance.fault else ""
        return f"gemm_{instance.dtype.value}_{instance.layout.name}_naive_{instance.step}{fault}"

    def instance_string(self, instance):
        return f"NaiveProduct<{instance.step}>"

    def unmet_requirements(self, instance, arch, api_level):
        return []

    def default_problem(self, instance, usual):
        return usual

    def render(self, instance, arch, api_level):
        name = self.kernel_name(instance)
        types = instance.types
        cpp = {
            key: f"ck_tile::{value.properties.cpp_type}" if value.properties.cpp_type != "float" else "float"
            for key, value in (
                ("a", types.operands[0]),
                ("b", types.operands[1]),
                ("acc", types.acc),
                ("result", types.result),
            )
        }
        fault, extra = _FAULTS.get(instance.fault, ("", ""))
        text = _HEADER.format(
            name=name, step=instance.step, fault=fault, extra=extra.format(**cpp), **cpp,
            a_row="true" if instance.layout.a == "MK" else "false",
            b_row="true" if instance.layout.b == "KN" else "false",
        )  # fmt: skip
        return KernelSource(name=name, header=text, launcher=f"{name}_Launcher")


@hookimpl
def ckprof_register(registry):
    """Register the family and its catalogs."""
    registry.add(
        NaiveProductPipeline(),
        CatalogVariant(
            name="naive_product",
            direction="gemm",
            record_type=Record,
            pipeline=NaiveProduct.pipeline,
            layouts=LAYOUTS,
            dtypes=GEMM_TYPES,
        ),
    )
