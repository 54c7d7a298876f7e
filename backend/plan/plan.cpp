#include "backend/plan/plan.h"

#include "backend/base/flat_map.h"

namespace spscope {

const char* tensor_name(Tensor tensor) {
  static constexpr const char* names[] = {"q", "k", "v", "o", "stats", "x", "f", "norm"};
  return names[static_cast<int>(tensor)];
}

std::string tensor_set_name(TensorSet tensors) {
  if (tensors == kKeysValues) return "kv";
  std::string name;
  for (int t = 0; t < kNumTensors; ++t)
    if (tensors.has(static_cast<Tensor>(t)))
      name += (name.empty() ? "" : "+") + std::string(tensor_name(static_cast<Tensor>(t)));
  return name;
}

const char* post_kind_name(PostKind kind) {
  static constexpr const char* names[] = {"local",    "attend", "merge", "finish", "copy",
                                          "exchange", "pull",   "push",  "reduce", "barrier"};
  return names[static_cast<int>(kind)];
}

void mark_merges(Plan& plan) {
  std::vector<bool> attended(plan.accumulators.size(), false);
  for (Post& post : plan.posts) {
    const bool known = post.kind == PostKind::kAttend && post.acc >= 0 && at(post.acc) < attended.size();
    post.merges = known && attended[at(post.acc)];
    if (known) attended[at(post.acc)] = true;
  }
}

const char* collective_name(Collective collective) {
  static constexpr const char* names[] = {"point_to_point", "all_to_all", "all_gather",
                                          "reduce_scatter", "all_reduce", "one_sided"};
  return names[static_cast<int>(collective)];
}

std::int64_t Plan::width(TensorSet tensors) const {
  std::int64_t sum = 0;
  for (int t = 0; t < kNumTensors; ++t)
    if (tensors.has(static_cast<Tensor>(t))) sum += tensor_width[t];
  return sum;
}

int Plan::element_bytes(const Value& value) const {
  return value.partial != kNone || value.tensors.has(Tensor::kNorm) ? 4 : dtype_bytes(dtype);
}

std::vector<std::int64_t> bytes_sent(const Plan& plan) {
  std::vector<std::int64_t> sent(static_cast<std::size_t>(plan.ranks), 0);
  for (const Message& m : plan.messages) sent[static_cast<std::size_t>(m.src)] += m.bytes;
  return sent;
}

std::vector<std::int64_t> bytes_received(const Plan& plan) {
  std::vector<std::int64_t> received(static_cast<std::size_t>(plan.ranks), 0);
  for (const Message& m : plan.messages) received[static_cast<std::size_t>(m.dst)] += m.bytes;
  return received;
}

namespace {

class Hasher {
 public:
  void add(std::uint64_t x) { hash_ = hash_mix(hash_, x); }
  void add(IdRange r) { add(static_cast<std::uint64_t>(r.begin) << 32 | static_cast<std::uint32_t>(r.end)); }
  void add(const std::string& s) {
    add(s.size());
    for (char c : s) add(static_cast<unsigned char>(c));
  }
  // Sets by content, since their ids depend on what else the table has seen; each is read once.
  void add(const SetTable& sets, SetId id) {
    const auto index = static_cast<std::size_t>(id);
    if (set_hashes_.size() <= index) set_hashes_.resize(static_cast<std::size_t>(sets.num_sets()), 0);
    std::uint64_t& hash = set_hashes_[index];
    if (hash == 0) {
      const auto spans = sets.spans(id);
      hash = hash_mix(1, spans.size());
      for (const Span& s : spans)
        hash = hash_mix(hash, static_cast<std::uint64_t>(s.begin) << 32 | static_cast<std::uint32_t>(s.end));
    }
    add(hash);
  }
  void add(const SetTable& sets, const Box& box) {
    add(sets, box.columns);
    add(sets, box.outer);
    add(sets, box.inner);
  }
  void add(const SetTable& sets, const Placement& placement) {
    for (int r = 0; r < placement.ranks(); ++r) {
      add(placement.at(r).size());
      for (const Box& box : placement.at(r)) add(sets, box);
    }
  }
  template <typename T>
  void add_all(const std::vector<T>& list) {
    add(list.size());
    for (const T& x : list) add(static_cast<std::uint64_t>(x));
  }
  std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 0x5350534350;      // "SPSCP"
  std::vector<std::uint64_t> set_hashes_;  // by set; 0: not yet read
};

void add_graph(Hasher& h, const Plan& plan) {
  for (const Post& p : plan.posts) {
    h.add(static_cast<std::uint64_t>(p.by_index) << 63 | static_cast<std::uint64_t>(p.kind) << 32 |
          static_cast<std::uint32_t>(p.lane));
    h.add(static_cast<std::uint64_t>(p.src) << 32 | static_cast<std::uint32_t>(p.dst));
    h.add(p.operands);
    h.add(static_cast<std::uint64_t>(p.kernel) << 32 | static_cast<std::uint32_t>(p.acc));
    h.add(static_cast<std::uint64_t>(p.ring_step) << 1 | static_cast<std::uint64_t>(p.balances));
    h.add(static_cast<std::uint64_t>(p.collective) << 32 | static_cast<std::uint32_t>(p.collective_steps));
  }
  for (const Op& o : plan.ops) {
    h.add(static_cast<std::uint64_t>(o.post) << 32 | static_cast<std::uint32_t>(o.rank));
    h.add(static_cast<std::uint64_t>(o.group));
    h.add(o.deps);
    h.add(o.messages);
    for (SetId id : {o.heads, o.seq, o.q, o.k}) h.add(*plan.sets, id);
    h.add(static_cast<std::uint64_t>(o.tiles));
    h.add(static_cast<std::uint64_t>(o.flops));
  }
  for (const Message& m : plan.messages) {
    h.add(static_cast<std::uint64_t>(m.src) << 32 | static_cast<std::uint32_t>(m.dst));
    h.add(*plan.sets, m.box);
    h.add(static_cast<std::uint64_t>(m.bytes));
  }
}

void add_values(Hasher& h, const Plan& plan) {
  for (const Value& v : plan.values) {
    h.add(static_cast<std::uint64_t>(v.tensors.bits) << 32 | static_cast<std::uint64_t>(v.columns));
    h.add(*plan.sets, v.placement);
    h.add(static_cast<std::uint64_t>(v.layer) << 32 | static_cast<std::uint32_t>(v.partial));
    h.add(v.pending);
    h.add(v.sources);
    h.add(v.given);
  }
  for (const Accumulator& a : plan.accumulators) {
    h.add(static_cast<std::uint64_t>(a.q) << 32 | static_cast<std::uint32_t>(a.mask));
    h.add(static_cast<std::uint64_t>(a.axis));
  }
  for (const MaskUse& m : plan.masks)
    h.add(static_cast<std::uint64_t>(m.axis) << 32 | static_cast<std::uint32_t>(m.slices));
  for (const Kernel& k : plan.kernels) {
    h.add(k.name);
    h.add(static_cast<std::uint64_t>(k.contracts) << 32 | static_cast<std::uint64_t>(k.in) << 24 |
          static_cast<std::uint64_t>(k.out) << 16 | k.tensors.bits);
    h.add(static_cast<std::uint64_t>(k.flops_per_cell));
    h.add(static_cast<std::uint64_t>(k.flops_per_column));
    h.add(k.whole_rows);
  }
  for (const Output& o : plan.outputs) {
    h.add(static_cast<std::uint64_t>(o.value));
    h.add(*plan.sets, o.placement);
  }
}

}  // namespace

std::uint64_t plan_hash(const Plan& plan) {
  Hasher h;
  for (int x : {plan.ranks, plan.lanes, plan.batch, static_cast<int>(plan.dtype), plan.outer_tokens, plan.inner_tokens})
    h.add(static_cast<std::uint64_t>(x));
  for (std::int32_t n : plan.num_columns) h.add(static_cast<std::uint64_t>(n));
  for (std::int32_t n : plan.tensor_width) h.add(static_cast<std::uint64_t>(n));
  // Sizes first, so that the end of one list is never read as the beginning of the next.
  for (std::size_t n : {plan.posts.size(), plan.ops.size(), plan.messages.size(), plan.values.size(),
                        plan.accumulators.size(), plan.masks.size(), plan.kernels.size(), plan.outputs.size()})
    h.add(n);
  add_graph(h, plan);
  add_values(h, plan);
  h.add_all(plan.dep_refs);
  h.add_all(plan.message_refs);
  h.add_all(plan.value_refs);
  h.add_all(plan.group_refs);
  h.add_all(plan.group_members);
  for (IdRange g : plan.groups) h.add(g);
  return h.value();
}

}  // namespace spscope
