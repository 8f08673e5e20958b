"""Problems for kernels of the old library: those that other kernels get, and what some ask for besides."""

import math
from dataclasses import replace

from tests.plugins.pipelines.drawn_problems import PROBLEMS, convolutions, drawn_problems, with_operation

#: over what a product of a filter of one element reduces; backward weight does over images, which are drawn
REDUCED = {"fwd": "in_channels", "bwd_data": "out_channels"}
#: blocks along that: pipelines that prefetch ask for more blocks than they prefetch, up to eight
BLOCKS = (2, 9, 10)


def problems(draw, instances):
    """Yield problems as other kernels get them, and what some kernels of the old library ask for besides."""
    yield from drawn_problems(draw, instances)
    merged, deep = {}, {}
    for one in instances:
        fields = one.fields()
        kind = (one.direction, one.ndim, fields.get("elementwise_op"))
        groups = int(fields.get("num_groups_to_merge") or 1)
        if groups > 1 or fields["specialization"] == "Filter3x3":
            merged[kind] = max(groups, merged.get(kind, 1))
        if one.direction in REDUCED:
            deep[kind] = max(fields["tile_k"], deep.get(kind, 1))
    for (direction, ndim, operation), groups in merged.items():
        # where a tile has the filters of the groups along N, those of 27 elements do not fit
        thin = (1,) * (ndim - 2) if direction == "bwd_weight" else (3,) * (ndim - 2)
        for case in convolutions(draw, ndim)[:PROBLEMS:2]:
            one = replace(case.problem, groups=groups * draw.choice((1, 2)), filter=(*thin, 3, 3))
            one = replace(one, in_channels=1, out_channels=1)
            yield with_operation(replace(case, problem=one), direction, operation)
    for (direction, ndim, operation), depth in deep.items():
        # every fourth has a filter of one element
        for case, blocks in zip(convolutions(draw, ndim)[1::4], BLOCKS, strict=True):
            channels = {"in_channels": 16, "out_channels": 16, REDUCED[direction]: blocks * depth}
            one = replace(case.problem, groups=1, batch=1, **channels)
            yield with_operation(replace(case, problem=one), direction, operation)
    for need in dict.fromkeys(filter(None, map(needed, instances))):
        yield from long_reductions(draw, *need)


def needed(one):
    """Return what a kernel of backward weight needs that other problems lack; ``None``: nothing.

    Vectors along the channels that do not divide 16, or blocks for a pipeline that prefetches the most.

    :return: arguments of :func:`long_reductions`.
    """
    said = one.fields()
    if one.direction != "bwd_weight":
        return None
    of_k, *of_c = (int(said[f"vector_size_{letter}"]) for letter in "abc")
    if not 16 % math.lcm(*of_c) and said["version"] != "v5":
        return None
    merged, alone = int(said["num_groups_to_merge"] or 1), said["specialization"].startswith("Filter1x1")
    rows = min(3, said["tile_n"] // merged // 3)
    return one.ndim, said.get("elementwise_op"), said["tile_k"], of_k, math.lcm(*of_c), merged, rows, alone


def long_reductions(draw, ndim, operation, tile_k, of_k, of_c, merged, rows, alone):
    """Yield problems of backward weight with the most blocks and with channels that vectors divide.

    :param merged: groups that the kernel computes together, each of one channel.
    :param rows: rows of three elements of the filters of merged groups, which fit into a tile together.
    :param alone: filters have one element.
    """
    drawn = convolutions(draw, ndim)
    for case in drawn[1::4] if alone else drawn[::6]:
        sizes = {"groups": 1, "in_channels": of_c, "out_channels": of_k}
        if merged > 1:
            none, unit = (0,) * ndim, (1,) * ndim
            sizes = {"groups": merged, "in_channels": 1, "out_channels": 1, "dilations": unit}
            sizes |= {
                "filter": (*unit, rows, 3)[-ndim:],
                "left_pads": (*none, 1, 1)[-ndim:],
                "right_pads": none,
            }
        one = replace(case.problem, batch=1, **sizes)
        one = replace(one, batch=-(-BLOCKS[-1] * tile_k // math.prod(one.output)))
        yield with_operation(replace(case, problem=one), "bwd_weight", operation)
