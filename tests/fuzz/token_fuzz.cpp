// SPDX-License-Identifier: Apache-2.0
// Tokens from anybody who reaches the aggregator, and a set of signing keys: any bytes, parted by a
// line end, are taken or refused with a reason. Nobody who has no private key gets past a
// signature.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "kube/service_account_token.h"
#include "kube/signing_keys.h"

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
    const auto cut = bytes.find('\n');
    const auto keys =
        SigningKeys::parse(cut == std::string_view::npos ? bytes : bytes.substr(cut + 1));
    expect(keys || !keys.error().message.empty());
    const auto token = parse_token(bytes.substr(0, cut));
    if (!token) {
        expect(token.error().code == scout::Errc::refused && !token.error().message.empty());
        return 0;
    }
    expect(!token->key_id.empty() && token->claims.audiences.size() <= 16);
    const auto checked = check_claims(token->claims, "virt-scout", token->claims.not_before);
    expect(checked || !checked.error().message.empty());
    if (keys) {
        const auto verified = keys->verify(*token);
        expect(verified || keys->has(token->key_id) ||
               verified.error().message.find("none of this cluster's") != std::string_view::npos);
    }
    return 0;
}
