// Rules bytes, transfer and reduce: messages fill each value exactly according to its placement, and nothing else does.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "backend/base/stop_point.h"
#include "backend/plan/layer_kernels.h"
#include "backend/plan/verify_internal.h"

namespace spscope::verifying {
namespace {

class Transfers {
 public:
  Transfers(const Context& c, Findings& found)
      : c_(c), p_(c.plan), found_(found), fills_(c.plan.values.size() * at(c.plan.ranks)) {
    for_each_fill_of_plan([&](std::size_t key, MessageId) { fills_.reserve(key); });
    fills_.open();
    for_each_fill_of_plan([&](std::size_t key, MessageId id) { fills_.put(key, id); });
  }

  void check() {
    for (MessageId id = 0; id < static_cast<MessageId>(p_.messages.size()); ++id, stop_point()) check_bytes(id);
    find_callers();
    for (ValueId id = 0; id < static_cast<ValueId>(p_.values.size()); ++id)
      for (int rank = 0; rank < p_.ranks; ++rank, stop_point()) check_value(id, rank);
  }

 private:
  const Post& post_of(MessageId id) const { return p_.post_of(p_.ops[at(c_.index.ends(id).front())]); }
  std::size_t slot(ValueId value, int rank) const { return at(value) * at(p_.ranks) + at(rank); }

  // Every message fills its box of the target at its receiver.
  template <typename Visit>
  void for_each_fill_of_plan(Visit&& visit) const {
    for (MessageId id = 0; id < static_cast<MessageId>(p_.messages.size()); ++id, stop_point())
      visit(slot(post_of(id).dst, p_.messages[at(id)].dst), id);
  }

  void check_bytes(MessageId id) {
    const Message& m = p_.messages[at(id)];
    const std::int64_t bytes = m.src == m.dst ? 0 : volume(c_.sets, m.box) * p_.cell_bytes(c_.value(post_of(id).src));
    if (m.bytes != bytes)
      found_.add(Rule::kBytes, fmt::format("message {} has {} bytes, its box {}", id, m.bytes, bytes));
  }

  // One call makes a value: a single post, or a copy and a transfer of the same source.
  void find_callers() {
    copy_.assign(p_.values.size(), kNone);
    maker_.assign(p_.values.size(), kNone);
    for (PostId id = 0; id < static_cast<PostId>(p_.posts.size()); ++id) {
      stop_point();
      const Post& post = p_.posts[at(id)];
      if (post.dst == kNone || c_.index.ops_of_post(id).empty()) continue;
      PostId& call = (post.kind == PostKind::kCopy ? copy_ : maker_)[at(post.dst)];
      const PostId other = (post.kind == PostKind::kCopy ? maker_ : copy_)[at(post.dst)];
      const bool joined = other == kNone || (p_.posts[at(other)].src == post.src && (moves(post.kind)) &&
                                             moves(p_.posts[at(other)].kind));
      if (call != kNone || !joined)
        found_.add(Rule::kTransfer,
                   fmt::format("value {} is made by different calls, one of them post {}", post.dst, id));
      call = id;
    }
  }

  void check_value(ValueId id, int rank) {
    const Value& v = c_.value(id);
    const auto makers = c_.index.makers(id, rank);
    const auto want = v.placement.at(rank);
    const auto bad = [&](Rule rule, const char* what) {
      found_.add(rule, fmt::format("value {} at rank {} {}", id, rank, what));
    };
    if (v.given || !v.sources.empty()) return;
    if (makers.empty()) {
      if (!want.empty()) bad(Rule::kTransfer, "is not written by any op");
      return;
    }
    const PostId maker = maker_[at(id)] == kNone ? copy_[at(id)] : maker_[at(id)];
    const PostKind kind = p_.posts[at(maker)].kind;
    if (kind == PostKind::kReduce) {
      if (!reduced(id, rank)) bad(Rule::kReduce, "lacks shares or has one twice");
    } else if (moves(kind)) {
      if (!filled(want, fills_.of(slot(id, rank)))) bad(Rule::kTransfer, "is not filled according to its placement");
    } else if (makers.size() > 1) {
      bad(Rule::kTransfer, "is made twice");
    }
  }

  // Messages cover the boxes and have their volume: so they overlap nowhere.
  bool filled(std::span<const Box> want, std::span<const MessageId> fills) {
    std::int64_t cells = 0;
    boxes_.clear();
    for (MessageId id : fills) {
      boxes_.push_back(p_.messages[at(id)].box);
      cells += volume(c_.sets, boxes_.back());
    }
    return cells == volume(c_.sets, want) &&
           std::ranges::all_of(want, [&](const Box& box) { return covered(c_.sets, box, boxes_); });
  }

