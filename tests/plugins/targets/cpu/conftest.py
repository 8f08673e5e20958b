"""How the C++ tests of the host model are compiled."""

import pytest

from ckprof_plugins.targets.cpu.recipe import device_table_source
from tests.plugins.targets.cpu.cpp_programs import (
    COMPILERS,
    FEW,
    HERE,
    INCLUDES,
    STANDARD,
    WARNINGS,
    case_runner,
    compile_once,
    runtime_objects,
)


@pytest.fixture
def build(host_model_folder, host_model_objects):
    """Return a function that compiles a test program, once for the same flags.

    It is linked with the runtime of libraries, or one that is compiled with its flags (``own_runtime``),
    or has it in headers (``header_only``).
    """

    def build_program(program, flags, *, compiler=COMPILERS[0], own_runtime=False, header_only=False):
        runtime = host_model_objects
        if header_only:
            flags = [*flags, "-DCK_TILE_HOST_MODEL_HEADER_ONLY"]
            runtime = [device_table_source()]
        elif own_runtime or compiler != COMPILERS[0]:
            own = [flag for flag in flags if flag != FEW]
            runtime = runtime_objects(host_model_folder, compiler, [*own, "-fPIC"])
        inputs = [HERE / f"{program}.cpp", *runtime, case_runner(host_model_folder, compiler)]
        command = [compiler, *STANDARD, *WARNINGS, *flags, *INCLUDES, *inputs]
        return compile_once(host_model_folder, program, command)

    return build_program
