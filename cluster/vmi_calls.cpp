// SPDX-License-Identifier: Apache-2.0
#include "cluster/vmi_calls.h"

#include <cstddef>
#include <utility>

#include "kube/decode_text.h"
#include "kube/list_document.h"
#include "kube/query.h"
#include "kube/shared_text.h"

namespace scout::cluster {

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

std::string moves_path(std::string_view space, std::string_view vmi) {
    constexpr std::size_t longest_value = 63;  // of a label
    kube::Query query;
    query.add("labelSelector", vmi.size() <= longest_value
                                   ? "kubevirt.io/vmi-name=" + std::string{vmi}
                                   : std::string{});
    return kube::collection_path(kube::resources::migrations(), space) + query.text();
}

Result<std::vector<kube::Migration>> moves_in(std::string list, std::string_view vmi) {
    const auto parts = kube::split_list(kube::PaddedText::of(list));
    if (!parts) {
        return fail(parts.error());
    }
    std::vector<kube::Migration> moves;
    kube::TextPool texts;
    kube::JsonReader reader(texts);
    for (const auto& item : parts->items) {
        auto object = reader.parse(item);
        auto move = object ? kube::decode_migration(*object) : fail(std::move(object.error()));
        if (!move) {
            return fail(std::move(move.error()));
        }
        if (move->vmi_name == vmi) {
            moves.push_back(std::move(*move));
        }
    }
    return moves;
}

}  // namespace scout::cluster
