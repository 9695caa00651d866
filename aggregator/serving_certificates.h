// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "aggregator/authority_objects.h"
#include "aggregator/serving_authority.h"
#include "base/backoff.h"
#include "base/certificates.h"
#include "base/clock.h"
#include "base/result.h"
#include "base/task.h"
#include "kube/client.h"

namespace scout::aggregator {

struct CertificateFiles {
    std::filesystem::path certificate;  ///< with its chain
    std::filesystem::path key;
};

struct ServingSettings {
    std::string space;  ///< namespace
    /// The Service by which we are called. Its names are in the certificate, and those below.
    std::string service = "virt-scout-aggregator";
    std::vector<std::string> names;                ///< DNS names and addresses, for callers by URL
    std::string authority = "virt-scout-ca";       ///< name of the Secret and of the ConfigMap
    std::vector<std::string> webhooks;             ///< MutatingWebhookConfigurations that call us
    std::vector<std::string> validating_webhooks;  ///< ValidatingWebhookConfigurations likewise
    std::vector<std::string> api_services;         ///< APIServices that we serve
    /// Somebody else makes our certificate: it is served, and nothing is made or written.
    std::optional<CertificateFiles> files;
    CertificateRules rules;
    std::chrono::milliseconds look_every = std::chrono::minutes{1};
    std::uint64_t seed = 0;  ///< of jitter and names; one that differs in each process
};

/// What /metrics and /readyz tell of it.
struct ServingFacts {
    /// Why there is no certificate to serve with; empty: there is one.
    std::string missing;
    std::string trouble;                      ///< all that is not as it should be
    std::optional<WallTime> serving_until;    ///< of the certificate that is served
    std::optional<WallTime> authority_until;  ///< unknown with files
    std::uint64_t issued = 0;                 ///< certificates that were served in turn
    std::uint64_t written = 0;                ///< objects, as the leader
};

/// The certificate of our HTTPS port in a cluster, with no help from others: the leader keeps an
/// authority in a Secret, makes its certificate known in a ConfigMap, webhook configurations and
/// APIServices; each replica issues itself what it serves. Whatever fails leaves the last
/// certificate in force, is said once, and is tried again.
///
/// Loop thread; client and clock must outlive it.
class ServingCertificates {
public:
    /// `may_write_until`: as LeaderElector has it; past unless we lead.
    ServingCertificates(const asio::any_io_executor& loop, kube::Client& client,
                        std::function<SteadyTime()> may_write_until, ServingSettings settings,
                        const Clock& clock);

    /// Called with each new certificate.
    void on_certificate(std::function<void(const CertifiedKey&)> handler) {
        handler_ = std::move(handler);
    }
    /// Called with the authority each time that it was read; never with files.
    void on_authority(std::function<void(const StoredAuthority&)> handler) {
        authority_handler_ = std::move(handler);
    }
    /// Of the certificate that is made here.
    [[nodiscard]] const std::vector<std::string>& names() const noexcept {
        return certificate_.names();
    }

    /// Goes on until it is cancelled.
    [[nodiscard]] Task<> run();

    [[nodiscard]] ServingFacts facts() const;

private:
    /// Of an object as it is found; empty: it trusts the bundle already.
    using Patch = Result<std::string> (*)(std::string_view object, const std::string& bundle);

    [[nodiscard]] Task<bool> turn();
    [[nodiscard]] Task<bool> tell(StoredAuthority authority);
    [[nodiscard]] Task<Result<StoredAuthority>> authority();
    [[nodiscard]] Task<Result<AuthoritySecret>> read_secret();
    [[nodiscard]] Task<Status> write_secret(AuthoritySecret before, StoredAuthority authority);
    [[nodiscard]] Task<Status> publish(std::string bundle);
    [[nodiscard]] Task<Status> inject(kube::Target target, Patch patch_for, std::string bundle);
    [[nodiscard]] Status follow(const StoredAuthority& authority);
    [[nodiscard]] Status follow_files(const CertificateFiles& files);
    void serve(const CertifiedKey& pair, WallTime until);
    [[nodiscard]] bool leads() const { return clock_.steady() < may_write_until_(); }
    [[nodiscard]] Result<kube::CallOptions> writing() const;
    bool note(const std::string& step, const Status& done);

    kube::Client& client_;
    std::function<SteadyTime()> may_write_until_;
    ServingSettings settings_;
    const Clock& clock_;
    asio::steady_timer sleep_;
    std::mt19937_64 random_;
    Backoff backoff_;
    ServingCertificate certificate_;
    CertifiedKey from_files_;
    std::function<void(const CertifiedKey&)> handler_;
    std::function<void(const StoredAuthority&)> authority_handler_;
    std::map<std::string, std::string> troubles_;  ///< by step
    ServingFacts facts_;
};

}  // namespace scout::aggregator
