// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/task_scope.h"
#include "kube/client.h"
#include "kube/http_transport.h"
#include "kube/objects/node.h"
#include "tests/support/bed.h"
#include "tests/support/run_to_end.h"

namespace scout::test {

/// What the bed's kubeconfig says, read as a user's is.
[[nodiscard]] kube::ClusterAccess access_to(const Bed& bed);
/// The same server asked by somebody else, or by way of another port.
[[nodiscard]] kube::ClusterAccess with_token(kube::ClusterAccess access, std::string token);
[[nodiscard]] kube::ClusterAccess by_way_of(kube::ClusterAccess access, std::uint16_t port);

/// The port of "scheme://host:port".
[[nodiscard]] std::uint16_t port_of(std::string_view url);

[[nodiscard]] kube::Resource core(std::string plural, std::string kind, bool namespaced = true);
/// An account, as bindings name it.
[[nodiscard]] boost::json::object account_of(const std::string& space, const std::string& account);
[[nodiscard]] kube::Resource rbac(std::string plural, std::string kind, bool namespaced = true);

/// Members of a document by JSON pointer, null if it is not there.
[[nodiscard]] boost::json::value at(const boost::json::value& document, std::string_view pointer);

/// Coroutines in the background of a test, ended with this object. The loop and all that they use
/// must outlive it.
class Background {
public:
    explicit Background(boost::asio::io_context& loop) : loop_(loop), scope_(loop.get_executor()) {}
    ~Background();
    Background(const Background&) = delete;
    Background& operator=(const Background&) = delete;
    Background(Background&&) = delete;
    Background& operator=(Background&&) = delete;

    void spawn(std::function<Task<>()> body) { scope_.spawn("of a test", std::move(body)); }
    /// Ends them now.
    void end();

private:
    boost::asio::io_context& loop_;
    TaskScope scope_;
};

/// A test with a client of the program's one bed, as the user who may do everything, on the loop of
/// the test's thread. What a test makes lies in a namespace or has a label of its own.
class BedTest : public ::testing::Test {
protected:
    void SetUp() override;
    /// Another bed for this test.
    void use(Bed& chosen);

    template <class T>
    T call(Task<T> task) {
        return run_until_done(loop, std::move(task));
    }
    /// The answer as a document; throws what went wrong.
    boost::json::value done(Task<kube::ApiResult<std::string>> task);
    void done(Task<kube::ApiResult<void>> task);

    /// Runs the loop until it holds, at most 20 s. True once it does.
    [[nodiscard]] bool run_until(const std::function<bool()>& condition);

    /// A new namespace with the account "default", as the controllers would make it.
    std::string new_space();
    void create(const kube::Resource& resource, const std::string& space,
                boost::json::object object);
    /// A node that only has these labels.
    void create_node(const std::string& name, boost::json::object labels);
    /// For one account of the space, bound to an object if one is given.
    std::string token_of(const std::string& space, const std::string& account,
                         const std::string& audience, boost::json::object bound = {});
    /// Gives a role ("Role" or "ClusterRole") to a subject, in a space; empty: the whole cluster.
    void bind(const std::string& space, const std::string& kind, const std::string& role,
              boost::json::object subject);
    /// A role with these rules for the account "default" of the space, there or in the whole
    /// cluster.
    void grant(const std::string& space, bool whole_cluster, boost::json::array rules);
    /// A role for the account, as a rule of the whole cluster.
    void grant(const std::string& space, const std::string& account, const std::string& group,
               const std::string& resource, std::initializer_list<std::string_view> verbs);

    boost::asio::io_context loop{1};
    SystemClock clock;
    Bed* bed = nullptr;
    kube::ClusterAccess access;
    std::optional<kube::HttpTransport> transport;
    std::optional<kube::Client> client;
};

}  // namespace scout::test
