// The MPI executor: this process runs one rank of the plan (lane_run.h); ranks of its node see its memory.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/base/clock.h"
#include "backend/base/process.h"
#include "backend/base/result.h"
#include "backend/execute/agree.h"
#include "backend/execute/cpu/cpu_device.h"
#include "backend/execute/cpu/mpi_row.h"
#include "backend/execute/lanes/lane_run.h"
#include "backend/execute/mpi/mpi_check.h"
#include "backend/execute/mpi/mpi_communicator.h"
#include "backend/execute/mpi/mpi_world.h"
#include "backend/execute/program/shared_places.h"
#include "backend/record/computing.h"

namespace spscope {
namespace {

using mpi::MpiCommunicator;
using mpi::MpiWorld;

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

constexpr std::size_t kLineBytes = 64;
// Of lanes that wait for messages of other nodes, where there are cores enough: until waking up, at 50 us, is little
// beside the wait.
constexpr std::int64_t kLaneSpinNs = 1'000'000;

std::size_t lines(std::size_t bytes) { return (bytes + kLineBytes - 1) / kLineBytes * kLineBytes; }

// What the ranks of a node share beside buffers, one array after the other at the start of the first one's segment.
struct Board {
  Board(const Plan& plan, const MemoryLayout& layout)
      : num_ops(plan.ops.size()),
        num_lanes(at(plan.ranks) * at(plan.lanes)),
        num_slots(layout.slots().size()),
        num_ranks(at(plan.ranks)) {}
  std::size_t bytes() const {
    return lines(sizeof(StopRecord)) + lines(num_ops * sizeof(OpFlags)) + lines(num_lanes * sizeof(NowLine)) +
           lines(num_ranks * sizeof(std::atomic<std::int64_t>)) + lines(num_slots * sizeof(SlotState)) +
           lines(num_ranks * sizeof(MemoryAccount));
  }
  void lay_over(std::byte* memory) {
    const auto next = [&memory]<typename T>(std::span<T>& array, std::size_t count) {
      array = {reinterpret_cast<T*>(memory), count};
      memory += lines(count * sizeof(T));
    };
    std::span<StopRecord> stop;
    next(stop, 1);
    next(control.ops, num_ops);
    next(lanes, num_lanes);
    next(control.reported_ns, num_ranks);
    next(slots, num_slots);
    next(accounts, num_ranks);
    control.stop = stop.data();
  }
  std::size_t num_ops, num_lanes, num_slots, num_ranks;
  ControlBoard control;
  std::span<NowLine> lanes;
  std::span<SlotState> slots;
  std::span<MemoryAccount> accounts;
};

RankView view_of(const MpiWorld& world) {
  RankView view{{world.rank(), 1}, std::vector<bool>(at(world.size()), false)};
  for (int rank : world.ranks_of_node()) view.shares_memory[at(rank)] = true;
  return view;
}

// Memory for the board and the shared slots of the node, all zero on the board.
Board share_memory(MpiWorld& world, const Plan& plan, const MemoryLayout& layout, SharedSlots& shared) {
  const std::vector<int>& node = world.ranks_of_node();
  const auto on_node = [&](int rank) { return std::ranges::binary_search(node, rank); };
  const SharedPlaces places = place_shared_slots(
      plan, layout, [&](int rank, int other) { return world.node_of(rank) == world.node_of(other); }, on_node);
  Board board(plan, layout);
  const std::size_t board_bytes = board.bytes();
  std::vector<std::int64_t> bytes;
  for (int rank : node) bytes.push_back(places.bytes_of_rank[at(rank)]);
  bytes.front() += static_cast<std::int64_t>(board_bytes);
  const bool grow = world.window().must_grow(bytes);
  throw_agreed(world, grow ? world.window().cannot_grow(bytes) : std::nullopt);
  if (grow) world.window().grow(bytes);

  board.lay_over(world.window().segment(0));
  if (world.rank() == node.front()) {
    std::memset(world.window().segment(0), 0, board_bytes);
    for (NowLine& line : board.lanes) line.publish(LaneNow());
  }
  shared.states = board.slots;
  shared.accounts = board.accounts;
  shared.memory.assign(layout.slots().size(), nullptr);
  for (std::size_t i = 0; i < node.size(); ++i) {
    std::byte* const start = world.window().segment(i) + (i == 0 ? board_bytes : 0);
    for (SlotId slot = 0; slot < static_cast<SlotId>(places.offset.size()); ++slot)
      if (layout.slot(slot).rank == node[i] && places.offset[at(slot)] >= 0)
        shared.memory[at(slot)] = start + places.offset[at(slot)];
  }
  return board;
}

// Processes on one node sort bytes by the nodes of the config, as thread ranks do.
std::function<int(int)> node_sorter(const MpiWorld& world, int ranks_per_node) {
  if (world.num_nodes() > 1) return [&world](int rank) { return world.node_of(rank); };
  return [ranks_per_node](int rank) { return ranks_per_node > 0 ? rank / ranks_per_node : 0; };
}

using NowPages = std::vector<std::shared_ptr<const NowPageView>>;

// The pages of the other ranks of the node, by position in it; nullptr where a rank has none. nullopt unless every
// process of the node can map all of them: ranks in containers on one host may have scratch folders of their own.
std::optional<NowPages> open_pages(MpiWorld& world, int lanes, const std::string& own_path) {
  const std::vector<int>& node = world.ranks_of_node();
  const std::vector<std::string> paths = world.share_in_node(own_path);
  NowPages pages(node.size());
  bool opened = true;
  for (std::size_t i = 0; i < node.size() && opened; ++i) {
    if (node[i] == world.rank() || paths[i].empty()) continue;
    const auto view = capture([&] { return std::make_shared<const NowPageView>(paths[i]); });
    opened = view && (*view)->line(node[i], lanes - 1) != nullptr;
    if (opened) pages[i] = *view;
  }
  if (!world.all_in_node(opened)) return std::nullopt;
  return pages;
}

// Where the lanes of all ranks say what they do: those of this node in the pages of their recorders, where they have
// them and all processes of the node can map them; all others on the board. The first process of a node writes those of
// other nodes, as they report.
void place_lines(MpiWorld& world, const Plan& plan, OpRecorder* recorder, Board& board) {
  const std::vector<int>& node = world.ranks_of_node();
  const std::optional<NowPages> pages = open_pages(world, plan.lanes, recorder != nullptr ? recorder->page_path() : "");
  for (NowLine& line : board.lanes) {
    board.control.lines.push_back(&line);
    board.control.writable.push_back(world.rank() == node.front() ? &line : nullptr);
    board.control.copies.push_back(nullptr);
  }
  for (std::size_t i = 0; i < node.size(); ++i)
    for (int lane = 0; lane < plan.lanes; ++lane) {
      const std::size_t index = at(node[i]) * at(plan.lanes) + at(lane);
      NowLine* const on_board = &board.lanes[index];
      if (node[i] != world.rank()) {
        board.control.writable[index] = nullptr;
        if (pages && (*pages)[i] != nullptr) board.control.lines[index] = (*pages)[i]->line(node[i], lane);
        continue;
      }
      NowLine* const own = recorder != nullptr ? recorder->line(node[i], lane) : nullptr;
      board.control.writable[index] = own != nullptr ? own : on_board;
      board.control.lines[index] = board.control.writable[index];
      if (own != nullptr && !pages) board.control.copies[index] = on_board;
    }
  if (pages) board.control.pages = *pages;
}

// Of the processes on this node what the system says; of others, whether they are heard of.
SystemView system_view(const MpiWorld& world, const mpi::NodeMessages& messages, double patience_seconds) {
  const auto is_near = [&world](int rank) { return world.node_of(rank) == world.node_of(world.rank()); };
  const auto is_stopped = [&world](int rank) {
    const std::optional<ProcessFacts> facts = read_process(world.place(rank).pid);
    return facts && facts->stopped();
  };
  SystemView view;
  view.why_lost = [&world, &messages, is_near, is_stopped](int rank) -> std::string {
    // The first process of the node receives the reports of others.
    if (!is_near(rank)) return is_stopped(world.ranks_of_node().front()) ? "" : messages.silence(rank);
    if (!is_stopped(rank)) return {};
    const int pid = world.place(rank).pid;
    return "its process " + std::to_string(pid) + " is stopped by a signal and goes on after kill -CONT " +
           std::to_string(pid);
  };
  view.computes = [&world, is_near, patience_seconds](std::span<const int> ranks) {
    std::vector<int> pids;
    for (const int rank : ranks)
      if (is_near(rank)) pids.push_back(world.place(rank).pid);
    const std::vector<std::optional<bool>> near = which_compute(pids, patience_seconds);
    std::vector<std::optional<bool>> computes;
    for (auto next = near.begin(); const int rank : ranks) computes.push_back(is_near(rank) ? *next++ : true);
    return computes;
  };
  return view;
}

// Comes to a barrier even when the run stops, since the others do. When one does not come then, the reason to stop is
// thrown, so that what was recorded is kept; nothing can be agreed on any more, and leave_together() will fail. After
// an interrupt, which others may not have met, or with a lane left behind, all processes are ended at once.
void come_together(MpiWorld& world, LaneRun& run, double patience_seconds,
                   mpi::Waiting waiting = mpi::Waiting::kIdles) {
  ProgressWatch progress(run, patience_seconds);
  const bool came = world.barrier_unless([&] { return progress.look(); }, waiting);
  if (came && run.all_left) return;
  const std::optional<StopReason> reason = run.control->await_reason(0);
  if (!reason || reason->code == ErrorCode::kInterrupted || !run.all_left)
    world.abort(reason ? render(reason->error()) : "a rank does not come back");
  throw reason->error();
}

// What one process tells rank 0 of its rank.
struct RankResult {
  std::vector<std::int64_t> start_ns;  // by repeat
  std::vector<OpTimes> times;          // by repeat, by op of the rank, on its raw clock
  std::vector<float> outputs;

