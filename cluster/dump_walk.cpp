// SPDX-License-Identifier: Apache-2.0
#include "cluster/dump_walk.h"

#include "cluster/dump_files.h"
#include "cluster/json_stream.h"
#include "cluster/yaml_json.h"
#include "kube/json.h"
#include "kube/list_document.h"

namespace scout::cluster {
namespace {

constexpr std::string_view list_suffix = "List";
constexpr unsigned most_lists = 4;  ///< one in the other

bool is_json(std::string_view text) {
    const auto first = text.find_first_not_of(" \t\r\n");
    return first != std::string_view::npos && (text[first] == '{' || text[first] == '[');
}

/// "kubevirt.io" of "kubevirt.io/v1"; empty for the core group.
std::string_view group_of(std::string_view api_version) {
    const auto slash = api_version.find('/');
    return slash == std::string_view::npos ? std::string_view{} : api_version.substr(0, slash);
}

}  // namespace

DumpWalk::DumpWalk(const DumpLimits& limits, Decode decode)
    : limits_(limits),
      decode_(std::move(decode)),
      reader_(std::make_unique<kube::JsonReader>(texts_)) {}

DumpWalk::~DumpWalk() = default;

Status DumpWalk::read(const std::vector<std::filesystem::path>& paths,
                      const DumpProgress& progress) {
    const auto files = dump_files(paths, limits_.files);
    if (!files) {
        return fail(files.error());
    }
    for (const auto& path : *files) {
        if (progress) {
            progress(files_ + 1, files->size());
        }
        read_file(path);
    }
    return {};
}

void DumpWalk::read_file(const std::filesystem::path& path) {
    ++files_;
    auto text = read_dump_file(path, limits_.file_bytes);
    if (!text) {
        leave_out(path.string(), std::move(text.error().message));
        return;
    }
    if (is_json(*text)) {
        read_json(path.string(), *text);
        return;
    }
    auto documents = yaml_to_json(*text);
    if (!documents) {
        leave_out(path.string(), std::move(documents.error().message));
        return;
    }
    text->clear();
    text->shrink_to_fit();
    const bool many = documents->size() > 1;
    for (auto& document : *documents) {
        read_text(path.string() + (many ? ": line " + std::to_string(document.line) : ""),
                  std::move(document.json));
    }
}

std::vector<LeftOut> DumpWalk::take_left_out() {
    if (not_kept_ > 0) {
        left_out_.push_back({.place = "and " + std::to_string(not_kept_) + " more",
                             .reason = "too many to be listed"});
    }
    return std::exchange(left_out_, {});
}

void DumpWalk::read_json(const std::string& place, std::string& text) {
    const auto values = json_stream(kube::PaddedText::of(text).view());
    if (!values) {
        leave_out(place, values.error().message);
        return;
    }
    for (std::size_t i = 0; i < values->size(); ++i) {
        read_object(place + (values->size() > 1 ? ": object " + std::to_string(i + 1) : ""),
                    kube::PaddedText::promised((*values)[i]), {});
    }
}

void DumpWalk::read_text(const std::string& place, std::string text) {
    read_object(place, kube::PaddedText::of(text), {});
}

void DumpWalk::read_object(const std::string& place, kube::PaddedText text, std::string_view kind) {
    auto object = reader_->parse(text);
    if (!object) {
        leave_out(place, std::move(object.error().message));
        return;
    }
    std::string api_version;
    std::string own_kind;
    std::string name;
    auto head = object->read(kube::Field{"apiVersion", api_version}, kube::Field{"kind", own_kind},
                             kube::Nested{"metadata", kube::Field{"name", name}});
    if (!head) {
        leave_out(place, std::move(head.error().message));
        return;
    }
    const std::string_view of_kind = own_kind.empty() ? kind : std::string_view{own_kind};
    if (of_kind.empty()) {
        leave_out(place, "expected an object of Kubernetes, found no 'kind'");
    } else if (of_kind.ends_with(list_suffix) && name.empty()) {
        read_list(place, text, of_kind.substr(0, of_kind.size() - list_suffix.size()));
    } else {
        // There is room for each text of a document once, and some of this one were read above.
        auto again = reader_->parse(text);
        const auto done = again ? decode_(*again, group_of(api_version), of_kind)
                                : Result<bool>{fail(std::move(again.error()))};
        if (!done) {
            leave_out(place, std::string{of_kind} + ": " + done.error().message);
        } else if (!*done) {
            ++other_kinds_;
        }
    }
}

void DumpWalk::read_list(const std::string& place, kube::PaddedText text, std::string_view kind) {
    const auto list = kube::split_list(text);
    if (!list || lists_ == most_lists) {
        leave_out(place, list ? "lists within lists" : list.error().message);
        return;
    }
    ++lists_;
    const std::string of_items{kind};
    for (std::size_t i = 0; i < list->items.size(); ++i) {
        read_object(place + ": item " + std::to_string(i + 1), list->items[i], of_items);
    }
    --lists_;
}

void DumpWalk::leave_out(const std::string& place, std::string reason) {
    if (left_out_.size() < limits_.left_out) {
        left_out_.push_back({.place = place, .reason = std::move(reason)});
    } else {
        ++not_kept_;
    }
}

}  // namespace scout::cluster
