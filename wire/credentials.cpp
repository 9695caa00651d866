// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>

#include "base/certificates.h"
#include "base/files.h"
#include "wire/endpoint.h"
#include "wire/tls_memory.h"

namespace scout::wire {
namespace {

namespace tls = grpc::experimental;

constexpr std::size_t pem_limit = std::size_t{1} << 20U;
/// Answers about a fleet are large: 100,000 guests are some tens of MB.
constexpr int answer_limit = 256 << 20;
constexpr int keepalive_every_ms = 60'000;
constexpr int keepalive_answer_ms = 20'000;
constexpr int first_reconnect_ms = 500;
/// gRPC adds up to a fifth. An agent's own waits come on top (agent/reporter.cpp).
constexpr int last_reconnect_ms = 10'000;

Result<std::string> read_pem(const std::filesystem::path& path, std::string_view what) {
    return read_file(path, pem_limit).map_error([what](Error&& error) {
        return Error{.code = Errc::invalid,
                     .message = std::string{what} + ": " + std::move(error.message)};
    });
}

Status check_root(const TlsFiles& files) {
    const auto authority = read_pem(files.ca, "TLS CA file");
    if (!authority) {
        return fail(authority.error());
    }
    return validity_of(*authority).map([](const Validity&) {}).map_error([&files](Error&& error) {
        return std::move(error).within("TLS CA file: " + files.ca.string());
    });
}

Status check_identity(const TlsFiles& files) {
    const auto chain = read_pem(files.certificate, "TLS certificate file");
    const auto key = read_pem(files.key, "TLS key file");
    if (!chain || !key) {
        return fail(chain ? key.error() : chain.error());
    }
    return check_key({.chain = *chain, .key = *key}).map_error([&files](Error&& error) {
        return std::move(error).within("TLS certificate file " + files.certificate.string() +
                                       " with key file " + files.key.string());
    });
}

/// gRPC tells a wrong file only in its own log, at the first handshake; we tell it at the start.
Status check_files(const TlsFiles& files) {
    if (files.side != TlsSide::server) {
        if (auto root = check_root(files); !root) {
            return root;
        }
    }
    return files.side == TlsSide::client ? Status{} : check_identity(files);
}

/// Files that are not named are not watched.
std::shared_ptr<tls::CertificateProviderInterface> watch(const TlsFiles& files) {
    return std::make_shared<tls::FileWatcherCertificateProvider>(
        files.key.string(), files.certificate.string(), files.ca.string(),
        static_cast<unsigned>(files.reload_every.count()));
}

/// `other`: the side that this one is not.
Status check(const Endpoint& endpoint, const Security& security, TlsSide other) {
    if (auto checked = check_security(endpoint, security); !checked) {
        return checked;
    }
    if (!security.tls) {
        return {};
    }
    if (security.tls->side == other) {
        return fail(Errc::invalid, "the TLS files for " + endpoint.target() +
                                       " are those of the other side of the connection");
    }
    return check_files(*security.tls);
}

/// For options of either side.
void watch_files(tls::TlsCredentialsOptions& options, TlsSide side) {
    if (side != TlsSide::server) {
        options.watch_root_certs();
    }
    if (side != TlsSide::client) {
        options.watch_identity_key_cert_pairs();
    }
}

}  // namespace

Result<std::shared_ptr<grpc::ServerCredentials>> server_credentials(const Endpoint& endpoint,
                                                                    const Security& security) {
    if (auto checked = check(endpoint, security, TlsSide::client); !checked) {
        return fail(std::move(checked.error()));
    }
    if (!security.tls) {
        return grpc::InsecureServerCredentials();
    }
    keep_tls_small();
    tls::TlsServerCredentialsOptions options{watch(*security.tls)};
    const auto side = security.tls->side;
    watch_files(options, side);
    options.set_cert_request_type(side == TlsSide::server
                                      ? GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE
                                      : GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
    return tls::TlsServerCredentials(options);
}

Result<std::shared_ptr<grpc::Channel>> open_channel(const Endpoint& endpoint,
                                                    const Security& security) {
    if (auto checked = check(endpoint, security, TlsSide::server); !checked) {
        return fail(std::move(checked.error()));
    }
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(answer_limit);
    arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, first_reconnect_ms);
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, last_reconnect_ms);
    // A peer that lost power answers nothing; TCP alone would notice after a quarter of an hour.
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, keepalive_every_ms);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, keepalive_answer_ms);
    // A proxy of the environment is never between a node and its aggregator.
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    // Channels share connections otherwise, and a second one would not see changed TLS files.
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    if (!security.tls) {
        return grpc::CreateCustomChannel(endpoint.target(), grpc::InsecureChannelCredentials(),
                                         arguments);
    }
    if (!security.server_name.empty()) {
        arguments.SetSslTargetNameOverride(security.server_name);
    }
    tls::TlsChannelCredentialsOptions options;
    options.set_certificate_provider(watch(*security.tls));
    watch_files(options, security.tls->side);
    return grpc::CreateCustomChannel(endpoint.target(), tls::TlsCredentials(options), arguments);
}

}  // namespace scout::wire
