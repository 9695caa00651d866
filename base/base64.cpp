// SPDX-License-Identifier: Apache-2.0
#include "base/base64.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <openssl/evp.h>

namespace scout {
namespace {

const unsigned char* as_bytes(const std::string_view text) {
    return reinterpret_cast<const unsigned char*>(text.data());
}

unsigned char* as_bytes(std::string& text) {
    return reinterpret_cast<unsigned char*>(text.data());
}

}  // namespace

Result<std::string> base64_decode(std::string_view text) {
    std::string packed;
    packed.reserve(text.size());
    for (const char c : text) {
        if (c != '\n' && c != '\r') {
            packed += c;
        }
    }
    const auto first_pad = std::min(packed.find('='), packed.size());
    const auto pads = packed.size() - first_pad;
    std::string bytes(packed.size(), '\0');
    // EVP_DecodeBlock takes spaces around the text and '=' anywhere; we do not.
    const bool plausible = packed.size() % 4 == 0 && pads <= 2 &&
                           packed.find_first_not_of('=', first_pad) == std::string::npos &&
                           packed.find_first_of(" \t") == std::string::npos &&
                           std::in_range<int>(packed.size());
    const int length = plausible ? EVP_DecodeBlock(as_bytes(bytes), as_bytes(packed),
                                                   static_cast<int>(packed.size()))
                                 : -1;
    if (length < 0) {
        return fail(Errc::invalid, "expected base64 text, found something else");
    }
    bytes.resize(static_cast<std::size_t>(length) - pads);
    return bytes;
}

Result<std::string> base64url_decode(std::string_view text) {
    std::string plain{text};
    std::replace(plain.begin(), plain.end(), '-', '+');
    std::replace(plain.begin(), plain.end(), '_', '/');
    plain.append((4 - plain.size() % 4) % 4, '=');
    auto bytes = base64_decode(plain);
    // Bits behind the last byte, line ends and the other alphabet's signs all show here.
    if (!bytes || text.find_first_of("+/=\r\n") != std::string_view::npos ||
        base64_encode(*bytes) != plain) {
        return fail(Errc::invalid, "expected base64url text, found something else");
    }
    return bytes;
}

std::string base64_encode(std::string_view bytes) {
    if (!std::in_range<int>(bytes.size())) {
        throw std::logic_error("base64: more than 2 GiB");
    }
    // One more for the NUL that OpenSSL writes.
    std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');
    const int length =
        EVP_EncodeBlock(as_bytes(text), as_bytes(bytes), static_cast<int>(bytes.size()));
    text.resize(static_cast<std::size_t>(length));
    return text;
}

}  // namespace scout
