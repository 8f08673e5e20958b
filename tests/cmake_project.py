"""Programs of users that CMake builds with what ckprof has generated."""

import os
import shutil
import subprocess


def build(folder, project, program):
    """Write a project of one program, build it in its folder ``out``, and return what the build printed.

    :param project: text of its CMakeLists.txt.
    :param program: what becomes its ``user.cpp``.
    """
    (folder / "CMakeLists.txt").write_text(project)
    shutil.copyfile(program, folder / "user.cpp")
    out = folder / "out"
    subprocess.run(["cmake", "-S", folder, "-B", out], check=True, capture_output=True)
    built = subprocess.run(
        ["cmake", "--build", out, "--parallel", str(os.cpu_count())], capture_output=True, text=True
    )
    assert built.returncode == 0, built.stdout + built.stderr
    return built.stdout
