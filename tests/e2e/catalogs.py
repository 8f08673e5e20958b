"""Catalogs of few instances, written by what is special about each of them."""

import json

_USUAL = {
    **{"vector_size_a": 8, "vector_size_b": 8, "vector_size_c": 8},
    **{"scheduler": "intrawave", "epilogue": "cshuffle", "double_smem_buffer": False},
    **{"num_groups_to_merge": 1, "num_wave_groups": 1, "specialization": "default", "two_stage": False},
    **{"explicit_gemm": False, "split_image": False, "streamk_enabled": False},
    **{"streamk_reduction_strategy": None, "streamk_persistent": False},
}
#: fields of instances of convolutions, but for their pipeline: a small tile, and a large one
TILE = {
    **{"tile_m": 64, "tile_n": 64, "tile_k": 32, "warp_m": 2, "warp_n": 2, "warp_k": 1},
    **{"warp_tile_m": 16, "warp_tile_n": 16, "warp_tile_k": 16},
    **_USUAL,
}
LARGE_TILE = {
    **TILE,
    **{"tile_m": 128, "tile_n": 128, "tile_k": 64},
    **{"warp_tile_m": 32, "warp_tile_n": 32, "warp_tile_k": 16},
}
#: the same of matrix products
PRODUCT_TILE = {
    **{"tile_m": 128, "tile_n": 128, "tile_k": 64, "warp_m": 2, "warp_n": 2, "warp_k": 1},
    **{"warp_tile_m": 32, "warp_tile_n": 32, "warp_tile_k": 16, "pipeline": "compv3"},
    **{"scheduler": "intrawave", "epilogue": "cshuffle", "pad_m": False, "pad_n": False, "pad_k": False},
}
#: direction -> variant of its catalogs
VARIANTS = {"fwd": "forward", "bwd_data": "bwd_data", "bwd_weight": "bwd_weight", "gemm": "gemm"}


def write_catalog(path, variant, changes, *, usual=TILE, layout="nhwgc", dtype="fp16"):
    """Write instances that have the usual fields with changes, numbered from 0; return the path."""
    ndim = 0 if variant == "gemm" else 2
    head = {"variant": variant, "ndim_spatial": ndim, "layout": layout, "datatype": dtype}
    instances = [{"id": number, **usual, **change} for number, change in enumerate(changes)]
    path.write_text(json.dumps({**head, "instances": instances}))
    return path
