"""The workspace that hunts build launchers with."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ckprof_plugins import hunt
from ckprof_plugins.targets.cpu.target import INCLUDE_DIR

PROGRAM = """
#include <cstdio>
#include "guarded_workspace.hpp"

int main(int count, char**)
{
    auto* const bytes = static_cast<unsigned char*>(ckprof::workspace(100).GetDeviceBuffer());
    if(bytes[0] != 0xff || bytes[99] != 0xff) { return 2; }
    bytes[count > 1 ? 100 : 99] = 0;
    try
    {
        // as flags of the launch before
        const auto* const words = static_cast<const int*>(ckprof::workspace(48).GetDeviceBuffer());
        return words[0] == 1 && words[11] == 1 && words[12] == -1 ? 0 : 3;
    }
    catch(const std::runtime_error& error) { std::puts(error.what()); return 1; }
}
"""


@pytest.mark.compiler
@pytest.mark.thorough
def test_what_is_written_behind_a_workspace_is_seen_by_the_next_launch(tmp_path):
    (tmp_path / "a.cpp").write_text(PROGRAM)
    folders = (INCLUDE_DIR, Path(hunt.__file__).parent / "include")
    words = ["c++", "-std=c++20", *(f"-I{one}" for one in folders), "a.cpp", "-o", "a"]
    subprocess.run(words, cwd=tmp_path, check=True)
    assert subprocess.run([tmp_path / "a"]).returncode == 0
    beyond = subprocess.run([tmp_path / "a", "beyond"], capture_output=True, text=True)
    assert beyond.returncode == 1
    assert beyond.stdout == "the launch before wrote 1 bytes behind its workspace of 100\n"
