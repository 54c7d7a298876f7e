// Ranks that are processes against ranks that are threads, over the conformance set and over plans of the library with
// pulls, pushes, barriers and signals: the same bits of outputs, the same bytes of every rank, inside and between
// nodes. Every process loops over all cases whose number of ranks is the number of processes; rank 0 judges.
//
//   mpirun -n N mpi_conformance [--ranks-per-node N] [--plans N] [--private-page]
//                   [--fail | --hang | --compute | --stop | --stop-last | --files | --refused]
//
// --ranks-per-node makes a node of every N processes of the host. --plans runs N of the set, evenly over it, and all
// when it has fewer.
// --fail: rank 1 throws in the middle of a plan, and all processes must report just that. --hang: it goes no further.
// --compute: it computes for longer than the patience of the others, which is no fault.
// --stop: its process is stopped, and all others must name it; --stop-last: in its last op, when nobody needs it.
// --private-page: every rank has a recorder, and no other process can open the page of rank 1.
// --files: instead of plans, files go from the last rank to rank 0.
// --refused: instead, a run in which one strategy is refused in the second step.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "backend/base/clock.h"
#include "backend/base/result.h"
#include "backend/execute/execute.h"
#include "backend/record/now_page.h"
#include "backend/record/op_recorder.h"
#include "backend/schedule/memory.h"
#include "backend/strategies/strategy.h"
#include "tests/conformance/settings.h"
#include "tests/conformance/workloads.h"
#include "tests/mpi/refused_strategy.h"
#include "tests/mpi/transfer_cases.h"
#include "tests/support/one_sided_plan.h"
#include "tests/support/plan_library.h"
#include "tests/support/temporary_folder.h"

namespace spscope {
namespace {

struct Arguments {
  int ranks_per_node = 0;
  std::size_t plans = 100;
  bool files = false, refused = false, private_page = false;
  std::string fault;  // "--fail", "--hang", "--compute", "--stop" or "--stop-last"
};

// Compares at rank 0 and counts.
class Judge {
 public:
  explicit Judge(RankWorld& world) : world_(world) {}

  void run(const std::string& name, const Plan& plan, const Request& request, const Activations& activations);
  int report() const {
    std::fflush(stdout);  // before the end of one rank ends the others
    const std::int64_t failed = world_.sum({failed_}).front();
    if (world_.rank() == 0)
      std::printf("%d plans on %d processes and %d nodes: %d differ\n", runs_, world_.size(), world_.num_nodes(),
                  static_cast<int>(failed));
    return failed == 0 && runs_ > 0 ? 0 : 1;
  }

 private:
  void expect(bool holds, const std::string& what) {
    if (holds) return;
    if (++shown_ < 20) std::printf("FAILED: %s: %s\n", name_.c_str(), what.c_str());
    fine_ = false;
  }
  void compare(const Plan& plan, const ExecuteResult& processes, const ExecuteResult& threads);
  void compare_nodes(const Plan& plan, const CountedBytes& traffic);
  void compare_times(const Plan& plan, const Timeline& timeline);
  std::int64_t clock_error_ns(int a, int b) const;

