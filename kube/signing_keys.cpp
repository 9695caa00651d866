// SPDX-License-Identifier: Apache-2.0
#include "kube/signing_keys.h"

#include <algorithm>
#include <utility>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>

#include "base/base64.h"
#include "base/logging.h"
#include "base/releaser.h"
#include "kube/json_lookup.h"

namespace scout::kube {
namespace {

namespace json = boost::json;

constexpr std::size_t longest_set = std::size_t{1} << 20U;
constexpr std::size_t most_keys = 64;
/// Verifying takes the longer the larger a key is. RFC 7518 §3.3 wants 2048 bits at least.
constexpr int least_rsa_bits = 2048;
constexpr int most_rsa_bits = 8192;
constexpr std::size_t longest_exponent = 8;
/// Bytes of one coordinate of P-256, and of each half of a signature (RFC 7518 §3.4).
constexpr std::size_t p256_bytes = 32;

using Number = std::unique_ptr<BIGNUM, Releaser<BN_free>>;
using ParamBuilder = std::unique_ptr<OSSL_PARAM_BLD, Releaser<OSSL_PARAM_BLD_free>>;
using Params = std::unique_ptr<OSSL_PARAM, Releaser<OSSL_PARAM_free>>;
using KeyContext = std::unique_ptr<EVP_PKEY_CTX, Releaser<EVP_PKEY_CTX_free>>;
using DigestContext = std::unique_ptr<EVP_MD_CTX, Releaser<EVP_MD_CTX_free>>;
using EcdsaSignature = std::unique_ptr<ECDSA_SIG, Releaser<ECDSA_SIG_free>>;

const unsigned char* as_bytes(std::string_view text) {
    return reinterpret_cast<const unsigned char*>(text.data());
}

Number number_of(std::string_view bytes) {
    return Number{BN_bin2bn(as_bytes(bytes), static_cast<int>(bytes.size()), nullptr)};
}

/// A member in base64url; empty if it is not there, or something else.
std::string bytes_at(const json::object& key, std::string_view name) {
    return base64url_decode(text_at(key, name)).value_or("");
}

/// Null if OpenSSL takes no such key; a point that is not on its curve is none.
std::shared_ptr<EVP_PKEY> make_key(const char* type, OSSL_PARAM_BLD* builder) {
    const Params params{OSSL_PARAM_BLD_to_param(builder)};
    const KeyContext context{EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr)};
    EVP_PKEY* key = nullptr;
    const bool made =
        params && context && EVP_PKEY_fromdata_init(context.get()) == 1 &&
        EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY, params.get()) == 1;
    ERR_clear_error();
    return {made ? key : nullptr, EVP_PKEY_free};
}

std::shared_ptr<EVP_PKEY> rsa_key(const json::object& object) {
    const auto exponent_bytes = bytes_at(object, "e");
    const auto modulus = number_of(bytes_at(object, "n"));
    const auto exponent = number_of(exponent_bytes);
    const auto bits = BN_num_bits(modulus.get());
    if (bits < least_rsa_bits || bits > most_rsa_bits || exponent_bytes.size() > longest_exponent ||
        BN_is_odd(exponent.get()) == 0 || BN_is_one(exponent.get()) == 1) {
        return nullptr;
    }
    const ParamBuilder builder{OSSL_PARAM_BLD_new()};
    OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, modulus.get());
    OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, exponent.get());
    return make_key("RSA", builder.get());
}

std::shared_ptr<EVP_PKEY> p256_key(const json::object& object) {
    const auto x = bytes_at(object, "x");
    const auto y = bytes_at(object, "y");
    if (text_at(object, "crv") != "P-256" || x.size() != p256_bytes || y.size() != p256_bytes) {
        return nullptr;
    }
    const auto point = "\x04" + x + y;  // uncompressed, SEC 1 §2.3.3
    const ParamBuilder builder{OSSL_PARAM_BLD_new()};
    OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1", 0);
    OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(),
                                     point.size());
    return make_key("EC", builder.get());
}

/// r and s, one behind the other, as the DER form that OpenSSL takes; empty if it is none.
std::string der_of(std::string_view signature) {
    if (signature.size() != 2 * p256_bytes) {
        return {};
    }
    const EcdsaSignature pair{ECDSA_SIG_new()};
    auto r = number_of(signature.substr(0, p256_bytes));
    auto s = number_of(signature.substr(p256_bytes));
    ECDSA_SIG_set0(pair.get(), r.release(), s.release());
    unsigned char* bytes = nullptr;
    const int length = i2d_ECDSA_SIG(pair.get(), &bytes);
    const std::unique_ptr<unsigned char, decltype([](unsigned char* p) { OPENSSL_free(p); })> kept{
        bytes};
    return length <= 0 ? std::string{}
                       : std::string{reinterpret_cast<const char*>(bytes),
                                     static_cast<std::size_t>(length)};
}

bool is_signed_by(EVP_PKEY* key, const ServiceAccountToken& token) {
    const auto signature =
        token.kind == SignatureKind::es256 ? der_of(token.signature) : token.signature;
    const DigestContext context{EVP_MD_CTX_new()};
    const bool good =
        EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, key) == 1 &&
        EVP_DigestVerify(context.get(), as_bytes(signature), signature.size(),
                         as_bytes(token.signed_text), token.signed_text.size()) == 1;
    ERR_clear_error();
    return good;
}

}  // namespace

Result<SigningKeys> SigningKeys::parse(std::string_view text) {
    boost::system::error_code error;
    const auto document = text.size() > longest_set ? json::value{} : json::parse(text, error);
    const auto* list = error ? nullptr : array_at(document.if_object(), "keys");
    if (list == nullptr || list->size() > most_keys) {
        return fail(Errc::invalid, "expected a set of at most " + std::to_string(most_keys) +
                                       " signing keys, found " +
                                       (list == nullptr ? "something else" : "more"));
    }
    SigningKeys out;
    for (const auto& entry : *list) {
        const auto* object = entry.if_object();
        if (object == nullptr) {
            continue;
        }
        const auto use = text_at(*object, "use");
        const auto algorithm = text_at(*object, "alg");
        const bool rsa = text_at(*object, "kty") == "RSA";
        auto key = rsa ? rsa_key(*object) : p256_key(*object);
        const bool fits = algorithm.empty() || algorithm == (rsa ? "RS256" : "ES256");
        if (key && fits && (use.empty() || use == "sig")) {
            out.keys_.push_back({.id = text_at(*object, "kid"),
                                 .kind = rsa ? SignatureKind::rs256 : SignatureKind::es256,
                                 .key = std::move(key)});
        }
    }
    if (out.keys_.empty()) {
        return fail(Errc::invalid,
                    "expected a signing key of kind RS256 or ES256, found none among " +
                        std::to_string(list->size()));
    }
    return out;
}

bool SigningKeys::has(std::string_view key_id) const {
    return std::any_of(keys_.begin(), keys_.end(),
                       [key_id](const Key& key) { return key.id == key_id; });
}

Status SigningKeys::verify(const ServiceAccountToken& token) const {
    for (const auto& key : keys_) {
        if (key.id == token.key_id && key.kind == token.kind &&
            is_signed_by(key.key.get(), token)) {
            return {};
        }
    }
    const auto name = log_value(std::string_view{token.key_id}.substr(0, 64));
    return fail(Errc::refused, has(token.key_id)
                                   ? "its signature is not one of key " + name + " of this cluster"
                                   : "it is signed by key " + name +
                                         ", which is none of this cluster's: expected a token of "
                                         "the cluster that the aggregator follows");
}

}  // namespace scout::kube
