// SPDX-License-Identifier: Apache-2.0
#include "migration/scheduling/requests.h"

#include <algorithm>

#include "migration/scheduling/node_use.h"

namespace scout::migration::scheduling {
namespace {

void raise(Resources& to, const Resources& least) {
    for (const auto& [name, amount] : least) {
        auto& have = to[name];
        have = std::max(have, amount);
    }
}

Resources effective(const Ask& ask, bool infeasible) {
    if (!ask.actual) {
        return ask.requests;
    }
    auto out = infeasible ? Resources{} : ask.requests;
    raise(out, *ask.actual);
    raise(out, ask.allocated);
    return out;
}

/// The most that one of them has while it runs, with those before it that stay.
Resources while_starting(const PodAsk& pod, Resources& staying) {
    Resources most;
    for (const auto& container : pod.init_containers) {
        // One that ends is not resized.
        auto asked = container.restarts ? effective(container.ask, pod.resize_infeasible)
                                        : container.ask.requests;
        add(asked, staying);
        raise(most, asked);
        if (container.restarts) {
            staying = std::move(asked);
        }
    }
    return most;
}

}  // namespace

Resources requests_of(const PodAsk& pod) {
    Resources sum;
    const auto starting = while_starting(pod, sum);
    for (const auto& container : pod.containers) {
        add(sum, effective(container, pod.resize_infeasible));
    }
    raise(sum, starting);
    if (pod.whole) {
        for (auto& [name, amount] : effective(*pod.whole, pod.resize_infeasible)) {
            sum[name] = amount;
        }
    }
    add(sum, pod.overhead);
    return sum;
}

Resources requests_when_new(PodAsk pod) {
    const auto forget = [](Ask& ask) {
        ask.actual.reset();
        ask.allocated.clear();
    };
    std::for_each(pod.containers.begin(), pod.containers.end(), forget);
    for (auto& container : pod.init_containers) {
        forget(container.ask);
    }
    if (pod.whole) {
        forget(*pod.whole);
    }
    return requests_of(pod);
}

}  // namespace scout::migration::scheduling
