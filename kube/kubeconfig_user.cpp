// SPDX-License-Identifier: Apache-2.0
#include "kube/kubeconfig_user.h"

#include <algorithm>

#include "base/logging.h"
#include "base/percent.h"
#include "kube/exec_plugin.h"

namespace scout::kube {
namespace {

bool fits_in_a_header(const std::string& text) {
    return std::none_of(text.begin(), text.end(),
                        [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

void read_environment(const KubeconfigEntry& exec, ExecPlugin& plugin) {
    for (const auto& entry : exec.parts("env")) {
        const auto name = entry.text("name");
        if (name.empty() || name.find('=') != std::string::npos) {
            entry.fault("name", "expected the name of a variable, found " + log_value(name));
        } else {
            plugin.environment.push_back(name + "=" + entry.text("value"));
        }
    }
}

/// "Never" and "IfAvailable" are the same to us: we have no terminal to give.
void check_interactive_mode(const KubeconfigEntry& exec, const ExecPlugin& plugin) {
    const auto mode = exec.text("interactiveMode");
    if (mode == "Always") {
        exec.fault("interactiveMode",
                   "the plugin wants a terminal, which there is none; log in with its own command "
                   "first and set IfAvailable, or use another credential");
    } else if (mode.empty() ? plugin.api_version == exec_v1
                            : mode != "Never" && mode != "IfAvailable") {
        exec.fault("interactiveMode",
                   "expected Never, IfAvailable or Always, found " + log_value(mode));
    }
}

}  // namespace

ExecPlugin read_exec_plugin(const KubeconfigEntry& exec) {
    ExecPlugin plugin{.api_version = exec.text("apiVersion"), .command = exec.text("command")};
    if (plugin.api_version != exec_v1 && plugin.api_version != exec_v1beta1) {
        exec.fault("apiVersion", "expected " + std::string{exec_v1} + " or " +
                                     std::string{exec_v1beta1} + ", found " +
                                     log_value(plugin.api_version));
    }
    if (plugin.command.empty()) {
        exec.fault("command", "expected a program, found nothing");
    } else if (plugin.command.find('/') != std::string::npos) {
        plugin.command = exec.path("command");
    }
    plugin.arguments = exec.list("args");
    read_environment(exec, plugin);
    check_interactive_mode(exec, plugin);
    plugin.install_hint = exec.text("installHint");
    plugin.gets_cluster = exec.flag("provideClusterInfo");
    return plugin;
}

std::vector<std::pair<std::string, std::string>> read_impersonation(const KubeconfigEntry& user) {
    std::vector<std::pair<std::string, std::string>> headers;
    const auto add = [&user, &headers](const std::string& key, const std::string& name,
                                       const std::string& value) {
        if (!fits_in_a_header(value)) {
            user.fault(key, "expected one line, found a control character");
        } else if (!value.empty()) {
            headers.emplace_back(name, value);
        }
    };
    add("as", "Impersonate-User", user.text("as"));
    const bool nobody = headers.empty();
    add("as-uid", "Impersonate-Uid", user.text("as-uid"));
    for (const auto& group : user.list("as-groups")) {
        add("as-groups", "Impersonate-Group", group);
    }
    const auto extra = user.part("as-user-extra");
    for (const auto& key : extra.keys()) {
        for (const auto& value : extra.list(key)) {
            add("as-user-extra", "Impersonate-Extra-" + percent_encode(key), value);
        }
    }
    if (nobody && !headers.empty()) {
        user.fault("as", "expected a user name beside as-uid, as-groups and as-user-extra");
    }
    return headers;
}

}  // namespace scout::kube