  std::vector<std::byte> pack() const;
  static RankResult unpack(std::span<const std::byte> bytes);
};

template <typename T>
void append(std::vector<std::byte>& bytes, const std::vector<T>& values) {
  const auto count = static_cast<std::int64_t>(values.size());
  const std::size_t before = bytes.size();
  bytes.resize(before + sizeof count + values.size() * sizeof(T));
  std::memcpy(bytes.data() + before, &count, sizeof count);
  if (count > 0) std::memcpy(bytes.data() + before + sizeof count, values.data(), values.size() * sizeof(T));
}

template <typename T>
void take(std::span<const std::byte>& bytes, std::vector<T>& values) {
  std::int64_t count = 0;
  std::memcpy(&count, bytes.data(), sizeof count);
  values.resize(static_cast<std::size_t>(count));
  if (count > 0) std::memcpy(values.data(), bytes.data() + sizeof count, values.size() * sizeof(T));
  bytes = bytes.subspan(sizeof count + values.size() * sizeof(T));
}

std::vector<std::byte> RankResult::pack() const {
  std::vector<std::byte> bytes;
  append(bytes, start_ns), append(bytes, times), append(bytes, outputs);
  return bytes;
}

RankResult RankResult::unpack(std::span<const std::byte> bytes) {
  RankResult result;
  take(bytes, result.start_ns), take(bytes, result.times), take(bytes, result.outputs);
  return result;
}

std::vector<OpId> ops_of(const Plan& plan, int rank) {
  std::vector<OpId> ops;
  for (OpId id = 0; id < static_cast<OpId>(plan.ops.size()); ++id)
    if (plan.ops[at(id)].rank == rank) ops.push_back(id);
  return ops;
}

// Timelines of all ranks that are known here, from the moment when the first one could start.
void put_together(const MpiWorld& world, const Plan& plan, int repeats, const std::vector<RankResult>& of_rank,
                  ExecuteResult& result) {
  result.timelines.assign(at(repeats), Timeline{std::vector<OpTimes>(plan.ops.size())});
  for (int repeat = 0; repeat < repeats; ++repeat) {
    Timeline& timeline = result.timelines[at(repeat)];
    std::int64_t first_ns = std::numeric_limits<std::int64_t>::max();
    const auto run_ns = [&](int rank, std::int64_t raw_ns) { return world.clocks()[at(rank)].to_run_ns(raw_ns); };
    for (int rank = 0; rank < plan.ranks; ++rank)
      if (!of_rank[at(rank)].start_ns.empty())
        first_ns = std::min(first_ns, run_ns(rank, of_rank[at(rank)].start_ns[at(repeat)]));
    for (int rank = 0; rank < plan.ranks; ++rank) {
      const RankResult& known = of_rank[at(rank)];
      if (known.start_ns.empty()) continue;
      const std::vector<OpId> ops = ops_of(plan, rank);
      for (std::size_t i = 0; i < ops.size(); ++i) {
        const OpTimes& raw = known.times[at(repeat) * ops.size() + i];
        timeline.ops[at(ops[i])] = {run_ns(rank, raw.post_ns) - first_ns, run_ns(rank, raw.begin_ns) - first_ns,
                                    run_ns(rank, raw.end_ns) - first_ns};
      }
    }
    result.makespan_ns.push_back(timeline.makespan_ns());
  }
}

// Bytes, peaks and times of all ranks.
void collect(MpiWorld& world, const Plan& plan, LaneRun& run, int repeats, RankResult mine, ExecuteResult& result) {
  const CountedBytes counted = run.communicator->traffic();
  const auto r = at(world.rank());
  const std::vector<std::int64_t> peak = std::exchange(result.peak_bytes, std::vector<std::int64_t>(at(plan.ranks)));
  const std::vector<std::int64_t> staging =
      std::exchange(result.staging_peak_bytes, std::vector<std::int64_t>(at(plan.ranks)));
  result.peak_bytes[r] = peak[r];
  result.staging_peak_bytes[r] = staging[r];
  result.peak_bytes = world.sum(std::move(result.peak_bytes));
  result.staging_peak_bytes = world.sum(std::move(result.staging_peak_bytes));
  result.traffic = {world.sum(counted.sent), world.sum(counted.received), world.sum(counted.sent_intra_node),
                    world.sum(counted.sent_inter_node)};
  world.measure_clocks();
  mine.outputs = run.device->read_outputs(world.rank());
  const std::vector<std::vector<std::byte>> all = world.gather(mine.pack());
  std::vector<RankResult> of_rank(at(plan.ranks));
  if (world.rank() != 0) {
    of_rank[r] = std::move(mine);
    put_together(world, plan, repeats, of_rank, result);
    return;
  }
  std::vector<std::vector<float>> held;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    of_rank[rank] = RankResult::unpack(all[rank]);
    held.push_back(std::move(of_rank[rank].outputs));
  }
  put_together(world, plan, repeats, of_rank, result);
  result.outputs = run.program.outputs().gather(held);
}

// One repeat. The board is cleared between two barriers, when no lane of any process runs and no process
// handles messages of the last repeat any more: a late one would set a flag of the clear board.
void run_repeat(MpiWorld& world, const std::shared_ptr<LaneRun>& run, MpiCommunicator& communicator,
                const Activations& activations, int repeat, RankResult& mine) {
  communicator.node_messages().begin_epoch(world.next_epoch());
  // Between repeats a rank may take its time: the first one tells people.
  come_together(world, *run, std::numeric_limits<double>::infinity());
  if (world.rank() == world.ranks_of_node().front()) run->control->reset();
  communicator.reset();
  const double patience_seconds = run->options.watchdog_seconds;
  std::int64_t start_ns = 0;
  bool met = false;
  const auto meet = [&] {
    met = true;
    // All begin when it is over.
    const std::optional<Error> absent =
        failure_of([&] { come_together(world, *run, patience_seconds, world.timed_waiting()); });
    if (absent) run->control->stop();  // and the second barrier throws
  };
  const std::optional<Error> failure = failure_of([&] {
    fill_inputs(*run, activations);
    start_ns = run_lanes(run, repeat, meet);
  });
  if (!met) {  // no lane has started, and the others wait
    run->control->stop({failure->code(), {world.rank(), -1, kNone, false, failure->what()}});
    meet();
  }
  come_together(world, *run, patience_seconds);
  communicator.node_messages().finish_epoch();
  if (failure) throw *failure;
  if (const std::optional<StopReason> reason = run->control->reason()) throw reason->error();
  if (repeat < 0) return;
  mine.start_ns.push_back(start_ns);
  for (OpId id : ops_of(run->program.plan(), world.rank())) mine.times.push_back(run->times[at(id)]);
}

class MpiExecution final : public Execution {
 public:
  MpiExecution(MpiWorld& world, const Plan& plan, const Request& request, const Activations& activations,
               const ExecuteOptions& options)
      : world_(world), activations_(activations), run_(std::make_shared<LaneRun>(plan, options, view_of(world))) {
    auto device = std::make_unique<CpuDevice>(run_->program, request, activations.parameters);
    device_ = device.get();
    run_->device = std::move(device);
  }

