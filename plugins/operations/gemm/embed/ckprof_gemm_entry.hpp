#include <array>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "ckprof_kernel_entry.hpp"

namespace ckprof::entry {

template <typename HostArgs>
concept batched_gemm_args = requires(const HostArgs& args) { args.batch_count; };

template <typename HostArgs>
concept multi_d_gemm_args =
    !batched_gemm_args<HostArgs> && requires(const HostArgs& args) { args.stride_Ds; };

template <typename HostArgs>
constexpr std::size_t d_tensors_of()
{
    if constexpr(multi_d_gemm_args<HostArgs>)
        return std::tuple_size_v<std::remove_cvref_t<decltype(HostArgs::stride_Ds)>>;
    return 0;
}

// Sizes of a product as a library takes them, and what launchers are asked with: host arguments
// without pointers, whose strides are never 0.
template <typename Launcher, typename HostArgs>
struct gemm
{
    using param = HostArgs;

    static constexpr std::size_t d_count = d_tensors_of<HostArgs>();

    struct sizes
    {
        int64_t m, n, k;
        int64_t stride_a, stride_b, stride_e;
        int64_t batch, batch_a, batch_b, batch_e;
        std::array<int64_t, d_count> stride_d;
    };

    struct memory
    {
        const void* a = nullptr;
        const void* b = nullptr;
        void* e       = nullptr;
        std::array<const void*, d_count> d{};
    };

    // How many lines a matrix has, and how many elements each of them.
    struct shape
    {
        int64_t lines, run;
        int64_t extent(int64_t stride) const { return (lines - 1) * stride + run; }
    };

    template <typename Layout>
    static shape shape_of(int64_t rows, int64_t columns)
    {
        constexpr bool by_rows = std::is_same_v<Layout, ck_tile::tensor_layout::gemm::RowMajor>;
        return by_rows ? shape{rows, columns} : shape{columns, rows};
    }

    static shape shape_of_a(const sizes& p)
    { return shape_of<typename Launcher::ALayout>(p.m, p.k); }
    static shape shape_of_b(const sizes& p)
    { return shape_of<typename Launcher::BLayout>(p.k, p.n); }
    static shape shape_of_e(const sizes& p)
    { return shape_of<typename Launcher::ELayout>(p.m, p.n); }

    static int64_t given_or(int64_t given, int64_t packed) { return given == 0 ? packed : given; }

    // M, N, K, the strides of A, B and E, the number of products and their distances in A, B and E,
    // which operation combines D tensors with the product, how many there are, and their strides.
    static sizes read(const ckprof_problem& problem)
    {
        const int64_t* const v = problem.values;
        sizes p{v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8], v[9], {}};
        const auto pack = [](const shape& one, int64_t& stride, int64_t& distance) {
            stride   = given_or(stride, one.run);
            distance = given_or(distance, one.lines * stride);
        };
        pack(shape_of_a(p), p.stride_a, p.batch_a);
        pack(shape_of_b(p), p.stride_b, p.batch_b);
        pack(shape_of_e(p), p.stride_e, p.batch_e);
        for(std::size_t d = 0; d != d_count; ++d)
            p.stride_d[d] = given_or(v[12 + d], shape_of_e(p).run);
        return p;
    }

    static HostArgs make(const memory& at, const sizes& p, int k_batch)
    {
        using ck_tile::index_t;
        const auto m = static_cast<index_t>(p.m), n = static_cast<index_t>(p.n);
        const auto k        = static_cast<index_t>(p.k);
        const auto stride_a = static_cast<index_t>(p.stride_a);
        const auto stride_b = static_cast<index_t>(p.stride_b);
        const auto stride_e = static_cast<index_t>(p.stride_e);
        if constexpr(batched_gemm_args<HostArgs>)
        {
            return HostArgs(at.a,
                            at.b,
                            at.e,
                            k_batch,
                            m,
                            n,
                            k,
                            stride_a,
                            stride_b,
                            stride_e,
                            static_cast<index_t>(p.batch_a),
                            static_cast<index_t>(p.batch_b),
                            static_cast<index_t>(p.batch_e),
                            static_cast<index_t>(p.batch));
        }
        else if constexpr(multi_d_gemm_args<HostArgs>)
        {
            std::array<index_t, d_count> stride_d{};
            for(std::size_t d = 0; d != d_count; ++d)
                stride_d[d] = static_cast<index_t>(p.stride_d[d]);
            return HostArgs(
                at.a, at.b, at.d, at.e, k_batch, m, n, k, stride_a, stride_b, stride_d, stride_e);
        }
        else
        {
            return HostArgs(at.a, at.b, at.e, k_batch, m, n, k, stride_a, stride_b, stride_e);
        }
    }

