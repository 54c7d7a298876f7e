// Rules rows, mask, cut, twice and missing: every row of every accumulator meets every active key exactly once.
//
// What an accumulator has met are products heads x sequences x rows x keys, its own and those of the unfinished rows
// merged into it, followed back to the ranks that computed them. Where all products have the rows of the accumulator,
// the usual case, their keys must be disjoint (as far as the mask is active) and count as many active pairs as all keys
// do. Otherwise the rows are cut into cells that lie wholly inside or outside of each product.
#include <fmt/format.h>

#include <algorithm>

#include "backend/base/stop_point.h"
#include "backend/plan/verify_internal.h"

namespace spscope::verifying {
namespace {

// Keys that rows have attended to.
struct Product {
  Box rows;
  SetId keys;
};

class Attention {
 public:
  Attention(const Context& c, Findings& found) : c_(c), p_(c.plan), found_(found) {}

  void check_uses(AccId acc, int rank);
  void check_coverage(AccId acc, int rank);

 private:
  using Products = std::vector<Product>;

  void check_attend(OpId id);
  // What the accumulator has met at the rank, appended.
  void add_products(AccId acc, int rank, Products& products);
  // What unfinished rows of a value have met before they came to the rank, appended.
  void add_origins(ValueId value, int rank, const Box& rows, Products& products);
  void check_rows(AccId acc, int rank, const Box& rows, const Products& products);
  void check_cell(AccId acc, int rank, const Box& cell, std::span<const SetId> keys);
  BoxList cells_of(const Box& rows, const Products& products);

