// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/json/object.hpp>

#include "kube/transport.h"

namespace scout::aggregator {

/// An API server on the loop of a test: objects that the test puts are listed and watched, and
/// calls are answered as the test says.
class FakeApi final : public kube::Transport {
public:
    using Answer = std::function<kube::HttpResponse(const kube::HttpRequest&)>;

    explicit FakeApi(const boost::asio::any_io_executor& loop)
        : loop_(loop), gate_(loop, boost::asio::steady_timer::time_point::max()) {}

    /// Kinds that were never put are there, and empty.
    void put(const std::string& plural, boost::json::object object);
    void remove(const std::string& plural, const std::string& name);
    /// The server does not know the kind from now on; who watches it has to list it anew.
    void leave_out(const std::string& plural);
    /// The server knows it again: it is found by who asks again.
    void bring_back(const std::string& plural);

    /// Called for each call but lists and watches. Without one all is answered 200 and {}.
    Answer answer;
    /// These calls, or all, are answered once it is released.
    void hold(std::function<bool(const kube::HttpRequest&)> which = {}) {
        held_ = true;
        which_ = std::move(which);
    }
    void release();

    [[nodiscard]] const std::vector<kube::HttpRequest>& calls() const noexcept { return calls_; }
    void forget_calls() { calls_.clear(); }
    [[nodiscard]] std::size_t waiting() const noexcept { return waiting_; }

    [[nodiscard]] Task<Result<kube::HttpResponse>> send(kube::HttpRequest request,
                                                        std::chrono::milliseconds limit) override;
    [[nodiscard]] Task<Result<std::unique_ptr<kube::HttpStream>>> open(
        kube::HttpRequest request, std::chrono::milliseconds limit) override;

private:
    class Stream;
    struct Kind {
        std::map<std::string, unsigned> removed;  ///< by name, how often
        std::map<std::string, boost::json::object> objects;
        std::list<Stream*> streams;
    };

    [[nodiscard]] bool is_absent(const std::string& plural) const;
    void tell(Kind& kind, const std::string& type, const boost::json::object& object);

    boost::asio::any_io_executor loop_;
    std::map<std::string, Kind> kinds_;
    std::set<std::string, std::less<>> absent_;
    std::uint64_t version_ = 10;
    std::vector<kube::HttpRequest> calls_;
    bool held_ = false;
    std::function<bool(const kube::HttpRequest&)> which_;
    boost::asio::steady_timer gate_;  ///< of those that are held
    std::size_t waiting_ = 0;
};

}  // namespace scout::aggregator