  // Each box gets sums that have no share in common; where the value has nothing pending, these are the shares of a
  // whole group of which shares were pending.
  bool reduced(ValueId id, int rank) {
    const auto want = c_.value(id).placement.at(rank);
    const auto fills = fills_.of(slot(id, rank));
    const bool stray = std::ranges::any_of(
        fills, [&](MessageId message) { return std::ranges::find(want, p_.messages[at(message)].box) == want.end(); });
    return !stray && std::ranges::all_of(want, [&](const Box& box) {
      const SetId shares = shares_.of(id, rank, box);
      return shares != kEmptySet && (!c_.value(id).pending.empty() || whole_group(id, shares));
    });
  }
  // Whether the ranks of `shares` are a group in which what the reduce reads was pending.
  bool whole_group(ValueId id, SetId shares) {
    return std::ranges::any_of(p_.group_list(c_.value(p_.posts[at(maker_[at(id)])].src).pending), [&](GroupId group) {
      std::vector<std::int32_t> members(p_.group(group).begin(), p_.group(group).end());
      std::ranges::sort(members);
      return c_.sets.indices(members) == shares;
    });
  }

  // The ranks whose shares of a pending sum are in it, by value, rank and box.
  class Shares {
   public:
    explicit Shares(const Transfers& owner)
        : owner_(owner), c_(owner.c_), known_(owner.c_.plan.values.size() * at(owner.c_.plan.ranks)) {}

    // The empty set where a part of the box is not there, has other shares than the rest, or has a share twice.
    SetId of(ValueId id, int rank, const Box& box) {
      auto& known = known_[owner_.slot(id, rank)];
      for (const auto& [of_box, shares] : known)
        if (of_box == box) return shares;
      const SetId shares = find(id, rank, box);
      known_[owner_.slot(id, rank)].emplace_back(box, shares);
      return shares;
    }

   private:
    SetId find(ValueId id, int rank, const Box& box) {
      const Value& v = c_.value(id);
      if (!v.sources.empty()) return of_view(v, rank, box);
      const PostId maker = owner_.maker_[at(id)];
      if (maker == kNone || !covered(c_.sets, box, v.placement.at(rank))) return kEmptySet;
      const Post& post = c_.plan.posts[at(maker)];
      if (post.kind == PostKind::kLocal && v.pending.empty()) return kEmptySet;
      if (post.kind == PostKind::kLocal)
        return adds_shares(c_.plan.kernels[at(post.kernel)]) ? of_added(post, id, rank, box)
                                                             : c_.sets.span(rank, rank + 1);
      if (post.kind != PostKind::kReduce) return kEmptySet;
      std::vector<SetId> sums;
      std::int64_t count = 0;
      for (MessageId m : owner_.fills_.of(owner_.slot(id, rank))) {
        const Message& message = c_.plan.messages[at(m)];
        if (!covers(message.box, box)) continue;
        const ValueId source = source_of(c_.plan, post, message);
        if (!is_older(source, id)) return kEmptySet;
        sums.push_back(of(source, message.src, box));
        if (sums.back() == kEmptySet) return kEmptySet;
        count += c_.sets.size(sums.back());
      }
      const SetId all = c_.sets.unite(sums);
      return c_.sets.size(all) == count ? all : kEmptySet;
    }
    // Of shares of several sums: those that all of them have.
    SetId of_added(const Post& post, ValueId id, int rank, const Box& box) {
      const SetId shares = is_older(post.src, id) ? of(post.src, rank, box) : kEmptySet;
      for (ValueId operand : c_.plan.value_list(post.operands))
        if (!is_older(operand, id) || of(operand, rank, box) != shares) return kEmptySet;
      return shares;
    }
    SetId of_view(const Value& view, int rank, const Box& box) {
      std::optional<SetId> shares;
      BoxList found;
      for (ValueId source : c_.plan.value_list(view.sources))
        for (const Box& held : c_.value(source).placement.at(rank)) {
          const auto part = meet(c_.sets, held, box);
          if (!part) continue;
          const SetId here = of(source, rank, *part);
          if (shares && *shares != here) return kEmptySet;
          shares = here;
          found.push_back(*part);
        }
      return shares && covered(c_.sets, box, found) ? *shares : kEmptySet;
    }
    // Sums are made of values before them, so that following them ends.
    bool is_older(ValueId id, ValueId than) const {
      bool older = true;
      for_each_base(c_.plan, id, [&](ValueId base) { older = older && base < than; });
      return older;
    }
    bool covers(const Box& large, const Box& small) { return covered(c_.sets, small, {&large, 1}); }

    const Transfers& owner_;
    const Context& c_;
    std::vector<std::vector<std::pair<Box, SetId>>> known_;
  };

  const Context& c_;
  const Plan& p_;
  Findings& found_;
  IdLists fills_;                     // messages by (value, rank)
  std::vector<PostId> copy_, maker_;  // by value: the post that copies, and the one that makes it otherwise
  Shares shares_{*this};
  BoxList boxes_;  // scratch
};

}  // namespace

void check_transfers(const Context& c, Findings& found) { Transfers(c, found).check(); }

}  // namespace spscope::verifying