    static param make_param(const ckprof_problem& problem)
    { return make({}, read(problem), problem.split_k); }

    static bool rejects(const ckprof_problem& problem, ckprof_report report, void* context)
    {
        const sizes p      = read(problem);
        bool rejected      = false;
        const auto require = [&](bool met, const char* condition, const std::string& why) {
            if(met) return;
            report(context, condition, why.c_str());
            rejected = true;
        };
        const auto check = [&](char matrix, const shape& one, int64_t stride, int64_t distance) {
            const std::string name      = {static_cast<char>(matrix - 'A' + 'a')};
            const std::string condition = "stride-" + name;
            require(stride >= one.run,
                    condition.c_str(),
                    std::string("the stride of ") + matrix + " is " + std::to_string(stride) +
                        ", its lines have " + std::to_string(one.run) + " elements");
            require(p.batch == 1 || distance >= one.extent(stride),
                    condition.c_str(),
                    std::string("the batch stride of ") + matrix + " is " +
                        std::to_string(distance) + ", each matrix takes " +
                        std::to_string(one.extent(stride)) + " elements");
        };
        check('A', shape_of_a(p), p.stride_a, p.batch_a);
        check('B', shape_of_b(p), p.stride_b, p.batch_b);
        check('E', shape_of_e(p), p.stride_e, p.batch_e);
        for(const int64_t stride : p.stride_d) check('D', shape_of_e(p), stride, p.batch_e);
        require(batched_gemm_args<HostArgs> || p.batch <= 1,
                "problem",
                "a kernel for one product, the problem has a batch of " + std::to_string(p.batch));
        check_combination(problem, require);
        return rejected;
    }

    // Whether the kernel does with the product what the problem asks for.
    template <typename Require>
    static void check_combination(const ckprof_problem& problem, const Require& require)
    {
        constexpr std::size_t known = sizeof(elementwise_names) / sizeof(*elementwise_names);
        const auto asked            = static_cast<std::size_t>(problem.values[10]);
        const auto asked_count      = static_cast<std::size_t>(problem.values[11]);
        std::string_view own        = elementwise_names[0];
        if constexpr(multi_d_gemm_args<HostArgs>) own = Launcher::ElementwiseOp;
        const auto text = [](std::string_view operation, std::size_t count) {
            return count == 0 ? std::string("the product alone")
                              : std::string(operation) + " with " + std::to_string(count) +
                                    (count == 1 ? " D tensor" : " D tensors");
        };
        const std::string_view wanted =
            asked < known ? elementwise_names[asked] : "another operation";
        require(wanted == own && asked_count == d_count,
                "problem",
                "the kernel computes " + text(own, d_count) + ", the problem asks for " +
                    text(wanted, asked_count));
    }

    template <typename Kernel>
    static constexpr int spatial_dimensions()
    { return 0; }

    // The arguments of a kernel with the tensors: A, B, E, D tensors.
    template <typename Args>
    static Args make_args(const param& given, const ckprof_buffers& buffers, int k_batch)
    {
        memory at{
            ckprof_tensor(&buffers, 0), ckprof_tensor(&buffers, 1), ckprof_tensor(&buffers, 2), {}};
        for(std::size_t d = 0; d != d_count; ++d)
            at.d[d] = ckprof_tensor(&buffers, 3 + static_cast<int>(d));
        return make(at, sizes_of(given), k_batch);
    }

    static sizes sizes_of(const param& given)
    {
        sizes p{given.M, given.N, given.K, 0, 0, given.stride_E, 1, 0, 0, 0, {}};
        if constexpr(batched_gemm_args<HostArgs>)
        {
            p.stride_a = given.stride_As[0];
            p.stride_b = given.stride_Bs[0];
            p.batch    = given.batch_count;
            p.batch_a  = given.batch_stride_A;
            p.batch_b  = given.batch_stride_B;
            p.batch_e  = given.batch_stride_E;
        }
        else
        {
            p.stride_a = given.stride_A;
            p.stride_b = given.stride_B;
        }
        if constexpr(multi_d_gemm_args<HostArgs>)
        {
            for(std::size_t d = 0; d != d_count; ++d) p.stride_d[d] = given.stride_Ds[d];
        }
        return p;
    }
};

template <typename Launcher, typename HostArgs>
constexpr ckprof_kernel gemm_row(const char* key, const char* name)
{ return table_row_of<gemm<Launcher, HostArgs>, Launcher, HostArgs>(key, name); }

} // namespace ckprof::entry
