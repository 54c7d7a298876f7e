#include "tests/support/editable_plan.h"

#include <algorithm>

namespace spscope::testing {
namespace {

RankBoxes boxes_of(const Placement& placement) {
  RankBoxes boxes;
  for (int rank = 0; rank < placement.ranks(); ++rank)
    boxes.emplace_back(placement.at(rank).begin(), placement.at(rank).end());
  return boxes;
}

Placement placement_of(const RankBoxes& boxes) {
  return Placement::make(static_cast<int>(boxes.size()),
                         [&](int rank) { return boxes[static_cast<std::size_t>(rank)]; });
}

template <typename T>
std::vector<T> list_of(std::span<const T> span) {
  return {span.begin(), span.end()};
}

template <typename T>
IdRange append(std::vector<T>& refs, const std::vector<T>& list) {
  const auto begin = static_cast<std::int32_t>(refs.size());
  refs.insert(refs.end(), list.begin(), list.end());
  return {begin, static_cast<std::int32_t>(refs.size())};
}

}  // namespace

EditablePlan::EditablePlan(const Plan& plan) : shell(plan) {
  for (const Op& op : plan.ops) ops.push_back({op, list_of(plan.deps(op)), list_of(plan.messages_of(op))});
  for (const Post& post : plan.posts) posts.push_back({post, list_of(plan.value_list(post.operands))});
  for (const Value& v : plan.values)
    values.push_back(
        {v, boxes_of(v.placement), list_of(plan.group_list(v.pending)), list_of(plan.value_list(v.sources))});
  for (const Output& output : plan.outputs) outputs.push_back({output.value, boxes_of(output.placement)});
  for (GroupId id = 0; id < static_cast<GroupId>(plan.groups.size()); ++id) groups.push_back(list_of(plan.group(id)));
  shell.ops.clear();
  shell.posts.clear();
  shell.values.clear();
  shell.outputs.clear();
  shell.groups.clear();
  shell.dep_refs.clear();
  shell.message_refs.clear();
  shell.value_refs.clear();
  shell.group_refs.clear();
  shell.group_members.clear();
}

Post EditablePlan::post_of(const EditableOp& op) const {
  const PostId id = op.fields.post;
  if (id >= 0 && static_cast<std::size_t>(id) < posts.size()) return posts[static_cast<std::size_t>(id)].fields;
  Post nothing;
  nothing.kind = PostKind::kBarrier;
  return nothing;
}

Plan EditablePlan::flatten() const {
  Plan plan = shell;
  for (const std::vector<int>& group : groups) plan.groups.push_back(append(plan.group_members, group));
  for (const EditableValue& v : values) {
    Value value = v.fields;
    value.placement = placement_of(v.placement);
    value.pending = append(plan.group_refs, v.pending);
    value.sources = append(plan.value_refs, v.sources);
    plan.values.push_back(std::move(value));
  }
  for (const EditablePost& p : posts) {
    plan.posts.push_back(p.fields);
    plan.posts.back().operands = append(plan.value_refs, p.operands);
  }
  for (const EditableOp& op : ops) {
    plan.ops.push_back(op.fields);
    plan.ops.back().deps = append(plan.dep_refs, op.deps);
    plan.ops.back().messages = append(plan.message_refs, op.messages);
  }
  for (const EditableOutput& output : outputs) plan.outputs.push_back({output.value, placement_of(output.placement)});
  return plan;
}

void EditablePlan::insert_op(OpId position, EditableOp op) {
  ops.insert(ops.begin() + position, std::move(op));
  for (EditableOp& other : ops)
    for (OpId& dep : other.deps) dep += dep >= position;
}

void EditablePlan::remove_op(OpId id) {
  ops.erase(ops.begin() + id);
  for (EditableOp& other : ops) {
    std::erase(other.deps, id);
    for (OpId& dep : other.deps) dep -= dep > id;
  }
}

}  // namespace spscope::testing