  RankWorld& world_;
  std::string name_;
  int runs_ = 0, failed_ = 0, shown_ = 0;
  bool fine_ = true;
};

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

void Judge::run(const std::string& name, const Plan& plan, const Request& request, const Activations& activations) {
  ExecuteOptions options;
  options.poison = true;
  ExecuteOptions by_processes = options;
  by_processes.backend = "mpi";
  by_processes.world = &world_;
  by_processes.repeats = 2;
  const ExecuteResult processes = execute(plan, request, activations, by_processes);
  ++runs_;
  if (world_.rank() != 0) return;
  name_ = name;
  fine_ = true;
  compare(plan, processes, execute(plan, request, activations, options));
  failed_ += fine_ ? 0 : 1;
}

void Judge::compare(const Plan& plan, const ExecuteResult& processes, const ExecuteResult& threads) {
  expect(processes.traffic.sent == threads.traffic.sent, "bytes sent");
  expect(processes.traffic.received == threads.traffic.received, "bytes received");
  expect(processes.traffic.sent == bytes_sent(plan), "bytes sent by plan");
  compare_nodes(plan, processes.traffic);
  expect(processes.outputs.size() == threads.outputs.size(), "number of outputs");
  for (std::size_t i = 0; i < threads.outputs.size() && i < processes.outputs.size(); ++i) {
    expect(same_bits(processes.outputs[i].values, threads.outputs[i].values), "bits of output " + std::to_string(i));
    expect(processes.outputs[i].max_replica_error == threads.outputs[i].max_replica_error, "replicas");
  }
  const std::vector<std::int64_t> bound = memory_bound(plan);
  for (std::size_t rank = 0; rank < bound.size(); ++rank) {
    expect(processes.peak_bytes[rank] > 0 || bound[rank] == 0, "no memory at rank " + std::to_string(rank));
    expect(processes.peak_bytes[rank] <= bound[rank], "memory of rank " + std::to_string(rank));
  }
  expect(processes.timelines.size() == 2, "two timelines");
  for (const Timeline& timeline : processes.timelines) compare_times(plan, timeline);
}

void Judge::compare_nodes(const Plan& plan, const CountedBytes& traffic) {
  std::vector<std::int64_t> intra(traffic.sent.size()), inter(traffic.sent.size());
  for (const Message& m : plan.messages) {
    if (m.src == m.dst) continue;
    const bool near = world_.node_of(m.src) == world_.node_of(m.dst);
    (near ? intra : inter)[static_cast<std::size_t>(m.src)] += m.bytes;
  }
  expect(traffic.sent_intra_node == intra, "bytes inside nodes");
  expect(traffic.sent_inter_node == inter, "bytes between nodes");
}

void Judge::compare_times(const Plan& plan, const Timeline& timeline) {
  for (std::size_t id = 0; id < plan.ops.size(); ++id) {
    const OpTimes& t = timeline.ops[id];
    expect(0 <= t.post_ns && t.post_ns <= t.begin_ns && t.begin_ns <= t.end_ns, "times of op " + std::to_string(id));
    for (OpId d : plan.deps(plan.ops[id]))
      expect(timeline.ops[static_cast<std::size_t>(d)].end_ns <=
                 t.begin_ns + clock_error_ns(plan.ops[static_cast<std::size_t>(d)].rank, plan.ops[id].rank),
             "order of op " + std::to_string(id));
  }
}

// How far times of two ranks may be out of order: nothing where they read one clock, else what the fits promise.
std::int64_t Judge::clock_error_ns(int a, int b) const {
  const std::vector<ClockOfRank>& clocks = world_.clocks();
  const ClockOfRank &first = clocks[static_cast<std::size_t>(a)], &second = clocks[static_cast<std::size_t>(b)];
  if (first.measured_by == second.measured_by) return 0;
  return (first.same() ? 0 : first.fit.bound_ns) + (second.same() ? 0 : second.fit.bound_ns);
}

// A plan of the set, on what it runs.
struct SetPlan {
  ConformanceCase where;
  Dtype dtype;
  const Strategy* strategy;
  Parameters setting;
};

Request request_of(const ConformanceCase& c, Dtype dtype, int ranks) {
  Request request = make_request(workloads()[c.workload], patterns()[c.pattern], ranks, dtype);
  define_outputs(request);
  return request;
}

std::vector<SetPlan> plans_of_set(int ranks) {
  std::vector<SetPlan> set;
  for (const ConformanceCase& c : all_cases()) {
    const std::span<const int> counts = rank_counts(workloads()[c.workload]);
    if (std::ranges::find(counts, ranks) == counts.end()) continue;
    const std::string_view pattern = patterns()[c.pattern].name;
    const bool telling = pattern == "sparge" || pattern == "headwise";
    for (const Dtype dtype : {Dtype::kFp32, Dtype::kBf16}) {
      const Request request = request_of(c, dtype, ranks);
      for (const Strategy& strategy : strategies())
        for (Parameters& setting : settings_to_run(strategy, request, telling && dtype == Dtype::kFp32))
          set.push_back({c, dtype, &strategy, std::move(setting)});
    }
  }
  return set;
}

void run_conformance(Judge& judge, int ranks, std::size_t plans) {
  const std::vector<SetPlan> set = plans_of_set(ranks);
  plans = std::min(plans, set.size());
  for (std::size_t i = 0; i < plans; ++i) {
    const SetPlan& plan = set[i * set.size() / plans];
    const Request request = request_of(plan.where, plan.dtype, ranks);
    const std::string name = fmt::format("{} {} {}:{}", case_name(plan.where), dtype_name(plan.dtype),
                                         plan.strategy->name, plan.setting.str());
    judge.run(name, make_plan(*plan.strategy, request, plan.setting), request, generate_activations(request, 11));
  }
}

// Plans of attention alone. A kernel that the executor does not know on queries becomes a copy: what moves counts here.
void run_library(Judge& judge, int ranks) {
  for (const testing::PlanCase& c : testing::plan_cases()) {
    if (c.shape.ranks != ranks) continue;
    const Request request = testing::layer_request(c.shape, c.kind);
    Plan plan = testing::build(c.plan, request);
    for (Kernel& kernel : plan.kernels)
      if (kernel.name == "rope") kernel.name = "copy";
    const bool multiplies = std::ranges::any_of(plan.posts, [&](const Post& post) {
      return post.kind == PostKind::kLocal && plan.kernels[static_cast<std::size_t>(post.kernel)].contracts;
    });
    if (multiplies || !cannot_execute(plan).empty()) continue;
    judge.run("library " + c.name, plan, request, generate_activations(request, 3));
  }
}

void run_one_sided(Judge& judge, int ranks) {
  const TestedWorkload& workload = workloads().front();
  const Request request = make_request(workload, *find_pattern("sparge"), ranks, Dtype::kFp32);
  const Activations activations = generate_activations(request, 5);
  for (const bool pull : {true, false})
    for (const bool barrier : {true, false})
      judge.run(std::string(pull ? "pull" : "push") + (barrier ? " with a barrier" : " with signals"),
                testing::one_sided_plan(request, pull, barrier), request, activations);
}

// Lines of this rank in a page of its own.
class PageRecorder final : public OpRecorder {
 public:
  PageRecorder(const std::string& path, int rank, int lanes, bool hidden)
      : page_(path, this_process(rank, 1, lanes, {})), hidden_(hidden) {}
  void begin_repeat(int) noexcept override {}
  void end_repeat() noexcept override {}
  void fault(const RankFault&) noexcept override {}
  RunId run() const noexcept override { return RunId{1}; }
  NowLine* line(int rank, int lane) noexcept override { return &page_.line(rank, lane); }
  std::string page_path() const override { return page_.path() + (hidden_ ? ".of-another-container" : ""); }
  EventCounts ended(int, int, OpId, const OpTimes&) noexcept override { return {++sent_, 0}; }

