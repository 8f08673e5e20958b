// SPDX-License-Identifier: MIT
//
// Gives each line of standard input to ckProfiler's own operations, as its main function does.
#include <exception>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include "profiler_operation_registry.hpp"

int main()
{
    for(std::string line; std::getline(std::cin, line);)
    {
        std::istringstream stream("ckProfiler " + line);
        std::vector<std::string> words;
        for(std::string word; stream >> word;) words.push_back(word);
        std::vector<char*> argv;
        for(auto& word : words) argv.push_back(word.data());
        std::cout << "line\t" << line << std::endl;
        const auto operation = ProfilerOperationRegistry::GetInstance().Get(words.at(1));
        // a stride of 0 ends the process
        const pid_t child = fork();
        if(child != 0)
        {
            int status = 0;
            waitpid(child, &status, 0);
            if(WIFSIGNALED(status)) std::cout << "signal: " << WTERMSIG(status) << std::endl;
            continue;
        }
        try
        {
            if(operation.has_value())
                (*operation)(static_cast<int>(argv.size()), argv.data());
            else
                std::cout << "unknown operation\n";
        }
        catch(const std::exception& error)
        {
            std::cout << "exception: " << error.what() << "\n";
        }
        std::cout.flush();
        _exit(0);
    }
}
