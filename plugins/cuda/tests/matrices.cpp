// SPDX-License-Identifier: MIT
// What the CUDA model computes on the host for products of two matrices, against definitions: the
// walk over tiles, tensor maps, and what becomes of an instance's tile and types.
#include <array>
#include <cstdint>
#include <map>
#include <random>
#include <set>

#include "check.hpp"

#include "ck_tile/cuda_model/hopper_matrix_work.hpp"
#include "ck_tile/cuda_model/matrix_config.hpp"
#include "ck_tile/host_model/pipeline_model.hpp"

namespace {

using namespace ck_tile;
using namespace ck_tile::cuda_model;
using host_model::plain_gemm_call;

template <data_type AB, int M, int N, bool AKMajor, bool BKMajor>
using native = matrix_config<AB,
                             AB,
                             data_type::bf16,
                             false,
                             combination<host_model::d_operation::none>,
                             tile_shape<AB,
                                        data_type::bf16,
                                        bf16_rounding_mode::truncate,
                                        M,
                                        N,
                                        64,
                                        4,
                                        2,
                                        8,
                                        8,
                                        8,
                                        AKMajor,
                                        BKMajor,
                                        4,
                                        1>>;

template <typename Base>
using hopper = hopper_config<Base, 4, false>;

plain_gemm_call random_call(std::mt19937& random)
{
    const auto below = [&](unsigned n) { return static_cast<std::int64_t>(random() % n); };
    plain_gemm_call call{};
    call.m              = 1 + below(3000);
    call.n              = 1 + below(3000);
    call.k              = 1 + below(2000);
    call.k_batch        = 1 + below(7);
    call.batch          = 1 + below(3);
    call.stride_a       = 3000 + below(9);
    call.stride_b       = 3000 + below(9);
    call.stride_e       = 3000 + below(9);
    call.batch_stride_a = call.batch_stride_b = call.batch_stride_e = 3000 * 3010;
    return call;
}

// Every tile of every product once per part, and the parts make up all steps of K, in order.
template <typename Config>
void walk(const plain_gemm_call& call, int blocks)
{
    const matrix_params g = make_matrix_params(call, 2);
    const matrix_work w   = make_matrix_work<Config>(g, blocks);
    const int m_tiles     = (g.m + Config::m - 1) / Config::m;
    const int n_tiles     = (g.n + Config::n - 1) / Config::n;
    CHECK(w.tiles == m_tiles * n_tiles * g.batch * g.k_batch);
    std::map<std::array<int, 3>, int> done; // place -> steps so far
    std::map<int, std::array<int, 3>> numbers;
    for(int tile = 0; tile < w.tiles; ++tile)
    {
        const hopper_tile_place place = find_hopper_place<Config>(w, tile);
        const std::array<int, 3> at{
            place.at.first_row, place.at.first_column, place.at.first_group};
        CHECK((at[0] % Config::m == 0 && at[0] < g.m && at[1] % Config::n == 0 && at[1] < g.n));
        CHECK((0 <= at[2] && at[2] < g.batch));
        // The sums of a tile have a place of their own.
        CHECK((0 <= place.number && place.number < m_tiles * n_tiles * g.batch));
        CHECK(numbers.try_emplace(place.number, at).first->second == at);
        CHECK((place.step_begin == done[at] && place.step_end >= place.step_begin));
        done[at] = place.step_end;
    }
    CHECK(static_cast<int>(done.size()) == m_tiles * n_tiles * g.batch);
    CHECK(numbers.size() == done.size());
    for(const auto& entry : done)
    {
        CHECK(entry.second == (g.k + Config::k_elements - 1) / Config::k_elements);
    }
}

TEST_CASE("each tile of a product is computed once by parts that make up all of K")
{
    std::mt19937 random(11);
    for(int i = 0; i < 60; ++i)
    {
        const plain_gemm_call call = random_call(random);
        const int blocks           = 1 + static_cast<int>(random() % 300);
        walk<hopper<native<data_type::bf16, 128, 256, true, true>>>(call, blocks);
        walk<hopper<native<data_type::bf16, 64, 64, false, false>>>(call, blocks);
        walk<hopper<native<data_type::fp8_ocp, 128, 128, true, true>>>(call, blocks);
    }
}

// Blocks of a cluster compute the parts of the same tile, and all clusters together every tile.
template <typename Config>
void clustered_walk(const plain_gemm_call& call, int clusters)
{
    matrix_work w = make_matrix_work<Config>(make_matrix_params(call, 2), 132);
    CHECK(w.sums.cluster == 1);
    const tile_walk alone = walk_tiles(w.sums, w.tiles, 5, 132, 0);
    CHECK((alone.first == 5 && alone.end == w.tiles && alone.stride == 132 && alone.offset == 0));
    w.sums.cluster = w.sums.parts;
    std::set<int> seen;
    for(int cluster = 0; cluster < clusters; ++cluster)
    {
        const tile_walk first = walk_tiles(w.sums, w.tiles, cluster, clusters, 0);
        for(int i = first.first; i < first.end; i += first.stride)
        {
            int end = 0;
            for(int part = 0; part < w.sums.parts; ++part)
            {
                const tile_walk own = walk_tiles(w.sums, w.tiles, cluster, clusters, part);
                CHECK((own.first == first.first && own.end == first.end));
                const hopper_tile_place place = find_hopper_place<Config>(w, own.offset + i);
                CHECK(place.number == find_hopper_place<Config>(w, first.offset + i).number);
                CHECK(place.step_begin == end);
                end = place.step_end;
                CHECK(seen.insert(own.offset + i).second);
            }
            CHECK(end == w.steps);
        }
    }
    CHECK(static_cast<int>(seen.size()) == w.tiles);
}

TEST_CASE("blocks of a cluster compute the parts of the same tile")
{
    std::mt19937 random(13);
    for(int i = 0; i < 40; ++i)
    {
        const plain_gemm_call call = random_call(random);
        const int count            = 1 + static_cast<int>(random() % 70);
        clustered_walk<hopper<native<data_type::bf16, 128, 128, true, true>>>(call, count);
        clustered_walk<hopper<native<data_type::fp8_ocp, 64, 96, true, true>>>(call, count);
    }
}

// Whose sums of a tile's columns a block of a cluster gets, and where they lie meanwhile.
template <int M, int N>
void check_shares()
{
    using tile = cluster_shares<M, N>;
    for(int parts = 2; parts <= most_cluster_blocks; ++parts)
    {
        int end = 0;
        for(int owner = 0; owner < parts; ++owner)
        {
            const column_range own = tile::columns(parts, owner);
            CHECK((own.begin == end && own.end >= own.begin));
            end = own.end;
            CHECK((own.end - own.begin) / 8 <= tile::most_groups(parts));
            CHECK((own.begin == own.end || own.meets(own.begin, 8)));
            CHECK((!own.meets(own.end, 8) && !own.meets(own.begin - 8, 8)));
            CHECK((!own.contains(own.end) && own.contains(own.begin) == (own.begin < own.end)));
            // Senders do not write over one another.
            std::set<int> places;
            const int bytes = (own.end - own.begin) * M * 4;
            for(int sender = 0; sender < parts; ++sender)
            {
                if(sender == owner) { continue; }
                const int place = tile::place_of(parts, sender, owner);
                CHECK(place % (tile::most_groups(parts) * tile::group_bytes) == 0);
                CHECK((place >= 0 && place + bytes <= tile::room(parts)));
                CHECK(places.insert(place).second);
            }
            // All rows of 16 that a warp has, if one of them exists.
            CHECK(tile::bytes(parts, owner, M) == (parts - 1) * bytes);
            CHECK(tile::bytes(parts, owner, 3 * M) == (parts - 1) * bytes);
            CHECK(tile::bytes(parts, owner, 17) == (parts - 1) * bytes * 32 / M);
        }
        CHECK(end == N);
    }
}

TEST_CASE("what is computed at the same time touches little more than a square would")
{
    using config = hopper<native<data_type::bf16, 128, 256, true, true>>;
    plain_gemm_call call{};
    call.m = call.n = call.k = 8192;
    call.k_batch = call.batch = 1;
    const matrix_work w       = make_matrix_work<config>(make_matrix_params(call, 2), 132);
    std::set<int> rows, columns;
    for(int tile = 0; tile < 132; ++tile)
    {
        const hopper_tile_place place = find_hopper_place<config>(w, tile);
        rows.insert(place.at.first_row);
        columns.insert(place.at.first_column);
    }
    const double side  = 2 * 2079.5; // of the square with the area of 132 tiles
    const auto touched = static_cast<double>(rows.size() * 128 + columns.size() * 256);
    CHECK(touched < 1.1 * side);
}

TEST_CASE("tensor maps describe matrices in both orders")
{
    plain_gemm_call call{};
    call.m                = 300;
    call.n                = 500;
    call.k                = 100;
    call.k_batch          = 1;
    call.batch            = 1;
    call.stride_a         = 104;
    call.stride_b         = 512;
    call.stride_e         = 504;
    const matrix_params p = make_matrix_params(call, 2);
    // A along K, B along N.
    using rows_config        = hopper<native<data_type::bf16, 128, 192, true, false>>;
    const tile_map_request a = make_a_map_request<rows_config>(p);
    const tile_map_request b = make_b_map_request<rows_config>(p);
    CHECK((a.rank == 3 && a.size[0] == 100 && a.size[1] == 300 && a.size[2] == 1));
    CHECK((a.byte_stride[0] == 208 && a.box[0] == 64 && a.box[1] == 128 && a.box[2] == 1));
    CHECK((b.size[0] == 500 && b.size[1] == 100 && b.byte_stride[0] == 1024));
    CHECK((b.box[0] == 64 && b.box[1] == 64));
    CHECK((is_possible(a) && is_possible(b)));
    // A along M, B along K.
    using columns_config       = hopper<native<data_type::bf16, 128, 192, false, true>>;
    call.stride_a              = 304;
    call.stride_b              = 100;
    const matrix_params q      = make_matrix_params(call, 2);
    const tile_map_request a_m = make_a_map_request<columns_config>(q);
    const tile_map_request b_k = make_b_map_request<columns_config>(q);
    CHECK((a_m.size[0] == 300 && a_m.size[1] == 100 && a_m.box[0] == 64 && a_m.box[1] == 64));
    CHECK((b_k.size[0] == 100 && b_k.size[1] == 500 && b_k.box[1] == 192));
    // 200 bytes between lines are no multiple of 16.
    CHECK((is_possible(a_m) && !is_possible(b_k)));
    // One row of shared memory holds 128 elements of 8 bits; products lie where their stride says.
    using byte_config = hopper<native<data_type::fp8_ocp, 64, 256, true, true>>;
    call.batch        = 5;
    call.stride_a = call.stride_b = 112;
    call.batch_stride_a           = 112 * 300;
    call.batch_stride_b           = 112 * 501;
    const matrix_params r         = make_matrix_params(call, 2);
    const tile_map_request bytes  = make_b_map_request<byte_config>(r);
    CHECK((byte_config::k_elements == 128 && bytes.box[0] == 128 && bytes.box[1] == 256));
    CHECK((bytes.size[2] == 5 && bytes.byte_stride[1] == 112 * 501 && bytes.byte_stride[0] == 112));
}

TEST_CASE("rows are stored by vectors where their strides and addresses allow")
{
    plain_gemm_call call{};
    call.m = call.k = 8;
    call.n          = 24;
    call.stride_e   = 24;
    call.batch = call.k_batch = 1;
    CHECK(make_matrix_params(call, 2).wide);
    call.n = 20;
    CHECK(!make_matrix_params(call, 2).wide);
    CHECK(make_matrix_params(call, 4).wide);
    call.n        = 24;
    call.stride_e = 28;
    CHECK(!make_matrix_params(call, 2).wide);
    call.stride_e       = 24;
    call.batch          = 2;
    call.batch_stride_e = 24 * 8 + 4;
    CHECK(!make_matrix_params(call, 2).wide);
    call.batch       = 1;
    call.stride_d[0] = 24;
    CHECK(make_matrix_params(call, 2).wide);
    call.stride_d[1] = 28;
    CHECK(!make_matrix_params(call, 2).wide);
    call.stride_d[1] = 0;
    call.d[0]        = reinterpret_cast<void*>(std::uintptr_t{2});
    CHECK(!make_matrix_params(call, 2).wide);
    call.d[0] = nullptr;
    call.e    = reinterpret_cast<void*>(std::uintptr_t{8});
    CHECK(!make_matrix_params(call, 2).wide);
}

struct pipeline
{
    static constexpr host_model::pipeline_facts facts{.name       = "COMPUTE_V4",
                                                      .class_name = "AgBgCrCompV4"};
    static constexpr bool DoubleSmemBuffer = true;
};

template <data_type AB, data_type E, bool ARows, bool BRows, int M, int K>
struct kernel
{
    using GemmPipeline = pipeline;

