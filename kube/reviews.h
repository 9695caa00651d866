// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/task.h"
#include "kube/client.h"

namespace scout::kube {

/// Who somebody is to the API server.
struct Subject {
    std::string user;
    std::string uid;
    std::vector<std::string> groups;
    std::map<std::string, std::vector<std::string>> extra;
};

/// "May … do `verb` on `resource`?" Empty name or namespace: on all of them.
struct AccessQuestion {
    std::string verb;
    Resource resource;
    std::string subresource = {};
    ObjectName object = {};
};

struct AccessDecision {
    bool allowed = false;
    std::string reason;  ///< the authorizer's, may be empty
};

struct TokenOwner {
    bool authenticated = false;
    Subject subject;
    std::vector<std::string> audiences;  ///< of those asked for, the ones that the token has
    std::string error;                   ///< why it is not authenticated, may be empty
};

/// Questions about rights and tokens. Loop thread only; the client must outlive it.
///
/// Errors are the client's; internal if an answer lacks what was asked for.
class Reviews {
public:
    explicit Reviews(Client& client) noexcept : client_(client) {}

    /// SelfSubjectAccessReview
    [[nodiscard]] Task<ApiResult<AccessDecision>> may_we(AccessQuestion question,
                                                         CallOptions options = {});
    /// SubjectAccessReview
    [[nodiscard]] Task<ApiResult<AccessDecision>> may(Subject subject, AccessQuestion question,
                                                      CallOptions options = {});
    /// TokenReview. A token that is no good is an answer, not an error.
    [[nodiscard]] Task<ApiResult<TokenOwner>> owner_of(std::string token,
                                                       std::vector<std::string> audiences,
                                                       CallOptions options = {});

private:
    Client& client_;
};

}  // namespace scout::kube
