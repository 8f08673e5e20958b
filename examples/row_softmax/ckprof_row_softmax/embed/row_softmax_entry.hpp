// How rows of the kernel table are made for softmax over rows.
#include "ckprof_kernel_entry.hpp"

namespace row_softmax {

template <typename HostArgs>
struct operation
{
    using param = HostArgs;

    // Rows and columns are what RowSoftmaxProblem.values() gives.
    static param make_param(const ckprof_problem& problem)
    { return {nullptr, nullptr, problem.values[0], problem.values[1]}; }

    template <typename Launcher>
    static constexpr int spatial_dimensions()
    { return 0; }

    template <typename Args>
    static Args make_args(const param& sizes, const ckprof_buffers& buffers, int)
    { return {ckprof_tensor(&buffers, 0), ckprof_tensor(&buffers, 1), sizes.rows, sizes.columns}; }
};

template <typename Launcher, typename HostArgs>
constexpr ckprof_kernel table_row(const char* key, const char* name)
{ return ckprof::entry::table_row_of<operation<HostArgs>, Launcher, HostArgs>(key, name); }

} // namespace row_softmax
