// SPDX-License-Identifier: Apache-2.0
// What a launcher answers, which its guest may have taken over: any text is read or refused in
// words, names stay short, and a domain that was read says the same when it is judged twice.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "documents/domain_rules.h"
#include "launcher/domain_json.h"
#include "launcher/launcher_table.h"

namespace {

using namespace scout::launcher;

void expect(bool promise) {
    if (!promise) {
        std::abort();
    }
}

void judge(const Domain& domain) {
    for (const auto* name : {&domain.name, &domain.space, &domain.uuid, &domain.vmi_uid,
                             &domain.status, &domain.reason}) {
        expect(scout::documents::is_plain_name(*name));
    }
    expect(domain.cpu.has_value() == domain.cpu_error.empty());
    expect(!state_word(domain).empty());
    expect(!has_moved_away(domain) || !is_alive(domain));
    expect(!is_not_yet_here(domain) || !has_moved_away(domain) || domain.reason == "NonExistent");
    if (domain.cpu) {
        for (const auto& feature : domain.cpu->require) {
            expect(scout::documents::is_plain_name(feature) && !feature.empty());
        }
        expect(domain.cpu->ties.has_value());
    }
}

/// A table that is given the answer has at most one guest, and that one under the domain's names.
void tabulate(const Domain& domain) {
    const scout::SteadyTime now{std::chrono::hours{1}};
    LauncherTable table;
    table.found({{.pod_uid = "p", .state = SocketState::ready, .device = 1, .inode = 1}}, now);
    const auto questions = table.take_due(now);
    expect(questions.size() == 1);
    table.answered(questions.front(), domain, now);
    const auto guests = table.guests();
    expect(guests.size() <= 1);
    for (const auto& guest : guests) {
        expect(guest.uuid == domain.uuid && !guest.uuid.empty());
        expect(guest.name == domain.space + "/" + domain.name);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    const auto domain = parse_domain(text);
    if (!domain) {
        expect(!domain.error().message.empty());
    } else if (*domain) {
        judge(**domain);
        tabulate(**domain);
        expect(parse_domain(text).value() == *domain);
    } else {
        expect(text.empty());
    }
    const auto stats = parse_domain_stats(text);
    expect(stats || !stats.error().message.empty());
    return 0;
}
