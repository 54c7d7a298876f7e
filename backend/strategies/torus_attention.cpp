// In terms of a rank of node t, with q_s and kv_s for its heads of the tokens that ranks of its ring index hold at node
// t + s (mod nodes):
//   1. q_0 and kv_0 come from its own node.
//   2. For each s: q_(s+1) is on its way, in the last stage kv_1, while q_s attends to kv_0.
//   3. For each j from 1: kv_(j+1) is on its way while all q_s but q_0 attend to kv_j.
//   4. Their finished rows go home at once, while q_0 attends to all kv_j; then its rows go home inside the node.
// Keys come in parts, one at each rank of a ring, that go round it while they are attended.
#include "backend/strategies/torus_attention.h"

#include <span>
#include <utility>

#include "backend/base/ids.h"

namespace spscope {
namespace {

// The tokens of each rank outside of attention.
std::vector<SetId> tokens_of_ranks(PlanBuilder& b, const TorusCut& cut) {
  const int inside = cut.mesh.ulysses / cut.nodes;
  std::vector<SetId> tokens;
  for (int rank = 0; rank < b.request().ranks; ++rank) {
    const int index = cut.mesh.ulysses_index(rank);
    const SetId chunk = cut.chunks[at(index / inside * cut.mesh.ring + cut.mesh.ring_index(rank))];
    tokens.push_back(b.sets().even(chunk, inside)[at(index % inside)]);
  }
  return tokens;
}

class Torus {
 public:
  Torus(PlanBuilder& b, const TorusCut& cut, const TorusWay& way)
      : b_(b),
        axis_(spread_axis(b.request())),
        cut_(cut),
        way_(way),
        inside_(cut.mesh.ulysses / cut.nodes),
        tokens_(tokens_of_ranks(b, cut)),
        far_(cut.mesh.ulysses_groups()),
        rings_(cut.mesh.ring_groups()) {
    for (const std::vector<int>& group : far_)  // ranks by Ulysses index: those of a node are neighbours
      for (int node = 0; node < cut.nodes; ++node)
        near_.emplace_back(group.begin() + node * inside_, group.begin() + (node + 1) * inside_);
  }

  ValueId attend(ValueId q, ValueId kv) {
    if (way_.barrier) b_.barrier();
    const Placement home = b_.placement_of(q);
    open(inside_node(q, of_node(0)));
    keys_.push_back({inside_node(kv, of_node(0))});
    const ValueId first_keys = attend_own_keys(q, kv);
    attend_other_keys(kv, first_keys);
    std::vector<ValueId> finished;
    for (std::size_t s = 1; s < rows_.size(); ++s) finished.push_back(b_.finish(rows_[s]));
    const Move others = between_nodes(b_.view(finished), heads_of_other_nodes(), true);
    for (std::size_t j = 1; j < keys_.size(); ++j) attend_to({&rows_.front(), 1}, keys_[j]);
    const ValueId own = inside_node(b_.finish(rows_.front()), heads_of_own_node());
    if (way_.barrier) b_.barrier();
    const ValueId parts[] = {own, b_.wait(others)};
    return b_.narrow(b_.view(parts), home);
  }

 private:
  int node(int rank) const { return cut_.mesh.ulysses_index(rank) / inside_; }

  // A rank's heads of the tokens of the node `distance` further.
  Placement of_node(int distance) const {
    return b_.place([&](int rank) {
      const int from = (node(rank) + distance) % cut_.nodes;
      return BoxList{token_box(b_.request(), axis_, cut_.heads[at(cut_.mesh.ulysses_index(rank))],
                               cut_.chunks[at(from * cut_.mesh.ring + cut_.mesh.ring_index(rank))])};
    });
  }
  // A rank's own tokens: of the heads that its node attends, or of all others.
  Placement heads_of_own_node() const {
    return b_.place([&](int rank) { return BoxList{token_box(b_.request(), axis_, heads_at(node(rank)), own(rank))}; });
  }
  Placement heads_of_other_nodes() const {
    return b_.place([&](int rank) {
      const SetId others = b_.sets().minus(b_.request().all_heads(), heads_at(node(rank)));
      return BoxList{token_box(b_.request(), axis_, others, own(rank))};
    });
  }
  SetId own(int rank) const { return tokens_[at(rank)]; }
  SetId heads_at(int node) const {
    const auto first = cut_.heads.begin() + node * inside_;
    return b_.sets().unite(std::vector<SetId>(first, first + inside_));
  }

