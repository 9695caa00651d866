// SPDX-License-Identifier: Apache-2.0
#include "aggregator/cluster_objects.h"

#include "base/lasting_task.h"
#include "cluster/hook_plugin.h"
#include "kube/resource.h"

namespace scout::aggregator {
namespace {

namespace resources = kube::resources;

template <class T>
void run(TaskScope& scope, kube::Informer<T>& informer) {
    const auto kind = informer.reflector().resource().plural;
    scope.spawn(kind, [kind, &informer] {
        return keep_running(kind, [&informer] { return informer.run(); });
    });
}

FollowedKind followed(const kube::Reflector& reflector) {
    return {.plural = reflector.resource().plural, .trouble = reflector.trouble()};
}

}  // namespace

ClusterObjects::ClusterObjects(kube::Transport& transport, const Clock& clock,
                               const std::function<kube::ReflectorSettings()>& settings)
    : nodes(transport, clock, {.resource = resources::nodes(), .selection = {}}, &kube::decode_node,
            settings()),
      kubevirts(transport, clock, {.resource = resources::kubevirts(), .selection = {}},
                &kube::decode_kubevirt, settings()),
      configs(transport, clock, {.resource = resources::scout_configs(), .selection = {}},
              &kube::decode_scout_config, settings()),
      cpu_profiles(transport, clock, {.resource = resources::cpu_profiles(), .selection = {}},
                   &cluster::decode_cpu_profile, settings()),
      vmis(transport, clock, {.resource = resources::virtual_machine_instances(), .selection = {}},
           &kube::decode_vmi, settings()),
      migrations(transport, clock, {.resource = resources::migrations(), .selection = {}},
                 &kube::decode_migration, settings()),
      launchers(transport, clock,
                {.resource = resources::pods(), .selection = {.labels = kube::launcher_selector}},
                &kube::decode_launcher_pod, settings()),
      policies(transport, clock, {.resource = resources::migration_policies(), .selection = {}},
               &kube::decode_migration_policy, settings()),
      namespaces(transport, clock, {.resource = resources::namespaces(), .selection = {}},
                 &kube::decode_labelled, settings()),
      plugins(transport, clock,
              {.resource = resources::plugins(),
               .selection = {.fields = std::string{"metadata.name="} + cluster::hook_plugin_name}},
              &kube::decode_plugin, settings()) {}

void ClusterObjects::start(TaskScope& scope) {
    run(scope, nodes);
    run(scope, kubevirts);
    run(scope, configs);
    run(scope, cpu_profiles);
    if (vms_) {
        run(scope, vmis);
        run(scope, migrations);
        run(scope, launchers);
    }
    if (namespaces_) {
        run(scope, namespaces);
    }
    if (vms_) {
        run(scope, policies);
        run(scope, plugins);
    }
}

/// KubeVirt before 1.9 has no plugins, and nothing is amiss: the ScoutConfig's status tells it.
std::vector<FollowedKind> ClusterObjects::kinds() const {
    std::vector<FollowedKind> kinds{followed(nodes.reflector()), followed(kubevirts.reflector()),
                                    followed(configs.reflector()),
                                    followed(cpu_profiles.reflector())};
    if (vms_) {
        kinds.push_back(followed(vmis.reflector()));
        kinds.push_back(followed(migrations.reflector()));
        kinds.push_back(followed(launchers.reflector()));
    }
    if (namespaces_) {
        kinds.push_back(followed(namespaces.reflector()));
    }
    if (vms_) {
        kinds.push_back(followed(policies.reflector()));
        if (plugins.reflector().state() != kube::ReflectorState::absent) {
            kinds.push_back(followed(plugins.reflector()));
        }
    }
    return kinds;
}

}  // namespace scout::aggregator
