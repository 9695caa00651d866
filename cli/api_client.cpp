// SPDX-License-Identifier: Apache-2.0
#include "cli/api_client.h"

#include <algorithm>
#include <iterator>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "base/percent.h"
#include "cli/run_task.h"
#include "kube/client.h"
#include "kube/http_transport.h"
#include "kube/query.h"
#include "virt_scout/v1/fleet.pb.h"
#include "wire/convert.h"
#include "wire/fleet_messages.h"
#include "wire/json.h"

namespace scout::cli {
namespace {

namespace v1 = virt_scout::v1;
using fleet::SubjectKind;

constexpr const char* base_path = "/apis/query.virt-scout.io/v1alpha1";

/// Each attempt is the whole work once more, so there is one, which may take all the time.
kube::ClientConfig asking(std::chrono::milliseconds deadline) {
    kube::ClientConfig config;
    config.attempt_limit = deadline;
    config.attempts = 1;
    config.seed = std::random_device{}();
    return config;
}

class ApiClient final : public fleet::Fleet {
public:
    ApiClient(const kube::ClusterAccess& access, const Clock& clock,
              std::chrono::milliseconds deadline)
        : server_(access.server.url),
          deadline_(deadline),
          transport_(loop_.get_executor(), access, clock),
          client_(transport_, clock, asking(deadline)) {}

    Result<fleet::NodesAnswer> nodes() override {
        return ask<fleet::NodesAnswer, v1::NodesResponse>("/nodes");
    }

    Result<fleet::NodeDetail> node(const std::string& name) override {
        return ask<fleet::NodeDetail, v1::NodeResponse>("/nodes/" + percent_encode(name));
    }

    Result<fleet::GuestsAnswer> guests(const std::string& node) override {
        return ask<fleet::GuestsAnswer, v1::GuestsResponse>("/virtualmachineinstances" +
                                                            kube::Query{}.add("node", node).text());
    }

    Status watch_guests(const std::string& /*node*/, const GuestSink& /*sink*/) override {
        return fail(Errc::invalid,
                    "guests --watch: the query API of a cluster tells no changes; "
                    "'kubectl get vmi --watch' does");
    }

    Result<migration::Placement> where(const fleet::FleetSubject& subject,
                                       const std::string& target) override {
        const auto path = path_of(subject);
        if (!path) {
            return fail(path.error());
        }
        return ask<migration::Placement, v1::WhereResponse>(
            *path + "/where" + kube::Query{}.add("target", target).text());
    }

    Result<fleet::AnyMatrix> matrix() override {
        return ask<fleet::AnyMatrix, v1::MatrixResponse>("/matrix");
    }

    Result<migration::Baseline> baseline(const std::vector<std::string>& nodes) override {
        kube::Query query;
        for (const auto& node : nodes) {
            query.add("node", node);
        }
        return ask<migration::Baseline, v1::BaselineResponse>("/baseline" + query.text());
    }

    Result<migration::UpgradeImpact> upgrade_impact(const std::string& node) override {
        return ask<migration::UpgradeImpact, v1::UpgradeImpactResponse>(
            "/nodes/" + percent_encode(node) + "/upgradeimpact");
    }

    /// A VM first: one may be called as launchers are.
    Result<cluster::CauseStory> why(const std::string& name) override {
        const auto slash = name.find('/');
        if (slash == std::string::npos) {
            return fail(Errc::invalid,
                        "expected NAMESPACE/NAME of a VM or of one of its launcher pods to ask the "
                        "cluster about, found " +
                            name);
        }
        const auto space = "/namespaces/" + percent_encode(name.substr(0, slash));
        const auto object = percent_encode(name.substr(slash + 1)) + "/why";
        auto story =
            ask<cluster::CauseStory, v1::WhyResponse>(space + "/virtualmachineinstances/" + object);
        const bool launcher = name.substr(slash + 1).starts_with("virt-launcher-");
        if (!story && story.error().code == Errc::not_found && launcher) {
            return ask<cluster::CauseStory, v1::WhyResponse>(space + "/pods/" + object);
        }
        return story;
    }

