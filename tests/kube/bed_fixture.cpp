// SPDX-License-Identifier: Apache-2.0
#include "tests/kube/bed_fixture.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <thread>

#include <boost/asio/co_spawn.hpp>
#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "kube/kubeconfig.h"

namespace scout::test {

namespace json = boost::json;
using namespace std::chrono_literals;

namespace {

constexpr auto long_enough = 20s;
constexpr auto ask_again = 20ms;

/// No two of one bed are the same.
std::string new_name() {
    static unsigned made = 0;
    return "test-" + std::to_string(++made);
}

std::string text_at(const json::value& document, std::string_view pointer) {
    const auto found = at(document, pointer);
    return found.is_string() ? std::string{found.get_string()} : std::string{};
}

}  // namespace

kube::ClusterAccess access_to(const Bed& bed) {
    const auto files = kube::read_kubeconfigs({.chosen = bed.kubeconfig()});
    if (!files) {
        throw std::runtime_error(files.error().message);
    }
    auto access = kube::access_from_kubeconfig(*files, {});
    if (!access) {
        throw std::runtime_error(access.error().message);
    }
    return std::move(*access);
}

kube::ClusterAccess with_token(kube::ClusterAccess access, std::string token) {
    access.client_certificate = {};
    access.client_key = {};
    access.token = std::move(token);
    return access;
}

kube::ClusterAccess by_way_of(kube::ClusterAccess access, std::uint16_t port) {
    access.server.port = port;
    return access;
}

std::uint16_t port_of(std::string_view url) {
    const auto digits = url.substr(url.rfind(':') + 1);
    std::uint16_t port = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), port);
    return port;
}

kube::Resource core(std::string plural, std::string kind, bool namespaced) {
    return {.version = "v1",
            .plural = std::move(plural),
            .kind = std::move(kind),
            .namespaced = namespaced};
}

json::object account_of(const std::string& space, const std::string& account) {
    return {{"kind", "ServiceAccount"}, {"name", account}, {"namespace", space}};
}

kube::Resource rbac(std::string plural, std::string kind, bool namespaced) {
    auto resource = core(std::move(plural), std::move(kind), namespaced);
    resource.group = "rbac.authorization.k8s.io";
    return resource;
}

json::value at(const json::value& document, std::string_view pointer) {
    boost::system::error_code error;
    const auto* found = document.find_pointer(pointer, error);
    return found == nullptr ? json::value{} : *found;
}

Background::~Background() {
    end();
}

void Background::end() {
    bool ended = false;
    loop_.restart();
    boost::asio::co_spawn(loop_, scope_.close(),
                          [&ended](const std::exception_ptr&) { ended = true; });
    while (!ended && loop_.run_one() > 0) {
    }
}

void BedTest::SetUp() {
    SCOUT_BED_OR_SKIP();
    use(shared_bed());
}

void BedTest::use(Bed& chosen) {
    bed = &chosen;
    access = access_to(*bed);
    transport.emplace(loop.get_executor(), access, clock);
    kube::ClientConfig config;
    config.rate = {.per_second = 1000, .burst = 1000};
    client.emplace(*transport, clock, config);
}

json::value BedTest::done(Task<kube::ApiResult<std::string>> task) {
    const auto answer = call(std::move(task));
    if (!answer) {
        throw std::runtime_error(answer.error().error.message);
    }
    return json::parse(*answer);
}

void BedTest::done(Task<kube::ApiResult<void>> task) {
    const auto answer = call(std::move(task));
    if (!answer) {
        throw std::runtime_error(answer.error().error.message);
    }
}

bool BedTest::run_until(const std::function<bool()>& condition) {
    const auto until = std::chrono::steady_clock::now() + long_enough;
    loop.restart();
    while (!condition()) {
        const auto now = std::chrono::steady_clock::now();
        if (now >= until) {
            return false;
        }
        // What is asked of the server changes though nothing happens here.
        const auto soon = std::min(until, now + ask_again);
        if (loop.run_one_until(soon) == 0 && loop.stopped()) {
            loop.restart();
            std::this_thread::sleep_until(soon);
        }
    }
    return true;
}

std::string BedTest::new_space() {
    const auto space = new_name();
    create(core("namespaces", "Namespace", false), "", {{"metadata", {{"name", space}}}});
    create(core("serviceaccounts", "ServiceAccount"), space, {{"metadata", {{"name", "default"}}}});
    return space;
}

void BedTest::create(const kube::Resource& resource, const std::string& space,
                     json::object object) {
    object["apiVersion"] =
        resource.group.empty() ? resource.version : resource.group + "/" + resource.version;
    object["kind"] = resource.kind;
    kube::Target collection{.resource = resource, .object = {.space = space}};
    done(client->create(std::move(collection), json::serialize(object)));
}

void BedTest::create_node(const std::string& name, json::object labels) {
    create(kube::resources::nodes(), "",
           {{"metadata", {{"name", name}, {"labels", std::move(labels)}}}});
}

std::string BedTest::token_of(const std::string& space, const std::string& account,
                              const std::string& audience, json::object bound) {
    json::object spec;
    if (!audience.empty()) {
        spec["audiences"] = json::array{audience};
    }
    if (!bound.empty()) {
        spec["boundObjectRef"] = std::move(bound);
    }
    const json::object request{{"apiVersion", "authentication.k8s.io/v1"},
                               {"kind", "TokenRequest"},
                               {"spec", std::move(spec)}};
    kube::Target target{.resource = core("serviceaccounts", "ServiceAccount"),
                        .object = {.space = space, .name = account},
                        .subresource = "token"};
    const auto answer = done(client->create(std::move(target), json::serialize(request)));
    return text_at(answer, "/status/token");
}

void BedTest::bind(const std::string& space, const std::string& kind, const std::string& role,
                   json::object subject) {
    const auto binding = space.empty() ? rbac("clusterrolebindings", "ClusterRoleBinding", false)
                                       : rbac("rolebindings", "RoleBinding");
    create(
        binding, space,
        {{"metadata", {{"name", new_name()}}},
         {"roleRef", {{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", kind}, {"name", role}}},
         {"subjects", json::array{std::move(subject)}}});
}

void BedTest::grant(const std::string& space, bool whole_cluster, json::array rules) {
    const auto where = whole_cluster ? std::string{} : space;
    const auto kind =
        whole_cluster ? rbac("clusterroles", "ClusterRole", false) : rbac("roles", "Role");
    const auto role = new_name();
    create(kind, where, {{"metadata", {{"name", role}}}, {"rules", std::move(rules)}});
    bind(where, kind.kind, role, account_of(space, "default"));
}

void BedTest::grant(const std::string& space, const std::string& account, const std::string& group,
                    const std::string& resource, std::initializer_list<std::string_view> verbs) {
    json::array listed;
    for (const auto verb : verbs) {
        listed.emplace_back(verb);
    }
    const auto role = new_name();
    json::object rule{{"apiGroups", json::array{group}},
                      {"resources", json::array{resource}},
                      {"verbs", std::move(listed)}};
    create(rbac("clusterroles", "ClusterRole", false), "",
           {{"metadata", {{"name", role}}}, {"rules", json::array{std::move(rule)}}});
    bind({}, "ClusterRole", role, account_of(space, account));
}

}  // namespace scout::test
