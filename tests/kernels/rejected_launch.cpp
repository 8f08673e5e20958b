// SPDX-License-Identifier: MIT
#include <cstdio>
#include <stdexcept>

#include "ck_tile/host/stream_config.hpp"

#include "ckprof_kernel_entry.hpp"

struct operation
{
    struct param
    {};
    static param make_param(const ckprof_problem&) { return {}; }
    template <typename>
    static constexpr int spatial_dimensions()
    { return 0; }
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
        if(Kind == 0) throw ck_tile::host_model::rejected_launch("device-memory", "there is none");
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