 private:
  NowPageWriter page_;
  const bool hidden_;
  std::atomic<std::int64_t> sent_{0};
};

int run_failing(RankWorld& world, const std::string& fault, bool private_page) {
  const Request request = make_request(workloads().front(), *find_pattern("sparge"), world.size(), Dtype::kFp32);
  const Plan plan = make_plan(*find_strategy("ring"), request, Parameters(find_strategy("ring")->parameters()));
  ExecuteOptions options;
  options.backend = "mpi";
  options.world = &world;
  options.repeats = 3;
  const TemporaryFolder folder;
  std::optional<PageRecorder> recorder;
  if (private_page) {
    recorder.emplace(folder / "rank.now", world.rank(), plan.lanes, world.rank() == 1);
    options.recorder = &*recorder;
  }
  // Longer than a busy machine keeps a rank from running.
  options.watchdog_seconds = fault == "--fail" ? 60 : 3;
  const bool stops = fault.starts_with("--stop");
  const bool computes = fault == "--compute";  // once, for longer than the others' patience: no fault
  std::atomic<bool> has_computed{false};
  options.before_op = [&](OpId id, const std::atomic<bool>& stopping) {
    const Op& op = plan.ops[static_cast<std::size_t>(id)];
    if (op.rank != 1 || plan.kind_of(op) != (fault == "--stop-last" ? PostKind::kFinish : PostKind::kExchange)) return;
    if (fault == "--fail") throw std::runtime_error("link down");
    if (stops) std::raise(SIGSTOP);
    if (computes && has_computed.exchange(true)) return;
    const std::int64_t begin_ns = now_ns();
    while (computes && !stopping && now_ns() - begin_ns < 5'000'000'000) continue;
    while (!computes && !stopping) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  const auto result = capture([&] { return execute(plan, request, generate_activations(request, 1), options); });
  const std::string text = result ? "nothing was thrown" : result.error().what();
  const bool right =
      computes ? result.has_value()
      : fault == "--fail"
          ? text.starts_with("rank 1 failed in exchange op") && text.ends_with("link down")
          : text.starts_with("rank 1 made no progress for ") &&
                (fault == "--stop-last" || text.find(" waits for it in exchange op ") != std::string::npos) &&
                (!stops || text.find(": its process ") != std::string::npos);
  std::printf("rank %d: %s\n", world.rank(), text.c_str());
  std::fflush(stdout);
  // The others find out at other times, and say so before this one ends them.
  if (stops && !world.leave_together(4)) world.abort(right ? "" : "rank 1 is not named");
  return right ? 0 : 1;
}

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--files") arguments.files = true;
    if (name == "--refused") arguments.refused = true;
    if (name == "--private-page") arguments.private_page = true;
    if (name == "--fail" || name == "--hang" || name == "--compute" || name.starts_with("--stop"))
      arguments.fault = name;
    if (name == "--ranks-per-node" && i + 1 < argc) arguments.ranks_per_node = std::atoi(argv[++i]);
    if (name == "--plans" && i + 1 < argc) arguments.plans = static_cast<std::size_t>(std::atoi(argv[++i]));
  }
  return arguments;
}

int run(const Arguments& arguments) {
  WorldOptions options;
  options.ranks_per_node = arguments.ranks_per_node;
  const std::unique_ptr<RankWorld> world = start_mpi_world(options);
  try {
    if (!arguments.fault.empty()) return run_failing(*world, arguments.fault, arguments.private_page);
    if (arguments.files) return run_transfers(*world);
    if (arguments.refused) return run_refused(*world);
    world->measure_clocks();  // the bounds of their fits hold between the first exchange and the last
    Judge judge(*world);
    run_one_sided(judge, world->size());
    run_library(judge, world->size());
    run_conformance(judge, world->size(), arguments.plans);
    return judge.report();
  } catch (const Error& error) {
    world->abort(render(error));
  }
  return 1;
}

}  // namespace
}  // namespace spscope

int main(int argc, char** argv) { return spscope::run(spscope::parse(argc, argv)); }
