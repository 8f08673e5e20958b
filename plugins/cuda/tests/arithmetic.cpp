// SPDX-License-Identifier: MIT
// What the CUDA model computes on the host, against definitions: divisions, residue classes of
// backward data, windows as the copy engine walks them, matrix descriptors, the walk over tiles.
#include <array>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "check.hpp"
#include "random_problems.hpp"

#include "ck_tile/cuda_model/fast_divisor.hpp"
#include "ck_tile/cuda_model/hopper_patch.hpp"
#include "ck_tile/cuda_model/hopper_walk.hpp"
#include "ck_tile/cuda_model/hopper_weight_place.hpp"
#include "ck_tile/cuda_model/joined_groups.hpp"
#include "ck_tile/cuda_model/matrix_descriptor.hpp"
#include "ck_tile/cuda_model/tensor_map_request.hpp"
#include "ck_tile/host_model/k_split.hpp"

namespace {

using namespace ck_tile;
using namespace ck_tile::cuda_model;
using host_model::conv_shape;

host_model::kernel_facts facts_of(host_model::direction direction)
{
    host_model::kernel_facts facts{};
    facts.direction       = direction;
    facts.num_dim_spatial = 3;
    facts.groups_to_merge = 1;
    facts.m_per_block     = 64;
    facts.n_per_block     = 64;
    facts.k_per_block     = 64;
    facts.m_waves = facts.n_waves = facts.k_waves = 1;
    facts.k_mma                                   = 16;
    facts.block_size                              = 64;
    facts.a_type = facts.b_type = facts.e_type = host_model::data_type::bf16;
    facts.accumulators                         = 1;
    return facts;
}

TEST_CASE("divisions by multiplying agree with those of integers")
{
    std::mt19937_64 random(3);
    for(int i = 0; i < 20000; ++i)
    {
        const auto bits      = static_cast<int>(random() % 31) + 1;
        const auto divisor   = static_cast<int>(random() % ((std::uint64_t{1} << bits) - 1)) + 1;
        const fast_divisor d = make_fast_divisor(divisor);
        for(const std::int64_t n : {std::int64_t{0},
                                    std::int64_t{divisor} - 1,
                                    std::int64_t{divisor},
                                    std::int64_t{2147483647},
                                    static_cast<std::int64_t>(random() % 2147483648u)})
        {
            const int numerator = static_cast<int>(n);
            const int quotient  = d.quotient(numerator);
            REQUIRE(quotient == numerator / divisor);
            REQUIRE(d.remainder(numerator, quotient) == numerator % divisor);
        }
    }
}

// Positions (d,h,w) of all windows, in the order of the GEMM, by the parameters.
std::vector<std::array<int, 4>> origins(const gemm_params& p)
{
    std::vector<std::array<int, 4>> found;
    for(int position = 0; position < (p.m > 0 ? p.m : 0); ++position)
    {
        int rest = position, at[3];
        for(int axis = 2; axis >= 0; --axis)
        {
            const int next = p.positions[axis].quotient(rest);
            at[axis]       = p.positions[axis].remainder(rest, next) * p.origin_scale[axis] +
                             p.origin_offset[axis];
            rest           = next;
        }
        found.push_back({rest, at[0], at[1], at[2]});
    }
    return found;
}

TEST_CASE("each input position and tap that meet an output are in one GEMM at that output")
{
    int problems = 0, complete = 0, direct = 0;
    for(int i = 0; i < 400; ++i)
    {
        const auto param   = test::random_problem(1 + i % 3, i % 4);
        const conv_shape s = host_model::make_conv_shape(param);
        if(host_model::volume(s.output) <= 0 || host_model::volume(s.input) * s.N > 4000)
        {
            continue;
        }
        const auto facts = facts_of(host_model::direction::backward_data);
        const auto call  = host_model::make_backward_data_call(facts, s, 1);
        if(call.gemms.empty()) { continue; }
        ++problems;
        const gemm_params p = make_gemm_params(facts, call);
        CHECK(p.gemms == static_cast<int>(call.gemms.size()));
        std::map<std::array<std::int64_t, 4>, std::int64_t> met; // (axis, input, tap) -> output
        std::set<std::array<std::int64_t, 2>> reached[3];
        for(int axis = 0; axis < 3; ++axis)
        {
            std::set<std::int64_t> positions;
            for(int r = 0; r < p.remainders[axis]; ++r)
            {
                const int taps =
                    static_cast<int>(p.taps[axis][r >= p.full_taps[axis] ? 1 : 0].divisor);
                CHECK(taps == (s.filter[axis] - r + p.tilde[axis] - 1) / p.tilde[axis]);
                for(int t = 0; t < static_cast<int>(p.positions[axis].divisor); ++t)
                {
                    const int origin   = t * p.origin_scale[axis] + p.origin_offset[axis];
                    const int position = r * p.remainder_step[axis] +
                                         origin * p.position_step[axis] - p.left_pad[axis];
                    if(position < 0 || position >= s.input[axis]) { continue; }
                    CHECK(positions.insert(position).second);
                    for(int tap = 0; tap < taps; ++tap)
                    {
                        const int output = origin + tap * p.image.step[axis];
                        const int filter = tap * p.tilde[axis] + r;
                        if(output < 0 || output >= s.output[axis]) { continue; }
                        CHECK(output * s.stride[axis] + filter * s.dilation[axis] -
                                  s.left_pad[axis] ==
                              position);
                        CHECK(reached[axis].insert({position, filter}).second);
                    }
                }
            }
            std::size_t expected = 0;
            for(std::int64_t o = 0; o < s.output[axis]; ++o)
            {
                for(std::int64_t f = 0; f < s.filter[axis]; ++f)
                {
                    const std::int64_t at =
                        o * s.stride[axis] + f * s.dilation[axis] - s.left_pad[axis];
                    expected += at >= 0 && at < s.input[axis];
                }
            }
            CHECK(reached[axis].size() == expected);
            if(p.rows_are_pixels)
            {
                CHECK(p.remainders[axis] == 1);
                CHECK(static_cast<int>(p.positions[axis].divisor) == s.input[axis]);
                CHECK((p.origin_scale[axis] == 1 && p.position_step[axis] == 1));
                CHECK(p.origin_offset[axis] == p.left_pad[axis]);
            }
            // A launch that need not be zeroed writes every position.
            if(p.all_positions)
            {
                CHECK(static_cast<std::int64_t>(positions.size()) == s.input[axis]);
            }
        }
        complete += p.all_positions;
        direct += p.rows_are_pixels;
    }
    CHECK(problems > 100);
    CHECK((complete > 10 && complete < problems));
    CHECK((direct > 10 && direct < problems));
}

// The positions that the copy engine visits: those of a box whose corners the request names, W
// fastest, from a start on.
std::vector<std::array<int, 4>> walk_of_engine(const window_map_request& r)
{
    const int axes = r.rank - 2;
    std::vector<std::array<int, 4>> found;
    std::vector<int> along[3];
    for(int i = 0; i < 3; ++i)
    {
        if(i >= axes)
        {
            along[i] = {0};
            continue;
        }
        const int last = static_cast<int>(r.size[i + 1]) - 1 + r.upper[i];
        for(int at = r.lower[i]; at <= last; at += static_cast<int>(r.step[i + 1]))
        {
            along[i].push_back(at);
        }
    }
    for(int n = 0; n < static_cast<int>(r.size[axes + 1]); ++n)
        for(const int d : along[2])
            for(const int h : along[1])
                for(const int w : along[0]) { found.push_back({n, d, h, w}); }
    return found;
}

TEST_CASE("windows are where the copy engine walks")
{
    for(int i = 0; i < 200; ++i)
    {
        const auto param   = test::random_problem(2 + i % 2, i % 4);
        const conv_shape s = host_model::make_conv_shape(param);
        if(host_model::volume(s.output) <= 0) { continue; }
        const auto forward = facts_of(host_model::direction::forward);
        const auto data    = facts_of(host_model::direction::backward_data);
        const gemm_params of_forward =
            make_gemm_params(forward, host_model::make_forward_call(forward, s, 1));
        const auto call = host_model::make_backward_data_call(data, s, 1);
        if(call.gemms.empty()) { continue; }
        const gemm_params of_data = make_gemm_params(data, call);
        for(const gemm_params* p : {&of_forward, &of_data})
        {
            const auto request = make_window_map_request(
                *p, nullptr, static_cast<int>(s.N), 2, 64, i % 2 == 1 || s.input[0] > 1);
            auto expected = origins(*p);
            for(auto& at : expected)
            {
                for(int axis = 0; axis < 3; ++axis)
                {
                    // Where steps are negative the lowest tap is the last one.
                    if(p->image.step[axis] < 0)
                    {
                        at[static_cast<std::size_t>(axis) + 1] +=
                            p->image.step[axis] * (static_cast<int>(p->taps[axis][0].divisor) - 1);
                    }
                }
            }
            CHECK(walk_of_engine(request) == expected);
            CHECK(request.size[0] == static_cast<std::uint64_t>(p->image.stride[2]));
            // A row in shared memory is 128 bytes of channels, whatever their type.
            const auto wide = make_window_map_request(
                *p, nullptr, static_cast<int>(s.N), 4, 64, i % 2 == 1 || s.input[0] > 1);
            CHECK((request.channels == 64 && wide.channels == 32));
            CHECK(wide.byte_stride[0] == 2 * request.byte_stride[0]);
        }
    }
}

TEST_CASE("windows that are rows of a matrix are where the copy engine walks")
{
    const auto forward = facts_of(host_model::direction::forward);
    int matrices       = 0;
    for(int i = 0; i < 300; ++i)
    {
        const conv_shape s = host_model::make_conv_shape(test::random_problem(1 + i % 3, i % 4));
        if(host_model::volume(s.output) <= 0) { continue; }
        const gemm_params p =
            make_gemm_params(forward, host_model::make_forward_call(forward, s, 1));
        if(!has_pixel_windows(p)) { continue; }
        ++matrices;
        int row = 0;
        for(const auto& at : origins(p))
        {
            CHECK(((at[0] * p.image.length[0] + at[1]) * p.image.length[1] + at[2]) *
                          p.image.length[2] +
                      at[3] ==
                  row);
            ++row;
        }
        const auto request = make_pixel_map_request(nullptr, s.G * s.C, row, 2, 64);
        CHECK((request.rank == 2 && request.size[1] == static_cast<std::uint64_t>(row)));
        const auto wide = make_pixel_map_request(nullptr, s.G * s.C, row, 4, 64);
        CHECK((request.box[0] == 64 && wide.box[0] == 32));
    }
    CHECK(matrices > 3);
}

TEST_CASE("windows that the copy engine cannot walk are found")
{
    window_map_request r{};
    r.rank           = 4;
    r.byte_stride[0] = r.byte_stride[1] = r.byte_stride[2] = 128;
    for(unsigned& step : r.step) { step = 1; }
    CHECK(is_possible(r));
    r.lower[0] = -128;
    CHECK(is_possible(r));
    r.lower[0] = -129;
    CHECK(!is_possible(r));
    r.rank           = 5;
    r.lower[0]       = -16;
    r.byte_stride[3] = 128;
    CHECK(is_possible(r));
    r.upper[1] = 16;
    CHECK(!is_possible(r));
    r.upper[1]       = 0;
    r.byte_stride[1] = 72;
    CHECK(!is_possible(r));
    r.byte_stride[1] = 128;
    r.step[2]        = 9;
    CHECK(!is_possible(r));
}

TEST_CASE("descriptors of matrices have addresses and steps in units of 16 bytes")
{
    const std::uint64_t along_k = make_descriptor(0x1a400, true);
    CHECK((along_k & 0x3fff) == 0x1a400 / 16);
    CHECK((along_k >> 32 & 0x3fff) == 64);
    CHECK((along_k >> 62) == 1);
    const std::uint64_t across = make_descriptor(0x400, false);
    CHECK((across >> 16 & 0x3fff) == 512);
    // 16 elements of K: 32 bytes of a row, or 16 rows.
    CHECK(descriptor_k_step(true) * 16 == 32);
    CHECK(descriptor_k_step(false) * 16 == 16 * 128);
    CHECK(descriptor_chunk_step * 16 == 64 * 128);
}

template <typename Config, typename Call>
void walk(const host_model::kernel_facts& facts, const Call& call)
{
    const gemm_params p = make_gemm_params(facts, call);
    const hopper_work w = make_hopper_work<Config>(p);
    std::map<std::array<int, 6>, int> steps; // place -> steps of the reduction
    for(int tile = 0; tile < w.tiles; ++tile)
    {
        const hopper_tile_place place = find_hopper_place<Config>(w, tile);
        CHECK((place.at.first_row < p.m || p.m == 0));
        CHECK((0 <= place.step_begin && place.step_begin <= place.step_end));
        steps[{place.at.first_row,
               place.at.first_column,
               place.at.first_group,
               place.at.first_image,
               place.at.remainder[2] + 100 * (place.at.remainder[1] + 100 * place.at.remainder[0]),
               0}] += place.step_end - place.step_begin;
    }
    const int m_tiles = (p.m + Config::tile_m - 1) / Config::tile_m;
    const int gemms   = Config::direction == host_model::direction::backward_data ? p.gemms : 1;
    CHECK(static_cast<std::int64_t>(steps.size()) ==
          std::int64_t{m_tiles} * static_cast<int>(w.n_tiles.divisor) * gemms * p.blocks_y *
              (p.blocks_z / p.k_batch));
    CHECK((w.sums.parts == p.k_batch && w.sums.tiles * w.sums.parts == w.tiles));
    if(p.blocks_z == p.k_batch)
    {
        // Parts of K are as far apart as clusters take them.
        for(int tile = 0; tile < w.sums.tiles; ++tile)
            for(int part = 0, end = 0; part < p.k_batch; ++part)
            {
                const hopper_tile_place first = find_hopper_place<Config>(w, tile);
                const hopper_tile_place place =
                    find_hopper_place<Config>(w, tile + part * w.sums.tiles);
                CHECK(place.at.first_row == first.at.first_row);
                CHECK(place.at.first_column == first.at.first_column);
                CHECK(place.at.first_group == first.at.first_group);
                CHECK(place.at.remainder[0] == first.at.remainder[0]);
                CHECK(place.at.remainder[1] == first.at.remainder[1]);
                CHECK(place.at.remainder[2] == first.at.remainder[2]);
                CHECK((place.step_begin == end || place.step_begin == place.step_end));
                end = place.step_end;
            }
    }
    if constexpr(Config::weight)
    {
        for(const auto& entry : steps) { CHECK(entry.second == (p.k + 63) / 64); }
    }
    else
    {
        std::int64_t all = 0;
        for(const auto& entry : steps) { all += entry.second; }
        // Taps times chunks of channels, of every tile.
        const std::int64_t taps = host_model::volume(call.shape.filter);
        CHECK(all % (gemms == 1 ? taps : 1) == 0);
        const int channels =
            Config::direction == host_model::direction::forward ? p.in_channels : p.out_channels;
        constexpr int row = 128 / Config::ab_bytes;
        CHECK(static_cast<int>(w.chunks.divisor) == (channels + row - 1) / row);
        CHECK(all == taps * static_cast<int>(w.chunks.divisor) * m_tiles *
                         static_cast<int>(w.n_tiles.divisor) * p.blocks_y *
                         (p.blocks_z / p.k_batch));
    }
}

template <host_model::direction Direction, data_type Type = data_type::bf16, int M = 128>
using config = hopper_config<tile_config<Direction,
                                         3,
                                         Type,
                                         Type == data_type::tf32 ? data_type::fp32 : Type,
                                         bf16_rounding_mode::truncate,
                                         M,
                                         128,
                                         64,
                                         4,
                                         2,
                                         8,
                                         8,
                                         8,
                                         1,
                                         4,
                                         1>,
                             4,
                             false>;

// Channels are the rows of products.
template <host_model::direction Direction>
using transposed = config<Direction, data_type::bf16, 96>;

TEST_CASE("each tile of a convolution is computed once")
{
    using host_model::direction;
    for(int i = 0; i < 100; ++i)
    {
        const auto param   = test::random_problem(1 + i % 3, i % 4);
        const conv_shape s = host_model::make_conv_shape(param);
        if(host_model::volume(s.output) <= 0) { continue; }
        const int parts    = 1 + i % 3;
        const auto forward = facts_of(direction::forward);
        walk<config<direction::forward>>(forward, host_model::make_forward_call(forward, s, 1));
        walk<config<direction::forward, data_type::tf32>>(
            forward, host_model::make_forward_call(forward, s, 1));
        walk<transposed<direction::forward>>(forward, host_model::make_forward_call(forward, s, 1));
        const auto data = facts_of(direction::backward_data);
        const auto call = host_model::make_backward_data_call(data, s, parts);
        if(!call.gemms.empty())
        {
            walk<config<direction::backward_data>>(data, call);
            walk<transposed<direction::backward_data>>(data, call);
        }
        const auto weight = facts_of(direction::backward_weight);
        walk<config<direction::backward_weight>>(
            weight, host_model::make_backward_weight_call(weight, s, parts));
    }
}

// Tiles of patches are all rows of the GEMM, and a displacement within a patch is a tap's.
template <host_model::direction Direction>
int patches_of(const gemm_params& g, std::int64_t images)
{
    using Config         = config<Direction>;
    constexpr bool data  = Direction == host_model::direction::backward_data;
    const hopper_work w  = make_hopper_work<Config>(g);
    const hopper_patch p = plan_patch(g, 128, 400, data);
    if(p.rows == 0) { return 0; }
    const auto expected = origins(g);
    std::set<std::array<int, 2>> seen;
    const int n_tiles = static_cast<int>(w.n_tiles.divisor);
    const auto all    = static_cast<int>(p.tiles() * n_tiles * g.groups);
    for(int tile = 0; tile < all; ++tile)
    {
        const hopper_patch_place place = find_patch_place<Config>(w, p, tile);
        CHECK((0 <= place.at.first_group && place.at.first_group < g.groups));
        const patch_rows rows = rows_of(p, place);
        for(int i = 0; i < 128; ++i)
        {
            const int row = rows(i);
            if(row < 0) { continue; }
            CHECK(seen.insert(
                          {row, place.at.first_group * n_tiles + place.at.first_column / Config::n})
                      .second);
            const auto origin = expected[static_cast<std::size_t>(row)];
            CHECK(origin[0] == place.image);
            int wrong = 0; // of millions
            for(int d = 0; d < p.taps[0]; ++d)
                for(int h = 0; h < p.taps[1]; ++h)
                    for(int x = 0; x < p.taps[2]; ++x)
                    {
                        const int displacement[3] = {d, h, x};
                        const int width           = static_cast<int>(p.width.divisor);
                        const int at              = i + h * p.step[1] * width + x * p.step[2];
                        wrong += at >= width * p.height;
                        const int position[3] = {place.d + p.lowest[0] + d * p.step[0],
                                                 place.h + p.lowest[1] + at / width,
                                                 p.lowest[2] + at % width};
                        for(int axis = 0; axis < 3; ++axis)
                        {
                            const int tap =
                                data ? p.taps[axis] - 1 - displacement[axis] : displacement[axis];
                            wrong += position[axis] != origin[static_cast<std::size_t>(axis) + 1] +
                                                           tap * g.image.step[axis];
                        }
                    }
            CHECK(wrong == 0);
        }
    }
    CHECK(static_cast<std::int64_t>(seen.size()) == std::int64_t{g.m} * n_tiles * g.groups);
    const auto request = make_patch_map_request(g, p, nullptr, 2, true);
    CHECK((request.rank == 5 && request.size[4] == static_cast<std::uint64_t>(images)));
    CHECK(request.box[1] * request.box[2] * 128 == static_cast<unsigned>(p.bytes()));
    return 1;
}

TEST_CASE("tiles of patches are all rows of the GEMM")
{
    using host_model::direction;
    std::mt19937_64 random(11);
    const auto pick = [&](int least, int most) {
        return least + static_cast<int>(random() % static_cast<unsigned>(most - least + 1));
    };
    int used = 0;
    for(int i = 0; i < 200; ++i)
    {
        conv_shape s;
        s.N = pick(1, 3);
        s.G = pick(1, 2);
        s.K = s.C = 64;
        for(int axis = 0; axis < 3; ++axis)
        {
            const bool exists = axis > 0 || i % 2 == 1;
            s.filter[axis]    = exists ? pick(1, 4) : 1;
            s.dilation[axis]  = exists ? pick(1, 2) : 1;
            s.left_pad[axis] = s.right_pad[axis] = exists ? pick(0, 2) : 0;
            s.stride[axis]                       = i % 5 == 0 && exists ? 2 : 1;
            s.input[axis]                        = exists ? pick(7, axis == 0 ? 9 : 40) : 1;
            s.output[axis] = (s.input[axis] + s.left_pad[axis] + s.right_pad[axis] -
                              ((s.filter[axis] - 1) * s.dilation[axis] + 1)) /
                                 s.stride[axis] +
                             1;
        }
        if(host_model::volume(s.output) <= 0 || s.output[2] < 1) { continue; }
        const auto forward = facts_of(direction::forward);
        const auto data    = facts_of(direction::backward_data);
        used += patches_of<direction::forward>(
            make_gemm_params(forward, host_model::make_forward_call(forward, s, 1)), s.N);
        const auto call = host_model::make_backward_data_call(data, s, 1);
        if(call.gemms.empty()) { continue; }
        used += patches_of<direction::backward_data>(make_gemm_params(data, call), s.N);
    }
    CHECK(used > 20);
}

TEST_CASE("each element of a tensor is where the request for boxes of images says")
{
    alignas(16) static const std::uint16_t base[2 * 5 * 7 * 24] = {};
    const int size[2]                                           = {5, 7};
    const tile_map_request r = make_box_map_request(base, 24, size, 2, {16, 6, 3}, false);
    CHECK((r.rank == 4 && r.base == base && !r.swizzled && is_possible(r)));
    CHECK((r.box[0] == 16 && r.box[1] == 6 && r.box[2] == 3 && r.box[3] == 1));
    std::uint64_t elements = 1;
    for(int i = 0; i < r.rank; ++i)
    {
        // N,H,W,C: an axis begins again after all elements of those within.
        CHECK((i == 0 || r.byte_stride[i - 1] == elements * sizeof(base[0])));
        elements *= r.size[i];
    }
    CHECK(elements == sizeof(base) / sizeof(base[0]));
    CHECK((r.size[0] == 24 && r.size[1] == 7 && r.size[2] == 5 && r.size[3] == 2));
    CHECK(make_box_map_request(base, 24, size, 2, {16, 6, 3}, true).swizzled);
    CHECK(!is_possible(make_box_map_request(base, 20, size, 2, {16, 6, 3}, true)));
}

TEST_CASE("engine W takes the operands that it can read")
{
    using host_model::direction;
    CHECK(hopper_tile<config<direction::forward, data_type::tf32>>);
    CHECK(!hopper_tile<config<direction::backward_data, data_type::tf32>>);
    CHECK(!hopper_tile<config<direction::backward_weight, data_type::tf32>>);
    CHECK(!hopper_tile<config<direction::forward, data_type::fp32>>);
    CHECK(hopper_tile<config<direction::backward_data>>);

    using data = transposed<direction::backward_data>;
    CHECK((hopper_tile<data::tile> && data::transposed && !data::clusters));
    CHECK((data::m == 128 && data::n == 96 && data::tile_m == 96 && data::tile_n == 128));
    // Weights are where rows of products are read, with their channels contiguous.
    CHECK((!data::a_k_major && data::b_k_major && data::filters_at == 0));
    CHECK((data::windows_at == 128 * 128 && data::stage_bytes == (128 + 96) * 128));
    CHECK((data::filter_chunks == 2 && transposed<direction::forward>::a_k_major));
    CHECK(!hopper_tile<transposed<direction::backward_weight>::tile>);
}

// Which pieces of 16 rows and 8 columns of a warp parts of K add up.
template <typename Config>
int pieces_of(const gemm_params& g, int joined)
{
    int left_out        = 0;
    const hopper_work w = make_hopper_work<Config>(g, joined);
    for(int tile = 0; tile < w.sums.tiles; ++tile)
    {
        const hopper_tile_place place = find_hopper_place<Config>(w, tile);
        const weight_place<Config> of_tile{w, place};
        for(int warp = 0; warp < 4; ++warp)
        {
            const std::uint64_t needed = of_tile.needed_pieces(warp * 16);
            for(int piece = 0; piece < Config::own_blocks * Config::n / 8; ++piece)
            {
                const int row    = warp * 16 + piece / (Config::n / 8) * 64;
                const int column = piece % (Config::n / 8) * 8;
                bool any         = false;
                for(int i = 0; i < 16; ++i)
                    for(int j = 0; j < 8; ++j)
                    {
                        any = any || result_part::meet(of_tile.row_part(row + i),
                                                       of_tile.column_part(column + j)) >= 0;
                    }
                CHECK((!any || (needed >> piece & 1u) != 0));
                left_out += (needed >> piece & 1u) == 0;
            }
        }
    }
    return left_out;
}

TEST_CASE("pieces that no channel needs are left out of narrow groups")
{
    using host_model::direction;
    const auto facts = facts_of(direction::backward_weight);
    for(const auto& [groups, channels] :
        {std::pair{32, 1}, {32, 2}, {32, 8}, {32, 16}, {32, 24}, {32, 64}, {21, 16}, {6, 8}})
    {
        conv_shape s;
        s.G = groups;
        s.N = 2;
        s.K = s.C = channels;
        for(int axis = 1; axis < 3; ++axis)
        {
            s.input[axis] = s.output[axis] = 9, s.filter[axis] = 3;
        }
        for(int axis = 1; axis < 3; ++axis) { s.left_pad[axis] = s.right_pad[axis] = 1; }
        const int joined    = groups_to_join(s);
        const auto call     = host_model::make_backward_weight_call(facts, s, 3);
        const gemm_params g = make_gemm_params(facts, join_groups(facts, call, joined));
        const int narrow    = pieces_of<config<direction::backward_weight>>(g, joined);
        // With 8 channels in a group, 2 of 8 pieces of each tap are of use to a warp, and none of
        // those beyond the last tap.
        if(channels == 8 && groups == 32) { CHECK(narrow == 4 * (9 * 4 * 6 + 4 * 8)); }
        if(channels == 64) { CHECK((joined == 1 && narrow == 0)); }
    }
}

TEST_CASE("groups are joined where channels fill a vector")
{
    conv_shape s;
    s.G = 32;
    s.C = s.K = 8;
    CHECK(groups_to_join(s) == 8);
    s.G = 12;
    CHECK(groups_to_join(s) == 6);
    s.G = 20;
    CHECK(groups_to_join(s) == 5);
    s.C = s.K = 16;
    s.G       = 21;
    CHECK(groups_to_join(s) == 3);
    s.C = s.K = 4;
    s.G       = 6;
    CHECK(groups_to_join(s) == 6);
    // 9 groups have 36 channels, 3 have 12.
    s.G = 9;
    CHECK(groups_to_join(s) == 1);
    s.C = 8;
    s.K = 64;
    CHECK(groups_to_join(s) == 1);
    s.G = 1;
    s.K = 8;
    CHECK(groups_to_join(s) == 1);
    // Copies could not begin where the next groups do.
    s.G = 8;
    s.C = 24;
    s.K = 29;
    CHECK(groups_to_join(s) == 1);
    s.C = 8;
    s.K = 8;
    // 16 channels depend on the same 16 alone if groups begin and end with them on both sides.
    for(const std::int64_t k : {1, 2, 4, 8, 16, 32})
        for(const std::int64_t c : {1, 2, 3, 4, 8, 16, 32})
        {
            s.G             = 32;
            s.K             = k;
            s.C             = c;
            const int count = groups_to_join(s);
            bool few        = count > 1;
            for(int group = 0; group < count; ++group)
                for(std::int64_t in = group * c; in < (group + 1) * c; ++in)
                    for(std::int64_t out = group * k; out < (group + 1) * k; ++out)
                    {
                        few = few && in / 16 == out / 16;
                    }
            // Other groups than those of equal sizes are not looked for.
            CHECK((!depend_on_few(s, count) || few));
            CHECK((depend_on_few(s, count) || !few || c != k));
        }
    const conv_shape joined = join_groups({.G = 32, .N = 1, .K = 8, .C = 4}, 8);
    CHECK((joined.G == 4 && joined.K == 64 && joined.C == 32));
}

// And only as large as the device runs them.
TEST_CASE("clusters are for few tiles with long reductions")
{
    const auto some = [](int most) { return [most](int) { return most; }; };
    CHECK(choose_cluster(8, 72, 132, some(16)) == 8);
    CHECK(choose_cluster(8, 72, 132, some(7)) == 1);
    CHECK(choose_cluster(8, 3, 132, some(16)) == 1);
    CHECK(choose_cluster(133, 72, 132, some(200)) == 1);
    const auto up_to_two = [](int parts) { return parts > 2 ? 0 : 66; };
    CHECK(choose_cluster(60, 100, 132, up_to_two) == 2);
}

TEST_CASE("parts of K have no gaps and are all of it")
{
    for(int depth : {1, 16, 63, 64, 1000, 3136})
        for(int parts : {1, 2, 3, 7, 64})
            for(const bool whole_steps : {false, true})
            {
                std::int64_t at = 0;
                for(int part = 0; part < parts; ++part)
                {
                    const auto range = whole_steps
                                           ? host_model::split_k_steps(depth, parts, 16, part)
                                           : host_model::split_k_tiles(depth, parts, 64, part);
                    CHECK((range.begin == at && range.end >= at));
                    at = range.end;
                }
                CHECK(at == depth);
            }
}

} // namespace
