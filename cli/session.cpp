// SPDX-License-Identifier: Apache-2.0
#include "cli/session.h"

#include <utility>

#include "cli/text.h"
#include "documents/cpu_map_files.h"

namespace scout::cli {

Session::Session(Settings settings, Format format, Surroundings surroundings)
    : settings_(std::move(settings)), format_(format), surroundings_(std::move(surroundings)) {}

Result<const migration::CpuMap*> Session::map() {
    if (!map_looked_for_) {
        auto found = documents::find_cpu_map(settings_.cpu_map);
        if (!found) {
            return fail(std::move(found.error()));
        }
        map_looked_for_ = true;
        map_ = std::move(*found);
    }
    return map_ ? &*map_ : nullptr;
}

Result<std::unique_ptr<Fleet>> Session::fleet() const {
    return surroundings_.open_fleet(settings_);
}

int Session::show_text(std::string_view text, int code) {
    if (!surroundings_.write(text)) {
        surroundings_.tell(cannot_write);
        return exit_code::error;
    }
    return code;
}

int Session::show_event(const GuestEvent& event) {
    switch (format_) {
        case Format::json:
            return show_text(to_json_line(to_json(event)) + "\n");
        case Format::yaml:
            return show_text("---\n" + to_yaml_text(to_json(event)));
        case Format::table:
        case Format::wide:
            break;
    }
    return show_text(to_table(event, style()) + "\n");
}

int Session::fail_with(const Error& error) const {
    surroundings_.tell("scoutctl: " + shown(error.message));
    return exit_code::error;
}

}  // namespace scout::cli
