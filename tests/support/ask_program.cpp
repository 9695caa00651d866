// SPDX-License-Identifier: Apache-2.0
#include "tests/support/ask_program.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <boost/asio/io_context.hpp>

#include "base/child_process.h"
#include "tests/support/bed.h"
#include "tests/support/run_to_end.h"
#include "tests/support/temporary_folder.h"

namespace scout::test {

std::vector<std::string> ask_program(std::vector<std::string> argv,
                                     const std::vector<std::string>& questions) {
    std::string text;
    for (const auto& question : questions) {
        text += question + "\n";
    }
    const TemporaryFolder folder;
    argv.push_back(folder.write("questions", text).string());
    ChildCommand command{.argv = std::move(argv)};
    command.output_limit = std::size_t{1} << 30U;
    command.time_limit = std::chrono::minutes{5};
    const auto program = command.argv.front();
    asio::io_context loop;
    const auto said = run_to_end(loop, run_child(std::move(command)));
    if (!said) {
        throw std::runtime_error(said.error().message);
    }
    std::vector<std::string> answers;
    for (std::string_view rest = *said; !rest.empty();) {
        const auto line = rest.substr(0, rest.find('\n'));
        answers.emplace_back(line);
        rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    }
    if (answers.size() != questions.size()) {
        throw std::runtime_error("program " + program + ": expected " +
                                 std::to_string(questions.size()) + " answers, found " +
                                 std::to_string(answers.size()));
    }
    return answers;
}

std::vector<std::string> ask_kubernetes(const std::string& command,
                                        const std::vector<std::string>& questions) {
    return ask_program({bed_program().string(), command}, questions);
}

}  // namespace scout::test
