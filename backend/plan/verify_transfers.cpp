// Rules bytes, transfer and reduce: messages fill each value exactly according to its placement, and nothing else does.
#include <fmt/format.h>

#include <algorithm>

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
    for (MessageId id = 0; id < static_cast<MessageId>(p_.messages.size()); ++id) check_bytes(id);
    find_callers();
    for (ValueId id = 0; id < static_cast<ValueId>(p_.values.size()); ++id)
      for (int rank = 0; rank < p_.ranks; ++rank) check_value(id, rank);
  }

 private:
  const Post& post_of(MessageId id) const { return p_.post_of(p_.ops[at(c_.index.ends(id).front())]); }
  std::size_t slot(ValueId value, int rank) const { return at(value) * at(p_.ranks) + at(rank); }

  // Every message fills its box of the target at its receiver.
  template <typename Visit>
  void for_each_fill_of_plan(Visit&& visit) const {
    for (MessageId id = 0; id < static_cast<MessageId>(p_.messages.size()); ++id)
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
      if (!reduced(want, fills_.of(slot(id, rank)))) bad(Rule::kReduce, "lacks shares or has one twice");
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

  // Each box gets one share from every member of the op's group.
  bool reduced(std::span<const Box> want, std::span<const MessageId> fills) {
    std::size_t shares = 0;
    for (const Box& box : want) {
      sources_.clear();
      GroupId group = kNone;
      for (MessageId id : fills) {
        if (p_.messages[at(id)].box != box) continue;
        sources_.push_back(p_.messages[at(id)].src);
        group = p_.ops[at(c_.index.ends(id).front())].group;
      }
      if (group == kNone) return false;
      members_.assign(p_.group(group).begin(), p_.group(group).end());
      std::ranges::sort(sources_);
      std::ranges::sort(members_);
      if (sources_ != members_) return false;
      shares += members_.size();
    }
    return shares == fills.size();
  }

  const Context& c_;
  const Plan& p_;
  Findings& found_;
  IdLists fills_;                       // messages by (value, rank)
  std::vector<PostId> copy_, maker_;    // by value: the post that copies, and the one that makes it otherwise
  BoxList boxes_;                       // scratch
  std::vector<int> sources_, members_;  // scratch
};

}  // namespace

void check_transfers(const Context& c, Findings& found) { Transfers(c, found).check(); }

}  // namespace spscope::verifying
