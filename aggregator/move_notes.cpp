// SPDX-License-Identifier: Apache-2.0
#include "aggregator/move_notes.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "kube/resource.h"
#include "migration/requester.h"

namespace scout::aggregator {
namespace {

namespace json = boost::json;

constexpr std::size_t longest_user = 253;  ///< daemonset/base/fences.yaml

}  // namespace

MoveNotes notes_of(const kube::MoveRecord& move, const cluster::PastMove& past) {
    MoveNotes wanted;
    wanted[migration::cause_annotation] = to_string(past.request.requester);
    if (!past.request.user.empty() && past.request.user.size() <= longest_user) {
        wanted[migration::requester_annotation] = past.request.user;
    }
    const bool known =
        std::find(move_modes.begin() + 1, move_modes.end(), past.mode) != move_modes.end();
    if (known && move.is_final()) {
        wanted[migration::mode_annotation] = past.mode;
    }
    return wanted;
}

bool has_notes(const kube::MoveRecord& move, const MoveNotes& wanted) {
    return std::all_of(wanted.begin(), wanted.end(), [&move](const auto& entry) {
        return move.annotations.find(entry.first) == entry.second;
    });
}

std::string body_of(const kube::MoveRecord& move, const MoveNotes& wanted) {
    const auto& resource = kube::resources::migrations();
    json::object annotations;
    for (const auto& [key, value] : wanted) {
        annotations[key] = value;
    }
    return json::serialize(json::object{{"apiVersion", resource.group + "/" + resource.version},
                                        {"kind", resource.kind},
                                        {"metadata",
                                         {{"name", move.meta.name},
                                          {"namespace", move.meta.space.str()},
                                          {"uid", move.meta.uid},
                                          {"annotations", std::move(annotations)}}}});
}

std::string_view recorded_on(const kube::Labels& annotations) {
    return annotations.find(migration::cause_annotation).value_or("");
}

}  // namespace scout::aggregator
