// SPDX-License-Identifier: MIT
#include "checks/source_line.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <unistd.h>

namespace ckprof::emulator {
namespace {

// Newest first; the last is what a distribution calls its usual one.
constexpr const char* symbolizers[] = {"llvm-symbolizer-22",
                                       "llvm-symbolizer-21",
                                       "llvm-symbolizer-20",
                                       "llvm-symbolizer-19",
                                       "llvm-symbolizer",
                                       "/opt/rocm/llvm/bin/llvm-symbolizer"};

class TemporaryFile
{
public:
    explicit TemporaryFile(std::span<const std::byte> content)
    {
        const int file = mkstemp(name_.data());
        if(file < 0) return;
        const bool written =
            write(file, content.data(), content.size()) == static_cast<ssize_t>(content.size());
        close(file);
        usable_ = written;
    }
    ~TemporaryFile() { unlink(name_.c_str()); }
    TemporaryFile(const TemporaryFile&)            = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;

    bool usable() const { return usable_; }
    const std::string& name() const { return name_; }

private:
    std::string name_ = std::filesystem::temp_directory_path() / "ckprof-code-XXXXXX";
    bool usable_      = false;
};

std::vector<std::string> lines_of(const std::string& command)
{
    FILE* pipe = popen(command.c_str(), "r");
    if(pipe == nullptr) return {};
    std::vector<std::string> lines;
    char text[4096];
    while(std::fgets(text, sizeof(text), pipe) != nullptr)
    {
        text[std::strcspn(text, "\n")] = '\0';
        lines.emplace_back(text);
    }
    if(pclose(pipe) != 0) return {};
    return lines;
}

} // namespace

std::vector<std::string> source_lines(std::span<const std::byte> code_object,
                                      std::span<const uint64_t> addresses)
{
    std::string asked;
    for(const uint64_t address : addresses) asked += std::to_string(address) + "\n";
    const TemporaryFile file(code_object);
    const TemporaryFile questions(std::as_bytes(std::span(asked)));
    if(addresses.empty() || !file.usable() || !questions.usable()) return {};
    // without the frames of inlined functions, each address has one line: that of the line table
    const std::string arguments = " --functions=none --no-inlines --output-style=GNU --obj='" +
                                  file.name() + "' < '" + questions.name() + "' 2>/dev/null";
    for(const char* symbolizer : symbolizers)
    {
        std::vector<std::string> lines = lines_of(symbolizer + arguments);
        if(lines.size() != addresses.size()) continue;
        bool known = false;
        for(std::string& line : lines)
        {
            if(line.starts_with("??")) line.clear();
            known |= !line.empty();
        }
        return known ? lines : std::vector<std::string>();
    }
    return {};
}

} // namespace ckprof::emulator
