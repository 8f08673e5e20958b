// SPDX-License-Identifier: MIT
#include "core/defined_bytes.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>
#include <vector>

namespace ckprof::emulator {
namespace {

constexpr uint64_t word_bits = 64;

std::atomic_ref<uint64_t> cell(uint64_t& word) { return std::atomic_ref<uint64_t>(word); }

// Calls visit(word, bits of it) for the bits from `first` to before `last` until it says false.
template <typename Visit>
bool for_words(uint64_t first, uint64_t last, Visit&& visit)
{
    while(first < last)
    {
        const uint64_t word = first / word_bits, from = first % word_bits;
        const uint64_t count = std::min(word_bits - from, last - first);
        const uint64_t bits  = count == word_bits ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
        if(!visit(word, bits << from)) return false;
        first += count;
    }
    return true;
}

} // namespace

void DefinedBytes::Release::operator()(uint64_t* words) const { std::free(words); }

DefinedBytes::DefinedBytes(uint64_t begin, uint64_t bytes)
    : begin_(begin),
      bytes_(bytes),
      // unlike new, it hands out untouched pages
      words_(static_cast<uint64_t*>(
          std::calloc((bytes + word_bits - 1) / word_bits + 1, sizeof(uint64_t))))
{
    if(words_ == nullptr) throw std::bad_alloc();
}

void DefinedBytes::define(uint64_t address, uint64_t bytes)
{
    if(!contains(address)) return;
    const uint64_t first = address - begin_, last = std::min(first + bytes, bytes_);
    for_words(first, last, [&](uint64_t word, uint64_t bits) {
        const auto all = cell(words_[word]);
        if((all.load(std::memory_order_relaxed) & bits) != bits)
            all.fetch_or(bits, std::memory_order_relaxed);
        return true;
    });
}

bool DefinedBytes::defined(uint64_t address, uint64_t bytes) const
{
    if(!contains(address)) return true;
    const uint64_t first = address - begin_, last = std::min(first + bytes, bytes_);
    return for_words(first, last, [&](uint64_t word, uint64_t bits) {
        return (cell(words_[word]).load(std::memory_order_relaxed) & bits) == bits;
    });
}

void DefinedBytes::copy(uint64_t address, const DefinedBytes& from, uint64_t other, uint64_t bytes)
{
    if(from.defined(other, bytes)) return define(address, bytes);
    std::vector<bool> bits(bytes);
    for(uint64_t n = 0; n < bytes; ++n) bits[n] = from.defined(other + n, 1);
    for(uint64_t n = 0; n < bytes; ++n)
    {
        if(!contains(address + n)) continue;
        const uint64_t at = address + n - begin_, bit = uint64_t{1} << at % word_bits;
        if(bits[n])
            cell(words_[at / word_bits]).fetch_or(bit, std::memory_order_relaxed);
        else
            cell(words_[at / word_bits]).fetch_and(~bit, std::memory_order_relaxed);
    }
}

} // namespace ckprof::emulator