  const Context& c_;
  const Plan& p_;
  Findings& found_;
};

void Attention::check_attend(OpId id) {
  const Op& op = p_.ops[at(id)];
  const Accumulator& acc = c_.accumulator(p_.post_of(op).acc);
  const TileCount count = c_.mask_of(acc).count(op.heads, op.q, op.k);
  const std::int64_t sequences = c_.sets.size(op.seq) * p_.batch;
  const std::int64_t tiles = count.tiles * sequences;
  const std::int64_t flops = 4 * count.area * sequences * p_.tensor_width[static_cast<int>(Tensor::kQ)];
  if (op.tiles != tiles || op.flops != flops)
    found_.add(Rule::kMask, fmt::format("op {} claims {} tiles and {} flops, the mask has {} and {}", id, op.tiles,
                                        op.flops, tiles, flops));
  if (!count.whole) found_.add(Rule::kCut, fmt::format("op {} divides an active tile", id));
}

void Attention::check_uses(AccId acc, int rank) {
  const auto uses = c_.index.uses(acc, rank);
  if (uses.empty() && !c_.value(c_.accumulator(acc).q).placement.at(rank).empty())
    found_.add(Rule::kRows, fmt::format("accumulator {} of rank {} is never finished", acc, rank));
  for (std::size_t i = 0; i < uses.size(); ++i) {
    const PostKind kind = p_.kind_of(p_.ops[at(uses[i])]);
    if (kind == PostKind::kAttend) check_attend(uses[i]);
    if ((kind == PostKind::kFinish) != (i + 1 == uses.size()))
      found_.add(Rule::kRows, fmt::format("accumulator {} of rank {} is not finished once, at the end", acc, rank));
  }
}

void Attention::add_products(AccId acc, int rank, Products& products) {
  for (OpId id : c_.index.uses(acc, rank)) {
    const Op& op = p_.ops[at(id)];
    if (p_.kind_of(op) == PostKind::kAttend) products.push_back({attend_rows(p_, op), op.k});
    if (p_.kind_of(op) == PostKind::kMerge)
      for_each_read(p_, op, [&](int from, ValueId value, const Box& rows) {
        for_each_base(p_, value, [&](ValueId base) { add_origins(base, from, rows, products); });
      });
  }
}

// Ends, because what an op reads comes from earlier posts (rules transfer and race).
void Attention::add_origins(ValueId value, int rank, const Box& rows, Products& products) {
  for (OpId id : c_.index.makers(value, rank)) {
    const Op& op = p_.ops[at(id)];
    const Post& post = p_.post_of(op);
    if (post.kind == PostKind::kFinish) {
      Products theirs;
      add_products(post.acc, rank, theirs);
      for (const Product& product : theirs)
        if (const auto m = meet(c_.sets, product.rows, rows)) products.push_back({*m, product.keys});
    }
    for (MessageId message : p_.messages_of(op)) {
      const Message& sent = p_.messages[at(message)];
      if (sent.dst != rank) continue;
      if (const auto m = meet(c_.sets, sent.box, rows))
        for_each_base(p_, post.src, [&](ValueId base) { add_origins(base, sent.src, *m, products); });
    }
  }
}

void Attention::check_coverage(AccId acc, int rank) {
  const auto uses = c_.index.uses(acc, rank);
  if (uses.empty()) return;
  // Rows that are given away unfinished are judged where they are merged.
  if (c_.value(p_.post_of(p_.ops[at(uses.back())]).dst).partial != kNone) return;
  Products products;
  add_products(acc, rank, products);
  for (const Box& rows : c_.value(c_.accumulator(acc).q).placement.at(rank)) check_rows(acc, rank, rows, products);
}

void Attention::check_rows(AccId acc, int rank, const Box& rows, const Products& products) {
  Products here;
  for (const Product& product : products)
    if (const auto m = meet(c_.sets, product.rows, rows)) here.push_back({*m, product.keys});
  const bool whole = std::ranges::all_of(here, [&](const Product& product) { return product.rows == rows; });
  std::vector<SetId> keys;
  for (const Box& cell : whole ? BoxList{rows} : cells_of(rows, here)) {
    keys.clear();
    for (const Product& product : here)
      if (whole || meet(c_.sets, product.rows, cell)) keys.push_back(product.keys);
    check_cell(acc, rank, cell, keys);
  }
}

// The common refinement of the rows by all products: no product covers a part of a cell.
BoxList Attention::cells_of(const Box& rows, const Products& products) {
  const auto split = [&](std::vector<SetId>& parts, SetId by) {
    std::vector<SetId> next;
    for (SetId part : parts)
      for (SetId piece : {c_.sets.both(part, by), c_.sets.minus(part, by)})
        if (piece != kEmptySet) next.push_back(piece);
    parts = std::move(next);
  };
  std::vector<SetId> columns = {rows.columns}, outer = {rows.outer}, inner = {rows.inner};
  for (const Product& product : products) {
    split(columns, product.rows.columns);
    split(outer, product.rows.outer);
    split(inner, product.rows.inner);
  }
  BoxList cells;
  for (SetId c : columns)
    for (SetId o : outer)
      for (SetId i : inner) cells.push_back({c, o, i});
  return cells;
}

void Attention::check_cell(AccId acc_id, int rank, const Box& cell, std::span<const SetId> keys) {
  const Accumulator& acc = c_.accumulator(acc_id);
  const bool inner = acc.axis == AttendedAxis::kInner;
  MaskCounter& mask = c_.mask_of(acc);
  const auto area = [&](SetId k) { return mask.count(cell.columns, inner ? cell.inner : cell.outer, k).area; };
  const SetId met = c_.sets.unite(keys);
  std::int64_t tokens = 0;
  for (SetId k : keys) tokens += c_.sets.size(k);
  if (tokens != c_.sets.size(met)) {  // the same keys twice matter where the mask is active only
    std::int64_t pairs = 0;
    for (SetId k : keys) pairs += area(k);
    if (pairs != area(met))
      found_.add(Rule::kTwice, fmt::format("accumulator {} of rank {}: a row meets a key twice", acc_id, rank));
  }
  const SetId everything = c_.sets.span(0, inner ? p_.inner_tokens : p_.outer_tokens);
  if (area(met) != area(everything))
    found_.add(Rule::kMissing, fmt::format("accumulator {} of rank {}: active keys are never met", acc_id, rank));
}

}  // namespace

void check_attends(const Context& c, Findings& found) {
  Attention attention(c, found);
  for (AccId acc = 0; acc < static_cast<AccId>(c.plan.accumulators.size()); ++acc)
    for (int rank = 0; rank < c.plan.ranks; ++rank, stop_point()) attention.check_uses(acc, rank);
}

void check_coverage(const Context& c, Findings& found) {
  Attention attention(c, found);
  for (AccId acc = 0; acc < static_cast<AccId>(c.plan.accumulators.size()); ++acc)
    for (int rank = 0; rank < c.plan.ranks; ++rank, stop_point()) attention.check_coverage(acc, rank);
}

}  // namespace spscope::verifying
