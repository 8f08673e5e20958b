// SPDX-License-Identifier: MIT
// The convolution problem.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "ck_tile/core/numeric/integer.hpp"

namespace ck_tile::conv {

// K and C are per group: the input has G*C channels, the output G*K. Spatial vectors are ordered
// D,H,W. Output length per axis: (in + left + right - ((filter-1)*dilation + 1)) / stride + 1 with
// C++ division; it can be zero or negative, which the kernels' support tests reject.
struct ConvParam
{
    ConvParam(long_index_t n_dim,
              long_index_t groups,
              long_index_t batch,
              long_index_t k,
              long_index_t c,
              const std::vector<long_index_t>& filter,
              const std::vector<long_index_t>& input,
              const std::vector<long_index_t>& strides,
              const std::vector<long_index_t>& dilations,
              const std::vector<long_index_t>& left_pads,
              const std::vector<long_index_t>& right_pads)
        : num_dim_spatial_(n_dim),
          G_(groups),
          N_(batch),
          K_(k),
          C_(c),
          filter_spatial_lengths_(filter),
          input_spatial_lengths_(input),
          conv_filter_strides_(strides),
          conv_filter_dilations_(dilations),
          input_left_pads_(left_pads),
          input_right_pads_(right_pads)
    {
        check_length("filter", filter_spatial_lengths_);
        check_length("input", input_spatial_lengths_);
        check_length("strides", conv_filter_strides_);
        check_length("dilations", conv_filter_dilations_);
        check_length("left pads", input_left_pads_);
        check_length("right pads", input_right_pads_);
        for(std::size_t i = 0; i < input_spatial_lengths_.size(); ++i)
        {
            output_spatial_lengths_.push_back(output_length(i));
        }
    }

    ConvParam(index_t n_dim,
              index_t groups,
              index_t batch,
              index_t k,
              index_t c,
              const std::vector<index_t>& filter,
              const std::vector<index_t>& input,
              const std::vector<index_t>& strides,
              const std::vector<index_t>& dilations,
              const std::vector<index_t>& left_pads,
              const std::vector<index_t>& right_pads)
        : ConvParam(static_cast<long_index_t>(n_dim),
                    static_cast<long_index_t>(groups),
                    static_cast<long_index_t>(batch),
                    static_cast<long_index_t>(k),
                    static_cast<long_index_t>(c),
                    widen(filter),
                    widen(input),
                    widen(strides),
                    widen(dilations),
                    widen(left_pads),
                    widen(right_pads))
    {}

    std::vector<long_index_t> GetOutputSpatialLengths() const { return output_spatial_lengths_; }

    // One multiplication and one addition count as two operations; padding counts as work.
    std::size_t GetFlops() const
    {
        return static_cast<std::size_t>(2 * G_ * N_ * K_ * C_ * product(output_spatial_lengths_) *
                                        product(filter_spatial_lengths_));
    }

    template <typename InDataType>
    std::size_t GetInputByte() const
    {
        return sizeof(InDataType) *
               static_cast<std::size_t>(G_ * N_ * C_ * product(input_spatial_lengths_));
    }

    template <typename WeiDataType>
    std::size_t GetWeightByte() const
    {
        return sizeof(WeiDataType) *
               static_cast<std::size_t>(G_ * K_ * C_ * product(filter_spatial_lengths_));
    }

    template <typename OutDataType>
    std::size_t GetOutputByte() const
    {
        return sizeof(OutDataType) *
               static_cast<std::size_t>(G_ * N_ * K_ * product(output_spatial_lengths_));
    }

    template <typename InDataType, typename WeiDataType, typename OutDataType>
    std::size_t GetByte() const
    {
        return GetInputByte<InDataType>() + GetWeightByte<WeiDataType>() +
               GetOutputByte<OutDataType>();
    }

    long_index_t num_dim_spatial_;
    long_index_t G_;
    long_index_t N_;
    long_index_t K_;
    long_index_t C_;
    std::vector<long_index_t> filter_spatial_lengths_;
    std::vector<long_index_t> input_spatial_lengths_;
    std::vector<long_index_t> output_spatial_lengths_;
    std::vector<long_index_t> conv_filter_strides_;
    std::vector<long_index_t> conv_filter_dilations_;
    std::vector<long_index_t> input_left_pads_;
    std::vector<long_index_t> input_right_pads_;

private:
    static std::vector<long_index_t> widen(const std::vector<index_t>& values)
    { return {values.begin(), values.end()}; }

    static long_index_t product(const std::vector<long_index_t>& lengths)
    {
        long_index_t result = 1;
        for(const long_index_t length : lengths) { result *= length; }
        return result;
    }

    void check_length(const char* what, const std::vector<long_index_t>& values) const
    {
        if(static_cast<long_index_t>(values.size()) != num_dim_spatial_)
        {
            throw std::runtime_error("ConvParam: " + std::string(what) + " has " +
                                     std::to_string(values.size()) + " entries, expected " +
                                     std::to_string(num_dim_spatial_));
        }
    }

    // A stride of 0 would divide by zero; the length 0 makes the support tests reject the problem.
    long_index_t output_length(std::size_t i) const
    {
        if(conv_filter_strides_[i] == 0) { return 0; }
        const long_index_t window =
            (filter_spatial_lengths_[i] - 1) * conv_filter_dilations_[i] + 1;
        const long_index_t padded =
            input_spatial_lengths_[i] + input_left_pads_[i] + input_right_pads_[i];
        return (padded - window) / conv_filter_strides_[i] + 1;
    }
};

} // namespace ck_tile::conv
