// Sums of products as kernels compute them: in any order, in matrix units that round or cut off, in
// splits, and with faults.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <vector>

namespace {

enum way : int32_t
{
    fused    = 0, // one addition to an fp32 number for each product, rounded once
    separate = 1, // products are rounded before
    nearest  = 2, // a step adds several products, and is rounded to nearest
    cut      = 3, // a step cuts off what is below the last of some bits of its largest term
    whole    = 4, // integers
};

struct plan
{
    int32_t way;
    int32_t step; // products that are added at once
    int32_t bits; // of a step's terms, where it cuts
    int32_t splits;
    int32_t stride;             // steps of a split are taken in this order, if all are
    int32_t kept;               // bits of the accumulator's mantissa, 23 for all
    int64_t skip_from, skip_to; // products that are left out
    int32_t lost_split;         // whose part is left out, -1 for none
};

float as_float(uint32_t bits)
{
    float value;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
}

uint32_t as_bits(float value)
{
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    return bits;
}

float rounded(float value, int kept)
{
    if(kept >= 23 || !std::isfinite(value)) return value;
    const int dropped   = 23 - kept;
    const uint32_t bits = as_bits(value);
    const uint32_t up   = (1u << (dropped - 1)) - 1 + ((bits >> dropped) & 1);
    return as_float((bits + up) >> dropped << dropped);
}

float toward_zero(double value)
{
    const float near = static_cast<float>(value);
    return std::fabs(static_cast<double>(near)) > std::fabs(value) ? as_float(as_bits(near) - 1)
                                                                   : near;
}

float cut_sum(const double* terms, int count, float before, int bits)
{
    double largest = std::fabs(static_cast<double>(before));
    for(int at = 0; at < count; ++at) largest = std::fmax(largest, std::fabs(terms[at]));
    if(largest == 0) return 0;
    const double unit = std::ldexp(1.0, std::ilogb(largest) - bits + 1);
    double sum        = std::trunc(before / unit) * unit;
    for(int at = 0; at < count; ++at) sum += std::trunc(terms[at] / unit) * unit;
    return toward_zero(sum);
}

double part_of(const float* a, const float* b, int64_t from, int64_t to, const plan& how)
{
    const int64_t steps  = (to - from + how.step - 1) / how.step;
    const int64_t stride = steps > 0 && std::gcd(int64_t{how.stride}, steps) == 1 ? how.stride : 1;
    float sum            = 0;
    int64_t integers     = 0;
    std::vector<double> terms(static_cast<size_t>(how.step));
    for(int64_t number = 0; number < steps; ++number)
    {
        const int64_t start = from + (number * stride % steps) * how.step;
        const int64_t end   = start + how.step < to ? start + how.step : to;
        int count           = 0;
        double block        = 0;
        for(int64_t at = start; at < end; ++at)
        {
            if(at >= how.skip_from && at < how.skip_to) continue;
            const double term = static_cast<double>(a[at]) * static_cast<double>(b[at]);
            switch(how.way)
            {
            case fused: sum = std::fmaf(a[at], b[at], sum); break;
            case separate: sum += static_cast<float>(term); break;
            case nearest: block += term; break;
            case cut: terms[static_cast<size_t>(count++)] = term; break;
            default: integers += static_cast<int64_t>(term);
            }
        }
        if(how.way == nearest) sum = static_cast<float>(sum + block);
        if(how.way == cut) sum = cut_sum(terms.data(), count, sum, how.bits);
        sum = rounded(sum, how.kept);
    }
    return how.way == whole ? static_cast<double>(static_cast<int32_t>(integers)) : sum;
}

} // namespace

// a is m x k, b is n x k; parts are m x n x splits.
extern "C" void sum_products(
    const float* a, const float* b, double* parts, int64_t m, int64_t n, int64_t k, const plan* how)
{
    const int64_t steps    = (k + how->step - 1) / how->step;
    const int64_t of_split = (steps + how->splits - 1) / how->splits * how->step;
    for(int64_t row = 0; row < m; ++row)
        for(int64_t column = 0; column < n; ++column)
            for(int32_t split = 0; split < how->splits; ++split)
            {
                const int64_t from = split * of_split < k ? split * of_split : k;
                const int64_t to   = from + of_split < k ? from + of_split : k;
                *parts++           = split == how->lost_split
                                         ? 0
                                         : part_of(a + row * k, b + column * k, from, to, *how);
            }
}
