// SPDX-License-Identifier: Apache-2.0
#include "migration/matrix.h"

#define XXH_INLINE_ALL
#include <array>
#include <functional>
#include <stdexcept>
#include <unordered_map>

#include <xxhash.h>

#include "migration/bits.h"
#include "migration/interner.h"
#include "migration/node_class.h"

namespace scout::migration {
namespace {

constexpr std::uint32_t no_class = ~std::uint32_t{0};

/// Label sets that are remembered for a fast way to their class; beyond it, it starts afresh.
constexpr std::size_t remembered_labels = 16'384;

/// Sum of the hashes of all labels that matter: 128 bits, the same in any order. Not proof against
/// somebody who searches for a collision: he could as well lie in his labels.
struct Fingerprint {
    std::uint64_t low = 0;
    std::uint64_t high = 0;

    void add(std::string_view text, std::uint64_t kind) {
        const auto sum = XXH3_128bits_withSeed(text.data(), text.size(), kind);
        low += sum.low64;
        high += sum.high64 + (low < sum.low64 ? 1U : 0U);
    }
    friend bool operator==(const Fingerprint&, const Fingerprint&) = default;
};
struct FingerprintHash {
    std::size_t operator()(const Fingerprint& print) const noexcept { return print.low; }
};

struct ClassHash {
    std::size_t operator()(const NodeClass& facts) const noexcept {
        return facts.sets.hash() * 31 + facts.host_model;
    }
};

/// What the truth layer goes by; null: the labels.
struct KnownProfile {
    const Profile* profile = nullptr;
    std::string_view digest;
    Matrix::LabelsFrom labels{};

    [[nodiscard]] bool derives_labels() const {
        return profile != nullptr && labels == Matrix::LabelsFrom::profile;
    }
};

}  // namespace

class Matrix::Impl {
public:
    explicit Impl(Options options) : options_(std::move(options)) {}

    NodeId add(std::span<const LabelView> labels, const KnownProfile& profile);
    void remove(NodeId node);
    [[nodiscard]] std::size_t nodes() const noexcept { return nodes_.size() - free_nodes_.size(); }
    [[nodiscard]] std::size_t classes() const noexcept { return by_facts_.size(); }
    [[nodiscard]] std::uint32_t class_of(NodeId node) const { return nodes_.at(node); }
    [[nodiscard]] std::uint32_t destinations(NodeId node, Layer layer) const;
    [[nodiscard]] Cell cell(NodeId from, NodeId to) const;

private:
    /// The row of one class: how many nodes its guests can go to, and whose guests can come here.
    struct Row {
        std::vector<Interner::Id> names;  ///< acquired for the class
        std::uint32_t size = 0;
        std::array<std::uint32_t, 2> destinations{};  ///< nodes, own class included; by layer
        std::array<Bits, 2> sources;                  ///< classes; by layer
    };
    static constexpr std::array<Layer, 2> layers{Layer::stock, Layer::truth};
    static std::size_t index(Layer layer) { return layer == Layer::stock ? 0 : 1; }

    std::uint32_t class_for(std::span<const LabelView> labels, const KnownProfile& profile);
    std::uint32_t find_or_make(std::span<const LabelView> labels, const KnownProfile& profile);
    std::uint32_t new_class(NodeClass facts, std::vector<Interner::Id> names);
    void drop_class(std::uint32_t id);
    void resize(std::uint32_t id, int change);
    void release(const std::vector<Interner::Id>& names);
    void connect(std::uint32_t from, std::uint32_t to);

