#include "backend/execute/cpu/measure.h"

#include <barrier>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include "backend/base/clock.h"
#include "backend/base/error.h"
#include "backend/base/median.h"
#include "backend/execute/cpu/buffer_store.h"
#include "backend/execute/cpu/compute_work.h"
#include "backend/execute/cpu/copy.h"

namespace spscope {
namespace {

// The compute ops of one rank, ready to run.
struct RankProgram {
  struct Step {
    OpId op;
    ComputeWork work;
    TouchedSlots touched;
  };
  std::vector<Step> steps;
  std::vector<std::int32_t> users;  // by slot, counting these steps only
};

RankProgram prepare_rank(const Plan& plan, const Request& request, LayerParameters* parameters,
                         const MemoryLayout& layout, CellFinder& finder, int rank) {
  RankProgram program;
  program.users.assign(layout.slots().size(), 0);
  for (OpId id = 0; id < static_cast<OpId>(plan.ops.size()); ++id) {
    const Op& op = plan.ops[static_cast<std::size_t>(id)];
    if (op.rank != rank || communicates(plan.kind_of(op))) continue;
    program.steps.push_back(
        {id, prepare_compute(plan, request, parameters, finder, op), touched_slots(plan, layout, op)});
    for (SlotId slot : program.steps.back().touched.read) ++program.users[static_cast<std::size_t>(slot)];
    for (SlotId slot : program.steps.back().touched.written) ++program.users[static_cast<std::size_t>(slot)];
  }
  return program;
}

using Pace = std::barrier<>;

// One core's pass over a rank, again and again.
class Pass {
 public:
  Pass(const Plan& plan, const Activations& activations, const MemoryLayout& layout, const std::atomic<bool>* interrupt)
      : plan_(plan), activations_(activations), store_(layout) {
    // An op of a whole sequence takes minutes: leave it between two calls of its kernel.
    scratch_.beat = [interrupt] {
      if (interrupt != nullptr && interrupt->load()) throw Error(ErrorCode::kInterrupted, "the run was interrupted");
    };
  }

  // Fills ns[repeat][step]. With a pace, waits for the other core before every op. `stop` is asked before every op.
  template <typename Stop>
  void run(const RankProgram& program, int warmup, int repeats, Pace* pace, Stop&& stop,
           std::vector<std::vector<std::int64_t>>& ns) {
    ns.clear();
    for (int pass = 0; pass < warmup + repeats; ++pass) {
      store_.start(program.users);
      std::vector<std::int64_t> took;
      for (const RankProgram::Step& step : program.steps) {
        for (SlotId slot : step.touched.read)
          if (store_.open(slot)) fill_slot(store_, plan_, activations_, slot);
        if (pace != nullptr) pace->arrive_and_wait();
        if (stop()) return;
        // Of this thread's turns on a core: other programs that take the core away do not count, so a busy machine
        // measures almost what an idle one does. What they do to caches and clock rates remains.
        const std::int64_t begin_ns = thread_cpu_ns();
        run_compute(step.work, store_, open_, scratch_);
        took.push_back(thread_cpu_ns() - begin_ns);
        for (SlotId slot : step.touched.read) store_.release(slot);
        for (SlotId slot : step.touched.written) store_.release(slot);
      }
      if (pass >= warmup) ns.push_back(std::move(took));
    }
  }

 private:
  const Plan& plan_;
  const Activations& activations_;
  BufferStore store_;
  const std::function<bool(SlotId)> open_ = [this](SlotId slot) { return store_.open(slot); };
  ComputeScratch scratch_;
};

// Times of one rank's steps in every repeat; with `other`, that core runs the same steps at the same time.
std::vector<std::vector<std::int64_t>> time_rank(const RankProgram& program, const MeasureOptions& options, Pass& pass,
                                                 Pass* other) {
  std::vector<std::vector<std::int64_t>> ns, unused;
  const auto interrupted = [&] { return options.interrupt != nullptr && options.interrupt->load(); };
  if (other == nullptr) {
    pass.run(program, options.warmup, options.repeats, nullptr, interrupted, ns);
    return ns;
  }
  // Both cores leave at the same op: the flag is read once an op, between the barrier that opens it and the next one.
  // A core that fails leaves the barrier, which lets the other one come to its next look at the flag.
  std::atomic<bool> leave{false};
  std::exception_ptr failures[2];
  Pace pace(2);
  const auto agreed = [&] {
    if (interrupted()) leave = true;
    pace.arrive_and_wait();
    return leave.load();
  };
  const auto run_core = [&](Pass& core, std::vector<std::vector<std::int64_t>>& out, std::exception_ptr& failure) {
    try {
      core.run(program, options.warmup, options.repeats, &pace, agreed, out);
    } catch (...) {  // the main of a rank's thread: rethrown below, once both cores have left
      failure = std::current_exception();
      leave = true;
      pace.arrive_and_drop();
    }
  };
  std::thread second([&] { run_core(*other, unused, failures[1]); });
  run_core(pass, ns, failures[0]);
  second.join();
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
  return ns;
}

}  // namespace

std::vector<std::vector<std::int64_t>> measure_repeats(const Plan& plan, const Request& request,
                                                       const Activations& activations, const MeasureOptions& options) {
  require_fit(activations, request);
  const MemoryLayout layout(plan);
  CellFinder finder(plan, layout);
  Pass pass(plan, activations, layout, options.interrupt);
  std::optional<Pass> other;
  if (options.load == MeasureLoad::kLoaded) other.emplace(plan, activations, layout, options.interrupt);
  std::vector<std::vector<std::int64_t>> result(static_cast<std::size_t>(options.repeats),
                                                std::vector<std::int64_t>(plan.ops.size(), 0));
  for (int rank = 0; rank < plan.ranks; ++rank) {
    const RankProgram program = prepare_rank(plan, request, activations.parameters.get(), layout, finder, rank);
    const auto ns = time_rank(program, options, pass, other ? &*other : nullptr);
    if (options.interrupt != nullptr && options.interrupt->load())
      throw Error(ErrorCode::kInterrupted, "the run was interrupted");
    for (std::size_t repeat = 0; repeat < result.size(); ++repeat)
      for (std::size_t step = 0; step < program.steps.size(); ++step)
        result[repeat][static_cast<std::size_t>(program.steps[step].op)] = ns[repeat][step];
    if (options.on_rank) options.on_rank(rank + 1, plan.ranks);
  }
  return result;
}

std::vector<std::int64_t> measure(const Plan& plan, const Request& request, const Activations& activations,
                                  const MeasureOptions& options) {
  const std::vector<std::vector<std::int64_t>> repeats = measure_repeats(plan, request, activations, options);
  std::vector<std::int64_t> result(plan.ops.size(), 0);
  for (std::size_t op = 0; op < result.size(); ++op) {
    std::vector<std::int64_t> of_op;
    for (const std::vector<std::int64_t>& repeat : repeats) of_op.push_back(repeat[op]);
    result[op] = median(std::move(of_op));
  }
  return result;
}

}  // namespace spscope
