// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "ck_tile/host_model/kernel_text.hpp"
#include "ck_tile/host_model/plain_gemm.hpp"

namespace ck_tile::host_model {

namespace impl {

// Joins fields of text, integers and flags (0/1) with one separator character.
class field_list
{
public:
    explicit field_list(char separator) : separator_(separator) {}

    field_list& operator<<(const char* text)
    {
        start_field();
        text_ += text;
        return *this;
    }
    field_list& operator<<(const std::string& text) { return *this << text.c_str(); }
    field_list& operator<<(int value) { return *this << std::to_string(value); }
    field_list& operator<<(bool value) { return *this << (value ? "1" : "0"); }

    const std::string& text() const { return text_; }

private:
    void start_field()
    {
        if(!first_) { text_ += separator_; }
        first_ = false;
    }

    char separator_;
    bool first_ = true;
    std::string text_;
};

inline std::string times(int a, int b) { return std::to_string(a) + "x" + std::to_string(b); }
inline std::string times(int a, int b, int c) { return times(a, b) + "x" + std::to_string(c); }

// As CK Builder prints lists of layouts and of types.
template <typename NameOf>
inline std::string tuple_text(int count, const NameOf& name_of_element)
{
    if(count == 0) { return "EmptyTuple"; }
    field_list names(',');
    for(int i = 0; i < count; ++i) { names << name_of_element(i); }
    return "tuple(" + names.text() + ")";
}

inline std::string precision_name(const kernel_facts& facts)
{
    const std::string a = name_of(facts.a_type);
    return facts.a_type == facts.b_type ? a : a + "_" + name_of(facts.b_type);
}

} // namespace impl

CK_TILE_HOST_MODEL_API std::string instance_string(const kernel_facts& facts)
{
    const char* name = facts.direction == direction::forward ? "GroupedConvolutionForwardKernel"
                       : facts.direction == direction::backward_data
                           ? "GroupedConvolutionBackwardDataKernel"
                           : "GroupedConvolutionBackwardWeightKernel";
    const elementwise_facts& elementwise = facts.elementwise;
    const std::string d_layouts =
        impl::tuple_text(elementwise.d_count, [&](int i) { return elementwise.d_layouts[i]; });
    const std::string d_types = impl::tuple_text(
        elementwise.d_count, [&](int i) { return spelling_of(elementwise.d_types[i]); });
    impl::field_list fields(',');
    fields << facts.num_dim_spatial << getConvSpecializationString(facts.specialization)
           << facts.in_layout << facts.wei_layout << d_layouts << facts.out_layout
           << facts.vector_size_a << facts.vector_size_b << facts.vector_size_c
           << facts.groups_to_merge << facts.split_image << facts.explicit_gemm << facts.m_per_block
           << facts.n_per_block << facts.k_per_block << facts.m_waves << facts.n_waves
           << facts.k_waves << facts.m_mma << facts.n_mma << facts.k_mma
           << spelling_of(facts.a_type) << spelling_of(facts.b_type) << facts.pipeline_name
           << facts.scheduler << facts.double_smem_buffer << facts.num_wave_groups
           << (facts.integer_sums ? "s32" : "fp32") << spelling_of(facts.e_type) << d_types
           << facts.cde_operation;
    if(facts.direction == direction::backward_weight)
    {
        fields << facts.stream_k;
        if(facts.stream_k) { fields << facts.stream_k_reduction << facts.stream_k_persistent; }
    }
    return std::string(name) + "<" + fields.text() + ">";
}

CK_TILE_HOST_MODEL_API std::string kernel_name(const kernel_facts& facts)
{
    using impl::times;
    const char* name = facts.direction == direction::forward ? "grouped_convolution_forward"
                       : facts.direction == direction::backward_data
                           ? "grouped_convolution_backward_data"
                           : "grouped_convolution_backward_weight";
    impl::field_list tokens('_');
    tokens << name << impl::precision_name(facts) << facts.in_layout << facts.wei_layout
           << facts.out_layout << "gemm" << "pipeline" << facts.pipeline_class
           << times(facts.m_per_block, facts.n_per_block, facts.k_per_block) << facts.block_size
           << times(facts.m_waves, facts.n_waves) << times(facts.m_mma, facts.n_mma, facts.k_mma)
           << facts.scheduler << "DoubleSmemBuffer" << facts.double_smem_buffer << "NumWaveGroups"
           << facts.num_wave_groups << "epilogue" << facts.epilogue
           << times(facts.m_waves, facts.n_waves) << times(facts.m_mma, facts.n_mma, facts.k_mma)
           << facts.vector_size_c << "CNotTransposed"
           << getConvSpecializationString(facts.specialization) << "MergedGroups"
           << facts.groups_to_merge << "SplitImage" << facts.split_image << "ExplicitGemm"
           << facts.explicit_gemm;
    if(facts.direction == direction::backward_weight)
    {
        tokens << (facts.stream_k ? "StreamK" : "SplitK");
    }
    return tokens.text();
}

CK_TILE_HOST_MODEL_API std::string kernel_name(const plain_gemm_facts& facts)
{
    using impl::times;
    const std::string a = name_of(facts.a_type);
    impl::field_list tokens('_');
    tokens << "gemm" << (facts.a_type == facts.b_type ? a : a + "_" + name_of(facts.b_type))
           << "pipeline" << facts.pipeline_class
           << times(facts.m_per_block, facts.n_per_block, facts.k_per_block) << facts.block_size
           << times(facts.m_waves, facts.n_waves)
           << times(facts.vector_size_a, facts.vector_size_b, facts.vector_size_c)
           << times(facts.pad_m, facts.pad_n, facts.pad_k) << facts.scheduler << facts.epilogue;
    return tokens.text();
}

} // namespace ck_tile::host_model
