// A symbolic executor of plans: an element is a number that says what it was computed from. Kernels hash their
// operands; what may come in any order and in parts (the keys of a row, shares of a sum) adds up, so that each part
// counts exactly once. Every rank has a store of its own, data leaves a rank by messages only, and ops run in a seeded
// legal order, among them orders in which one lane runs as far ahead as it can. What cannot be done is a fault. Of
// verify() it shares only the check that every reference of the plan can be followed.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "backend/base/rng.h"
#include "backend/plan/plan.h"
#include "backend/plan/request.h"

namespace spscope::testing {

// Whether the references of a plan are in range and its shapes known to the request: a PlanRun needs it.
bool can_be_followed(const Plan& plan, const Request& request);

enum class Ending { kDone, kDeadlock, kFault };

// One run of a plan.
class PlanRun {
 public:
  using Symbol = std::uint64_t;

  // REQUIRES: can_be_followed().
  PlanRun(const Plan& plan, const Request& request);

  // Runs every op once, in the order of the seed; call it once. Orders with a seed that 4 divides choose at random and
  // let others run between the start and the end of an op; the rest shuffle the lanes and let the first run ahead.
  Ending run(std::uint64_t order_seed);

  const std::string& failure() const { return failure_; }
  // Bytes that each rank sent to others, counted as they were copied.
  const std::vector<std::int64_t>& sent_bytes() const { return sent_bytes_; }
  // Most bytes of values and accumulators at each rank; a buffer is released when all ops that use it have ended.
  const std::vector<std::int64_t>& peak_bytes() const { return peak_bytes_; }
  // A cell of a value at a rank; empty when the rank does not hold it.
  std::optional<Symbol> find_cell(ValueId value, int rank, int column, int outer, int inner) const;

 private:
  using Cell = std::array<int, 3>;  // column, outer, inner
  struct Buffer {
    std::vector<char> placed;  // by cell: whether the rank may hold it
    std::vector<std::optional<Symbol>> cells;
    std::int64_t num_bytes = 0;
  };
  struct Parcel {
    Box box;
    std::int64_t cell_bytes = 0;
    std::vector<Symbol> cells;
  };

  // Order of execution.
  void start();
  void count_users();
  bool step(std::size_t lane, bool run_ahead, Rng& rng);
  bool ready(const Op& op) const;
  void begin_op(const Op& op);
  bool end_op(const Op& op);
  bool partners_posted(const Op& op) const;
  void release(OpId op);
  void grow(int rank, std::int64_t num_bytes);

  // What each kind does.
  void attend(const Op& op);
  void merge(const Op& op);
  void finish(const Op& op);
  void local(const Op& op);
  Symbol contracted(const Op& op, const Kernel& kernel, SetId columns, Cell to) const;
  Symbol mapped(const Op& op, const Kernel& kernel, Cell cell) const;
  void copy_messages(const Op& op);
  void receive(const Op& op);
  Parcel carry(const Message& message, ValueId value);
  void deliver(ValueId value, int rank, const Parcel& parcel);

  // Cells.
  const Value& value(ValueId id) const { return plan_.values[static_cast<std::size_t>(id)]; }
  std::int64_t cell_bytes(TensorSet tensors) const;
  std::optional<std::size_t> cell_index(Axis columns, Cell cell) const;
  Buffer make_buffer(Axis columns, std::span<const Box> boxes) const;
  Buffer& rows_of(const Op& op);
  Symbol read(ValueId value, int rank, Cell cell) const;
  void write(ValueId value, int rank, Cell cell, Symbol symbol);
  template <typename Visit>
  void for_each_cell(const Box& box, Visit&& visit) const;
  std::size_t slot(std::int32_t id, int rank) const {
    return static_cast<std::size_t>(id) * static_cast<std::size_t>(plan_.ranks) + static_cast<std::size_t>(rank);
  }

  const Plan& plan_;
  const Request& request_;
  std::string failure_;
  std::vector<std::int64_t> sent_bytes_, live_bytes_, peak_bytes_;
  std::vector<std::optional<Buffer>> values_, rows_;  // by (value, rank) and by (accumulator, rank)
  std::vector<int> users_;                            // by (value, rank): ops that have yet to end
  std::vector<std::vector<std::size_t>> used_by_op_;
  std::vector<std::vector<OpId>> lanes_;
  std::vector<std::size_t> heads_;  // by lane: its next op
  enum class State : char { kWaiting, kStarted, kEnded };
  std::vector<State> states_;
  std::vector<char> posted_;                                // by (post, rank)
  std::map<std::array<int, 3>, std::vector<Parcel>> mail_;  // by post, sender, receiver
};

}  // namespace spscope::testing
