// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "migration/scheduling/cluster.h"
#include "migration/scheduling/findings.h"

/// Where kube-scheduler could put a pod: what its default filters (1.36) would say of every node,
/// all of them, so that every reason is found and not only the first. Pure; any thread.
///
/// What is not modelled makes the answer unknown, never yes: claims that are not bound yet, what a
/// pod names in `not_judged`. What was not told at all (claims, volumes, an allocatable) is passed
/// over, and who asks says so. Neither preemption nor nominated pods are looked at.
namespace scout::migration::scheduling {

class PodFilters;

/// A cluster made ready for many pods. Refers to it.
class Filters {
public:
    explicit Filters(const Cluster& cluster);
    explicit Filters(const Cluster&& cluster) = delete;
    Filters(const Filters&) = delete;
    Filters& operator=(const Filters&) = delete;
    Filters(Filters&&) = delete;
    Filters& operator=(Filters&&) = delete;
    ~Filters();

    /// What of the resource no pod of that node, at its place in Cluster::nodes, has asked for;
    /// less than nothing where they ask for more than is there, or where that was not told.
    [[nodiscard]] std::int64_t unrequested(std::size_t node, std::string_view resource) const;

    /// One pod made ready for all nodes. Refers to both.
    [[nodiscard]] PodFilters prepare(const Pod& pod) const;
    PodFilters prepare(const Pod&& pod) const = delete;

private:
    friend class PodFilters;
    struct Index;
    std::unique_ptr<const Index> index_;
};

class PodFilters {
public:
    PodFilters(const Filters& filters, const Pod& pod);
    PodFilters(const PodFilters&) = delete;
    PodFilters& operator=(const PodFilters&) = delete;
    PodFilters(PodFilters&&) = delete;
    PodFilters& operator=(PodFilters&&) = delete;
    ~PodFilters();

    /// Of the node at that place in Cluster::nodes. Nothing found: the pod can go there.
    [[nodiscard]] Findings judge(std::size_t node) const;

private:
    struct Prepared;
    std::unique_ptr<const Prepared> prepared_;
};

}  // namespace scout::migration::scheduling
