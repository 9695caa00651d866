// SPDX-License-Identifier: Apache-2.0
#include "tests/kube/signed_tokens.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>

#include "base/base64.h"

namespace scout::test {
namespace {

namespace json = boost::json;

constexpr int rsa_bits = 2048;
constexpr int half_bytes = 32;

void need(bool good) {
    if (!good) {
        throw std::runtime_error("test tokens: OpenSSL refuses");
    }
}

std::string bytes_of(const BIGNUM* number, int length) {
    std::string bytes(static_cast<std::size_t>(length), '\0');
    need(BN_bn2binpad(number, reinterpret_cast<unsigned char*>(bytes.data()), length) == length);
    return bytes;
}

std::string number_in(EVP_PKEY* key, const char* name, int length = 0) {
    BIGNUM* number = nullptr;
    need(EVP_PKEY_get_bn_param(key, name, &number) == 1);
    const std::unique_ptr<BIGNUM, decltype(&BN_free)> kept{number, &BN_free};
    return bytes_of(number, length == 0 ? BN_num_bytes(number) : length);
}

/// r and s, one behind the other.
std::string pair_of(std::string_view der) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(der.data());
    const std::unique_ptr<ECDSA_SIG, decltype(&ECDSA_SIG_free)> pair{
        d2i_ECDSA_SIG(nullptr, &bytes, static_cast<long>(der.size())), &ECDSA_SIG_free};
    need(pair != nullptr);
    return bytes_of(ECDSA_SIG_get0_r(pair.get()), half_bytes) +
           bytes_of(ECDSA_SIG_get0_s(pair.get()), half_bytes);
}

std::string signature_of(EVP_PKEY* key, std::string_view text) {
    const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context{EVP_MD_CTX_new(),
                                                                          &EVP_MD_CTX_free};
    need(EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key) == 1);
    const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
    std::size_t size = 0;
    need(EVP_DigestSign(context.get(), nullptr, &size, bytes, text.size()) == 1);
    std::string signature(size, '\0');
    need(EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                        bytes, text.size()) == 1);
    signature.resize(size);
    return signature;
}

}  // namespace

TokenSigner::TokenSigner(Kind kind, std::string id)
    : kind_(kind),
      id_(std::move(id)),
      key_(kind == Kind::rsa ? EVP_RSA_gen(rsa_bits) : EVP_EC_gen("P-256"), EVP_PKEY_free) {
    need(key_ != nullptr);
}

std::string TokenSigner::sign(const json::object& header, const json::object& claims) const {
    const auto text = base64url(json::serialize(header)) + "." + base64url(json::serialize(claims));
    auto signature = signature_of(key_.get(), text);
    if (kind_ == Kind::p256) {
        signature = pair_of(signature);
    }
    return text + "." + base64url(signature);
}

std::string TokenSigner::sign(const json::object& claims) const {
    return sign({{"alg", kind_ == Kind::rsa ? "RS256" : "ES256"}, {"kid", id_}}, claims);
}

json::object TokenSigner::published() const {
    json::object out{{"use", "sig"}, {"kid", id_}};
    if (kind_ == Kind::rsa) {
        out["kty"] = "RSA";
        out["alg"] = "RS256";
        out["n"] = base64url(number_in(key_.get(), OSSL_PKEY_PARAM_RSA_N));
        out["e"] = base64url(number_in(key_.get(), OSSL_PKEY_PARAM_RSA_E));
    } else {
        out["kty"] = "EC";
        out["alg"] = "ES256";
        out["crv"] = "P-256";
        out["x"] = base64url(number_in(key_.get(), OSSL_PKEY_PARAM_EC_PUB_X, half_bytes));
        out["y"] = base64url(number_in(key_.get(), OSSL_PKEY_PARAM_EC_PUB_Y, half_bytes));
    }
    return out;
}

std::string key_set(const std::vector<json::object>& keys) {
    json::array list;
    for (const auto& key : keys) {
        list.push_back(key);
    }
    return json::serialize(json::object{{"keys", std::move(list)}});
}

json::object claims_of_pod(std::string_view node, WallTime now) {
    const auto seconds = std::chrono::floor<std::chrono::seconds>(now.time_since_epoch()).count();
    return {{"aud", json::array{"virt-scout"}},
            {"exp", seconds + 3600},
            {"iat", seconds},
            {"iss", "https://kubernetes.default.svc"},
            {"kubernetes.io",
             {{"namespace", "scout"},
              {"node", {{"name", node}, {"uid", "node-uid"}}},
              {"pod", {{"name", "agent-x"}, {"uid", "pod-uid"}}},
              {"serviceaccount", {{"name", "virt-scout-agent"}, {"uid", "account-uid"}}}}},
            {"nbf", seconds},
            {"sub", "system:serviceaccount:scout:virt-scout-agent"}};
}

std::string base64url(std::string_view bytes) {
    auto text = base64_encode(bytes);
    text.erase(text.find_last_not_of('=') + 1);
    std::replace(text.begin(), text.end(), '+', '-');
    std::replace(text.begin(), text.end(), '/', '_');
    return text;
}

}  // namespace scout::test
