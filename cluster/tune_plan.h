// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "base/clock.h"
#include "base/result.h"
#include "cluster/objects.h"
#include "cluster/policy_answer.h"
#include "kube/objects/vmi.h"
#include "migration/migration_policy.h"

/// What a MigrationPolicy with an expiry (tuned_policy.h) would do, before it is made: policies
/// replace each other and are not merged (dossier §7). Pure.
namespace scout::cluster {

/// What is said of a policy's fields; the others are those of the policy in force.
struct TuneFields {
    std::string bandwidth;  ///< a quantity; empty: nothing is said
    std::optional<std::int64_t> completion_seconds_per_gib;
    std::optional<bool> auto_converge;
    std::optional<bool> post_copy;
    std::optional<bool> workload_disruption;
};

struct TuneWish {
    std::string name;
    migration::PolicySelectors selectors;
    TuneFields fields;
};

/// By which labels one VM is chosen.
struct TuneChoice {
    migration::PolicySelectors selectors;
    std::string note;  ///< what is worth knowing of them; may be empty
};

/// Those of this VM alone. Errors: refused, with the VMs that have them too; not_found, without its
/// namespace.
[[nodiscard]] Result<TuneChoice> choose_alone(const Objects& objects, const kube::Vmi& vmi);

struct NumberChange {
    NumberInForce before;
    NumberInForce after;
};

/// A policy that does not hold meanwhile.
struct DisplacedPolicy {
    std::string policy;  ///< empty: none is applied, the numbers are the KubeVirt object's
    std::size_t vms = 0;
    std::vector<NumberChange> changes;
};

/// A policy that holds all the same.
struct OutrankingPolicy {
    std::string policy;
    std::string why;
    std::vector<std::string> vms;  ///< "NAMESPACE/NAME"
};

struct TunePlan {
    TuneWish wish;
    std::vector<std::string> vms;  ///< by which it would be applied: "NAMESPACE/NAME"
    std::string based_on;          ///< the policy whose other fields are copied; empty: none
    std::string based_on_version;  ///< its resourceVersion
    std::vector<DisplacedPolicy> displaced;
    std::vector<OutrankingPolicy> outranked_by;
    std::vector<std::string> notes;
};

/// Policies of single moves, which come and go, count as not there. Errors: invalid, for a quantity
/// that is none; refused, where a policy of that name is there.
[[nodiscard]] Result<TunePlan> plan_tune(const Objects& objects, TuneWish wish);

/// `spec`: that of the policy that it is based on, of which every field is kept that is not named,
/// also those that we do not know.
[[nodiscard]] std::string tune_policy_body(const TuneWish& wish, WallTime end,
                                           boost::json::object spec);

/// One that there is.
struct TunedPolicy {
    std::string name;
    std::optional<WallTime> end;  ///< none: it cannot be read
    std::optional<migration::PolicySelectors> selectors;
};
/// In the order of their names.
[[nodiscard]] std::vector<TunedPolicy> tuned_policies(const Objects& objects);

}  // namespace scout::cluster
