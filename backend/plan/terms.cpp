#include "backend/plan/terms.h"

#include <fmt/format.h>

#include <algorithm>

#include "backend/base/flat_map.h"
#include "backend/base/ids.h"
#include "backend/plan/layer_kernels.h"

namespace spscope {
namespace {

// First words of the hashed text, so that terms of different making never share a form.
enum class TermKind : std::uint64_t { kGiven = 1, kLocal = 2, kAttention = 3, kStreams = 4 };

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

Terms::Terms(const Plan& plan) : plan_(plan), streams_(plan.values.size()), keys_(plan.accumulators.size()) {
  for (std::size_t v = 0; v < plan.values.size(); ++v)
    if (plan.values[v].given) streams_[v] = {{given_term(plan.values[v]), std::nullopt}};
  for (PostId id = 0; id < static_cast<PostId>(plan.posts.size()); ++id) add_post(id);
  check_views();
}

// -- streams

Terms::Streams Terms::streams_of(ValueId value) const {
  const Value& v = plan_.values[at(value)];
  if (v.sources.empty()) return streams_[at(value)];
  const std::span<const ValueId> sources = plan_.value_list(v.sources);
  const Streams& first = streams_[at(sources.front())];
  const bool plain = std::ranges::all_of(sources, [&](ValueId source) {
    const Streams& streams = streams_[at(source)];
    return streams.size() == 1 && first.size() == 1 && streams[0].term == first[0].term;
  });
  if (plain) return first;
  const TokenRegion within = tokens_of(value);
  return join(sources, &within);
}

TokenRegion Terms::tokens_of(ValueId value) const {
  return TokenRegion(*plan_.sets, plan_.values[at(value)].placement.boxes());
}

// A source that is empty at every rank is written by no op and contributes nothing.
Terms::Streams Terms::join(std::span<const ValueId> values, const TokenRegion* within) const {
  Streams joined;
  for (ValueId value : values)
    for (Stream stream : streams_of(value)) {
      if (!stream.tokens) stream.tokens = tokens_of(value);
      if (!within || !stream.tokens->both(*plan_.sets, *within).empty()) joined.push_back(std::move(stream));
    }
  return gather(std::move(joined));
}

// One stream a term. REQUIRES: all have tokens, or there is one.
Terms::Streams Terms::gather(Streams streams) const {
  std::ranges::stable_sort(streams, {}, &Stream::term);
  Streams gathered;
  for (Stream& stream : streams) {
    if (gathered.empty() || gathered.back().term != stream.term)
      gathered.push_back(std::move(stream));
    else if (stream.tokens)
      gathered.back().tokens->unite(*plan_.sets, *stream.tokens);
  }
  if (gathered.size() == 1) gathered.front().tokens.reset();
  return gathered;
}

bool Terms::overlap(const Streams& streams) const {
  for (std::size_t i = 1; i < streams.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (!streams[i].tokens->both(*plan_.sets, *streams[j].tokens).empty()) return true;
  return false;
}

Term Terms::term_of(const Streams& streams) const {
  if (streams.empty()) return 0;
  if (streams.size() == 1) return streams.front().term;
  Term term = hash_mix(begin_term(TermKind::kStreams), streams.size());
  for (const Stream& stream : streams) term = stream.tokens->mix_into(hash_mix(term, stream.term), *plan_.sets);
  return term;
}

// -- posts

void Terms::make(PostId id, ValueId value, Streams streams) {
  Streams& known = streams_[at(value)];
  if (!known.empty() && !streams.empty() && term_of(known) != term_of(streams))
    clashes_.push_back({fmt::format("post {} computes value {} differently than an earlier post", id, value)});
  if (known.empty()) known = std::move(streams);
}

std::vector<Term> Terms::addends_of(Term term) const {
  const auto sum = sums_.find(term);
  return sum == sums_.end() ? std::vector<Term>{term} : sum->second;
}

// Where the operands are streams, each part of the tokens has the kernel of what its operands are there.
Terms::Streams Terms::local(const Post& post) {
  const Kernel& kernel = plan_.kernels[at(post.kernel)];
  const bool sums = adds_shares(kernel), adds = adds_operands(kernel);
  Streams parts = streams_of(post.src);
  for (Stream& part : parts) {
    const std::vector<Term> first = addends_of(part.term);
    part.term = hash_mix(kernel_term(kernel), part.term);
    if (sums) sums_[part.term] = first;
  }
  for (ValueId operand : plan_.value_list(post.operands)) {
    const Streams theirs = streams_of(operand);
    Streams next;
    for (const Stream& part : parts)
      for (const Stream& other : theirs) {
        Stream both{part.term, part.tokens ? part.tokens : other.tokens};
        const std::vector<Term> added = addends_of(other.term);
        for (const Term term : adds ? added : std::vector<Term>{other.term}) both.term = hash_mix(both.term, term);
        if (sums) {
          std::vector<Term>& all = sums_[both.term];
          all = addends_of(part.term);
          all.insert(all.end(), added.begin(), added.end());
        }
        if (part.tokens && other.tokens) both.tokens = part.tokens->both(*plan_.sets, *other.tokens);
        if (!both.tokens || !both.tokens->empty()) next.push_back(std::move(both));
      }
    parts = std::move(next);
  }
  return gather(std::move(parts));
}

// Each value once, ascending.
void Terms::add_keys(AccId acc, std::span<const ValueId> values) {
  std::vector<ValueId>& known = keys_[at(acc)];
  for (ValueId value : values)
    if (const auto place = std::ranges::lower_bound(known, value); place == known.end() || *place != value)
      known.insert(place, value);
}

Term Terms::keys_of(PostId id, AccId acc) {
  const std::vector<ValueId>& values = keys_[at(acc)];
  if (values.empty()) return 0;
  const Streams first = streams_of(values.front());
  const Term term = term_of(first);
  if (std::ranges::all_of(values, [&](ValueId value) { return of(value) == term; })) return term;
  const Streams joined = join(values, nullptr);
  if (overlap(joined))
    clashes_.push_back({fmt::format("accumulator {} of post {} meets different keys of the same tokens", acc, id)});
  return term_of(joined);
}

void Terms::add_post(PostId id) {
  const Post& post = plan_.posts[at(id)];
  switch (post.kind) {
    case PostKind::kLocal:
      return make(id, post.dst, local(post));
    case PostKind::kAttend:
      return add_keys(post.acc, {&post.src, 1});
    case PostKind::kMerge: {
      const AccId part = plan_.values[at(post.src)].partial;
      if (part == kNone) return;
      const Accumulator &theirs = plan_.accumulators[at(part)], &mine = plan_.accumulators[at(post.acc)];
      if (theirs.axis != mine.axis || of(theirs.q) != of(mine.q))
        clashes_.push_back({fmt::format("post {} merges rows of another attention", id)});
      return add_keys(post.acc, std::vector(keys_[at(part)]));
    }
    case PostKind::kFinish: {
      const Accumulator& acc = plan_.accumulators[at(post.acc)];
      const Term keys = keys_of(id, post.acc);
      Streams rows = streams_of(acc.q);
      for (Stream& stream : rows) stream.term = attention_term(acc.axis, stream.term, keys);
      return make(id, post.dst, gather(std::move(rows)));
    }
    case PostKind::kCopy:
    case PostKind::kExchange:
    case PostKind::kPull:
    case PostKind::kPush:
    case PostKind::kReduce:
      for (ValueId own : plan_.value_list(post.operands))
        if (of(own) != of(post.src)) clashes_.push_back({fmt::format("post {} adds shares of different sums", id)});
      return make(id, post.dst, streams_of(post.src));
    case PostKind::kBarrier:
      return;
  }
}

void Terms::check_views() {
  for (ValueId id = 0; id < static_cast<ValueId>(plan_.values.size()); ++id)
    if (!plan_.values[at(id)].sources.empty() && overlap(streams_of(id)))
      clashes_.push_back({fmt::format("view {} joins different values of the same tokens", id)});
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
