// SPDX-License-Identifier: MIT
// Which kernels support any of many random problems, by the host model's support tests alone.
//
// usage: supporters PROBLEMS < kernels
// A kernel is a line of words: device direction dimensions specialization vectors (three) merged
// stream_k async explicit tile (three) element_bytes; or, for products: device gemm layout vectors
// (three) tile (three) d_tensors. For each line the number of problems that were asked until one
// was supported is printed, 0 if none was.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <random>
#include <sstream>
#include <string>

#include "ck_tile/host_model/device.hpp"
#include "ck_tile/host_model/runtime_support.hpp"

using namespace ck_tile::host_model;
using ck_tile::ConvolutionSpecialization;

namespace {

template <typename... Values>
std::int64_t pick(std::mt19937& draw, Values... values)
{
    const std::int64_t all[] = {static_cast<std::int64_t>(values)...};
    return all[draw() % sizeof...(values)];
}

// Sizes that meet, and just miss, conditions; all axes alike half of the time.
conv_shape random_shape(std::mt19937& draw, int dimensions)
{
    conv_shape p;
    const auto channels = [&] { return pick(draw, 1, 1, 2, 3, 4, 8, 16, 24, 32, 64, 96, 128); };
    p.G                 = pick(draw, 1, 1, 2, 3, 4, 8, 16, 32, 64);
    p.N                 = pick(draw, 1, 2, 3, 4, 8, 16, 64);
    p.K                 = channels();
    p.C                 = channels();
    const bool alike    = draw() % 2 != 0;
    for(int axis = 3 - dimensions; axis < 3; ++axis)
    {
        const bool again   = alike && axis > 3 - dimensions;
        const int before   = again ? axis - 1 : axis;
        p.filter[axis]     = again ? p.filter[before] : pick(draw, 1, 1, 2, 3, 3, 5);
        p.stride[axis]     = again ? p.stride[before] : pick(draw, 1, 1, 2, 3);
        p.dilation[axis]   = again ? p.dilation[before] : pick(draw, 1, 1, 2);
        p.left_pad[axis]   = again ? p.left_pad[before] : pick(draw, 0, 0, 1, 2);
        p.right_pad[axis]  = again ? p.right_pad[before] : pick(draw, 0, 0, 1, 2);
        const auto reach   = (p.filter[axis] - 1) * p.dilation[axis] + 1;
        p.output[axis]     = pick(draw, 1, 2, 7, 14, 28);
        const auto covered = (p.output[axis] - 1) * p.stride[axis] + reach;
        p.input[axis] = std::max<std::int64_t>(1, covered - p.left_pad[axis] - p.right_pad[axis]);
    }
    return p;
}

bool supports(const kernel_facts& facts, const conv_shape& shape, std::int64_t k_batch)
{
    switch(facts.direction)
    {
    case direction::forward:
        return supports_forward(facts, make_forward_call(facts, shape, k_batch));
    case direction::backward_data:
        return supports_backward_data(facts, make_backward_data_call(facts, shape, k_batch));
    case direction::backward_weight:
        return supports_backward_weight(facts, make_backward_weight_call(facts, shape, k_batch));
    }
    return false;
}

int first_convolution(std::istream& line, const std::string& way, int problems)
{
    kernel_facts facts{};
    facts.direction = way == "fwd"        ? direction::forward
                      : way == "bwd_data" ? direction::backward_data
                                          : direction::backward_weight;
    std::string specialization;
    int bytes  = 0;
    bool async = false;
    line >> facts.num_dim_spatial >> specialization >> facts.vector_size_a >> facts.vector_size_b >>
        facts.vector_size_c >> facts.groups_to_merge >> facts.stream_k >> async >>
        facts.explicit_gemm >> facts.m_per_block >> facts.n_per_block >> facts.k_per_block >> bytes;
    facts.specialization  = specialization == "filter1x1_pad0"
                                ? ConvolutionSpecialization::Filter1x1Pad0
                            : specialization == "filter1x1_stride1_pad0"
                                ? ConvolutionSpecialization::Filter1x1Stride1Pad0
                            : specialization == "filter3x3" ? ConvolutionSpecialization::Filter3x3
                                                            : ConvolutionSpecialization::Default;
    facts.in_layout_known = facts.wei_layout_known = facts.out_layout_known = true;
    facts.in_layout = facts.wei_layout = facts.out_layout = "";
    facts.needs                                           = async ? "direct_lds" : "";
    facts.pipeline_name                                   = "";
    facts.k_mma                                           = 1;
    facts.block_size                                      = 64;
    facts.a_type = facts.b_type = facts.e_type = bytes == 2 ? data_type::fp16 : data_type::fp32;
    std::mt19937 draw(1);
    for(int number = 1; number <= problems; ++number)
    {
        const conv_shape shape = random_shape(draw, facts.num_dim_spatial);
        if(supports(facts, shape, pick(draw, 1, 1, 2, 4))) { return number; }
    }
    return 0;
}

int first_product(std::istream& line, int problems)
{
    plain_gemm_facts facts{};
    std::string layout;
    line >> layout >> facts.vector_size_a >> facts.vector_size_b >> facts.vector_size_c >>
        facts.m_per_block >> facts.n_per_block >> facts.k_per_block >> facts.d_count;
    facts.a_row_major    = layout[0] == 'r';
    facts.b_row_major    = layout[1] == 'r';
    facts.e_row_major    = layout[2] == 'r';
    facts.k_mma          = 16;
    facts.e_type         = data_type::fp16;
    facts.deals_steps    = true;
    facts.pipeline_class = "";
    for(int d = 0; d < facts.d_count; ++d)
    {
        facts.d_row_major[d]   = facts.e_row_major;
        facts.vector_size_d[d] = facts.vector_size_c;
    }
    std::mt19937 draw(1);
    for(int number = 1; number <= problems; ++number)
    {
        plain_gemm_call call{};
        const auto size = [&] { return pick(draw, 1, 3, 8, 64, 100, 128, 256, 512, 1024); };
        call.m          = size();
        call.n          = size();
        call.k          = size();
        call.k_batch    = pick(draw, 1, 1, 2);
        call.batch      = 1;
        call.stride_a   = facts.a_row_major ? call.k : call.m;
        call.stride_b   = facts.b_row_major ? call.n : call.k;
        call.stride_e   = facts.e_row_major ? call.n : call.m;
        for(std::int64_t& stride : call.stride_d) stride = call.stride_e;
        if(supports_plain_gemm(facts, call)) { return number; }
    }
    return 0;
}

} // namespace

int main(int, char** arguments)
{
    const int problems = std::atoi(arguments[1]);
    std::string text, device, way;
    while(std::getline(std::cin, text))
    {
        std::istringstream line(text);
        line >> device >> way;
        if(!set_device(device)) { return 1; }
        const int first =
            way == "gemm" ? first_product(line, problems) : first_convolution(line, way, problems);
        if(!line) { return 2; }
        std::printf("%d\n", first);
    }
}
