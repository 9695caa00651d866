// SPDX-License-Identifier: Apache-2.0
#include "aggregator/cluster_parts.h"

#include <algorithm>
#include <array>
#include <random>
#include <utility>

namespace scout::aggregator {
namespace {

constexpr const char* lease_name = "virt-scout-aggregator";
/// first-placement.yaml, launcher-grace.yaml and named-target.yaml of daemonset/base
constexpr std::array<const char*, 3> webhook_names{"virt-scout-first", "virt-scout-grace",
                                                   "virt-scout-target"};
/// policy-lint.yaml of it
constexpr const char* validating_webhook_name = "virt-scout-policies";
/// daemonset/base/query.yaml
constexpr const char* api_service_name = "v1alpha1.query.virt-scout.io";

kube::ReflectorSettings reflecting(kube::ReflectorSettings settings) {
    settings.seed = random_seed();
    return settings;
}

kube::ClientConfig calling(double per_second, double urgent = 0) {
    kube::ClientConfig config;
    config.rate.per_second = per_second;
    config.rate.burst = per_second;
    config.rate.urgent_per_second = std::max(config.rate.urgent_per_second, urgent);
    config.rate.urgent_burst = std::max(config.rate.urgent_burst, 2 * urgent);
    config.seed = random_seed();
    return config;
}

/// Labels have a rate of their own; this one is for what goes wrong.
constexpr double calls_per_second = 200;
/// One that hangs, and the next.
constexpr std::size_t lease_calls_at_once = 2;
/// After a restart all agents come at once: of 10,000 the last one waits ten seconds.
constexpr double reviews_per_second = 1000;
/// A node has 50 VMs, or 200, that are all told to stop at once, and each needs ten calls or so.
constexpr double acts_per_second = 200;
constexpr std::size_t acts_at_once = 64;
/// Who wanted a migration can wait: of many that began at once, or had before a restart.
constexpr double causes_per_second = 50;

}  // namespace

std::uint64_t random_seed() {
    std::random_device device;
    return (std::uint64_t{device()} << 32U) | device();
}

ClusterSide::Parts::Parts(const asio::any_io_executor& loop, ClusterSettings settings,
                          const Clock& clock)
    : https_address(settings.https.listen),
      levels(settings.levels),
      following(settings.following),
      lease_transport(loop, settings.access, clock, {.requests = lease_calls_at_once}),
      lease_client(lease_transport, clock, calling(calls_per_second)),
      transport(loop, settings.access, clock),
      client(transport, clock, calling(calls_per_second)),
      review_transport(loop, settings.access, clock),
      review_client(review_transport, clock, calling(reviews_per_second)),
      act_transport(loop, settings.access, clock, {.requests = acts_at_once}),
      act_client(act_transport, clock, calling(calls_per_second, acts_per_second)),
      objects(transport, clock, [&settings] { return reflecting(settings.following); }),
      lease(lease_client, {.space = settings.space, .name = lease_name}),
      elector(lease, clock, {.identity = settings.identity}, random_seed()),
      live(loop, {.configs = objects.configs, .kubevirts = objects.kubevirts, .elector = elector},
           client, clock, cluster::level_settings(settings.levels)),
      event_port(client, {.instance = settings.identity}),
      events(loop, event_port, clock, random_seed()),
      pressure(objects.nodes, elector, events),
      profiles(loop,
               {.nodes = objects.nodes,
                .profiles = objects.cpu_profiles,
                .elector = elector,
                .events = events,
                .map = settings.levels.map},
               client, clock),
      labels(loop,
             {.nodes = objects.nodes,
              .kubevirts = objects.kubevirts,
              .objects = objects.cpu_profiles,
              .profiles = profiles,
              .settings = live,
              .elector = elector},
             client, clock,
             {.levels = std::move(settings.levels), .plan = {}, .seed = random_seed()}),
      placement({.levels = labels, .settings = live, .vmis = objects.vmis, .events = events}),
      grace(objects.namespaces),
      targets({.nodes = objects.nodes, .vmis = objects.vmis, .events = events}, act_client),
      policies(objects.policies, live),
      tuned(loop, {.policies = objects.policies, .elector = elector, .events = events}, client,
            clock),
      certificates(
          loop, client, [this] { return elector.may_write_until(); },
          {.space = settings.space,
           .names = std::move(settings.https.names),
           .webhooks = {webhook_names.begin(), webhook_names.end()},
           .validating_webhooks = {validating_webhook_name},
           .api_services = {api_service_name},
           .files = std::move(settings.https.files),
           .seed = random_seed()},
          clock),
      agents(certificates.names(), CertificateRules{}, clock),
      owners(loop, review_client, clock, {.space = settings.space}),
      front_proxy(transport, clock, reflecting(settings.following)),
      rights(loop, review_client, clock) {}

std::unique_ptr<PressureRelief> ClusterSide::Parts::make_relief(const asio::any_io_executor& loop,
                                                                Registry& registry,
                                                                const Clock& clock) {
    return std::make_unique<PressureRelief>(
        loop,
        PressureRelief::Sources{.objects = {.registry = registry,
                                            .kubevirts = objects.kubevirts,
                                            .nodes = objects.nodes,
                                            .vmis = objects.vmis,
                                            .migrations = objects.migrations,
                                            .launchers = objects.launchers,
                                            .told_to_stop =
                                                [this](std::string_view vmi_uid) {
                                                    return mover != nullptr &&
                                                           mover->desk.names(vmi_uid);
                                                }},
                                .registry = registry,
                                .settings = live,
                                .elector = elector,
                                .events = events},
        act_client, clock);
}

ClusterSide::Mover::Mover(const asio::any_io_executor& loop, Parts& parts, const Clock& clock)
    : desk(loop,
           {.objects = {.kubevirts = parts.objects.kubevirts,
                        .vmis = parts.objects.vmis,
                        .migrations = parts.objects.migrations,
                        .launchers = parts.objects.launchers,
                        .policies = parts.objects.policies,
                        .namespaces = parts.objects.namespaces,
                        .nodes = parts.objects.nodes},
            .settings = parts.live,
            .elector = parts.elector,
            .events = parts.events},
           parts.act_client, clock, {.at_once = acts_at_once}),
      hook(loop,
           {.nodes = parts.objects.nodes,
            .vmis = parts.objects.vmis,
            .plugins = parts.objects.plugins,
            .settings = parts.live,
            .desk = desk,
            .elector = parts.elector},
           parts.act_client, clock) {}

ClusterSide::Causes::Causes(const asio::any_io_executor& loop, Parts& parts, const Clock& clock)
    : client(parts.transport, clock, calling(causes_per_second)),
      ends(loop,
           {.nodes = parts.objects.nodes,
            .vmis = parts.objects.vmis,
            .migrations = parts.objects.migrations,
            .launchers = parts.objects.launchers,
            .elector = parts.elector,
            .events = parts.events,
            .history = parts.history},
           client, clock),
      moves(loop,
            {.nodes = parts.objects.nodes,
             .vmis = parts.objects.vmis,
             .migrations = parts.objects.migrations,
             .launchers = parts.objects.launchers,
             .elector = parts.elector,
             .events = parts.events,
             .history = parts.history,
             .told_to_stop =
                 [&parts](std::string_view vmi_uid) {
                     return parts.mover != nullptr && parts.mover->desk.names(vmi_uid);
                 }},
            client, clock),
      drift(loop,
            {.vmis = parts.objects.vmis,
             .policies = parts.objects.policies,
             .namespaces = parts.objects.namespaces,
             .elector = parts.elector,
             .events = parts.events},
            clock),
      landings(loop,
               {.nodes = parts.objects.nodes,
                .vmis = parts.objects.vmis,
                .migrations = parts.objects.migrations,
                .elector = parts.elector,
                .events = parts.events},
               client, clock) {}

}  // namespace scout::aggregator
