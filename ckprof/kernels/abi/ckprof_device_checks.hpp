// SPDX-License-Identifier: MIT
//
// ckprof_checks for targets whose runtime has the calls of CUDA's under names of its own. Where the
// compiler knows no device code, the same passes run on the host.
#ifndef CKPROF_DEVICE_CHECKS_HPP
#define CKPROF_DEVICE_CHECKS_HPP

#include <cstddef>
#include <cstdint>
#include <limits>

#include "ckprof_check_kernels.hpp"
#include "ckprof_device_target.hpp"

namespace ckprof::checks {

#if CKPROF_CHECKS_ON_DEVICE
#if defined(__CUDACC__)
#define CKPROF_KERNEL_ARGUMENT const __grid_constant__
#else
#define CKPROF_KERNEL_ARGUMENT const
#endif
template <typename Block>
__global__ void __launch_bounds__(threads) run_block(CKPROF_KERNEL_ARGUMENT Block block)
{ block(static_cast<int64_t>(blockIdx.x)); }
#endif

// Api: see ckprof_device_target.hpp; wait() must be there as well, which returns when the device is
// done with everything.
template <typename Api>
struct functions
{
    using device     = ckprof::device_target::functions<Api>;
    using error_type = typename Api::error_type;

    // The grid's first dimension holds no more.
    static constexpr int64_t most_grid = std::numeric_limits<int32_t>::max();

    template <typename Block>
    static error_type run(const Block& block, int64_t blocks)
    {
#if CKPROF_CHECKS_ON_DEVICE
        run_block<<<static_cast<unsigned>(blocks), threads>>>(block);
        return Api::take_error();
#else
        const error_type waited = Api::wait();
        for(int64_t at = 0; waited == Api::success && at < blocks; ++at) block(at);
        return waited;
#endif
    }

    // Memory for what the blocks of a pass leave; kept.
    static void* scratch()
    {
        static void* memory = device::allocate(most_blocks * sizeof(findings));
        return memory;
    }

    // Visits count elements and combines what was found.
    template <typename Value, typename Pass>
    static ckprof_status pass_over(const Pass& pass, int64_t count, Value& found) noexcept
    {
        static_assert(sizeof(Value) <= sizeof(findings));
        found = Value{};
        pass.start(found);
        if(count == 0) return CKPROF_OK;
        auto* of_blocks = static_cast<Value*>(scratch());
        if(of_blocks == nullptr) return CKPROF_FAILED;
        const int64_t wanted = (count + threads - 1) / threads;
        const int64_t blocks = wanted < most_blocks ? wanted : most_blocks;
        const pass_block<Value, Pass> block{pass, count, blocks, of_blocks};
        if(device::noted(run(block, blocks)) != Api::success) return CKPROF_FAILED;
        const combine_block<Value, Pass> all{pass, blocks, of_blocks};
        if(device::noted(run(all, 1)) != Api::success) return CKPROF_FAILED;
        return device::done(Api::copy_to_host(&found, of_blocks, sizeof(Value)));
    }

    static ckprof_status fill(void* memory, int32_t value, size_t bytes) noexcept
    {
        if(bytes == 0) return CKPROF_OK;
        return device::done(Api::fill_async(memory, value, bytes));
    }

    // Starts what is done with pieces; without totals they are negated.
    static error_type
    visit(const ckprof_piece* pieces, int32_t count, uint64_t* totals, uint64_t* next_totals)
    {
        pieces_block block{};
        block.count       = count;
        block.totals      = totals;
        block.next_totals = next_totals;
        for(int32_t at = 0; at < count; ++at)
        {
            block.pieces[at]     = pieces[at];
            const int64_t lines  = (pieces[at].bytes + line::bytes - 1) / line::bytes;
            const int64_t wanted = (lines + threads - 1) / threads;
            const int64_t most   = wanted < most_blocks_of_piece ? wanted : most_blocks_of_piece;
            block.first_blocks[at + 1] = block.first_blocks[at] + (most < 1 ? 1 : most);
        }
        return count == 0 ? Api::success : run(block, block.first_blocks[count]);
    }

    static ckprof_status survey(const ckprof_piece* pieces, int32_t count, uint64_t* found) noexcept
    {
        // Two sets take turns, each kernel clears the other one: nothing is launched for that.
        constexpr size_t set = CKPROF_MAX_PIECES * sizeof(uint64_t);
        static void* memory  = nullptr;
        static int turn      = 0;
        if(count < 1 || count > CKPROF_MAX_PIECES) return CKPROF_REJECTED;
        if(memory == nullptr)
        {
            memory = device::allocate(2 * set);
            if(memory == nullptr || fill(memory, 0, 2 * set) != CKPROF_OK) return CKPROF_FAILED;
        }
        auto* totals = static_cast<uint64_t*>(memory) + turn * CKPROF_MAX_PIECES;
        turn ^= 1;
        auto* next = static_cast<uint64_t*>(memory) + turn * CKPROF_MAX_PIECES;
        if(device::noted(visit(pieces, count, totals, next)) != Api::success) return CKPROF_FAILED;
        return device::copy_to_host(found, totals, static_cast<size_t>(count) * sizeof(uint64_t));
    }

