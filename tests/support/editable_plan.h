// A plan taken apart into one list per thing, so that a test can damage any field and put it together again.
#pragma once

#include <vector>

#include "backend/plan/plan.h"

namespace spscope::testing {

using RankBoxes = std::vector<BoxList>;  // by rank

struct EditableOp {
  Op fields;  // its ranges mean nothing
  std::vector<OpId> deps;
  std::vector<MessageId> messages;
};

struct EditablePost {
  Post fields;
  std::vector<ValueId> operands;
};

struct EditableValue {
  Value fields;
  RankBoxes placement;
  std::vector<GroupId> pending;
  std::vector<ValueId> sources;
};

struct EditableOutput {
  ValueId value = kNone;
  RankBoxes placement;
};

class EditablePlan {
 public:
  explicit EditablePlan(const Plan& plan);
  // The plan again; equal to the original where nothing was edited.
  Plan flatten() const;

  // Ids in dependencies follow the ops they mean.
  void insert_op(OpId position, EditableOp op);
  void remove_op(OpId id);

  // A barrier that nobody is in for an op whose post does not exist.
  Post post_of(const EditableOp& op) const;
  PostKind kind_of(const EditableOp& op) const { return post_of(op).kind; }

  Plan shell;  // shapes, sets, accumulators, masks, kernels and messages as they are; its other lists are empty
  std::vector<EditableOp> ops;
  std::vector<EditablePost> posts;
  std::vector<EditableValue> values;
  std::vector<EditableOutput> outputs;
  std::vector<std::vector<int>> groups;
};

}  // namespace spscope::testing
