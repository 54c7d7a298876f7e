#include "backend/cli/print_plan.h"

#include <fmt/format.h>

#include <ostream>

namespace spscope {
namespace {

constexpr std::size_t kShownSpans = 4;

// "0-3,8-11": inclusive, as people count.
std::string set_text(const SetTable& sets, SetId id) {
  std::string text;
  const auto spans = sets.spans(id);
  for (std::size_t i = 0; i < spans.size() && i < kShownSpans; ++i)
    text += fmt::format("{}{}-{}", i ? "," : "", spans[i].begin, spans[i].end - 1);
  if (spans.size() > kShownSpans) text += fmt::format(",... ({} in all)", sets.size(id));
  return text.empty() ? "-" : text;
}

std::string value_text(const Plan& plan, ValueId id) {
  return id == kNone ? ""
                     : fmt::format("{}.{}", tensor_set_name(plan.values[static_cast<std::size_t>(id)].tensors), id);
}

std::int64_t bytes_of(const Plan& plan, const Op& op) {
  std::int64_t bytes = 0;
  for (MessageId m : plan.messages_of(op)) bytes += plan.messages[static_cast<std::size_t>(m)].bytes;
  return bytes;
}

// What an op does, without its place.
std::string op_text(const Plan& plan, const Op& op) {
  const Post& post = plan.post_of(op);
  std::string text = post_kind_name(post.kind);
  if (post.balances) text += " (balance)";
  if (post.by_index) text += " (by index)";
  if (post.kind == PostKind::kLocal) text += " " + plan.kernels[static_cast<std::size_t>(post.kernel)].name;
  if (post.kind == PostKind::kAttend)
    text += fmt::format(" step {} heads {} q {} k {}: {} tiles", post.ring_step, set_text(*plan.sets, op.heads),
                        set_text(*plan.sets, op.q), set_text(*plan.sets, op.k), op.tiles);
  if (post.src != kNone) text += " " + value_text(plan, post.src);
  if (post.dst != kNone) text += " -> " + value_text(plan, post.dst);
  if (communicates(post.kind)) text += fmt::format(", {} messages, {} bytes", op.messages.size(), bytes_of(plan, op));
  return text;
}

}  // namespace

void print_ops(std::ostream& out, const Plan& plan) {
  for (std::size_t i = 0; i < plan.ops.size(); ++i) {
    const Op& op = plan.ops[i];
    out << fmt::format("{:>6}  post {:<4} rank {:<4} lane {}  {}", i, op.post, op.rank, plan.post_of(op).lane,
                       op_text(plan, op));
    if (!op.deps.empty()) out << fmt::format("  after {}", fmt::join(plan.deps(op), ","));
    out << fmt::format("\n");
  }
}

void print_dot(std::ostream& out, const Plan& plan) {
  out << fmt::format("digraph plan {{\n  rankdir=LR;\n  node [shape=box, fontname=\"sans-serif\"];\n");
  for (int rank = 0; rank < plan.ranks; ++rank) {
    out << fmt::format("  subgraph cluster_{} {{\n    label=\"rank {}\";\n", rank, rank);
    for (std::size_t i = 0; i < plan.ops.size(); ++i)
      if (plan.ops[i].rank == rank)
        out << fmt::format("    op{} [label=\"{}\"{}];\n", i, op_text(plan, plan.ops[i]),
                           communicates(plan.kind_of(plan.ops[i])) ? ", style=dashed" : "");
    out << fmt::format("  }}\n");
  }
  for (std::size_t i = 0; i < plan.ops.size(); ++i)
    for (OpId dep : plan.deps(plan.ops[i])) out << fmt::format("  op{} -> op{};\n", dep, i);
  out << fmt::format("}}\n");
}

}  // namespace spscope
