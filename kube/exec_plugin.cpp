// SPDX-License-Identifier: Apache-2.0
#include "kube/exec_plugin.h"

#include <algorithm>
#include <utility>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "base/base64.h"
#include "base/child_process.h"
#include "base/files.h"
#include "base/logging.h"
#include "kube/json_lookup.h"
#include "kube/timestamps.h"

namespace scout::kube {
namespace {

namespace json = boost::json;

constexpr std::size_t longest_output = std::size_t{1} << 20U;

Status expect_text(const json::object& object, std::string_view key, std::string_view expected) {
    const auto found = text_at(object, key);
    if (found != expected) {
        return fail(Errc::invalid, std::string{key} + ": expected " + std::string{expected} +
                                       ", found " + log_value(found));
    }
    return {};
}

Result<ExecCredential> read_status(const json::object& status) {
    ExecCredential credential{.token = text_at(status, "token"),
                              .certificate = text_at(status, "clientCertificateData"),
                              .key = text_at(status, "clientKeyData")};
    if (credential.certificate.empty() != credential.key.empty()) {
        return fail(Errc::invalid,
                    "status: expected clientCertificateData and clientKeyData, found one of them");
    }
    if (credential.token.empty() && credential.certificate.empty()) {
        return fail(Errc::invalid, "status: expected a token or a client certificate, found none");
    }
    const auto expires = text_at(status, "expirationTimestamp");
    if (expires.empty()) {
        return credential;
    }
    const auto time = parse_time(expires);
    if (!time) {
        return fail(Errc::invalid,
                    "status: expirationTimestamp: expected a time such as "
                    "2026-11-27T23:06:39Z, found " +
                        log_value(expires));
    }
    credential.expires = *time;
    return credential;
}

}  // namespace

std::string exec_info(const ClusterAccess& access, std::string_view authority) {
    const auto plugin = access.exec.value_or(ExecPlugin{});
    json::object spec{{"interactive", false}};
    if (plugin.gets_cluster) {
        json::object cluster{{"server", access.server.url}};
        if (!access.tls_server_name.empty()) {
            cluster["tls-server-name"] = access.tls_server_name;
        }
        if (access.insecure) {
            cluster["insecure-skip-tls-verify"] = true;
        }
        if (!authority.empty()) {
            cluster["certificate-authority-data"] = base64_encode(authority);
        }
        if (access.proxy) {
            cluster["proxy-url"] = access.proxy->url;
        }
        spec["cluster"] = std::move(cluster);
    }
    return json::serialize(json::object{
        {"apiVersion", plugin.api_version}, {"kind", "ExecCredential"}, {"spec", std::move(spec)}});
}

Result<ExecCredential> parse_exec_credential(std::string_view output,
                                             std::string_view api_version) {
    boost::system::error_code error;
    const auto document = json::parse(output, error);
    const auto* object = error ? nullptr : document.if_object();
    if (object == nullptr) {
        return fail(Errc::invalid, "expected an ExecCredential object as JSON, found other output");
    }
    for (const auto& [key, expected] :
         {std::pair{"kind", std::string_view{"ExecCredential"}}, {"apiVersion", api_version}}) {
        if (auto same = expect_text(*object, key, expected); !same) {
            return fail(std::move(same.error()));
        }
    }
    const auto* status = object_at(object, "status");
    if (status == nullptr) {
        return fail(Errc::invalid, "expected a status in the ExecCredential, found none");
    }
    return read_status(*status);
}

Task<Result<ExecCredential>> run_exec_plugin(ClusterAccess access,
                                             std::chrono::milliseconds limit) {
    if (!access.exec) {
        co_return fail(Errc::invalid, access.origin + " names no credential plugin");
    }
    const auto& plugin = *access.exec;
    auto authority = access.authority.text;
    if (plugin.gets_cluster && !access.authority.file.empty()) {
        authority = read_file(access.authority.file).value_or("");
    }
    ChildCommand command{
        .environment = plugin.environment, .output_limit = longest_output, .time_limit = limit};
    command.argv.push_back(plugin.command);
    command.argv.insert(command.argv.end(), plugin.arguments.begin(), plugin.arguments.end());
    command.environment.push_back("KUBERNETES_EXEC_INFO=" + exec_info(access, authority));
    const auto output = co_await run_child(std::move(command));
    const std::string step = "credential plugin of " + access.origin;
    if (!output) {
        auto error = output.error();
        if (!plugin.install_hint.empty()) {
            error.message += "; " + log_value(plugin.install_hint);
        }
        co_return fail(std::move(error).within(step));
    }
    auto credential = parse_exec_credential(*output, plugin.api_version);
    if (!credential) {
        co_return fail(
            std::move(credential.error()).within(step + ": output of " + plugin.command));
    }
    co_return credential;
}

}  // namespace scout::kube
