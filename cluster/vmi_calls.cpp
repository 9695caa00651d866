// SPDX-License-Identifier: Apache-2.0
#include "cluster/vmi_calls.h"

#include <cstddef>
#include <utility>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "kube/decode_text.h"
#include "kube/query.h"

namespace scout::cluster {

namespace json = boost::json;

kube::Target vmi_target(std::string_view space, std::string_view name) {
    return {.resource = kube::resources::virtual_machine_instances(),
            .object = {.space = std::string{space}, .name = std::string{name}}};
}

kube::Target evacuation_cancel(std::string_view space, std::string_view name) {
    return {.resource = {.group = "subresources.kubevirt.io",
                         .version = "v1",
                         .plural = "virtualmachineinstances",
                         .kind = "VirtualMachineInstance"},
            .object = {.space = std::string{space}, .name = std::string{name}},
            .subresource = "evacuate/cancel"};
}

std::string evacuation_cancel_body(std::string_view node) {
    return json::serialize(json::object{{"evacuationNodeName", node}});
}

std::string moves_path(std::string_view space, std::string_view vmi) {
    constexpr std::size_t longest_value = 63;  // of a label
    kube::Query query;
    query.add("labelSelector", vmi.size() <= longest_value
                                   ? "kubevirt.io/vmi-name=" + std::string{vmi}
                                   : std::string{});
    return kube::collection_path(kube::resources::migrations(), space) + query.text();
}

Result<std::vector<kube::Migration>> moves_in(std::string list, std::string_view vmi) {
    std::vector<kube::Migration> moves;
    auto read = kube::decode_items(list, &kube::decode_migration,
                                   [&moves, vmi](Result<kube::Migration> move) -> Status {
                                       if (!move) {
                                           return fail(std::move(move.error()));
                                       }
                                       if (move->vmi_name == vmi) {
                                           moves.push_back(std::move(*move));
                                       }
                                       return {};
                                   });
    if (!read) {
        return fail(std::move(read.error()));
    }
    return moves;
}

}  // namespace scout::cluster
