// SPDX-License-Identifier: Apache-2.0
#include "agent/host_identity.h"

#include <algorithm>
#include <array>
#include <random>
#include <string_view>

#include <unistd.h>

#include "base/digest.h"
#include "base/files.h"

namespace scout::agent {
namespace {

constexpr std::size_t id_digits = 32;
constexpr std::size_t id_file_limit = 4096;

std::string trimmed(std::string text) {
    const auto is_space = [](char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; };
    text.erase(std::remove_if(text.begin(), text.end(), is_space), text.end());
    return text;
}

std::string hashed(std::string_view id) {
    return sha256_hex("virt-scout host " + std::string{id}).substr(0, id_digits);
}

/// Empty, or "uninitialized" as systemd writes into images, is no identity.
bool is_identity(std::string_view id) {
    return id.size() == id_digits &&
           id.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

std::string random_id() {
    std::random_device source;
    std::string bytes;
    for (int i = 0; i < 8; ++i) {
        bytes += std::to_string(source()) + ",";
    }
    return sha256_hex(bytes).substr(0, id_digits);
}

}  // namespace

Result<std::string> host_identity(const std::filesystem::path& root,
                                  const std::filesystem::path& state_dir) {
    const auto machine = read_file(root / "etc/machine-id", id_file_limit);
    if (machine && is_identity(trimmed(*machine))) {
        return hashed(trimmed(*machine));
    }
    const auto kept = state_dir / "host-id";
    const auto stored = read_file(kept, id_file_limit);
    if (stored && is_identity(trimmed(*stored))) {
        return hashed(trimmed(*stored));
    }
    const auto made = random_id();
    if (const auto written = write_file_atomically(kept, made + "\n"); !written) {
        return fail(Error{written.error()}.within("no machine-id, and an own one cannot be kept"));
    }
    return hashed(made);
}

std::string host_name() {
    std::array<char, 256> name{};
    if (::gethostname(name.data(), name.size() - 1) != 0) {
        return {};
    }
    return name.data();
}

}  // namespace scout::agent
