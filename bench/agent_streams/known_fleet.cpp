// SPDX-License-Identifier: Apache-2.0
#include "bench/agent_streams/known_fleet.h"

#include <stdexcept>

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include "aggregator/messages.h"
#include "bench/agent_streams/profiles.h"

namespace scout::bench {
void fill(aggregator::Fleet& fleet, const std::vector<migration::Profile>& profiles,
          std::size_t nodes) {
    auto& registry = fleet.registry();
    for (std::size_t i = 0; i < nodes; ++i) {
        const auto& profile = profiles[i % profiles.size()];
        const auto report = make_report(profile, i, guests_of_a_node);
        const auto name = node_name(i);
        bool good =
            registry
                .introduce({.node = name, .host_identity = "id-" + name, .agent_version = "bench"},
                           fleet.now())
                .has_value();
        good &= registry.report_host(name, *aggregator::host_from_wire(report)).has_value();
        if (registry.find(name)->profile == nullptr) {
            registry.deliver(report.profile_digest(), profile);
        }
        good &=
            registry
                .change_guests(name, *aggregator::guests_from_wire(report.guests(), registry), {})
                .has_value();
        if (!good) {
            throw std::runtime_error("the fleet was refused");
        }
    }
}

std::shared_ptr<grpc::Channel> open_channel(const test::Authority& authority,
                                            const std::string& address, const std::string& node) {
    const auto pem = authority.make(node, "");
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = pem.ca;
    options.pem_cert_chain = pem.certificate;
    options.pem_private_key = pem.key;
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return grpc::CreateCustomChannel(address, grpc::SslCredentials(options), arguments);
}

}  // namespace scout::bench
