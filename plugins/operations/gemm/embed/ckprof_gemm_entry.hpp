#include <array>
#include <string>
#include <type_traits>

#include "ckprof_kernel_entry.hpp"

namespace ckprof::entry {

// Sizes of a product as a library takes them, and what launchers are asked with: host arguments
// without pointers, whose strides are never 0.
template <typename Launcher>
struct gemm
{
    using param = ck_tile::GemmHostArgs;

    // The elements of a line of a packed matrix.
    template <typename Layout>
    static int64_t line(int64_t rows, int64_t columns)
    {
        constexpr bool by_rows = std::is_same_v<Layout, ck_tile::tensor_layout::gemm::RowMajor>;
        return by_rows ? columns : rows;
    }

    static int64_t stride(int64_t given, int64_t packed) { return given == 0 ? packed : given; }

    static param make_param(const ckprof_problem& problem)
    {
        const auto [m, n, k] = std::array{problem.values[0], problem.values[1], problem.values[2]};
        const auto index     = [](int64_t value) { return static_cast<ck_tile::index_t>(value); };
        return param(nullptr,
                     nullptr,
                     nullptr,
                     problem.split_k,
                     index(m),
                     index(n),
                     index(k),
                     index(stride(problem.values[3], line<typename Launcher::ALayout>(m, k))),
                     index(stride(problem.values[4], line<typename Launcher::BLayout>(k, n))),
                     index(stride(problem.values[5], line<typename Launcher::ELayout>(m, n))));
    }

    static bool rejects(const ckprof_problem& problem, ckprof_report report, void* context)
    {
        const param given = make_param(problem);
        bool rejected     = false;
        const auto check  = [&](const char* condition, char matrix, int64_t stride, int64_t least) {
            if(stride >= least) return;
            const std::string why = std::string("the stride of ") + matrix + " is " +
                                    std::to_string(stride) + ", its lines have " +
                                    std::to_string(least) + " elements";
            report(context, condition, why.c_str());
            rejected = true;
        };
        check("stride-a", 'A', given.stride_A, line<typename Launcher::ALayout>(given.M, given.K));
        check("stride-b", 'B', given.stride_B, line<typename Launcher::BLayout>(given.K, given.N));
        check("stride-e", 'E', given.stride_E, line<typename Launcher::ELayout>(given.M, given.N));
        if(problem.values[6] > 1)
        {
            const std::string why = "a kernel for one product, the problem has a batch of " +
                                    std::to_string(problem.values[6]);
            report(context, "problem", why.c_str());
            rejected = true;
        }
        return rejected;
    }

    template <typename Kernel>
    static constexpr int spatial_dimensions()
    { return 0; }

    template <typename HostArgs>
    static HostArgs make_args(const param& problem, const ckprof_buffers& buffers, int k_batch)
    {
        HostArgs args = problem;
        args.a_ptr    = ckprof_tensor(&buffers, 0);
        args.b_ptr    = ckprof_tensor(&buffers, 1);
        args.e_ptr    = ckprof_tensor(&buffers, 2);
        args.k_batch  = k_batch;
        return args;
    }
};

template <typename Launcher, typename HostArgs>
constexpr ckprof_kernel gemm_row(const char* key, const char* name)
{ return table_row_of<gemm<Launcher>, Launcher, HostArgs>(key, name); }

} // namespace ckprof::entry