    Result<fleet::ProtectionListing> protection(
        const fleet::ProtectionQuestion& question) override {
        if (question.vms.empty()) {
            return ask<fleet::ProtectionListing, v1::ProtectionResponse>(
                "/protection" + kube::Query{}.add("node", question.node).text());
        }
        fleet::ProtectionListing all;
        for (const auto& vm : question.vms) {
            auto one = protection_of(vm);
            if (!one) {
                return one;
            }
            std::move(one->vms.begin(), one->vms.end(), std::back_inserter(all.vms));
            all.notes = std::move(one->notes);
        }
        return all;
    }

    /// Agents report to the replica that leads, and the API server asks any of them.
    Result<fleet::PressureListing> pressure(const std::vector<std::string>& nodes) override {
        constexpr unsigned most_tries = 6;
        kube::Query query;
        for (const auto& node : nodes) {
            query.add("node", node);
        }
        const auto path = "/pressure" + query.text();
        auto answer = ask<fleet::PressureListing, v1::PressureResponse>(path);
        for (unsigned tries = 1; tries < most_tries && answer && !answer->hears_agents; ++tries) {
            answer = ask<fleet::PressureListing, v1::PressureResponse>(path);
        }
        return answer;
    }

private:
    Result<fleet::ProtectionListing> protection_of(const std::string& vm) {
        const auto path = path_of({.subject = {.kind = SubjectKind::guest, .name = vm, .node = {}},
                                   .text = vm,
                                   .described = std::nullopt});
        if (!path) {
            return fail(path.error());
        }
        return ask<fleet::ProtectionListing, v1::ProtectionResponse>(*path + "/protection");
    }

    [[nodiscard]] static Result<std::string> path_of(const fleet::FleetSubject& subject) {
        const auto& [kind, name, node] = subject.subject;
        if (kind == SubjectKind::host_model) {
            return "/nodes/" + percent_encode(node);
        }
        const auto slash = name.find('/');
        if (kind == SubjectKind::guest && slash != std::string::npos && node.empty()) {
            return "/namespaces/" + percent_encode(name.substr(0, slash)) +
                   "/virtualmachineinstances/" + percent_encode(name.substr(slash + 1));
        }
        return fail(Errc::invalid,
                    "expected NAMESPACE/NAME of a VMI or host-model@NODE to ask the cluster "
                    "about, found " +
                        subject.text);
    }

    template <class Answer, class Message>
    Result<Answer> ask(const std::string& path) {
        auto text = get(base_path + path);
        if (!text) {
            return fail(explain(std::move(text.error())));
        }
        Message message;
        if (auto read = wire::from_json(*text, message); !read) {
            return fail(std::move(read.error()).within(server_));
        }
        return wire::from_wire(message);
    }

    kube::ApiResult<std::string> get(std::string path) {
        kube::CallOptions options;
        options.limit = deadline_;
        return run_task(loop_, client_.get_path(std::move(path), options));
    }

    /// The user's next step. Answers of the aggregator are Status objects with a reason; of what
    /// nobody serves there is none.
    [[nodiscard]] static Error explain(kube::ApiError failure) {
        constexpr unsigned not_found = 404;
        if (failure.status == not_found && failure.reason.empty()) {
            failure.error.message +=
                "; the cluster has no query API of virt-scout: is it installed there? --live "
                "answers without it";
        } else if (failure.error.code == Errc::timed_out) {
            failure.error.message += "; --deadline gives it more time";
        } else if (failure.status == 0 || failure.error.code == Errc::unavailable) {
            failure.error.message += "; --live answers without an aggregator";
        }
        return std::move(failure.error);
    }

    std::string server_;
    std::chrono::milliseconds deadline_;
    asio::io_context loop_{1};
    kube::HttpTransport transport_;
    kube::Client client_;
};

}  // namespace

std::unique_ptr<fleet::Fleet> open_api_fleet(const kube::ClusterAccess& access, const Clock& clock,
                                             std::chrono::milliseconds deadline) {
    return std::make_unique<ApiClient>(access, clock, deadline);
}

}  // namespace scout::cli
