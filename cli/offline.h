// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "cli/answers.h"
#include "documents/node_documents.h"
#include "migration/stock_gate.h"

/// Answers from files alone, through the same `migration/` as the daemons'. No network, no state.
namespace scout::cli {

/// Most documents of one question: a folder of strangers must not take all memory.
inline constexpr std::size_t most_documents = 2000;

/// Host as a target: its documents, and the labels that KubeVirt would write for it together with
/// those that every node carries.
struct Host {
    documents::NodeDocuments documents;
    migration::Labels labels;

    [[nodiscard]] migration::NodeView view() const {
        return {.profile = documents.profile, .facts = documents.facts, .labels = labels};
    }
};

/// The guest's side of a comparison: a live domain, or the host-model guest of a host.
struct Side {
    std::string path;  ///< of the document, as given
    migration::GuestCpu guest;
    migration::StockGuest stock;
    bool host_model = false;  ///< then `path` is also where it would start
};

/// A host's document: a target, and the source of its host-model guest.
struct HostSide {
    Side side;
    Host host;
};

/// What a document is: a live domain is a guest only.
using AnySide = std::variant<Side, HostSide>;

[[nodiscard]] const Side& side_of(const AnySide& any) noexcept;

/// The name of a document that is read from standard input, where a command takes one.
inline constexpr const char* standard_input = "-";

/// Errc::invalid if both are the standard input: it can be read once.
[[nodiscard]] Status check_one_input(const std::string& first, const std::string& second);

/// True for a path at which something is, whatever it is.
[[nodiscard]] bool exists(const std::string& path);

/// Domain capabilities, a bare `<cpu>`, a live domain XML or a labeller folder; `-` is one document
/// from standard input, under the limits of a file. Errors as of documents::read_document().
[[nodiscard]] Result<AnySide> load_any(const std::string& path, const migration::CpuMap* map);

/// The same as a guest, whatever it is.
[[nodiscard]] Result<Side> load_side(const std::string& path, const migration::CpuMap* map);

/// The same for what must be a host: a live domain is Errc::invalid.
[[nodiscard]] Result<HostSide> load_host(const std::string& path, const migration::CpuMap* map);

/// Files stay, a labeller folder stays one document, any other folder becomes what
/// documents::list_documents() finds in it. What is named twice, by links or however the path is
/// written, is one document. Errors: no such path, or too many documents.
[[nodiscard]] Result<std::vector<std::string>> expand_documents(
    const std::vector<std::string>& paths);

/// Hosts of many documents; those that could not be used beside them.
struct Hosts {
    std::vector<HostSide> usable;
    std::vector<DocumentState> unusable;
};
/// Of documents none could be used; why not was told with each of them.
[[nodiscard]] Error nothing_usable(std::size_t documents);

[[nodiscard]] Hosts load_hosts(const std::vector<std::string>& documents,
                               const migration::CpuMap* map);

/// A document with what all of its pairs share found once. Refers to the document.
struct ReadySide {
    const Side& side;
    migration::PreparedGuest guest;
    std::optional<migration::PreparedNode> target;  ///< none: a live domain
};
[[nodiscard]] ReadySide make_ready(const AnySide& any, const migration::CpuMap* map);
ReadySide make_ready(const AnySide&& any, const migration::CpuMap* map) = delete;

/// The answer of `compare`, whose verdict is the truth: reasons of the truth layer come first, also
/// where the gate alone says no. Nothing where the second is no target.
[[nodiscard]] std::optional<PairAnswer> compare_by_truth(const ReadySide& guest,
                                                         const ReadySide& target);

/// `subject` is how the caller calls the guest. The guest's own document is left out of the nodes,
/// and a note says so; documents that cannot be used are unknown with the reason.
[[nodiscard]] migration::Placement place(const std::string& subject, const Side& guest,
                                         const Hosts& hosts, const migration::CpuMap* map);

[[nodiscard]] MatrixAnswer make_matrix(const Hosts& hosts, const migration::CpuMap* map);

/// Errc::invalid if any document cannot be used: a baseline without one host would be wrong on it.
[[nodiscard]] Result<migration::Baseline> make_baseline(const Hosts& hosts,
                                                        const migration::CpuMap* map);

using fleet::make_profile;

}  // namespace scout::cli
