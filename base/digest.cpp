// SPDX-License-Identifier: Apache-2.0
#include "base/digest.h"

#include <array>
#include <stdexcept>

#include <openssl/evp.h>

namespace scout {

std::string sha256_hex(std::string_view bytes) {
    std::array<unsigned char, EVP_MAX_MD_SIZE> sum{};
    unsigned int length = 0;
    if (EVP_Digest(bytes.data(), bytes.size(), sum.data(), &length, EVP_sha256(), nullptr) != 1) {
        throw std::logic_error("SHA-256 is not available in this OpenSSL");
    }
    constexpr std::string_view digits = "0123456789abcdef";
    std::string hex;
    for (unsigned int i = 0; i < length; ++i) {
        hex += digits[sum[i] >> 4U];
        hex += digits[sum[i] & 0xfU];
    }
    return hex;
}

}  // namespace scout
