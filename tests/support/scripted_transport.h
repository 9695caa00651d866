// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kube/transport.h"

namespace scout::test {

/// What one request is answered with, whether it is sent or opened.
struct ScriptedAnswer {
    unsigned status = 200;
    std::string body;                ///< of send(), and of rest()
    std::vector<std::string> lines;  ///< of a stream
    /// How the stream ends behind its lines: nothing if the server ends it in an orderly way.
    std::optional<Errc> end;
    std::function<void()> at_end;  ///< called before the end is told
    std::optional<Errc> error;     ///< in the place of an answer
    std::optional<std::chrono::seconds> retry_after;
};

/// Answers requests from a script, in order. At its end every request fails with Errc::cancelled,
/// which ends the coroutine under test without any timer.
class ScriptedTransport final : public kube::Transport {
public:
    void then(ScriptedAnswer answer) { script_.push_back(std::move(answer)); }
    /// A list or another answer with a body.
    void then_body(unsigned status, std::string body);
    /// A watch that the server ends behind the lines.
    void then_lines(std::vector<std::string> lines);
    /// A watch that ends the test behind the lines.
    void then_last_lines(std::vector<std::string> lines);

    [[nodiscard]] const std::vector<kube::HttpRequest>& requests() const noexcept {
        return requests_;
    }
    /// What each line of each stream was waited for at most.
    [[nodiscard]] const std::vector<std::chrono::milliseconds>& silences() const noexcept {
        return silences_;
    }
    [[nodiscard]] std::size_t left() const noexcept { return script_.size(); }

    [[nodiscard]] Task<Result<kube::HttpResponse>> send(kube::HttpRequest request,
                                                        std::chrono::milliseconds limit) override;
    [[nodiscard]] Task<Result<std::unique_ptr<kube::HttpStream>>> open(
        kube::HttpRequest request, std::chrono::milliseconds limit) override;

private:
    [[nodiscard]] Result<ScriptedAnswer> next(kube::HttpRequest request);

    std::deque<ScriptedAnswer> script_;
    std::vector<kube::HttpRequest> requests_;
    std::vector<std::chrono::milliseconds> silences_;
};

/// {"type":…,"object":…}
[[nodiscard]] std::string watch_line(const std::string& type, const std::string& object);
/// A watch line that only tells a version; `ends_list` as the last of a streaming list.
[[nodiscard]] std::string bookmark_line(const std::string& version, bool ends_list = false);
/// A meta/v1 Status; the cause may be empty.
[[nodiscard]] std::string status_json(unsigned code, const std::string& reason,
                                      const std::string& cause = {});
/// A list of the objects; without a token it is the last page.
[[nodiscard]] std::string list_json(const std::string& version,
                                    const std::vector<std::string>& objects,
                                    const std::string& token = {});

}  // namespace scout::test
