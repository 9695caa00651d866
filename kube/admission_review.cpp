// SPDX-License-Identifier: Apache-2.0
#include "kube/admission_review.h"

#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "base/base64.h"
#include "base/logging.h"
#include "base/utf8.h"
#include "kube/objects/read_meta.h"

namespace scout::kube {
namespace {

namespace json = boost::json;

constexpr const char* api_version = "admission.k8s.io/v1";
constexpr const char* review_kind = "AdmissionReview";

}  // namespace

Result<AdmissionRequest> decode_admission_review(PaddedText body) {
    TextPool texts;
    JsonReader reader{texts};
    auto document = reader.parse(body);
    if (!document) {
        return fail(std::move(document.error()));
    }
    AdmissionRequest request;
    std::string version;
    std::string kind;
    RawObject object{request.object};
    RawObject old_object{request.old_object};
    auto status = document->read(
        Field{"apiVersion", version}, Field{"kind", kind},
        Nested{"request", Field{"uid", request.uid},
               Nested{"kind", Field{"group", request.group}, Field{"kind", request.kind}},
               Field{"namespace", request.space}, Field{"name", request.name},
               Field{"operation", request.operation}, Field{"dryRun", request.dry_run},
               Field{"object", object}, Field{"oldObject", old_object}});
    if (status && (version != api_version || kind != review_kind)) {
        return fail(Errc::invalid, std::string{"expected kind "} + review_kind + " of " +
                                       api_version + ", found kind " + log_value(kind) + " of " +
                                       log_value(version));
    }
    if (status && request.uid.empty()) {
        return fail(Errc::invalid, "request.uid: expected a text, found nothing");
    }
    return decoded(std::move(request), std::move(status));
}

std::string admission_json(const AdmissionAnswer& answer) {
    json::object response{{"uid", answer.uid}, {"allowed", answer.refusal.empty()}};
    if (!answer.refusal.empty()) {
        response["status"] = {{"code", 422}, {"reason", "Invalid"}, {"message", answer.refusal}};
    } else if (!answer.patch.empty()) {
        response["patchType"] = "JSONPatch";
        response["patch"] = base64_encode(answer.patch);
    }
    if (!answer.warnings.empty()) {
        json::array warnings;
        for (const auto& warning : answer.warnings) {
            warnings.emplace_back(head_of(warning, longest_admission_warning));
        }
        response["warnings"] = std::move(warnings);
    }
    return json::serialize(json::object{
        {"apiVersion", api_version}, {"kind", review_kind}, {"response", std::move(response)}});
}

}  // namespace scout::kube
