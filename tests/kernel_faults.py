"""Faults of the kinds that are reported of real kernels, to be planted into copies of the host model and the
pipelines: what verification and hunts for wrong kernels are measured with.

:data:`FAULTS` names each with its kind, the list that it is looked for in, and its edits: file below
``plugins``, text, and what stands in its place. :func:`planted` makes a copy of the packages with one of
them; ``python -m ckprof`` runs the copy with the environment that it returns.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]

_MODEL = "targets/cpu/include/ck_tile/host_model"
_FORWARD = f"{_MODEL}/impl/forward_block.hpp"
_DATA = f"{_MODEL}/impl/backward_data.hpp"
_DATA_BLOCK = f"{_MODEL}/impl/backward_data_block.hpp"
_WEIGHT_BLOCK = f"{_MODEL}/impl/backward_weight_block.hpp"
_STREAM_K = f"{_MODEL}/impl/stream_k_block.hpp"
_WINDOW = f"{_MODEL}/impl/window.hpp"
_DEPTHWISE = f"{_MODEL}/impl/depthwise_block.hpp"
_GEMM = f"{_MODEL}/impl/plain_gemm_block.hpp"
_SPLIT = f"{_MODEL}/k_split.hpp"
_TEMPLATES = "pipelines/templates"

#: direction, list, and instances of it that are enough
FWD = ("fwd", "forward/tests/nhwgc_fp16", "11,13,24,31")
FWD_3D = ("fwd", "forward/tests/ndhwgc_bf16", "0,7,10,12")
BIAS = ("fwd", "forward/bias_clamp/tests/nhwgc_fp16", "8,10,11")
DATA = ("bwd_data", "backward_data/tests/nhwgc_fp16", "0,3,4,9")
WEIGHT = ("bwd_weight", "backward_weight/tests/nhwgc_bf16", "1,6,8,9")
STREAM_K = ("bwd_weight", "backward_weight/tests/nhwgc_fp16_streamk", "0,3")
DEPTHWISE = ("fwd", "forward/tests/ngchw_depthwise", "0,4,8,12")
GEMM = ("gemm", "gemm/universal/rcr_fp16", "0,9,30")


class Fault(NamedTuple):
    """One fault."""

    name: str
    #: kind of the reported faults: groups, window, sub-GEMM, remainder, loop, split, clearing, workspace,
    #: strides of matrices, rank
    kind: str
    where: tuple[str, str, str]
    edits: tuple[tuple[str, str, str], ...]


def _one(name, kind, where, file, old, new):
    return Fault(name, kind, where, ((file, old, new),))


FAULTS = (
    # forward
    _one(
        "weights of the first group for all groups",
        "groups",
        FWD,
        _FORWARD,
        "const std::int64_t group = first_group + at % merged;",
        "const std::int64_t group = at % merged;",
    ),
    _one(
        "D of the first group for all groups",
        "groups",
        BIAS,
        _FORWARD,
        "run - static_cast<T*>(call.out);",
        "run - static_cast<T*>(call.out) - channel / call.shape.K * call.shape.K;",
    ),
    _one(
        "the output of every group is stored as that of the first two in turn",
        "groups",
        FWD,
        _FORWARD,
        "T* destination = out + (row * s.G + first_group) * s.K + first_column;",
        "T* destination = out + (row * s.G + (s.G > 1 ? 1 - first_group % 2 : 0)) * s.K + first_column;",
    ),
    _one(
        "dilation along y is that along x",
        "window",
        FWD,
        _FORWARD,
        "{s.dilation[0], s.dilation[1], s.dilation[2]}};",
        "{s.dilation[0], s.dilation[2], s.dilation[2]}};",
    ),
    _one(
        "stride along y is that along x",
        "window",
        FWD,
        _WINDOW,
        "out[1] * s.stride[1] - s.left_pad[1],",
        "out[1] * s.stride[2] - s.left_pad[1],",
    ),
    _one(
        "right pad in the place of the left one",
        "window",
        FWD,
        _WINDOW,
        "out[2] * s.stride[2] - s.left_pad[2]};",
        "out[2] * s.stride[2] - s.right_pad[2]};",
    ),
    _one(
        "images are as far apart as their windows reach",
        "window",
        FWD,
        _WINDOW,
        "((image * w.lengths[0] + at[0]) * w.lengths[1] + at[1]) * w.lengths[2] + at[2];",
        "((image * w.lengths[0] + at[0]) * (w.lengths[1] - (image > 1)) + at[1]) * w.lengths[2] + at[2];",
    ),
    Fault(
        "a remainder of the reduction below 8 is not summed",
        "remainder",
        BIAS,
        (
            (
                _FORWARD,
                "for(std::int64_t k0 = 0; k0 < call.gemm.k; k0 += gemm.step())",
                "for(std::int64_t k0 = 0; k0 < call.gemm.k / 8 * 8; k0 += gemm.step())",
            ),
            (
                _FORWARD,
                "std::min(gemm.step(), call.gemm.k - k0);",
                "std::min(gemm.step(), call.gemm.k / 8 * 8 - k0);",
            ),
        ),
    ),
    _one(
        "a remainder of columns below 8 is not stored",
        "remainder",
        FWD,
        _FORWARD,
        "std::min<std::int64_t>(facts.n_per_block, call.gemm.n - first_column);",
        "std::min<std::int64_t>(facts.n_per_block, (call.gemm.n - first_column) / 8 * 8);",
    ),
    _one(
        "a loop of one step multiplies nothing",
        "loop",
        FWD,
        _FORWARD,
        "gemm.multiply(accumulator);",
        "if(call.gemm.k > facts.k_per_block) { gemm.multiply(accumulator); }",
    ),
    _one(
        "a loop of an odd number of steps beyond eleven omits the last",
        "loop",
        FWD,
        _FORWARD,
        "gemm.multiply(accumulator);",
        "if(call.gemm.k <= 11 * facts.k_per_block || k0 + gemm.step() < call.gemm.k) "
        "{ gemm.multiply(accumulator); }",
    ),
    _one(
        "dilation along z is not used",
        "rank",
        FWD_3D,
        _FORWARD,
        "{s.dilation[0], s.dilation[1], s.dilation[2]}};",
        "{1, s.dilation[1], s.dilation[2]}};",
    ),
    _one(
        "stride along z is not used",
        "rank",
        FWD_3D,
        _WINDOW,
        "out[0] * s.stride[0] - s.left_pad[0],",
        "out[0] - s.left_pad[0],",
    ),
    # backward data
    _one(
        "only the first of the products of a stride is computed",
        "sub-GEMM",
        DATA,
        _DATA,
        "remainders[axis] = std::min(call.tilde[axis], shape.filter[axis]);",
        "remainders[axis] = std::min<std::int64_t>(1, shape.filter[axis]);",
    ),
    _one(
        "only the first of them where there is one group",
        "sub-GEMM",
        DATA,
        _DATA,
        "remainders[axis] = std::min(call.tilde[axis], shape.filter[axis]);",
        "remainders[axis] = shape.G == 1 ? 1 : std::min(call.tilde[axis], shape.filter[axis]);",
    ),
    _one(
        "taps of a product are as far apart along y as along x",
        "sub-GEMM",
        DATA,
        _DATA_BLOCK,
        "gemm.taps[1] * call.tilde[1] + gemm.remainder[1];",
        "gemm.taps[1] * call.tilde[2] + gemm.remainder[1];",
    ),
    _one(
        "steps of the output are those of the dilation",
        "sub-GEMM",
        DATA,
        _DATA,
        "call.output_steps[axis] = dilation / g;",
        "call.output_steps[axis] = dilation;",
    ),
    Fault(
        "up to 15 of the reduction are not summed",
        "remainder",
        DATA,
        (
            (
                _DATA_BLOCK,
                "split_k_tiles(sub.k, call.k_batch, facts.k_per_block, part);",
                "split_k_tiles(sub.k < 16 ? sub.k : sub.k / 16 * 16, call.k_batch, facts.k_per_block, part);",
            ),
        ),
    ),
    _one(
        "right pad in the place of the left one, backward data",
        "window",
        DATA,
        _DATA_BLOCK,
        "t[axis] * s.stride[axis] - s.left_pad[axis];",
        "t[axis] * s.stride[axis] - s.right_pad[axis];",
    ),
    _one(
        "weights of the first group for all groups, backward data",
        "groups",
        DATA,
        _DATA_BLOCK,
        "static_cast<const T*>(call.wei) + group * s.K * stride + channel;",
        "static_cast<const T*>(call.wei) + channel;",
    ),
    _one(
        "as many bytes are cleared as there are elements, backward data",
        "clearing",
        DATA,
        f"{_TEMPLATES}/implicit_gemm.hpp.j2",
        "static_cast<std::size_t>(result_elements(args)) * sizeof({{ p.operation.c_type }});",
        "static_cast<std::size_t>(result_elements(args));",
    ),
    _one(
        "odd splits take the parts of even ones",
        "split",
        DATA,
        _DATA_BLOCK,
        "const std::int64_t part         = z % call.k_batch;",
        "const std::int64_t part         = z % call.k_batch / 2 * 2;",
    ),
    # backward weight
    _one(
        "as many bytes are cleared as there are elements",
        "clearing",
        WEIGHT,
        f"{_TEMPLATES}/implicit_gemm.hpp.j2",
        "static_cast<std::size_t>(result_elements(args)) * sizeof({{ p.operation.c_type }});",
        "static_cast<std::size_t>(result_elements(args));",
    ),
    _one(
        "cleared where splits are asked for, not where they are deduced",
        "clearing",
        WEIGHT,
        "pipelines/gemm_families.py",
        'zeroes_if="kargs.k_batch > 1"',
        'zeroes_if="args.k_batch > 1"',
    ),
    _one(
        "splits store and do not add",
        "split",
        WEIGHT,
        _WEIGHT_BLOCK,
        "store_weight_tile(facts, call, place, call.k_batch > 1);",
        "store_weight_tile(facts, call, place, call.k_batch > 4);",
    ),
    _one(
        "splits begin at whole tiles and leave a rest",
        "split",
        WEIGHT,
        _SPLIT,
        "const std::int64_t length = (depth + grain - 1) / grain * k_per_block;\n"
        "    const std::int64_t begin  = part * length < depth ? part * length : depth;",
        "const std::int64_t length = (depth + (k_batch == 1 ? grain - 1 : 0)) / grain * k_per_block;\n"
        "    const std::int64_t begin  = part * length < depth ? part * length : depth;",
    ),
    _one(
        "gradient of the first group for all groups",
        "groups",
        WEIGHT,
        _WEIGHT_BLOCK,
        "static_cast<const T*>(call.out) + place.first_group * s.K +",
        "static_cast<const T*>(call.out) +",
    ),
    _one(
        "dilation along x is that along y",
        "window",
        WEIGHT,
        _WEIGHT_BLOCK,
        "{s.dilation[0], s.dilation[1], s.dilation[2]}};",
        "{s.dilation[0], s.dilation[1], s.dilation[1]}};",
    ),
    _one(
        "half of the workspace is cleared",
        "workspace",
        WEIGHT,
        f"{_TEMPLATES}/stages.hpp.j2",
        "hip_check_error(hipMemsetAsync(workspace, 0, bytes, s.stream_id_));",
        "hip_check_error(hipMemsetAsync(workspace, 0, bytes / 2, s.stream_id_));",
    ),
    # stream-K
    _one(
        "one part of a divided tile is added",
        "split",
        STREAM_K,
        _STREAM_K,
        "const bool exists          = partner < plan_.sk_ctas && plan_.start(partner) < tile_end;",
        "const bool exists = step < 2 && partner < plan_.sk_ctas && plan_.start(partner) < tile_end;",
    ),
    _one(
        "the flag of a part is not waited for",
        "split",
        STREAM_K,
        _STREAM_K,
        "const std::int64_t partner = c + step;",
        "const std::int64_t partner = c + std::min<std::int64_t>(step, 2);",
    ),
    _one(
        "tiles of groups are counted in the wrong order",
        "groups",
        STREAM_K,
        _STREAM_K,
        "tile_row % call_.gemm.batch);",
        "tile_row / 2 % call_.gemm.batch);",
    ),
    # depthwise
    _one(
        "rows of tiles after the first begin a pad too late",
        "remainder",
        DEPTHWISE,
        _DEPTHWISE,
        "const std::int64_t first = row * f.stride[0] - f.pad[0];",
        "const std::int64_t first = row * f.stride[0] - (row == 0 ? f.pad[0] : 0);",
    ),
    # matrix products
    _one(
        "rows of A are as far apart as they are long",
        "strides of matrices",
        GEMM,
        _GEMM,
        "(a_row ? tile.first_row * call.stride_a + k0 : k0 * call.stride_a + tile.first_row),",
        "(a_row ? tile.first_row * call.k + k0 : k0 * call.stride_a + tile.first_row),",
    ),
    _one(
        "rows of E are as far apart as they are long",
        "strides of matrices",
        GEMM,
        _GEMM,
        "store_run(source, e + line * call.stride_e + first, count, mode);",
        "store_run(source, e + line * call.n + first, count, mode);",
    ),
    _one(
        "the last split ends as the others do",
        "split",
        GEMM,
        _SPLIT,
        "return {begin < depth ? begin : depth, part == k_batch - 1 || depth < end ? depth : end};",
        "return {begin < depth ? begin : depth, depth < end ? depth : end};",
    ),
    _one(
        "columns beyond the first tile of E are those of the tile before",
        "remainder",
        GEMM,
        _GEMM,
        "? k0 * call.stride_b + tile.first_column\n"
        "                                  : tile.first_column * call.stride_b + k0),",
        "? k0 * call.stride_b + tile.first_column\n"
        "                                  : tile.first_column * call.k + k0),",
    ),
)


def planted(fault, folder):
    """Make a copy of the packages with a fault; return the environment that runs it.

    :param fault: ``None``: a copy without any.
    :param folder: is made.
    :raises ValueError: an edit does not fit the file.
    """
    folder.mkdir(parents=True)
    (folder / "ckprof").symlink_to(ROOT / "ckprof")
    (folder / "ckprof_converters").symlink_to(ROOT / "converters")
    (folder / "ckprof_conf").symlink_to(ROOT / "conf")
    plugins = folder / "ckprof_plugins"
    shutil.copytree(ROOT / "plugins", plugins, ignore=shutil.ignore_patterns("tests", "__pycache__", "docs"))
    for file, old, new in fault.edits if fault is not None else ():
        path = plugins / file
        text = path.read_text(encoding="utf-8")
        if text.count(old) != 1:
            raise ValueError(f"{file} has {text.count(old)} times {old!r}, expected one")
        path.write_text(text.replace(old, new), encoding="utf-8")
    return {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
