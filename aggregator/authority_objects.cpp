// SPDX-License-Identifier: Apache-2.0
#include "aggregator/authority_objects.h"

#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "base/base64.h"
#include "kube/json_lookup.h"

namespace scout::aggregator {
namespace {

namespace json = boost::json;

constexpr const char* certificate_key = "ca.crt";
constexpr const char* private_key = "ca.key";
constexpr const char* previous_key = "ca-previous.crt";

Result<json::object> parse_object(std::string_view body) {
    boost::system::error_code error;
    auto value = json::parse({body.data(), body.size()}, error);
    if (error || !value.is_object()) {
        return fail(Errc::invalid, "expected a JSON object, found something else");
    }
    return std::move(value.get_object());
}

std::string text_under(const json::object& object, std::string_view outer, std::string_view inner) {
    const auto* found = kube::object_at(&object, outer);
    return found == nullptr ? std::string{} : kube::text_at(*found, inner);
}

json::object data_of(const StoredAuthority& authority) {
    json::object data{{certificate_key, base64_encode(authority.current.chain)},
                      {private_key, base64_encode(authority.current.key)},
                      {previous_key, nullptr}};
    if (!authority.previous.empty()) {
        data[previous_key] = base64_encode(authority.previous);
    }
    return data;
}

json::object object_json(const char* kind, const kube::ObjectName& name) {
    return {{"apiVersion", "v1"},
            {"kind", kind},
            {"metadata", {{"name", name.name}, {"namespace", name.space}}}};
}

void add_operation(json::array& patch, const char* operation, const std::string& path,
                   const std::string& value) {
    patch.push_back(json::object{{"op", operation}, {"path", path}, {"value", value}});
}

}  // namespace

Result<AuthoritySecret> parse_authority_secret(std::string_view body) {
    const auto object = parse_object(body);
    if (!object) {
        return fail(object.error());
    }
    const auto value = [&object](const char* key) {
        return base64_decode(text_under(*object, "data", key)).value_or("");
    };
    return AuthoritySecret{
        .version = text_under(*object, "metadata", "resourceVersion"),
        .authority = {.current = {.chain = value(certificate_key), .key = value(private_key)},
                      .previous = value(previous_key)}};
}

std::string authority_secret_json(const kube::ObjectName& name, const StoredAuthority& authority) {
    auto object = object_json("Secret", name);
    object["type"] = "Opaque";
    auto data = data_of(authority);
    if (authority.previous.empty()) {
        data.erase(previous_key);
    }
    object["data"] = std::move(data);
    return json::serialize(object);
}

std::string authority_secret_patch(const AuthoritySecret& found, const StoredAuthority& authority) {
    const json::object patch{{"metadata", {{"resourceVersion", found.version}}},
                             {"data", data_of(authority)}};
    return json::serialize(patch);
}

std::string bundle_map_json(const kube::ObjectName& name, const std::string& bundle) {
    auto object = object_json("ConfigMap", name);
    object["data"] = json::object{{certificate_key, bundle}};
    return json::serialize(object);
}

Result<std::string> parse_bundle_map(std::string_view body) {
    return parse_object(body).map(
        [](const json::object& object) { return text_under(object, "data", certificate_key); });
}

Result<std::string> webhook_patch(std::string_view configuration, const std::string& bundle) {
    const auto object = parse_object(configuration);
    if (!object) {
        return fail(object.error());
    }
    json::array patch;
    add_operation(patch, "test", "/metadata/uid", text_under(*object, "metadata", "uid"));
    const auto nothing_yet = patch.size();
    const auto wanted = base64_encode(bundle);
    const auto* webhooks = kube::array_at(&*object, "webhooks");
    for (std::size_t i = 0; webhooks != nullptr && i < webhooks->size(); ++i) {
        const auto* webhook = (*webhooks)[i].if_object();
        if (webhook == nullptr || text_under(*webhook, "clientConfig", "caBundle") == wanted) {
            continue;
        }
        const auto path = "/webhooks/" + std::to_string(i);
        add_operation(patch, "test", path + "/name", kube::text_at(*webhook, "name"));
        add_operation(patch, "add", path + "/clientConfig/caBundle", wanted);
    }
    return patch.size() == nothing_yet ? std::string{} : json::serialize(patch);
}

Result<std::string> api_service_patch(std::string_view service, const std::string& bundle) {
    const auto object = parse_object(service);
    if (!object) {
        return fail(object.error());
    }
    const auto wanted = base64_encode(bundle);
    if (text_under(*object, "spec", "caBundle") == wanted) {
        return std::string{};
    }
    json::array patch;
    add_operation(patch, "test", "/metadata/uid", text_under(*object, "metadata", "uid"));
    add_operation(patch, "add", "/spec/caBundle", wanted);
    return json::serialize(patch);
}

}  // namespace scout::aggregator
