"""What a launch throws becomes a status: a condition that is not met is no failure of the kernel."""

import subprocess
from pathlib import Path

import pytest

import ckprof.kernels
from ckprof_plugins.targets.cpu.target import INCLUDE_DIR
from tests.places import cxx

PROGRAM = r"""
#include <cstdio>
#include <stdexcept>

#include "ck_tile/host/stream_config.hpp"

#include "ckprof_kernel_entry.hpp"

struct operation
{
    struct param {};
    static param make_param(const ckprof_problem&) { return {}; }
    template <typename> static constexpr int spatial_dimensions() { return 0; }
    template <typename Args>
    static Args make_args(const param&, const ckprof_buffers&, int)
    { return {}; }
};

template <int Kind>
struct launcher
{
    static bool is_supported(const operation::param&, int) { return true; }
    static std::string get_instance_string() { return ""; }
    static float launch(int, const ck_tile::stream_config&)
    {
        if(Kind == 0)
            throw ck_tile::host_model::rejected_launch("device-memory", "there is none");
        throw std::runtime_error("it broke");
    }
};

template <int Kind>
void run()
{
    constexpr auto row = ckprof::entry::table_row_of<operation, launcher<Kind>, int>("key", "name");
    ckprof_problem problem{};
    problem.split_k = 1;
    ckprof_buffers buffers{};
    double time_ms = 0;
    char reason[100];
    const int status = row.run(&problem, &buffers, 1, &time_ms, reason, sizeof(reason));
    std::printf("%d %s\n", status, reason);
}

int main()
{
    run<0>();
    run<1>();
}
"""


@pytest.mark.compiler
def test_a_launch_that_the_device_cannot_do_is_rejected(tmp_path, host_model_objects):
    abi = Path(ckprof.kernels.__file__).parent / "abi"
    program = tmp_path / "program.cpp"
    program.write_text(PROGRAM)
    command = [cxx(), "-std=c++20", "-O0", "-march=native", "-w", f"-I{INCLUDE_DIR}", f"-I{abi}"]
    command.append("-DCK_EXPERIMENTAL_BUILDER")
    sources = [str(program), *map(str, host_model_objects)]
    executable = tmp_path / "program"
    subprocess.run([*command, *sources, "-pthread", "-o", str(executable)], check=True, timeout=300)
    seen = subprocess.run([str(executable)], check=True, capture_output=True, text=True, timeout=20).stdout
    assert seen.splitlines() == ["1 device-memory: there is none", "2 it broke"]
