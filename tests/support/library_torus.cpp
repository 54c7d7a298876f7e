// Torus attention over machines (StreamFusion, arXiv 2601.20273): each machine keeps a share of the heads. Queries of
// other machines are pulled stage by stage while local keys are attended, then their keys, and finished rows are pushed
// home while the deferred local rows are computed. Inside a machine: Ulysses over `ulysses` ranks, rings of the others.
#include "backend/base/ids.h"
#include "tests/support/plan_library.h"

namespace spscope::testing {
namespace {

class Torus {
 public:
  Torus(PlanBuilder& b, const TorusShape& shape)
      : b_(b),
        request_(b.request()),
        machines_(shape.machines),
        ulysses_(shape.ulysses),
        ring_(b.request().ranks / shape.machines / shape.ulysses),
        heads_(b.sets().even(request_.all_heads(), machines_ * ulysses_)),
        blocks_(cut_blocks(request_, AttendedAxis::kInner, machines_ * ring_, TokenOrder::kContiguous)) {
    columns_.resize(at(machines_ * ring_));
    rings_.resize(at(machines_ * ulysses_));
    for (int k = 0; k < request_.ranks; ++k) {
      columns_[at(machine(k) * ring_ + ring_index(k))].push_back(k);
      rings_[at(machine(k) * ulysses_ + ulysses_index(k))].push_back(k);
      own_.push_back(b.sets().even(blocks_[at(machine(k) * ring_ + ring_index(k))], ulysses_)[at(ulysses_index(k))]);
    }
  }

  void plan(bool barrier);

 private:
  int machine(int rank) const { return rank / (ulysses_ * ring_); }
  int ulysses_index(int rank) const { return rank / ring_ % ulysses_; }
  int ring_index(int rank) const { return rank % ring_; }

  Placement rows() const {
    return b_.place([&](int k) { return BoxList{{request_.all_heads(), request_.all_outer(), own_[at(k)]}}; });
  }
  // This rank's heads of the tokens of the machine `stage` further.
  Placement stage(int stage) const {
    return b_.place([&](int k) {
      const int from = (machine(k) + stage) % machines_;
      return BoxList{{heads_[at(machine(k) * ulysses_ + ulysses_index(k))], request_.all_outer(),
                      blocks_[at(from * ring_ + ring_index(k))]}};
    });
  }
  // A rank's own rows, of the heads that the machine `stage` before it computes.
  Placement returned(int stage) const {
    return b_.place([&](int k) {
      const int from = (machine(k) - stage + machines_) % machines_;
      std::vector<SetId> heads;
      for (int u = 0; u < ulysses_; ++u) heads.push_back(heads_[at(from * ulysses_ + u)]);
      return BoxList{{b_.sets().unite(heads), request_.all_outer(), own_[at(k)]}};
    });
  }
  // The parts of a value as they come round the ring of a machine; kept, since every stage attends to them.
  std::vector<ValueId> circulate(ValueId value) {
    std::vector<ValueId> parts = {value};
    for (int step = 1; step < ring_; ++step) parts.push_back(b_.wait(b_.shift(parts.back(), rings_)));
    return parts;
  }
  void attend(AccId acc, const std::vector<ValueId>& parts, int step) {
    for (ValueId part : parts) b_.attend(acc, part, step);
  }

  PlanBuilder& b_;
  const Request& request_;
  int machines_, ulysses_, ring_;
  std::vector<SetId> heads_, blocks_, own_;
  Groups columns_, rings_;  // ranks of one machine with the same ring index, and with the same Ulysses index
};

void Torus::plan(bool barrier) {
  constexpr int kPullLane = 2;
  auto [q, kv] = b_.input_qkv(rows());
  q = b_.local("rope", {&q, 1});
  kv = b_.local("rope", {&kv, 1});
  if (barrier) b_.barrier();
  std::vector<AccId> acc = {b_.accumulate(b_.reshard(q, stage(0), columns_))};
  std::vector<std::vector<ValueId>> keys = {circulate(b_.reshard(kv, stage(0), columns_))};
  Move next;
  for (int s = 0; s < machines_; ++s) {  // pull queries; the last stage fetches the first remote keys
    const bool last = s + 1 == machines_;
    if (!last || machines_ > 1) next = b_.pull(last ? kv : q, stage(last ? 1 : s + 1), {}, kPullLane);
    attend(acc[at(s)], keys[0], s);
    if (!last) acc.push_back(b_.accumulate(b_.wait(next)));
  }
  for (int j = 1; j < machines_; ++j) {  // pull keys
    keys.push_back(circulate(b_.wait(next)));
    if (j + 1 < machines_) next = b_.pull(kv, stage(j + 1), {}, kPullLane);
    for (int s = 1; s < machines_; ++s) attend(acc[at(s)], keys[at(j)], machines_ - 1 + j);
  }
  std::vector<Move> sent;
  for (int s = 1; s < machines_; ++s) sent.push_back(b_.push(b_.finish(acc[at(s)]), returned(s), {}, kPullLane));
  for (int j = 1; j < machines_; ++j) attend(acc[0], keys[at(j)], 2 * machines_);
  std::vector<ValueId> parts = {b_.reshard(b_.finish(acc[0]), returned(0), columns_)};
  if (barrier) b_.barrier();
  for (const Move& move : sent) parts.push_back(b_.wait(move));
  b_.output(b_.view(parts), rows());
}

}  // namespace

void plan_torus(PlanBuilder& b, const Request&, const TorusShape& shape) { Torus(b, shape).plan(shape.barrier); }

}  // namespace spscope::testing
