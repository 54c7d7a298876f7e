#include "backend/plan/terms.h"

#include <fmt/format.h>

#include "backend/base/flat_map.h"

namespace spscope {
namespace {

constexpr std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

// First words of the hashed text, so that terms of different making never share a form.
enum class TermKind : std::uint64_t { kGiven = 1, kLocal = 2, kAttention = 3 };

Term begin_term(TermKind kind) { return hash_mix(0x5445524d, static_cast<std::uint64_t>(kind)); }

Term given_term(const Value& value) {
  return hash_mix(hash_mix(begin_term(TermKind::kGiven), value.tensors.bits), static_cast<std::uint64_t>(value.layer));
}

Term kernel_term(const Kernel& kernel) {
  Term term = hash_mix(begin_term(TermKind::kLocal), kernel.name.size());
  for (char c : kernel.name) term = hash_mix(term, static_cast<unsigned char>(c));
  return term;
}

Term attention_term(AttendedAxis axis, Term q, Term keys) {
  return hash_mix(hash_mix(hash_mix(begin_term(TermKind::kAttention), static_cast<std::uint64_t>(axis)), q), keys);
}

}  // namespace

Terms::Terms(const Plan& plan) : plan_(plan), terms_(plan.values.size(), 0), keys_(plan.accumulators.size(), 0) {
  for (std::size_t v = 0; v < plan.values.size(); ++v)
    if (plan.values[v].given) terms_[v] = given_term(plan.values[v]);
  for (PostId id = 0; id < static_cast<PostId>(plan.posts.size()); ++id) add_post(id);
  check_views();
}

// A source that is empty everywhere is made by nothing and says nothing.
Term Terms::of(ValueId value) const {
  const Value& v = plan_.values[at(value)];
  if (v.sources.empty()) return terms_[at(value)];
  for (ValueId source : plan_.value_list(v.sources))
    if (const Term term = terms_[at(source)]) return term;
  return 0;
}

void Terms::make(PostId id, ValueId value, Term term) {
  Term& known = terms_[at(value)];
  if (known != 0 && term != 0 && known != term)
    clashes_.push_back({fmt::format("post {} makes value {} something else than an earlier post", id, value)});
  if (known == 0) known = term;
}

void Terms::add_keys(PostId id, AccId acc, Term keys) {
  Term& known = keys_[at(acc)];
  if (known != 0 && keys != 0 && known != keys)
    clashes_.push_back({fmt::format("post {} lets accumulator {} meet other keys than before", id, acc)});
  if (known == 0) known = keys;
}

void Terms::add_post(PostId id) {
  const Post& post = plan_.posts[at(id)];
  switch (post.kind) {
    case PostKind::kLocal: {
      if (of(post.src) == 0) return;
      Term term = hash_mix(kernel_term(plan_.kernels[at(post.kernel)]), of(post.src));
      for (ValueId operand : plan_.value_list(post.operands)) term = hash_mix(term, of(operand));
      return make(id, post.dst, term);
    }
    case PostKind::kAttend:
      return add_keys(id, post.acc, of(post.src));
    case PostKind::kMerge: {
      const AccId part = plan_.values[at(post.src)].partial;
      if (part == kNone) return;
      const Accumulator &theirs = plan_.accumulators[at(part)], &mine = plan_.accumulators[at(post.acc)];
      if (theirs.axis != mine.axis || of(theirs.q) != of(mine.q))
        clashes_.push_back({fmt::format("post {} merges rows of something else", id)});
      return add_keys(id, post.acc, keys_[at(part)]);
    }
    case PostKind::kFinish: {
      const Accumulator& acc = plan_.accumulators[at(post.acc)];
      if (of(acc.q) == 0) return;
      return make(id, post.dst, attention_term(acc.axis, of(acc.q), keys_[at(post.acc)]));
    }
    case PostKind::kCopy:
    case PostKind::kExchange:
    case PostKind::kPull:
    case PostKind::kPush:
    case PostKind::kReduce:
      return make(id, post.dst, of(post.src));
    case PostKind::kBarrier:
      return;
  }
}

void Terms::check_views() {
  for (ValueId id = 0; id < static_cast<ValueId>(plan_.values.size()); ++id) {
    const Term term = of(id);
    for (ValueId source : plan_.value_list(plan_.values[at(id)].sources))
      if (const Term other = terms_[at(source)]; other != 0 && other != term)
        clashes_.push_back({fmt::format("view {} joins different things", id)});
  }
}

std::vector<ExpectedOutput> outputs_of(const Plan& plan) {
  const Terms terms(plan);
  std::vector<ExpectedOutput> outputs;
  for (const Output& output : plan.outputs) {
    const Value& value = plan.values[at(output.value)];
    outputs.push_back({value.tensors, value.columns, value.layer, terms.of(output.value)});
  }
  return outputs;
}

}  // namespace spscope
