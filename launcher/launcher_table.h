// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "launcher/domain_json.h"
#include "launcher/launcher_sockets.h"
#include "libvirt_glue/guest_event.h"

namespace scout::launcher {

/// How often each launcher is asked, and how many at once.
struct AskPolicy {
    /// Launchers tell news to virt-handler alone (dossier §2), so ours is as old as the last
    /// question. As often as an agent is heard of, and 200 launchers are 20 short calls a second.
    std::chrono::milliseconds poll{10'000};
    std::chrono::milliseconds retry{1'000};  ///< after a first call that failed
    std::size_t at_once = 8;
    /// Of those, for launchers that failed last: one that hangs holds its place until the limit of
    /// the call, and the others are asked at the remaining places meanwhile.
    std::size_t failing_at_once = 2;
    /// Launchers that were told to stop must be seen to move, and to end. Those with a migration
    /// under way too, for virt-handler asks nobody about them meanwhile, whatever they are told
    /// (dossier §3.3): this is how late their mark may be seen.
    std::chrono::milliseconds poll_busy{1'000};
    /// Places of their own for hurried questions, which wait for nobody.
    std::size_t hurried_at_once = 64;
};

/// Failed calls in a row that make a guest unknown. One may be a launcher under load.
inline constexpr unsigned misses_until_unknown = 2;

/// What is known of one launcher.
struct Launcher {
    LauncherSocket socket;
    std::optional<Domain> domain;  ///< as it told last; none: it has none, or never answered
    bool answered = false;         ///< it did, at least once
    unsigned misses = 0;           ///< calls that failed, in a row
    std::string fault;             ///< of the last one
    SteadyTime due{};              ///< for the next call; only of a ready one
    bool asking = false;           ///< a call is under way
    bool hurried = false;          ///< somebody waits for the next answer
    /// When the last call that ended had begun.
    SteadyTime asked = SteadyTime::min();
    /// The same of the last one that was answered without the mark; none: never.
    std::optional<SteadyTime> unmarked;
    /// When it was told to stop, at the earliest: of a mark that somebody came to ask about, as
    /// virt-handler does at once, when he came; else when it was known last not to be there. Of
    /// several that are found within seconds the first one's time, but for those that were seen
    /// without the mark after that. None: it was not told.
    std::optional<SteadyTime> marked_since;

    /// Why its guest's state is not known; empty: it is.
    [[nodiscard]] std::string unknown_because() const;
};

/// One call to a launcher.
struct Question {
    LauncherSocket socket;
    bool failing = false;  ///< the launcher failed last
    bool hurried = false;
    SteadyTime begun{};
};

/// The launchers of one node and the guests that follow from them. Pure: time is passed in.
///
/// A guest is the domain of a launcher. A launcher that cannot be asked makes its guest `unknown`,
/// never gone: that is so when the launcher says it, or its pod's folder is removed. The target of
/// a migration counts from when the guest runs there, and no longer after it has moved away; of two
/// launchers with one domain that counts on which the guest is more alive.
class LauncherTable {
public:
    explicit LauncherTable(AskPolicy policy = {}) : policy_(policy) {}

    /// All launchers that there are now, by a look at their folders. True if what guests() answers
    /// may have changed.
    bool found(const std::vector<LauncherSocket>& sockets, SteadyTime now);

    /// Launchers to ask now; they count as being asked until answered().
    [[nodiscard]] std::vector<Question> take_due(SteadyTime now);
    /// When take_due() may have more; SteadyTime::max(): not before something else happens.
    [[nodiscard]] SteadyTime next_due() const;
    /// Everybody is due.
    void ask_all(SteadyTime now);
    /// The launcher of this pod is due, before all others; once more if a call is under way.
    void hurry(std::string_view pod_uid, SteadyTime now);

    /// How one call ended. True if what guests() answers may have changed. Of a launcher that is
    /// gone, or has another socket by now, nothing is kept.
    bool answered(const Question& question, Result<std::optional<Domain>> answer, SteadyTime now);

    /// Sorted by UUID.
    [[nodiscard]] std::vector<hypervisor::GuestState> guests() const;

    /// Each ready launcher has been asked, by a call that began then or later.
    [[nodiscard]] bool all_asked_since(SteadyTime then) const;
    /// The same of one; also true of one that is not there, or not ready.
    [[nodiscard]] bool asked_since(std::string_view pod_uid, SteadyTime then) const;
    /// By pod UID.
    [[nodiscard]] const std::map<std::string, Launcher, std::less<>>& launchers() const noexcept {
        return launchers_;
    }

private:
    void hurry_twins(const Launcher& left, SteadyTime now);
    void date_mark(Launcher& launcher, const Question& question);
    [[nodiscard]] bool has_place(const Launcher& launcher) const noexcept;

    AskPolicy policy_;
    std::map<std::string, Launcher, std::less<>> launchers_;
    SteadyTime first_of_all_{};             ///< of marks that may have one cause
    std::optional<SteadyTime> last_found_;  ///< of them
    std::size_t asking_ = 0;                ///< ordinary calls under way
    std::size_t hurried_asked_ = 0;         ///< hurried ones
    std::size_t failing_asked_ = 0;  ///< of the ordinary ones, to launchers that failed before
};

}  // namespace scout::launcher
