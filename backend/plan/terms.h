// Terms: the identity of each value of a plan, whichever rank holds it.
//
// A term is a hash of the computation of a value: inputs by tensors and layer, local kernels by name and operands,
// attention by axis, queries and keys; moves, views and reductions preserve it. A kernel that adds its operands has the
// same term for the sum of some of them (add_shares) as for these operands. Two plans compute the same when their
// outputs have equal terms and verify() accepts both: the pairs of rows and keys are not part of a term.
//
// Where streams of tokens have separate weights (video and text of an MM-DiT block), a view that joins them has several
// terms: each stream has its own, with its tokens. Token-local kernels and attention act on each stream separately;
// narrowing to the tokens of one stream gives that stream; the keys of an accumulator are all streams together. The
// term of a joined value hashes every stream with its tokens over all ranks, so that swapped streams are detected.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/plan/plan.h"
#include "backend/plan/request.h"
#include "backend/plan/token_region.h"

namespace spscope {

// A contradiction: two calls compute one value differently, or a view or the keys of an accumulator have different
// streams over the same tokens.
struct TermClash {
  std::string text;
};

// REQUIRES: every reference of the plan is in range, and no source of a view is a view.
class Terms {
 public:
  explicit Terms(const Plan& plan);
  // 0 when no op writes the value.
  Term of(ValueId value) const { return term_of(streams_of(value)); }
  const std::vector<TermClash>& clashes() const { return clashes_; }

 private:
  struct Stream {
    Term term = 0;
    std::optional<TokenRegion> tokens;  // nullopt: all tokens of the value, which has one stream then
  };
  using Streams = std::vector<Stream>;  // different terms, ascending; empty: no op writes the value

  void add_post(PostId id);
  void make(PostId id, ValueId value, Streams streams);
  Streams streams_of(ValueId value) const;
  // Of values beside each other; streams that have no tokens in common with `within` are left out.
  Streams join(std::span<const ValueId> values, const TokenRegion* within) const;
  Streams gather(Streams streams) const;
  Streams local(const Post& post);
  // What a term is the sum of, where add_shares made it; else the term alone.
  std::vector<Term> addends_of(Term term) const;
  TokenRegion tokens_of(ValueId value) const;
  bool overlap(const Streams& streams) const;
  Term term_of(const Streams& streams) const;
  void add_keys(AccId acc, std::span<const ValueId> values);
  Term keys_of(PostId id, AccId acc);
  void check_views();

  const Plan& plan_;
  std::vector<Streams> streams_;            // by value; of views, nothing
  std::map<Term, std::vector<Term>> sums_;  // by the term of a sum
  std::vector<std::vector<ValueId>> keys_;  // by accumulator: keys it has met, by its merges too
  std::vector<TermClash> clashes_;
};

// The outputs of a plan with their terms. Those of the strategy `single` define the layer (Request::outputs).
std::vector<ExpectedOutput> outputs_of(const Plan& plan);

}  // namespace spscope