    Options options_;
    Interner names_;
    std::vector<NodeClass> facts_;  ///< beside the rows, so that a comparison with all is one sweep
    std::vector<Row> rows_;
    std::vector<std::uint32_t> free_rows_;
    std::unordered_map<NodeClass, std::uint32_t, ClassHash> by_facts_;
    std::unordered_map<Fingerprint, std::uint32_t, FingerprintHash> by_labels_;
    std::vector<std::uint32_t> nodes_;  ///< class of each node
    std::vector<NodeId> free_nodes_;
};

std::uint32_t Matrix::Impl::class_for(std::span<const LabelView> labels,
                                      const KnownProfile& profile) {
    enum Kind : std::uint8_t { key_kind, value_kind, digest_kind, digest_beside_labels_kind };
    Fingerprint print;
    for (const auto& [key, value] : labels) {
        if (matters_to_class(key, value)) {
            print.add(key, key_kind);
            if (key == label::arch) {
                print.add(value, value_kind);
            }
        }
    }
    if (profile.profile != nullptr) {
        print.add(profile.digest,
                  profile.derives_labels() ? digest_kind : digest_beside_labels_kind);
    }
    if (const auto found = by_labels_.find(print); found != by_labels_.end()) {
        return found->second;
    }
    const auto id = find_or_make(labels, profile);
    if (by_labels_.size() >= remembered_labels) {
        by_labels_.clear();
    }
    by_labels_.emplace(print, id);
    return id;
}

std::uint32_t Matrix::Impl::find_or_make(std::span<const LabelView> labels,
                                         const KnownProfile& profile) {
    Labels relevant;
    for (const auto& [key, value] : labels) {
        if (matters_to_class(key, value)) {
            relevant.insert_or_assign(std::string{key}, std::string{value});
        }
    }
    std::vector<Interner::Id> names;
    const auto node = profile.derives_labels()
                          ? derived_stock_node(relevant, *profile.profile, {}, options_.map)
                          : stock_node(relevant);
    auto facts =
        make_class(node, profile.profile, options_.machine_type, options_.map, names_, names);
    if (const auto found = by_facts_.find(facts); found != by_facts_.end()) {
        release(names);
        return found->second;
    }
    return new_class(std::move(facts), std::move(names));
}

std::uint32_t Matrix::Impl::new_class(NodeClass facts, std::vector<Interner::Id> names) {
    std::uint32_t id = 0;
    if (free_rows_.empty()) {
        id = static_cast<std::uint32_t>(rows_.size());
        rows_.emplace_back();
        facts_.emplace_back();
    } else {
        id = free_rows_.back();
        free_rows_.pop_back();
    }
    by_facts_.emplace(facts, id);
    facts_[id] = std::move(facts);
    rows_[id].names = std::move(names);
    // Rows without nodes are free ones; the new one has none yet either.
    for (std::uint32_t other = 0; other < rows_.size(); ++other) {
        if (rows_[other].size > 0) {
            connect(other, id);
            connect(id, other);
        }
    }
    connect(id, id);
    return id;
}

/// Notes an arrow from one class to another, if there is one; counts the nodes that it leads to.
void Matrix::Impl::connect(std::uint32_t from, std::uint32_t to) {
    const auto gate = gate_between(facts_[from], facts_[to]);
    if (gate != Verdict::can) {
        return;
    }
    for (const auto layer : layers) {
        if (layer == Layer::truth && truth_between(facts_[from], facts_[to]) != Verdict::can) {
            continue;
        }
        rows_[to].sources[index(layer)].set(from);
        rows_[from].destinations[index(layer)] += rows_[to].size;
    }
}

void Matrix::Impl::resize(std::uint32_t id, int change) {
    auto& row = rows_[id];
    row.size += static_cast<std::uint32_t>(change);
    for (const auto layer : layers) {
        row.sources[index(layer)].for_each([this, change, layer](std::size_t source) {
            rows_[source].destinations[index(layer)] += static_cast<std::uint32_t>(change);
        });
    }
}

void Matrix::Impl::release(const std::vector<Interner::Id>& names) {
    for (const auto name : names) {
        names_.release(name);
    }
}

void Matrix::Impl::drop_class(std::uint32_t id) {
    release(rows_[id].names);
    by_facts_.erase(facts_[id]);
    for (auto& row : rows_) {
        for (auto& sources : row.sources) {
            sources.reset(id);
        }
    }
    rows_[id] = Row{};
    facts_[id] = NodeClass{};
    free_rows_.push_back(id);
    std::erase_if(by_labels_, [id](const auto& entry) { return entry.second == id; });
}

Matrix::NodeId Matrix::Impl::add(std::span<const LabelView> labels, const KnownProfile& profile) {
    const auto id = class_for(labels, profile);
    resize(id, +1);
    if (free_nodes_.empty()) {
        nodes_.push_back(id);
        return static_cast<NodeId>(nodes_.size() - 1);
    }
    const NodeId node = free_nodes_.back();
    free_nodes_.pop_back();
    nodes_[node] = id;
    return node;
}

void Matrix::Impl::remove(NodeId node) {
    const auto id = nodes_.at(node);
    if (id == no_class) {
        throw std::logic_error("matrix: node removed twice");
    }
    nodes_[node] = no_class;
    free_nodes_.push_back(node);
    resize(id, -1);
    if (rows_[id].size == 0) {
        drop_class(id);
    }
}

std::uint32_t Matrix::Impl::destinations(NodeId node, Layer layer) const {
    const auto id = nodes_.at(node);
    const auto& row = rows_.at(id);
    const bool own = row.sources[index(layer)].test(id);
    return row.destinations[index(layer)] - (own ? 1U : 0U);
}

Matrix::Cell Matrix::Impl::cell(NodeId from, NodeId to) const {
    const auto& source = facts_.at(nodes_.at(from));
    const auto& target = facts_.at(nodes_.at(to));
    return {.gate = gate_between(source, target), .truth = truth_between(source, target)};
}

Matrix::Matrix(Options options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Matrix::~Matrix() = default;
Matrix::Matrix(Matrix&&) noexcept = default;
Matrix& Matrix::operator=(Matrix&&) noexcept = default;

Matrix::NodeId Matrix::add(std::span<const LabelView> labels, const Profile* profile,
                           std::string_view digest, LabelsFrom from) {
    return impl_->add(labels, {.profile = profile, .digest = digest, .labels = from});
}
void Matrix::remove(NodeId node) {
    impl_->remove(node);
}
std::size_t Matrix::nodes() const noexcept {
    return impl_->nodes();
}
std::size_t Matrix::classes() const noexcept {
    return impl_->classes();
}
std::uint32_t Matrix::destinations(NodeId node, Layer layer) const {
    return impl_->destinations(node, layer);
}
Matrix::Cell Matrix::cell(NodeId from, NodeId to) const {
    return impl_->cell(from, to);
}
std::uint32_t Matrix::class_of(NodeId node) const {
    return impl_->class_of(node);
}

unsigned migratability_level(std::uint32_t destinations, std::uint32_t counted) noexcept {
    if (counted < 2) {
        return 0;
    }
    return static_cast<unsigned>(std::uint64_t{100} * destinations / (counted - 1));
}

}  // namespace scout::migration