  // A move between nodes, on a lane of its own. `home`: started by the ranks that have the data.
  Move between_nodes(ValueId value, Placement placement, bool home = false) {
    constexpr int kLane = 2;
    if (!way_.one_sided)
      return b_.exchange(value, std::move(placement), far_, kLane, CollectivePart{Collective::kPointToPoint});
    return home ? b_.push(value, std::move(placement), far_, kLane) : b_.pull(value, std::move(placement), far_, kLane);
  }
  // Where a rank is alone in its group, it holds all that it needs.
  ValueId inside_node(ValueId value, Placement placement) {
    if (inside_ == 1) return b_.narrow(value, std::move(placement));
    if (way_.one_sided) return b_.wait(b_.pull(value, std::move(placement), near_));
    return b_.reshard(value, std::move(placement), near_);
  }
  Move hop(ValueId kv) {
    return way_.one_sided ? b_.pull(kv, b_.placement_of(kv).rotate(rings_, 1), rings_) : b_.shift(kv, rings_);
  }
  void open(ValueId q) { rows_.push_back(b_.accumulate(q, axis_, cut_.slices)); }

  // Opens the rows of all nodes; they attend to the keys of this one. Leaves those of the next one.
  ValueId attend_own_keys(ValueId q, ValueId kv) {
    for (int s = 0;; ++s) {
      const bool last = s + 1 == cut_.nodes;
      const Move next = between_nodes(last ? kv : q, of_node(last ? 1 : s + 1));
      attend_to({&rows_.back(), 1}, keys_.front());
      if (last) return b_.wait(next);
      open(b_.wait(next));
    }
  }
  // All rows but those of this node attend to the keys of the others.
  void attend_other_keys(ValueId kv, ValueId first) {
    ValueId arrived = first;
    for (int j = 1; j < cut_.nodes; ++j) {
      keys_.push_back({arrived});
      Move next;
      if (j + 1 < cut_.nodes) next = between_nodes(kv, of_node(j + 1));
      attend_to(std::span(rows_).subspan(1), keys_.back());
      if (j + 1 < cut_.nodes) arrived = b_.wait(next);
    }
  }
  // `parts`: of the keys of one node: the own one, or all of them once they have gone round and stay.
  void attend_to(std::span<const AccId> rows, std::vector<ValueId>& parts) {
    const auto attend_part = [&](ValueId part, int step) {
      for (const AccId acc : rows) b_.attend(acc, part, step);
    };
    const int ring = cut_.mesh.ring;
    if (parts.size() == at(ring)) {
      for (int step = 0; step < ring; ++step) attend_part(parts[at(step)], step);
      return;
    }
    ValueId part = parts.front();
    for (int step = 0; step + 1 < ring; ++step) {
      const Move next = hop(part);
      attend_part(part, step);
      part = b_.wait(next);
      if (way_.keeps) parts.push_back(part);
    }
    attend_part(part, ring - 1);
  }

  PlanBuilder& b_;
  AttendedAxis axis_;
  const TorusCut& cut_;
  TorusWay way_;
  int inside_;  // ranks of a node that share a chunk
  std::vector<SetId> tokens_;
  Groups far_, near_, rings_;  // of a ring index: all ranks; those of a node. Of a Ulysses index
  std::vector<AccId> rows_;    // by distance of the node whose tokens they are
  std::vector<std::vector<ValueId>> keys_;
};

}  // namespace

Placement torus_rows(PlanBuilder& b, const TorusCut& cut) {
  const std::vector<SetId> tokens = tokens_of_ranks(b, cut);
  return b.place([&](int rank) { return row_boxes(b.request(), tokens[at(rank)]); });
}

ValueId torus_attention(PlanBuilder& b, const TorusCut& cut, const TorusWay& way, ValueId q, ValueId kv) {
  return Torus(b, cut, way).attend(q, kv);
}

}  // namespace spscope
