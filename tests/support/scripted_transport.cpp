// SPDX-License-Identifier: Apache-2.0
#include "tests/support/scripted_transport.h"

#include <utility>

#include "tests/support/padded_line.h"

namespace scout::test {
namespace {

class ScriptedStream final : public kube::HttpStream {
public:
    ScriptedStream(ScriptedAnswer answer, std::vector<std::chrono::milliseconds>& silences)
        : answer_(std::move(answer)), silences_(silences) {
        head_.status = answer_.status;
        head_.retry_after = answer_.retry_after;
    }

    [[nodiscard]] const kube::HttpHead& head() const override { return head_; }

    [[nodiscard]] Task<Result<std::optional<std::string_view>>> next_line(
        std::chrono::milliseconds silence) override {
        silences_.push_back(silence);
        if (next_ < answer_.lines.size()) {
            co_return std::optional{line_.set(answer_.lines[next_++])};
        }
        if (answer_.at_end) {
            answer_.at_end();
        }
        if (answer_.end) {
            co_return fail(*answer_.end, "the scripted stream ends");
        }
        co_return std::nullopt;
    }

    [[nodiscard]] Task<Result<std::string>> rest(std::chrono::milliseconds /*limit*/) override {
        co_return answer_.body;
    }

private:
    ScriptedAnswer answer_;
    std::vector<std::chrono::milliseconds>& silences_;
    kube::HttpHead head_;
    PaddedLine line_;
    std::size_t next_ = 0;
};

}  // namespace

void ScriptedTransport::then_body(unsigned status, std::string body) {
    then({.status = status, .body = std::move(body)});
}

void ScriptedTransport::then_lines(std::vector<std::string> lines) {
    then({.lines = std::move(lines)});
}

void ScriptedTransport::then_last_lines(std::vector<std::string> lines) {
    then({.lines = std::move(lines), .end = Errc::cancelled});
}

Task<Result<kube::HttpResponse>> ScriptedTransport::send(kube::HttpRequest request,
                                                         std::chrono::milliseconds /*limit*/) {
    auto answer = next(std::move(request));
    if (!answer) {
        co_return fail(std::move(answer.error()));
    }
    kube::HttpResponse response;
    response.head.status = answer->status;
    response.head.retry_after = answer->retry_after;
    response.body = std::move(answer->body);
    co_return response;
}

Task<Result<std::unique_ptr<kube::HttpStream>>> ScriptedTransport::open(
    kube::HttpRequest request, std::chrono::milliseconds /*limit*/) {
    auto answer = next(std::move(request));
    if (!answer) {
        co_return fail(std::move(answer.error()));
    }
    std::unique_ptr<kube::HttpStream> stream =
        std::make_unique<ScriptedStream>(std::move(*answer), silences_);
    co_return stream;
}

Result<ScriptedAnswer> ScriptedTransport::next(kube::HttpRequest request) {
    requests_.push_back(std::move(request));
    if (script_.empty()) {
        return fail(Errc::cancelled, "the script is at its end");
    }
    auto answer = std::move(script_.front());
    script_.pop_front();
    if (answer.error) {
        return fail(*answer.error, "a scripted failure");
    }
    return answer;
}

std::string watch_line(const std::string& type, const std::string& object) {
    return R"({"type":")" + type + R"(","object":)" + object + "}";
}

std::string bookmark_line(const std::string& version, bool ends_list) {
    const std::string annotations =
        ends_list ? R"(,"annotations":{"k8s.io/initial-events-end":"true"})" : "";
    return watch_line("BOOKMARK", R"({"kind":"Thing","metadata":{"resourceVersion":")" + version +
                                      R"(","creationTimestamp":null)" + annotations + "}}");
}

std::string status_json(unsigned code, const std::string& reason, const std::string& cause) {
    const std::string details =
        cause.empty() ? "" : R"("details":{"causes":[{"reason":")" + cause + R"("}]},)";
    return R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",)" + details +
           R"("message":"as scripted","reason":")" + reason + R"(","code":)" +
           std::to_string(code) + "}";
}

std::string list_json(const std::string& version, const std::vector<std::string>& objects,
                      const std::string& token) {
    std::string items;
    for (const auto& object : objects) {
        items += (items.empty() ? "" : ",") + object;
    }
    return R"({"kind":"ThingList","apiVersion":"v1","metadata":{"resourceVersion":")" + version +
           R"(","continue":")" + token + R"("},"items":[)" + items + "]}";
}

}  // namespace scout::test
