// A double-precision executor of plans: every rank has a store of its own, data leaves a rank by messages only, and ops
// run in a seeded legal order, among them orders in which one lane runs as far ahead as it can. It takes any plan,
// however damaged: what cannot be done is a fault, never undefined behaviour. It shares no code with verify().
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "backend/base/rng.h"
#include "backend/plan/plan.h"
#include "tests/support/dense_layer.h"

namespace spscope::testing {

// An op that cannot be done: a reference out of range, data that is not there, shapes that do not fit.
struct Fault : std::runtime_error {
  using std::runtime_error::runtime_error;
};
inline void require(bool condition, const char* what) {
  if (!condition) throw Fault(what);
}
// Throws Fault when a reference of the plan is out of range or an op lacks an operand of its kind.
void check_references(const Plan& plan, const Request& request);

// Inputs and weights by seed, made when first asked for.
class LayerInputs {
 public:
  LayerInputs(const Request& request, std::uint64_t seed) : request_(request), seed_(seed) {}
  const DenseTensor& input(const Value& value);
  // Throws Fault when the layer has no such contraction.
  const Weight& weight(const std::string& kernel);

 private:
  const Request& request_;
  std::uint64_t seed_;
  std::map<std::pair<int, int>, DenseTensor> inputs_;
  std::map<std::string, Weight> weights_;
};

enum class Ending { kDone, kDeadlock, kFault };

// One run of a plan.
class PlanRun {
 public:
  PlanRun(const Plan& plan, const Request& request, LayerInputs& inputs);

  // Runs every op once, in the order of the seed; call it once. Orders with a seed that 4 divides choose at random and
  // let others run between the start and the end of an op; the rest shuffle the lanes and let the first run ahead.
  Ending run(std::uint64_t order_seed);

  const std::string& failure() const { return failure_; }
  // Bytes that each rank sent to others, counted as they were copied.
  const std::vector<std::int64_t>& sent_bytes() const { return sent_bytes_; }
  // Most bytes of values and accumulators at each rank; a buffer is released when all ops that use it have ended.
  const std::vector<std::int64_t>& peak_bytes() const { return peak_bytes_; }
  // The elements of a cell of a value at a rank; nullptr when the rank does not hold it.
  const double* find_cell(ValueId value, int rank, int column, int outer, int inner) const;

 private:
  // A tensor of which some cells are there.
  struct PartialTensor {
    DenseTensor tensor;
    std::vector<char> placed, present;  // by cell: whether the rank may hold it, and does
    std::int64_t num_bytes = 0;
  };
  using Buffer = std::optional<PartialTensor>;
  struct Parcel {
    Box box;
    std::vector<double> elements;
  };

  void start();
  void place_inputs();
  void count_users();
  // Order of execution (plan_executor.cpp).
  bool step(std::size_t lane, bool run_ahead, Rng& rng);
  bool ready(const Op& op) const;
  void begin_op(const Op& op);
  bool end_op(const Op& op);
  bool partners_posted(const Op& op) const;
  bool posted(PostId post, int rank) const { return posted_[post_rank(post, rank)] != 0; }
  void release(OpId op);
  void grow(int rank, std::int64_t num_bytes);

  // What each kind does (plan_executor_ops.cpp).
  void attend(const Op& op);
  void attend_row(const Op& op, int head, int seq, int row, const std::vector<std::int32_t>& keys);
  void fold(PartialTensor& rows, std::size_t cell, int batch, const double* o, double m, double l);
  void merge(const Op& op);
  void finish(const Op& op);
  void local(const Op& op);
  void contract(const Op& op, const Kernel& kernel, const Box& from, const Box& to);
  void map_cells(const Op& op, const Kernel& kernel, const Box& box);
  std::vector<double> operand_cell(ValueId value, Axis axis, int rank, int c, int o, int i, int batch);
  void copy_messages(const Op& op);
  void receive(const Op& op);
  Parcel carry(const Message& message, ValueId value);
  void deliver(ValueId value, int rank, const Parcel& parcel);

  // Cells.
  PartialTensor& rows_of(const Op& op);
  Buffer& buffer(ValueId value, int rank) { return values_[slot(value, rank)]; }
  const double* read_cell(ValueId value, int rank, int column, int outer, int inner) const;
  void write_cell(ValueId value, int rank, int column, int outer, int inner, const double* elements, int count);
  const std::vector<std::int32_t>& indices(SetId id);
  template <typename Visit>
  void for_each_cell(const Box& box, Visit&& visit) {
    for (std::int32_t c : indices(box.columns))
      for (std::int32_t o : indices(box.outer))
        for (std::int32_t i : indices(box.inner)) visit(c, o, i);
  }
  std::size_t slot(std::int32_t id, int rank) const {
    return static_cast<std::size_t>(id) * static_cast<std::size_t>(plan_.ranks) + static_cast<std::size_t>(rank);
  }
  std::size_t post_rank(PostId post, int rank) const { return slot(post, rank); }
  std::int64_t element_bytes(const Value& value) const;

  const Plan& plan_;
  const Request& request_;
  LayerInputs& inputs_;
  std::string failure_;
  std::vector<std::int64_t> sent_bytes_, live_bytes_, peak_bytes_;
  std::vector<Buffer> values_, rows_;  // by (value, rank) and by (accumulator, rank)
  std::vector<int> users_;             // by (value, rank): ops that have yet to end; -1: an output, kept
  std::vector<std::vector<std::size_t>> used_by_op_;
  std::vector<std::vector<OpId>> lanes_;
  std::vector<std::size_t> heads_;  // by lane: its next op
  enum class State : char { kWaiting, kStarted, kEnded };
  std::vector<State> states_;
  std::vector<char> posted_;                                // by (post, rank)
  std::map<std::array<int, 3>, std::vector<Parcel>> mail_;  // by post, sender, receiver
  std::deque<std::vector<std::int32_t>> indices_;           // by set; references stay valid when it grows
  std::vector<int> widths_;                                 // by value: elements a cell of one batch entry
};

}  // namespace spscope::testing
