// SPDX-License-Identifier: Apache-2.0
// Our informer of nodes as a process to measure, beside those of client_go, which speak as it does:
// "synced" with the first list, "updated" after so many changes; it ends with its standard input.
#include <cstdint>
#include <exception>
#include <iostream>
#include <optional>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <unistd.h>

#include "base/logging.h"
#include "base/number.h"
#include "base/task_scope.h"
#include "kube/find_access.h"
#include "kube/http_transport.h"
#include "kube/informer.h"
#include "kube/objects/node.h"

namespace {

using namespace scout;

void watch(const kube::ClusterAccess& access, std::uint64_t updates) {
    asio::io_context loop{1};
    const SystemClock clock;
    kube::HttpTransport transport(loop.get_executor(), access, clock);
    kube::Informer<kube::Node> informer(transport, clock, {.resource = kube::resources::nodes()},
                                        &kube::decode_node);
    std::uint64_t left = updates;
    informer.on_change([&left](const auto& change) {
        if (change.before && change.now && --left == 0) {
            std::cout << "updated\n" << std::flush;
        }
    });
    informer.on_synced([&informer] {
        std::cout << "synced " << informer.size() << "\n" << std::flush;
    });

    TaskScope scope(loop.get_executor());
    scope.spawn("nodes", [&informer] { return informer.run(); });
    asio::posix::stream_descriptor input(loop, ::dup(STDIN_FILENO));
    input.async_wait(asio::posix::descriptor_base::wait_read, [&loop, &scope,
                                                               &transport](const auto& /*error*/) {
        asio::co_spawn(loop, scope.close(),
                       [&transport](const std::exception_ptr&) { transport.close_idle(); });
    });
    loop.run();
}

}  // namespace

// NOLINTNEXTLINE(bugprone-exception-escape): a fault may end the benchmark
int main(int count, char** words) {
    const auto updates = count == 3 ? whole_number(words[2]) : std::nullopt;
    if (!updates) {
        std::cerr << "usage: node_informer KUBECONFIG UPDATES\n";
        return 2;
    }
    if (const auto set = set_up_logging({.level = "warn"}, true); !set) {
        std::cerr << set.error().message << '\n';
        return 1;
    }
    auto places = kube::places_of_environment();
    places.kubeconfig.chosen = words[1];
    const auto access = kube::find_access(places);
    if (!access) {
        std::cerr << access.error().message << '\n';
        return 1;
    }
    watch(*access, *updates);
    return 0;
}
