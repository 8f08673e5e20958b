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

std::string first_line_of(const std::string& command)
{
    FILE* pipe = popen(command.c_str(), "r");
    if(pipe == nullptr) return {};
    char text[1024]  = "";
    std::string line = std::fgets(text, sizeof(text), pipe) != nullptr ? text : "";
    while(std::fgets(text, sizeof(text), pipe) !=
          nullptr); // a tool that cannot write would complain
    if(pclose(pipe) != 0) return {};
    line.resize(std::strcspn(line.c_str(), "\n"));
    return line;
}

} // namespace

std::string source_line(std::span<const std::byte> code_object, uint64_t address)
{
    const TemporaryFile file(code_object);
    if(!file.usable()) return {};
    const std::string arguments = " --functions=none --output-style=GNU --obj='" + file.name() +
                                  "' " + std::to_string(address) + " 2>/dev/null";
    for(const char* symbolizer : symbolizers)
    {
        const std::string line = first_line_of(symbolizer + arguments);
        if(!line.empty()) return line.starts_with("??") ? std::string() : line;
    }
    return {};
}

} // namespace ckprof::emulator
