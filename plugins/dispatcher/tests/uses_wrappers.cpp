// SPDX-License-Identifier: MIT
// the second route, which includes all wrappers at once
#include "dispatcher_wrappers/register_all_grouped_conv_kernels.hpp"
#include "include_all_grouped_conv_bwd_data_kernels.hpp"
#include "include_all_grouped_conv_bwd_weight_kernels.hpp"
#include "include_all_grouped_conv_fwd_kernels.hpp"
using namespace ck_tile::dispatcher;
static_assert(SelectedConvBwdDataLauncher::NDimSpatial == 3);
int main()
{
    const auto& registry = GroupedConvRegistry::instance();
    const auto first     = [&] { return registry.all_kernels().front(); };
    register_all_grouped_conv_kernels();
    const auto* before = first();
    bool good =
        registry.size() == get_grouped_conv_kernel_count() && before->key().arch == "gfx950" &&
        get_grouped_conv_bwd_data_kernel_count() == registry.size() && registry.size() > 1 &&
        get_grouped_conv_fwd_kernel_count() + get_grouped_conv_bwd_weight_kernel_count() == 0;
    register_all_grouped_conv_kernels();
    good = good && first() == before;
    register_all_grouped_conv_bwd_data_kernels("gfx950", Priority::High);
    return good && first() != before && registry.size() == get_grouped_conv_kernel_count() ? 0 : 1;
}
