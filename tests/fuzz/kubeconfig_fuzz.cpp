// SPDX-License-Identifier: Apache-2.0
// Kubeconfigs from anywhere: two files of any bytes, parted by a NUL, are merged or refused with a
// reason, and what is taken can be talked to.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "kube/exec_plugin.h"
#include "kube/kubeconfig.h"

namespace {

void expect(bool promise) {
    if (!promise) {
        std::abort();
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace scout::kube;
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    const auto cut = bytes.find('\0');
    std::vector<KubeconfigFile> files;
    files.push_back({.path = "/nowhere/first", .text = std::string{bytes.substr(0, cut)}});
    if (cut != std::string_view::npos) {
        files.push_back({.path = "/nowhere/second", .text = std::string{bytes.substr(cut + 1)}});
    }
    const auto access = access_from_kubeconfig(files, {});
    if (!access) {
        expect(!access.error().message.empty());
        return 0;
    }
    expect(!access->insecure && !access->server.host.empty() && access->server.port != 0);
    expect(access->client_certificate.empty() == access->client_key.empty());
    for (const auto& [name, value] : access->impersonation) {
        expect((name + value).find_first_of("\r\n") == std::string::npos);
    }
    expect(!access->exec || !access->exec->command.empty());
    return 0;
}
