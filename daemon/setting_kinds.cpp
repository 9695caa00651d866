// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "daemon/settings.h"

namespace scout::daemon {
namespace {

using std::chrono::milliseconds;

tl::unexpected<Error> wrong_value(const std::string& expected, std::string_view found) {
    return fail(Errc::invalid, "expected " + expected + ", found " + log_value(found));
}

/// A setting that takes the one text that was given.
template <class Reader>
Setting single(std::string key, std::string value_name, std::string help, std::string shown,
               Reader reader) {
    return {.key = std::move(key),
            .value_name = std::move(value_name),
            .help = std::move(help),
            .shown_default = std::move(shown),
            .kind = SettingKind::single,
            .read = [reader = std::move(reader)](const std::vector<std::string>& entries) {
                return reader(entries.empty() ? std::string{} : entries.back());
            }};
}

std::string alternatives(const std::vector<std::string>& choices) {
    std::string text;
    for (std::size_t i = 0; i < choices.size(); ++i) {
        text += (i == 0 ? "" : i + 1 == choices.size() ? " or " : ", ") + choices[i];
    }
    return text;
}

}  // namespace

Setting text_setting(std::string key, std::string help, std::string& value) {
    return single(std::move(key), "TEXT", std::move(help), value, [&value](std::string text) {
        value = std::move(text);
        return Status{};
    });
}

Setting path_setting(std::string key, std::string help, std::filesystem::path& value) {
    return single(std::move(key), "PATH", std::move(help), value.string(),
                  [&value](std::string text) -> Status {
                      if (text.find('\0') != std::string::npos) {
                          return wrong_value("a path", text);
                      }
                      value = std::move(text);
                      return {};
                  });
}

Setting choice_setting(std::string key, std::string help, std::string& value,
                       std::vector<std::string> choices) {
    help += ": " + alternatives(choices);
    return single(std::move(key), "CHOICE", std::move(help), value,
                  [&value, choices = std::move(choices)](std::string text) -> Status {
                      if (std::find(choices.begin(), choices.end(), text) == choices.end()) {
                          return wrong_value(alternatives(choices), text);
                      }
                      value = std::move(text);
                      return {};
                  });
}

Setting bool_setting(std::string key, std::string help, bool& value) {
    auto made = single(std::move(key), "", std::move(help), value ? "true" : "false",
                       [&value](const std::string& text) -> Status {
                           if (text != "true" && text != "false") {
                               return wrong_value("true or false", text);
                           }
                           value = text == "true";
                           return {};
                       });
    made.kind = SettingKind::toggle;
    return made;
}

Setting duration_setting(std::string key, std::string help, milliseconds& value,
                         DurationRange range) {
    return single(std::move(key), "DURATION", std::move(help), format_duration(value),
                  [&value, range](const std::string& text) -> Status {
                      const auto time = parse_duration(text);
                      if (!time) {
                          return fail(time.error());
                      }
                      if (*time < range.least || *time > range.most) {
                          return wrong_value("from " + format_duration(range.least) + " to " +
                                                 format_duration(range.most),
                                             text);
                      }
                      value = *time;
                      return {};
                  });
}

Setting list_setting(std::string key, std::string help, std::vector<std::string>& value) {
    return {.key = std::move(key),
            .value_name = "TEXT",
            .help = std::move(help),
            .shown_default = alternatives(value),
            .kind = SettingKind::list,
            .read = [&value](const std::vector<std::string>& entries) {
                value = entries;
                return Status{};
            }};
}

void add_log_settings(SettingList& list, LogConfig& config) {
    list.push_back(choice_setting("log-level", "what is logged", config.level,
                                  {"trace", "debug", "info", "warn", "error", "off"}));
    list.push_back(
        choice_setting("log-format", "how it is logged", config.format, {"logfmt", "json"}));
}

}  // namespace scout::daemon
