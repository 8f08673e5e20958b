"""The kernels on the emulated device: beside references, and with all its checks."""

import json
import random
from pathlib import Path

import pytest

LISTS = Path(__file__).parent.parent
#: tails along everything: strides, dilations, pads on one side, groups, channels that fill no tile
CONVOLUTIONS = (
    "-n 2 -c 48 -H 9 -W 7 -k 36 -y 3 -x 3 -p 1 -q 1 -u 2 -v 2 -g 2 -F 1",
    "-n 3 -c 8 -H 5 -W 12 -k 67 -y 2 -x 5 -p 0 -q 2 -l 2 -j 1 -g 1 -F 1",
    "-n 1 -c 8 -H 1 -W 1 -k 1 -y 1 -x 1 -F 1",
)
#: M, N, K, and strides with gaps
PRODUCTS = ((130, 72, 104, -1, -1, -1), (5, 3, 8, 16, 24, 9), (64, 65, 256, -1, -1, -1))
PROBLEMS = 200
WORDS = {"fp16": ("convfp16", 1), "bf16": ("convbfp16", 2)}


def outcomes(ckprof, operation, conf, arch, lines, *, checks="all"):
    """Run kernels; return their outcomes, whose statuses are one of two."""
    problems = [word for line in lines for word in ("--problem", line)]
    ran = ckprof(
        *("run", operation, "--conf", LISTS / conf, *problems, "--target", "hip", "--arch", arch),
        *("--device", "emulated", "--check", checks, "--max-time", "0", "--rounds", "1", "--format", "json"),
    )
    assert ran.stdout, ran.stderr
    found = [one for problem in json.loads(ran.stdout)["problems"] for one in problem["outcomes"]]
    wrong = [one for one in found if one["status"] not in ("ok", "unsupported")]
    assert wrong == [], ran.stderr
    return found


@pytest.mark.parametrize(
    ("arch", "conf"),
    [
        ("gfx942", "forward_fp16.conf"),
        pytest.param("gfx942", "forward_bf16.conf", marks=pytest.mark.slow),
        pytest.param("gfx90a", "forward_bf16.conf", marks=pytest.mark.slow),
        pytest.param("gfx950", "forward_fp16.conf", marks=pytest.mark.slow),
        ("gfx950", "gfx950_bf16.conf"),
    ],
)
def test_convolutions_are_right(ckprof, arch, conf):
    word = WORDS[conf[:-5].rpartition("_")[2]][0]
    found = outcomes(ckprof, "fwd", conf, arch, [f"{word} {line}" for line in CONVOLUTIONS])
    kernels = (LISTS / conf).read_text().count("\n")
    assert [one["status"] for one in found] == ["ok"] * len(CONVOLUTIONS) * kernels


@pytest.mark.slow
@pytest.mark.parametrize(
    ("layout", "problems"),
    [
        (
            "nwgc",
            (
                "grouped_conv_fwd 2 1 0 1 1 0 1 1 2 3 67 16 5 31 2 1 1 2",
                "grouped_conv_fwd 2 1 0 1 1 0 1 1 1 2 5 8 1 9 1 1 0 0",
            ),
        ),
        (
            "ndhwgc",
            (
                "grouped_conv_fwd 2 1 0 1 1 0 1 3 2 2 70 24 2 3 4 5 9 11 2 1 3 1 2 1 0 1 2 1 0 1",
                "grouped_conv_fwd 2 1 0 1 1 0 1 3 1 1 3 8 1 1 1 2 3 4 1 1 1 1 1 1 0 0 0 0 0 0",
            ),
        ),
    ],
)
def test_one_and_three_axes(ckprof, tmp_path, layout, problems):
    conf = tmp_path / "axes_bf16.conf"
    conf.write_text(f"FlyDslForward<{layout},bf16,64,64,32,2,8,16>\n")
    found = outcomes(ckprof, "fwd", conf, "gfx942", problems)
    assert [one["status"] for one in found] == ["ok"] * len(problems)


@pytest.mark.parametrize(("arch", "conf"), [("gfx942", "gemm_bf16.conf"), ("gfx950", "gemm_fp16.conf")])
def test_products_are_right(ckprof, arch, conf):
    number = WORDS[conf[5:9]][1]
    lines = [f"gemm {number} 1 1 1 0 1 {' '.join(map(str, sizes))}" for sizes in PRODUCTS]
    found = outcomes(ckprof, "gemm", conf, arch, lines)
    assert [one["status"] for one in found] == ["ok"] * len(found)


def drawn(draw):
    """Return a small convolution, and whether its channels are multiples of 8."""
    groups, depth = draw.choice((1, 1, 2, 3)), draw.choice((1, 3, 8, 16, 20, 24, 40, 72))
    columns = draw.choice((1, 5, 16, 33, 64, 65, 70, 130))
    filter, stride, dilation = ([draw.choice(of) for _ in "hw"] for of in ((1, 2, 3, 5), (1, 2, 3), (1, 2)))
    pads = [draw.randrange(0, 3) for _ in "hw"]
    # at least one window fits
    inputs = [
        max(1, dilation[n] * (filter[n] - 1) + 1 - 2 * pads[n]) + draw.randrange(0, 12) for n in range(2)
    ]
    line = (
        f"-n {draw.randrange(1, 4)} -c {groups * depth} -H {inputs[0]} -W {inputs[1]} -k {groups * columns} "
        f"-y {filter[0]} -x {filter[1]} -u {stride[0]} -v {stride[1]} -l {dilation[0]} -j {dilation[1]} "
        f"-p {pads[0]} -q {pads[1]} -g {groups} -F 1"
    )
    return line, depth % 8 == 0


@pytest.mark.slow
@pytest.mark.parametrize("arch", ["gfx950", "gfx942"])
def test_two_hundred_problems(ckprof, arch, tmp_path):
    """Every problem is right on the kernel of vectors of 1, and on those of 8 where the channels allow it."""
    draw = random.Random(58)  # noqa: S311
    problems = [drawn(draw) for _ in range(PROBLEMS)]
    conf = tmp_path / "two_bf16.conf"
    conf.write_text("".join(f"FlyDslForward<nhwgc,bf16,64,64,32,2,{vector},16>\n" for vector in (8, 1)))
    found = outcomes(
        ckprof,
        "fwd",
        conf,
        arch,
        [f"convbfp16 {line}" for line, _ in problems],
    )
    assert len(found) == 2 * PROBLEMS
    for index, (line, multiple) in enumerate(problems):
        statuses = {one["instance"]: one["status"] for one in found[2 * index : 2 * index + 2]}
        assert statuses == {0: "ok" if multiple else "unsupported", 1: "ok"}, line
