"""What compilers are called with for the HIP target, and why."""

from __future__ import annotations

from typing import Final

from ckprof.model.recipe import Precompiling

#: of every source
FLAGS: Final = (
    "-std=c++20",
    # the headers are the user's: their warnings help nobody here
    "-w",
    "-Wno-invalid-constexpr",
    "-Wno-missing-template-arg-list-after-template-kw",
    "-D__HIP_PLATFORM_AMD__",
    # with modules, device and host overloads in a precompiled header count as two definitions of one function
    "-Xclang",
    "-fno-cxx-modules",
)
#: of sources of which the code objects are wanted
DEVICE_FLAGS: Final = ("-O3", "--offload-device-only", "--no-gpu-bundle-output")
#: of sources that only answer whether problems are supported
ANSWER_FLAGS: Final = (
    "-O0",
    "--offload-host-only",
    "-nogpulib",
    "-no-hip-rt",
    "-fPIC",
    "-fvisibility=hidden",
    "-DCKPROF_SUPPORT_ONLY",
)
#: of sources of a library that runs
LIBRARY_FLAGS: Final = ("-O3", "-fPIC", "-fvisibility=hidden")
#: the driver puts a header of its own in front, which a precompiled header already holds
PRECOMPILING: Final = Precompiling(
    make=("-fsyntax-only", "-Xclang", "-emit-pch", "-Xclang", "-o", "-Xclang", "{output}"),
    use=("-nogpuinc", "-Xclang", "-include-pch", "-Xclang", "{precompiled}"),
)
