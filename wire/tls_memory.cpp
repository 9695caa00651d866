// SPDX-License-Identifier: Apache-2.0
#include "wire/tls_memory.h"

#include <openssl/crypto.h>
#include <openssl/ssl.h>

namespace scout::wire {
namespace {

/// OpenSSL calls this for each new context: the only door to contexts that a library makes.
void make_small(void* parent, void* /*slot*/, CRYPTO_EX_DATA* /*data*/, int /*index*/,
                long /*number*/, void* /*argument*/) {
    auto* context = static_cast<SSL_CTX*>(parent);
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_num_tickets(context, 0);
}

}  // namespace

void keep_tls_small() {
    static const int index = SSL_CTX_get_ex_new_index(0, nullptr, make_small, nullptr, nullptr);
    static_cast<void>(index);
}

}  // namespace scout::wire
