"""Instances of matrix-product kernels."""

from ckprof.model.catalog import Catalog
from ckprof.model.types import DataType
from ckprof_plugins.operations.gemm.problem import find_layout
from ckprof_plugins.pipelines.universal_gemm.pipeline import UniversalGemmPipeline
from ckprof_plugins.pipelines.universal_gemm.reading import VARIANT, UniversalGemmRecord

FAMILY = UniversalGemmPipeline()
OLD, NOVEMBER, NEW = "2025-07", "2025-11", "2026-06"


def make_product(dtype="fp16", layout="rcr", **changes):
    """Return a kernel of a 128x128x64 tile with changes: tile, waves, mma of three sizes, pads."""
    sizes = {"tile": (128, 128, 64), "warp": (2, 2, 1), "warp_tile": (32, 32, 16)}
    for name, key in (("tile", "tile"), ("waves", "warp"), ("mma", "warp_tile")):
        sizes[key] = changes.pop(name, sizes[key])
    pads = changes.pop("pads", (False, False, False))
    record = UniversalGemmRecord(
        **{
            "id": 0,
            **{
                f"{key}_{axis}": size
                for key, of in sizes.items()
                for axis, size in zip("mnk", of, strict=True)
            },
            **{f"pad_{axis}": pad for axis, pad in zip("mnk", pads, strict=True)},
            **{"pipeline": "compv3", "scheduler": "intrawave", "epilogue": "cshuffle"},
            **changes,
        }
    )
    found = find_layout(layout)
    assert found is not None
    catalog = Catalog(variant=VARIANT, ndim=0, layout=found, dtype=DataType(dtype), records=(record,))
    return FAMILY.make_instance(catalog, "gemm", record)


def broken(instance, level=NEW, arch="gfx942"):
    """Return the ids of the rules that an instance breaks."""
    return [unmet.rule for unmet in FAMILY.unmet_requirements(instance, arch, level)]
