// Two processes that share the GPU, without MPI: memory by handles, words that streams of both write and wait for, and
// a partner that dies. It is what `run.launcher = "mpi"` needs of the driver.
#include <fmt/format.h>
#include <unistd.h>

#include <cstring>

#include "backend/base/clock.h"
#include "bench/gpu/all_checks.h"
#include "bench/gpu/command.h"
#include "bench/gpu/ipc_side.h"

namespace spscope::gpu_check {
namespace {

constexpr int kRounds = 1000, kRoundsToDeath = 100;
constexpr double kTinyLimitS = 5;

class IpcCheck {
 public:
  explicit IpcCheck(const CheckContext& context)
      : error_file_(context.out + "/ipc_peer.txt"),
        own_(page_.bytes(), 0),
        peer_({context.self, "--ipc-peer", std::to_string(getpid()), std::to_string(page_.descriptor())}, error_file_) {
  }

  // Microseconds of a round.
  double run(const IpcRun& run, CheckResult& result) {
    meet(run);
    const std::int64_t begin_ns = now_ns();
    peer_.write_line("exchange");
    std::string wrong = own_.exchange(run.rounds, [&] { return peer_.end_if_ended(); });
    const double round_us = static_cast<double>(now_ns() - begin_ns) * 1e-3 / run.rounds;
    const std::string answer = answer_of("exchange");
    if (wrong.empty()) wrong = own_.check_rows();
    for (const std::string& fault : {wrong, answer == "done" ? std::string() : answer})
      if (!fault.empty()) result.faults.push_back(fmt::format("arenas of {} bytes: {}", run.arena_bytes, fault));
    part();
    return round_us;
  }

  // A handle whose memory is gone is refused.
  void open_stale(const IpcRun& run, CheckResult& result) {
    const std::string handle = ask(fmt::format("arena {} {} {}", run.arena_bytes, run.row_bytes, run.rounds));
    ask("close");
    try {
      own_.open_arena(handle);
      result.faults.emplace_back("a handle of memory that is freed can be opened");
      own_.close();
    } catch (const Error&) {
      // As it must be.
    }
  }

  // The partner is killed between two rounds: its words do not come, which its end explains, and the GPU works on.
  void outlive(const IpcRun& run, CheckResult& result) {
    meet(run);
    peer_.write_line(fmt::format("die {}", kRoundsToDeath));
    const std::string said = own_.exchange(run.rounds, [&] { return peer_.end_if_ended(); });
    if (said != "signal 9")
      result.faults.push_back("the death of the other process is not seen: " +
                              (said.empty() ? "all words came" : said));
    own_.close();
    own_.make_arena(run);
    own_.close();
  }

 private:
  std::string answer_of(const std::string& question) {
    if (std::optional<std::string> line = peer_.read_line()) return *std::move(line);
    throw Error(ErrorCode::kUnavailable, fmt::format("the other process ended at \"{}\" with {}: {}", question,
                                                     peer_.end_if_ended(), tail_of(error_file_)));
  }
  std::string ask(const std::string& question) {
    peer_.write_line(question);
    return answer_of(question);
  }
  void meet(const IpcRun& run) {
    std::memset(page_.bytes().data(), 0, page_.bytes().size());
    const std::string theirs = ask(fmt::format("arena {} {} {}", run.arena_bytes, run.row_bytes, run.rounds));
    const std::string opened = ask("open " + own_.make_arena(run));
    if (opened != "done") throw Error(ErrorCode::kUnavailable, "the other process cannot open memory: " + opened);
    own_.open_arena(theirs);
  }
  void part() {
    ask("close");
    own_.close();
  }

  const std::string error_file_;
  const SharedPage page_;
  IpcSide own_;
  Conversation peer_;
};

}  // namespace

CheckResult check_ipc(const CheckContext& context) {
  CheckResult result;
  IpcCheck check(context);
  IpcRun small{.arena_bytes = std::int64_t{1} << 20, .row_bytes = 256, .rounds = context.tiny ? 100 : kRounds};
  if (context.tiny) small.limit_s = kTinyLimitS;
  IpcRun large = small, last = small;
  large.arena_bytes = context.tiny ? std::int64_t{8} << 20 : std::int64_t{1} << 30;
  large.row_bytes = context.tiny ? 4096 : 65536;
  last.rounds = kRoundsToDeath + kRoundsToDeath / 2;
  const double small_us = check.run(small, result), large_us = check.run(large, result);
  check.open_stale(small, result);
  check.outlive(last, result);
  result.facts["workload"] =
      fmt::format("{} rows each way: {} bytes in {} MiB, {} bytes in {} MiB", small.rounds, small.row_bytes,
                  small.arena_bytes >> 20, large.row_bytes, large.arena_bytes >> 20);
  result.figures = {{"a row each way, small", "us", small_us}, {"a row each way, large", "us", large_us}};
  return result;
}

}  // namespace spscope::gpu_check
