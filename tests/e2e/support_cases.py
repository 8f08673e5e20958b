"""Problems whose answers are known from the real headers of July 2025, fp16, channels last."""

from tests.e2e.catalogs import LARGE_TILE, write_catalog

INSTANCE = {**LARGE_TILE, "pipeline": "compv1"}
NARROW = {"vector_size_a": 4, "vector_size_b": 2, "vector_size_c": 4}
V4 = {**NARROW, "pipeline": "compv4", "double_smem_buffer": True, "tile_k": 32}

#: dimensions, G N K C, filter, image, strides, dilations, left and right pads; the sixth with two splits
PROBLEMS = (
    "2 1 1 64 64 3 3 28 28 1 1 1 1 1 1 1 1",
    "2 2 4 64 12 3 3 28 28 1 1 1 1 1 1 1 1",
    "2 2 4 60 64 3 3 28 28 1 1 1 1 1 1 1 1",
    "2 1 2 64 64 1 1 14 14 1 1 1 1 0 0 0 0",
    "2 1 2 64 64 1 1 14 14 2 2 1 1 0 0 0 0",
    "2 1 2 64 64 3 3 14 14 1 1 1 1 1 1 1 1",
    "2 4 2 8 1 3 3 14 14 1 1 1 1 1 1 1 1",
    "2 1 2 64 64 3 3 15 17 2 2 2 2 2 2 2 2",
)

WITH_TWO_SPLITS = 5

#: kernel -> which of the problems it supports
FORWARD = (
    ({}, "yes no no yes yes no no yes"),
    ({"specialization": "filter3x3", "vector_size_a": 1, "vector_size_b": 1}, "no no no no no no yes no"),
    # the basic pipeline obeys the sizes that it is given, the others derive them from the tile
    (NARROW, "yes yes yes yes yes no no yes"),
    ({**NARROW, "pipeline": "mem"}, "yes no yes yes yes no no yes"),
    ({**NARROW, "pipeline": "compv3"}, "yes no yes yes yes no no yes"),
    (
        {**NARROW, "pipeline": "compv4", "double_smem_buffer": True, "tile_k": 32},
        "yes no yes yes yes no no yes",
    ),
)
WEIGHT = (({}, "yes no no yes yes yes no yes"),)


def write_case(folder, variant, kernels):
    """Write catalog and problems, and return the arguments that name them."""
    write_catalog(folder / "catalog.json", variant, [changes for changes, _ in kernels], usual=INSTANCE)
    (folder / "problems.txt").write_text("".join(f"{line}\n" for line in PROBLEMS))
    return ["--conf", "catalog.json", "--problems", "problems.txt", "--split-k", "1,2"]


def answers_of(supported):
    """Return the answer to each problem out of those with one split and with two."""
    return [supported[2 * index + (index == WITH_TWO_SPLITS)] for index in range(len(PROBLEMS))]


def expected(kernels):
    """Return the known answers of each kernel."""
    return [[word == "yes" for word in answers.split()] for _, answers in kernels]
