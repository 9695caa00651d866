// SPDX-License-Identifier: Apache-2.0
#include "aggregator/serving_certificates.h"

#include <algorithm>
#include <utility>

#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/this_coro.hpp>
#include <spdlog/spdlog.h>

#include "aggregator/leader_call.h"
#include "base/files.h"
#include "base/logging.h"
#include "kube/resource.h"

namespace scout::aggregator {
namespace {

using namespace std::chrono_literals;

constexpr const char* field_manager = "virt-scout";
constexpr auto call_limit = 15s;
constexpr double look_jitter = 0.2;
constexpr std::size_t pem_limit = std::size_t{1} << 20U;
constexpr unsigned not_found = 404;

const kube::Resource& api_services() {
    static const kube::Resource resource{.group = "apiregistration.k8s.io",
                                         .version = "v1",
                                         .plural = "apiservices",
                                         .kind = "APIService",
                                         .namespaced = false};
    return resource;
}

std::vector<std::string> names_of(const ServingSettings& settings) {
    const auto in_space = settings.service + "." + settings.space;
    std::vector<std::string> names{settings.service, in_space, in_space + ".svc",
                                   in_space + ".svc.cluster.local"};
    names.insert(names.end(), settings.names.begin(), settings.names.end());
    return names;
}

/// Of whoever makes the Secret: no two processes share it.
std::string maker(std::uint64_t number) {
    return std::string{field_manager} + "-" + std::to_string(number);
}

/// An object by which the API server calls us, and is told whom to trust.
struct Caller {
    std::string step;
    kube::Target object;
    decltype(&webhook_patch) patch;
};

std::vector<Caller> callers_in(const ServingSettings& settings) {
    std::vector<Caller> callers;
    const auto add = [&callers](const std::string& what, const kube::Resource& resource,
                                const std::vector<std::string>& names, auto patch) {
        for (const auto& name : names) {
            Caller caller{.step = what,
                          .object = {.resource = resource, .object = {.space = {}, .name = name}},
                          .patch = patch};
            caller.step.append(" ").append(name);
            callers.push_back(std::move(caller));
        }
    };
    add("webhook", kube::resources::mutating_webhook_configurations(), settings.webhooks,
        &webhook_patch);
    add("validating webhook", kube::resources::validating_webhook_configurations(),
        settings.validating_webhooks, &webhook_patch);
    add("API service", api_services(), settings.api_services, &api_service_patch);
    return callers;
}

kube::CallOptions reading() {
    kube::CallOptions options;
    options.limit = call_limit;
    return options;
}

/// The object's text; empty if there is none.
Result<std::string> found(kube::ApiResult<std::string> answer) {
    if (!answer && answer.error().status == not_found) {
        return std::string{};
    }
    return kube::plain(std::move(answer));
}

Status plain(kube::ApiResult<std::string> answer) {
    return kube::plain(kube::without_body(std::move(answer)));
}

}  // namespace

ServingCertificates::ServingCertificates(const asio::any_io_executor& loop, kube::Client& client,
                                         std::function<SteadyTime()> may_write_until,
                                         ServingSettings settings, const Clock& clock)
    : client_(client),
      may_write_until_(std::move(may_write_until)),
      settings_(std::move(settings)),
      clock_(clock),
      sleep_(loop),
      random_(settings_.seed),
      backoff_(settings_.seed),
      certificate_(names_of(settings_), settings_.rules) {}

Task<> ServingCertificates::run() {
    for (;;) {
        const bool well = co_await turn();
        if (well) {
            backoff_.reset();
        }
        sleep_.expires_after(well ? jittered(settings_.look_every, look_jitter, random_)
                                  : backoff_.next());
        const auto [cancelled] = co_await sleep_.async_wait(as_result);
        if (cancelled) {
            break;
        }
    }
}

ServingFacts ServingCertificates::facts() const {
    auto facts = facts_;
    for (const auto& [step, trouble] : troubles_) {
        facts.trouble += (facts.trouble.empty() ? "" : "; ") + trouble;
    }
    if (!facts.serving_until) {
        facts.missing = "no serving certificate yet: " +
                        (facts.trouble.empty() ? "it is being looked for" : facts.trouble);
    }
    return facts;
}

/// True: all is as it should be.
Task<bool> ServingCertificates::turn() {
    if (settings_.files) {
        co_return note("files", follow_files(*settings_.files));
    }
    const auto stored = co_await authority();
    if (!note("authority", stored.map([](const StoredAuthority&) {}))) {
        co_return false;
    }
    bool well = true;
    if (leads()) {
        well = co_await tell(*stored);
    }
    // After that: peers know an authority before it is used.
    co_return note("serving", follow(*stored)) && well;
}

/// Makes the authority known, as the leader.
Task<bool> ServingCertificates::tell(StoredAuthority authority) {
    const auto known = bundle(authority, clock_.wall(), settings_.rules);
    const auto published = co_await publish(known);
    bool well = note("config map", published);
    const auto callers = callers_in(settings_);
    for (const auto& caller : callers) {
        const auto injected = co_await inject(caller.object, caller.patch, known);
        well = note(caller.step, injected) && well;
    }
    co_return well;
}

/// What lies in the Secret, made right if we lead.
Task<Result<StoredAuthority>> ServingCertificates::authority() {
    const auto place = "Secret " + settings_.space + "/" + settings_.authority;
    auto secret = co_await read_secret();
    if (!secret) {
        co_return fail(std::move(secret.error()));
    }
    const auto& stored = secret->authority;
    Status checked = fail(Errc::not_found, place + ": found none; the leader makes it");
    if (!secret->version.empty()) {
        checked = check(stored).map_error([&place](Error&& error) {
            return std::move(error).within(place + " is damaged; the leader makes it anew");
        });
    }
    const auto now = clock_.wall();
    if (!leads() || is_right(stored, now)) {
        co_return std::move(checked).map([&stored] { return stored; });
    }
    auto next = renew(stored, now, settings_.rules);
    if (!next) {
        co_return fail(std::move(next.error()));
    }
    const bool damaged = !checked && !secret->version.empty();
    auto written = co_await write_secret(*std::move(secret), *next);
    if (!written) {
        co_return fail(std::move(written.error()));
    }
    spdlog::log(damaged ? spdlog::level::warn : spdlog::level::info,
                "certificate authority made anew place={} before={}", log_value(place),
                log_value(checked ? "due for renewal" : checked.error().message));
    co_return *std::move(next);
}

Task<Result<AuthoritySecret>> ServingCertificates::read_secret() {
    kube::Target target{.resource = kube::resources::secrets(),
                        .object = {.space = settings_.space, .name = settings_.authority}};
    const auto look = reading();
    auto answer = co_await client_.get(std::move(target), look);
    auto body = found(std::move(answer));
    if (!body) {
        co_return fail(std::move(body.error()));
    }
    if (body->empty()) {
        co_return AuthoritySecret{};
    }
    auto secret = parse_authority_secret(*body);
    cleanse(*body);
    co_return secret;
}

/// Never over what another replica wrote. Made by apply, for which a right to this one name is
/// enough: who may POST Secrets may do so for all names, and have tokens of any account that way. A
/// manager of its own makes two makers conflict.
Task<Status> ServingCertificates::write_secret(AuthoritySecret before, StoredAuthority authority) {
    const auto options = writing();
    if (!options) {
        co_return fail(options.error());
    }
    kube::Target target{.resource = kube::resources::secrets(),
                        .object = {.space = settings_.space, .name = settings_.authority}};
    kube::ApiResult<std::string> answer;
    if (!before.version.empty()) {
        auto patch = authority_secret_patch(before, authority);
        answer = co_await client_.merge_patch(std::move(target), std::move(patch), *options);
    } else {
        auto body = authority_secret_json(target.object, authority);
        kube::ApplyOptions apply{.manager = maker(random_()), .force = false};
        answer =
            co_await client_.apply(std::move(target), std::move(body), std::move(apply), *options);
    }
    if (answer) {
        ++facts_.written;
    }
    co_return plain(std::move(answer));
}

Task<Status> ServingCertificates::publish(std::string bundle) {
    kube::Target target{.resource = kube::resources::config_maps(),
                        .object = {.space = settings_.space, .name = settings_.authority}};
    const auto look = reading();
    auto answer = co_await client_.get(target, look);
    auto body = found(std::move(answer));
    if (!body) {
        co_return fail(std::move(body.error()));
    }
    if (!body->empty() && parse_bundle_map(*body) == bundle) {
        co_return Status{};
    }
    const auto options = writing();
    if (!options) {
        co_return fail(options.error());
    }
    auto map = bundle_map_json(target.object, bundle);
    kube::ApplyOptions apply{.manager = field_manager, .force = true};
    answer = co_await client_.apply(std::move(target), std::move(map), std::move(apply), *options);
    if (answer) {
        ++facts_.written;
    }
    co_return plain(std::move(answer));
}

/// An object that is absent is none of ours to make: it calls nobody.
Task<Status> ServingCertificates::inject(kube::Target target, Patch patch_for, std::string bundle) {
    const auto look = reading();
    auto answer = co_await client_.get(target, look);
    const auto body = found(std::move(answer));
    if (!body || body->empty()) {
        co_return body.map([](const std::string&) {});
    }
    auto patch = patch_for(*body, bundle);
    if (!patch || patch->empty()) {
        co_return patch.map([](const std::string&) {});
    }
    const auto options = writing();
    if (!options) {
        co_return fail(options.error());
    }
    const auto name = kube::display_name(target.resource) + " " + target.object.name;
    answer = co_await client_.json_patch(std::move(target), *std::move(patch), *options);
    if (answer) {
        ++facts_.written;
        spdlog::info("certificate authority told to whom it serves object={}", log_value(name));
    }
    co_return plain(std::move(answer));
}

Status ServingCertificates::follow(const StoredAuthority& authority) {
    if (const auto validity = validity_of(authority.current.chain)) {
        facts_.authority_until = validity->until;
    }
    const auto changed = certificate_.follow(authority, clock_.wall());
    if (!changed) {
        return fail(changed.error());
    }
    if (*changed) {
        serve(certificate_.pair(), certificate_.valid_until());
    }
    if (authority_handler_) {
        authority_handler_(authority);
    }
    return {};
}

/// Both files are small and local: they are read on the loop.
Status ServingCertificates::follow_files(const CertificateFiles& files) {
    auto chain = read_file(files.certificate, pem_limit);
    auto key = read_file(files.key, pem_limit);
    if (!chain || !key) {
        return fail(!chain ? std::move(chain.error()) : std::move(key.error()));
    }
    CertifiedKey pair{.chain = *std::move(chain), .key = *std::move(key)};
    if (pair == from_files_) {
        return {};
    }
    auto checked = check_key(pair);
    if (!checked) {
        return fail(std::move(checked.error())
                        .within("serving certificate " + files.certificate.string() + " with key " +
                                files.key.string()));
    }
    from_files_ = std::move(pair);
    return validity_of(from_files_.chain).map([this](const Validity& validity) {
        serve(from_files_, validity.until);
    });
}

void ServingCertificates::serve(const CertifiedKey& pair, WallTime until) {
    facts_.serving_until = until;
    ++facts_.issued;
    spdlog::info("serving certificate changed valid_until={}", rfc3339(until));
    if (handler_) {
        handler_(pair);
    }
}

Result<kube::CallOptions> ServingCertificates::writing() const {
    const auto now = clock_.steady();
    const auto left = std::max(may_write_until_(), now) - now;
    return leader_call(std::chrono::floor<std::chrono::milliseconds>(left), call_limit);
}

/// True if it is done. What goes wrong is said when it begins, and when it changes.
bool ServingCertificates::note(const std::string& step, const Status& done) {
    if (done) {
        if (troubles_.erase(step) > 0) {
            spdlog::info("serving certificates: as it should be again step={}", log_value(step));
        }
        return true;
    }
    auto& said = troubles_[step];
    if (done.error().code != Errc::cancelled && said != done.error().message) {
        said = done.error().message;
        spdlog::warn("serving certificates: tried again step={} reason={}", log_value(step),
                     log_value(said));
    }
    return false;
}

}  // namespace scout::aggregator
