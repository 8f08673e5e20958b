"""What llvm-mca says of matrix instructions: an oracle for the table of devices.

``python -m plugins.emulator.tests.timing.machine_code_analyser`` prints the table's entries for them.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections import defaultdict
from typing import NamedTuple

from ckprof_plugins.emulator.library import ARCHITECTURES, SOURCE_DIR

ANALYSER = "llvm-mca-22"
_ROW = re.compile(r"INSTRUCTION\(vop3p, \d+, (v_s?m?fma?c?\w+), (\d+), (\d+), (\d+), (\d+), (\d+)\)")
#: bits of architectures in ``instructions.def``
_BITS = {"gfx90a": 1, "gfx942": 2, "gfx950": 4}


class Figures(NamedTuple):
    """Both in quarters of the cycle count."""

    latency: int
    throughput: int


def matrix_instructions(arch):
    """Return name -> registers of destination and sources of what multiplies matrices."""
    rows = _ROW.findall((SOURCE_DIR / "isa" / "instructions.def").read_text())
    return {
        name: (int(d), int(a), int(b), int(c))
        for name, archs, d, a, b, c in rows
        if int(archs) & _BITS[arch] and name.startswith(("v_mfma", "v_smfmac"))
    }


def analysed(arch, names):
    """Return what the analyser knows; names that it does not read are missing."""
    lines = {name: _assembly(arch, name, widths) for name, widths in names.items()}
    command = [
        ANALYSER,
        "-mtriple=amdgcn-amd-amdhsa",
        f"-mcpu={arch}",
        "--all-views=false",
        "--instruction-info",
    ]
    known = {}
    for name, line in lines.items():
        ran = subprocess.run(command, input=line + "\n", capture_output=True, text=True, check=False)
        found = re.search(r"^ *\d+ +(\d+) +(\d+)\.\d+ .*v_s?m", ran.stdout, re.MULTILINE)
        if ran.returncode == 0 and found:
            known[name] = Figures(int(found[1]), int(found[2]))
    return known


def _assembly(arch, name, widths):
    d, a, b, c = widths
    if arch == "gfx90a":
        # that assembler joins the type to the shape and does not count blocks
        name = re.sub(r"_(?:\d+b_)?([a-z]+\d+)$", r"\1", name)
    third = f"v{40}" if name.startswith("v_smfmac") else _registers(0, c)
    return f"{name} {_registers(0, d)}, {_registers(80, a)}, {_registers(100, b)}, {third}"


def _registers(first, count):
    return f"v[{first}:{first + count - 1}]" if count > 1 else f"v{first}"


def available():
    """Say whether the analyser is installed."""
    return shutil.which(ANALYSER) is not None


def main():
    """Print entries, instructions with the same figures together."""
    groups = defaultdict(lambda: defaultdict(list))
    for arch in ARCHITECTURES:
        for name, figures in analysed(arch, matrix_instructions(arch)).items():
            groups[figures][name].append(arch)
    for figures, names in sorted(groups.items()):
        by_archs = defaultdict(list)
        for name, archs in sorted(names.items()):
            by_archs[tuple(sorted(archs))].append(name)
        for found, patterns in sorted(by_archs.items()):
            entry = {
                "patterns": patterns,
                "arch": list(found),
                "passes": figures.throughput,
                "latency": figures.latency,
                "source": "mca",
            }
            print("    " + json.dumps(entry) + ",")


if __name__ == "__main__":
    main()
