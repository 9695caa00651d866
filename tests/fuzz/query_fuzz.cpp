// SPDX-License-Identifier: Apache-2.0
// Questions of users and the settings of a front proxy, parted by a line end: any bytes are taken
// or refused with a reason. What is taken has names that Kubernetes knows, and needs a right.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "aggregator/front_proxy.h"
#include "aggregator/query_paths.h"

namespace {

using namespace scout;
using namespace scout::aggregator;

void expect(bool promise) {
    if (!promise) {
        std::abort();
    }
}

bool is_plain(std::string_view name) {
    return name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-.") == name.npos;
}

void ask(std::string_view target) {
    const auto cut = std::min(target.find('?'), target.size());
    const auto path = "/apis/query.virt-scout.io/v1alpha1" + std::string{target.substr(0, cut)};
    const auto question = parse_question(path, target.substr(std::min(cut + 1, target.size())));
    if (!question) {
        expect(!question.error().message.empty() && question.error().message.size() < 4096);
        return;
    }
    expect(is_plain(question->name) && question->name.size() <= 253);
    expect(is_plain(question->space) && question->space.size() <= 63);
    expect(question->options.size() <= 256);
    expect(!needed_rights(*question).empty());
}

void forward(std::string_view text) {
    const std::string value{text};
    const auto settings = front_proxy_settings({{"requestheader-client-ca-file", "pem"},
                                                {"requestheader-allowed-names", value},
                                                {"requestheader-username-headers", R"(["U"])"},
                                                {"requestheader-extra-headers-prefix", value}});
    if (!settings) {
        expect(!settings.error().message.empty());
        return;
    }
    daemon::HttpRequest request;
    request.headers = {{"U", "user"}, {value, value}};
    expect(!subject_of(*settings, request));
    request.client = "somebody";
    const auto subject = subject_of(*settings, request);
    expect(subject || !settings->allowed_names.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    const auto cut = std::min(bytes.find('\n'), bytes.size());
    ask(bytes.substr(0, cut));
    forward(bytes.substr(std::min(cut + 1, bytes.size())));
    return 0;
}
