"""Conversion: the shipped folder in one process, and a list of a million lines.

Goals: 62 lists in at most 0.35 s of wall time and 80 MB, start-up included; 100,000 lines a second from a
file of any length, with memory that does not grow with it.
"""

import json
import subprocess
import sys

import pytest

from ckprof.paths import conf_root

#: runs ckprof and prints the peak of its memory
_MEASURED = """
import resource, sys
from ckprof.cli.main import main
code = main(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
sys.exit(code)
"""

LINES = 1_000_000


def peak_mb(*arguments):
    """Call ckprof in a process of its own and return the peak of its resident memory."""
    done = subprocess.run(
        [sys.executable, "-c", _MEASURED, *map(str, arguments)], capture_output=True, text=True, check=True
    )
    return int(done.stdout.splitlines()[-1])


def test_the_shipped_folder(benchmark, tmp_path):
    folders = iter(range(1000))

    def convert():
        out = tmp_path / str(next(folders))
        subprocess.run(
            [sys.executable, "-m", "ckprof", "convert", conf_root(), "-o", out, "-q"],
            check=True,
            stdout=subprocess.DEVNULL,
        )

    benchmark.pedantic(convert, rounds=10, warmup_rounds=1)
    benchmark.extra_info["lists"] = len(list(conf_root().rglob("*.conf")))
    benchmark.extra_info["peak_mb"] = peak_mb("convert", conf_root(), "-o", tmp_path / "last", "-q")


def _repeated(lines, index):
    return lines[index % len(lines)]


def _never_the_same_text(lines, index):
    """Change an argument that has no influence: every line is new, but gives a known instance."""
    return lines[index % len(lines)].replace("Seq(", f"Seq({index},", 1)


@pytest.mark.parametrize("vary", [_repeated, _never_the_same_text])
def test_a_million_lines(benchmark, tmp_path, vary):
    source = conf_root() / "forward" / "profiler" / "nhwgc_fp16.conf"
    lines = source.read_text().splitlines()
    long, short = tmp_path / "long.conf", tmp_path / "short.conf"
    for path, count in ((long, LINES), (short, LINES // 10)):
        with path.open("w") as stream:
            stream.writelines(f"{vary(lines, index)}\n" for index in range(count))

    def convert():
        subprocess.run(
            [sys.executable, "-m", "ckprof", "convert", long, "-o", tmp_path / "x.json", "-q"], check=True
        )

    benchmark.pedantic(convert, rounds=1)
    benchmark.extra_info["lines_per_s"] = round(LINES / benchmark.stats["mean"])
    peaks = {
        f"peak_mb_{path.stem}": peak_mb("convert", path, "-o", tmp_path / "y.json", "-q")
        for path in (short, long)
    }
    benchmark.extra_info.update(peaks)
    peak_mb("convert", source, "-o", tmp_path / "z.json", "-q")
    repeated, once = (json.loads((tmp_path / f"{name}.json").read_text())["instances"] for name in "xz")
    assert len(repeated) == len(once) > 200