    static ckprof_status negate(const ckprof_piece* pieces, int32_t count) noexcept
    {
        if(count < 0 || count > CKPROF_MAX_PIECES) return CKPROF_REJECTED;
        return device::done(visit(pieces, count, nullptr, nullptr));
    }

    static ckprof_status
    fill_operand(const ckprof_operand* operand, void* memory, double* squares) noexcept
    {
        double_total found{};
        int64_t lines = 1;
        for(int axis = 0; axis + 1 < operand->axes; ++axis) lines *= operand->lengths[axis];
        const auto status = pass_over(operand_pass{*operand, memory}, lines * operand->line, found);
        *squares          = found.value;
        return status;
    }

    static int64_t elements_of(const ckprof_contraction& work, int from, int count)
    {
        int64_t product = 1;
        for(int at = from; at < from + count; ++at) product *= work.loop[at].length;
        return product;
    }

    template <int Rows, int Columns>
    static ckprof_status contract_tiles(const ckprof_contraction& work,
                                        const void* first,
                                        const void* second,
                                        double* partial) noexcept
    {
        contract_block<Rows, Columns> block{};
        block.work         = work;
        block.operands[0]  = first;
        block.operands[1]  = second;
        block.partial      = partial;
        int at             = 0;
        block.batches      = elements_of(work, at, work.batches);
        block.rows         = elements_of(work, at += work.batches, work.rows);
        block.columns      = elements_of(work, at += work.rows, work.columns);
        block.sums         = elements_of(work, at += work.columns, work.sums);
        block.row_tiles    = (block.rows + Rows - 1) / Rows;
        block.column_tiles = (block.columns + Columns - 1) / Columns;
        // one factor after the other: the product may be too large for any integer
        int64_t blocks          = 1;
        const int64_t factors[] = {block.row_tiles, block.column_tiles, block.batches, work.slices};
        for(const int64_t factor : factors)
        {
            if(factor > most_grid / blocks) return CKPROF_REJECTED;
            blocks *= factor;
        }
        return device::done(run(block, blocks));
    }

    static ckprof_status contract(const ckprof_contraction* work,
                                  const void* first,
                                  const void* second,
                                  double* partial,
                                  double* reference) noexcept
    {
        // Narrow matrices would leave most of a square tile empty.
        constexpr int64_t narrow = 16;
        const int64_t rows       = elements_of(*work, work->batches, work->rows);
        const int64_t columns    = elements_of(*work, work->batches + work->rows, work->columns);
        const auto status =
            columns <= narrow ? contract_tiles<256, 16>(*work, first, second, partial)
            : rows <= narrow  ? contract_tiles<16, 256>(*work, first, second, partial)
                              : contract_tiles<64, 64>(*work, first, second, partial);
        if(status != CKPROF_OK || work->slices == 1) return status;
        total nothing{};
        return pass_over(
            slices_pass{partial, reference, work->slices, work->stored}, work->stored, nothing);
    }

    static ckprof_status wait() noexcept { return device::done(Api::wait()); }

    static ckprof_status
    magnitude(const double* reference, int64_t stored, double* magnitude, uint64_t* gaps) noexcept
    {
        largest found{};
        const auto status = pass_over(magnitude_pass{reference}, stored, found);
        *magnitude        = found.value;
        *gaps             = found.gaps;
        return status;
    }

    static ckprof_status compare(const ckprof_comparison* comparison,
                                 const void* result,
                                 const double* reference,
                                 ckprof_findings* seen) noexcept
    {
        findings found{};
        const compare_pass pass{*comparison, result, reference};
        if(const auto status = pass_over(pass, comparison->stored, found); status != CKPROF_OK)
            return status;
        *seen = {found.wrong,
                 found.unwritten,
                 found.non_finite,
                 found.in_gaps,
                 found.gaps,
                 found.first,
                 found.max_error,
                 0,
                 0};
        if(found.wrong == 0) return CKPROF_OK;
        // the word and what was expected of the first wrong element
        const int bytes    = bytes_of(comparison->element);
        const auto* stored = static_cast<const char*>(result) + found.first * bytes;
        uint32_t word      = 0;
        if(device::copy_to_host(&word, stored, bytes) != CKPROF_OK) return CKPROF_FAILED;
        seen->got       = decoded(comparison->element, word);
        double expected = 0;
        if(device::copy_to_host(&expected, reference + found.first, sizeof(double)) != CKPROF_OK)
            return CKPROF_FAILED;
        seen->expected =
            comparison->rounding == CKPROF_NOT_ROUNDED
                ? expected
                : rounded(comparison->element, expected, comparison->rounding == CKPROF_TO_NEAREST);
        return CKPROF_OK;
    }
};

// What a target's ckprof_get_checks() returns the address of.
template <typename Api>
constexpr ckprof_checks table()
{
    using own = functions<Api>;
    return {CKPROF_CHECKS_VERSION,
            &own::fill,
            &own::survey,
            &own::fill_operand,
            &own::contract,
            &own::magnitude,
            &own::compare,
            &own::device::last_error,
            &own::negate,
            &own::wait};
}

} // namespace ckprof::checks

#endif
