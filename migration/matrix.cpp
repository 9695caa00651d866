// SPDX-License-Identifier: Apache-2.0
#include "migration/matrix.h"

#include <array>
#include <functional>
#include <stdexcept>
#include <unordered_map>

#include "migration/bits.h"
#include "migration/interner.h"
#include "migration/node_class.h"

namespace scout::migration {
namespace {

constexpr std::uint32_t no_class = ~std::uint32_t{0};

/// Distinct label texts that are remembered for a fast way to their class. Nodes of one class come
/// with the same text, so this is a few times the number of classes; beyond it, it starts afresh.
constexpr std::size_t remembered_texts = 16'384;

bool matters(std::string_view key) {
    constexpr std::array<std::string_view, 6> prefixes{
        label::cpu_feature, label::known_model, label::required_feature,
        label::host_model,  label::vendor,      label::machine_type};
    for (const auto prefix : prefixes) {
        if (key.starts_with(prefix)) {
            return true;
        }
    }
    return key == label::schedulable || key == label::arch || key == label::obsolete;
}

void append(std::string& text, std::string_view part) {
    const auto size = static_cast<std::uint32_t>(part.size());
    text.append({static_cast<char>(size), static_cast<char>(size >> 8U),
                 static_cast<char>(size >> 16U), static_cast<char>(size >> 24U)});
    text.append(part);
}

struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept {
        return std::hash<std::string_view>{}(text);
    }
};

}  // namespace

class Matrix::Impl {
public:
    explicit Impl(Options options) : options_(std::move(options)) {}

    NodeId add(std::span<const LabelView> labels, const Profile* profile, std::string_view digest);
    void remove(NodeId node);
    [[nodiscard]] std::size_t nodes() const noexcept { return nodes_.size() - free_nodes_.size(); }
    [[nodiscard]] std::size_t classes() const noexcept { return by_content_.size(); }
    [[nodiscard]] std::uint32_t class_of(NodeId node) const { return nodes_.at(node); }
    [[nodiscard]] std::uint32_t destinations(NodeId node, Layer layer) const;
    [[nodiscard]] Cell cell(NodeId from, NodeId to) const;

private:
    /// One class and its row: which classes its guests can go to, and how many nodes that are.
    struct Row {
        NodeClass facts;
        std::string content;
        std::uint32_t size = 0;
        std::array<std::uint32_t, 2> destinations{};  ///< nodes, own class included; by layer
        std::array<Bits, 2> sources;                  ///< classes whose guests can come here
    };
    static constexpr std::array<Layer, 2> layers{Layer::stock, Layer::truth};
    static std::size_t index(Layer layer) { return layer == Layer::stock ? 0 : 1; }

    std::uint32_t class_for(std::span<const LabelView> labels, const Profile* profile,
                            std::string_view digest);
    std::uint32_t class_by_content(std::span<const LabelView> labels, const Profile* profile,
                                   std::string_view digest);
    std::uint32_t new_class(NodeClass facts, std::string content);
    void drop_class(std::uint32_t id);
    void resize(std::uint32_t id, int change);
    [[nodiscard]] Cell between(const Row& from, const Row& to) const;
    void connect(std::uint32_t from, std::uint32_t to);
    [[nodiscard]] std::string content_of(const StockNode& node, std::string_view digest) const;

    Options options_;
    Interner names_;
    std::vector<Row> rows_;
    std::vector<std::uint32_t> free_rows_;
    std::unordered_map<std::string, std::uint32_t> by_content_;
    std::unordered_map<std::string, std::uint32_t, TextHash, std::equal_to<>> by_text_;
    std::string text_;
    std::vector<std::uint32_t> nodes_;  ///< class of each node
    std::vector<NodeId> free_nodes_;
};

std::uint32_t Matrix::Impl::class_for(std::span<const LabelView> labels, const Profile* profile,
                                      std::string_view digest) {
    text_.clear();
    append(text_, profile != nullptr ? digest : std::string_view{});
    for (const auto& [key, value] : labels) {
        if (matters(key)) {
            append(text_, key);
            append(text_, value);
        }
    }
    if (const auto found = by_text_.find(std::string_view{text_}); found != by_text_.end()) {
        return found->second;
    }
    const auto id = class_by_content(labels, profile, digest);
    if (by_text_.size() >= remembered_texts) {
        by_text_.clear();
    }
    by_text_.emplace(text_, id);
    return id;
}