  void allocate() override;
  void run(int repeat) override { run_repeat(world_, run_, *communicator_, activations_, repeat, mine_); }
  std::vector<std::int64_t> peak_bytes() const override { return run_->device->peak_bytes(); }
  std::vector<std::int64_t> staging_peak_bytes() const override { return run_->staging_peak_bytes(); }
  void finish(ExecuteResult& result) override {
    collect(world_, run_->program.plan(), *run_, run_->options.repeats, std::move(mine_), result);
    if (world_.oversubscribed()) result.provenance.timing = Timing::kOversubscribed;
    world_.barrier();  // nobody uses the board any more
  }

 private:
  MpiWorld& world_;
  const Activations& activations_;
  const std::shared_ptr<LaneRun> run_;
  CpuDevice* device_ = nullptr;              // of the run
  MpiCommunicator* communicator_ = nullptr;  // of the run
  RankResult mine_;
};

void MpiExecution::allocate() {
  const Plan& plan = run_->program.plan();
  SharedSlots shared;
  Board board = share_memory(world_, plan, run_->program.layout(), shared);
  device_->allocate(run_->options.poison, std::move(shared));
  world_.barrier();  // the board is clear
  throw_agreed(world_, failure_of([&] { place_lines(world_, plan, run_->options.recorder, board); }));
  run_->control = std::make_unique<RunControl>(plan, board.control);
  if (world_.num_nodes() > 1 && world_.timed_waiting() == mpi::Waiting::kSpins) run_->control->set_spin_ns(kLaneSpinNs);
  device_->memory().watch_stop(run_->control->stopping());
  auto communicator = std::make_unique<MpiCommunicator>(world_, *run_, device_->memory(),
                                                        node_sorter(world_, run_->options.ranks_per_node));
  run_->system = system_view(world_, communicator->node_messages(), run_->options.watchdog_seconds);
  communicator_ = communicator.get();
  run_->communicator = std::move(communicator);
}

std::unique_ptr<Execution> prepare(const Plan& plan, const Request& request, const Activations& activations,
                                   const ExecuteOptions& options) {
  auto* const world = dynamic_cast<MpiWorld*>(options.world);
  if (world == nullptr)
    throw Error(ErrorCode::kLaunch, "ranks of MPI run in processes that mpirun or srun starts",
                "use --launcher mpi, or --launcher threads");
  if (world->size() != plan.ranks)
    throw Error(ErrorCode::kLaunch,
                "the plan has " + std::to_string(plan.ranks) + " ranks, and " + std::to_string(world->size()) +
                    " processes were started",
                "start as many as cluster.ranks says");
  return std::make_unique<MpiExecution>(*world, plan, request, activations, options);
}

}  // namespace

Executor executor_mpi() { return mpi_row(prepare); }

}  // namespace spscope
