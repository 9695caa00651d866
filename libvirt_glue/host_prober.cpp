// SPDX-License-Identifier: Apache-2.0
#include "libvirt_glue/host_prober.h"

#include <utility>

#include "base/child_process.h"
#include "libvirt_glue/embed_uri.h"
#include "libvirt_glue/host_probe.h"
#include "libvirt_glue/probe_answer.h"

namespace scout::libvirt_glue {
namespace {

using hypervisor::HostDocuments;

/// Sets a flag for as long as it lives.
class Raised {
public:
    explicit Raised(bool& flag) : flag_(flag) { flag_ = true; }
    ~Raised() { flag_ = false; }
    Raised(const Raised&) = delete;
    Raised& operator=(const Raised&) = delete;
    Raised(Raised&&) = delete;
    Raised& operator=(Raised&&) = delete;

private:
    bool& flag_;
};

}  // namespace

HostProber::HostProber(const LibvirtConfig& config, BlockingPool& pool)
    : config_(config), lane_(pool, config.probe_limit) {}

Task<Result<HostDocuments>> HostProber::probe() {
    if (probing_) {
        co_return fail(Errc::refused, "a probe is going on already");
    }
    const Raised raised(probing_);
    if (is_embed_uri(config_.uri)) {
        co_return co_await probe_in_child();
    }
    co_return co_await probe_in_pool();
}

Task<Result<HostDocuments>> HostProber::probe_in_child() {
    ChildCommand command;
    command.argv = config_.probe_command;
    command.argv.push_back(with_embed_root(config_.uri, config_.embed_root));
    command.argv.push_back(config_.kvm_device.string());
    command.time_limit = config_.probe_limit;
    auto output = co_await run_child(std::move(command));
    if (!output) {
        co_return fail(std::move(output.error()).within("probe in a child process"));
    }
    co_return parse_answer(*output);
}

Task<Result<HostDocuments>> HostProber::probe_in_pool() {
    HostQuestion question;
    question.uri = config_.uri;
    question.kvm_device = config_.kvm_device;
    question.local = config_.uri.find(":///") != std::string::npos;
    auto work = [question = std::move(question)] { return probe_host(question); };
    auto answer = co_await lane_.call("probe", std::move(work));
    co_return answer;
}

}  // namespace scout::libvirt_glue