std::uint32_t Matrix::Impl::class_by_content(std::span<const LabelView> labels,
                                             const Profile* profile, std::string_view digest) {
    Labels relevant;
    for (const auto& [key, value] : labels) {
        if (matters(key)) {
            relevant.insert_or_assign(std::string{key}, std::string{value});
        }
    }
    const auto node = stock_node(relevant);
    auto content = content_of(node, profile != nullptr ? digest : std::string_view{});
    if (const auto found = by_content_.find(content); found != by_content_.end()) {
        return found->second;
    }
    return new_class(make_class(node, profile, options_.machine_type, options_.map, names_),
                     std::move(content));
}

/// Two nodes with the same text here answer every question alike.
std::string Matrix::Impl::content_of(const StockNode& node, std::string_view digest) const {
    std::string text;
    append(text, digest);
    append(text, node.arch);
    text += node.schedulable ? 's' : '-';
    text += node.obsolete_host_model ? 'o' : '-';
    const bool offered = contains(node.machine_types, options_.machine_type);
    text += options_.machine_type.empty() || offered ? 'm' : '-';
    for (const auto* names :
         {&node.host_models, &node.vendors, &node.required, &node.features, &node.known_models}) {
        append(text, std::to_string(names->size()));
        for (const auto& name : *names) {
            append(text, name);
        }
    }
    return text;
}

std::uint32_t Matrix::Impl::new_class(NodeClass facts, std::string content) {
    std::uint32_t id = 0;
    if (free_rows_.empty()) {
        id = static_cast<std::uint32_t>(rows_.size());
        rows_.emplace_back();
    } else {
        id = free_rows_.back();
        free_rows_.pop_back();
    }
    by_content_.emplace(content, id);
    rows_[id] = Row{};
    rows_[id].facts = std::move(facts);
    rows_[id].content = std::move(content);
    for (const auto& [text, other] : by_content_) {
        connect(other, id);
        if (other != id) {
            connect(id, other);
        }
    }
    return id;
}

Matrix::Cell Matrix::Impl::between(const Row& from, const Row& to) const {
    return {.gate = gate_between(from.facts, to.facts),
            .truth = truth_between(from.facts, to.facts)};
}

/// Notes an arrow from one class to another, if there is one; counts the nodes that it leads to.
void Matrix::Impl::connect(std::uint32_t from, std::uint32_t to) {
    const auto cell = between(rows_[from], rows_[to]);
    for (const auto layer : layers) {
        const auto verdict = layer == Layer::stock ? cell.gate : combine(cell.gate, cell.truth);
        if (verdict == Verdict::can) {
            rows_[to].sources[index(layer)].set(from);
            rows_[from].destinations[index(layer)] += rows_[to].size;
        }
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

void Matrix::Impl::drop_class(std::uint32_t id) {
    for (const auto name : rows_[id].facts.names) {
        names_.release(name);
    }
    by_content_.erase(rows_[id].content);
    for (auto& row : rows_) {
        for (auto& sources : row.sources) {
            sources.reset(id);
        }
    }
    rows_[id] = Row{};
    free_rows_.push_back(id);
    std::erase_if(by_text_, [id](const auto& entry) { return entry.second == id; });
}

Matrix::NodeId Matrix::Impl::add(std::span<const LabelView> labels, const Profile* profile,
                                 std::string_view digest) {
    const auto id = class_for(labels, profile, digest);
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
    return between(rows_.at(nodes_.at(from)), rows_.at(nodes_.at(to)));
}

Matrix::Matrix(Options options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Matrix::~Matrix() = default;
Matrix::Matrix(Matrix&&) noexcept = default;
Matrix& Matrix::operator=(Matrix&&) noexcept = default;

Matrix::NodeId Matrix::add(std::span<const LabelView> labels, const Profile* profile,
                           std::string_view digest) {
    return impl_->add(labels, profile, digest);
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