    static constexpr host_model::plain_gemm_facts facts = [] {
        host_model::plain_gemm_facts f{};
        f.m_per_block = M;
        f.n_per_block = 128;
        f.k_per_block = K;
        f.m_waves = f.n_waves = 2;
        f.k_waves             = 1;
        f.k_mma               = 8;
        f.a_type = f.b_type = AB;
        f.e_type            = E;
        f.a_row_major       = ARows;
        f.b_row_major       = BRows;
        f.e_row_major       = true;
        f.vector_size_a = f.vector_size_b = 16;
        f.vector_size_c                   = 4;
        f.scheduler                       = "Intrawave";
        return f;
    }();
};

template <typename Kernel>
constexpr bool engine_w()
{
    using native = typename matrix_config_of<Kernel, 1>::native;
    return hopper_tile<native>;
}

TEST_CASE("engines and vectors follow from an instance's tile and types")
{
    using enum data_type;
    // 16-bit operands in any order; 8-bit ones along K, and in an encoding of the device's own.
    static_assert(engine_w<kernel<bf16, bf16, true, false, 128, 64>>());
    static_assert(engine_w<kernel<fp16, fp16, false, true, 128, 64>>());
    static_assert(engine_w<kernel<fp8_ocp, fp16, true, false, 128, 64>>());
    static_assert(engine_w<kernel<bf8_ocp, fp16, true, false, 128, 64>>());
    static_assert(engine_w<kernel<int8, int32, true, false, 128, 64>>());
    static_assert(!engine_w<kernel<fp8_ocp, fp16, true, true, 128, 64>>());
    static_assert(!engine_w<kernel<fp8_fnuz, fp16, true, false, 128, 64>>());
    static_assert(!engine_w<kernel<fp32, fp32, true, false, 128, 16>>());
    static_assert(!engine_w<kernel<bf16, bf16, true, false, 32, 64>>());

    using bytes = matrix_config_of<kernel<bf8_fnuz, fp16, true, true, 128, 8>, 1>;
    static_assert(bytes::type::ab_type == bf16 && bytes::type::a_memory == bf8_fnuz);
    static_assert(bytes::type::ab_bytes == 2 && bytes::native::ab_bytes == 1);
    // Matrix products of a warp take 16 steps of K; a part of K starts at a multiple of 8.
    static_assert(bytes::type::k == 16);
    static_assert(bytes::type::vector_a == 8 && bytes::type::vector_b == 16);
    static_assert(bytes::type::result_vector == 8 && bytes::type::vector_c == 4);
    static_assert(bytes::values.turns && bytes::values.hopper_stages == 6);
    static_assert(matrix_config_of<kernel<int8, int32, true, false, 64, 64>, 1>::type::integer);
}

TEST_CASE("blocks of a cluster share a tile's columns and keep their sums apart")
{
    check_shares<128, 128>();
    check_shares<64, 256>();
    check_shares<192, 96>();
    check_shares<64, 32>();
}

} // namespace
