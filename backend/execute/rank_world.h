// RankWorld: the processes that run one rank each, and what they must agree on outside of a plan: who is there, when
// all have come, what they bring to rank 0, and that all of them stop when one does.
//
// All calls but rank(), size(), place(), clocks(), send(), receive() and abort() are made by every process, in the same
// order, by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/base/clock_fit.h"
#include "backend/base/error.h"

namespace spscope {

struct WorldOptions {
  // Tests: ranks of one host count as a node for every so many of them, and share no memory with the others. 0: a host
  // is a node.
  int ranks_per_node = 0;
  bool measure_clocks = false;  // tests: of every rank, even between processes of one boot, which read the same clock
  // The line that abort() prints on stderr for a message. Empty: the message.
  std::function<std::string(const std::string&)> last_line;
};

// Where one rank runs.
struct RankPlace {
  int node = 0;
  std::string host, boot_id;
  int pid = 0;
};

// A rank's clock against that of rank 0. Processes of one boot read the same clock, so the lowest rank of each boot
// exchanges times with rank 0, and what comes of it holds for all ranks there.
struct ClockOfRank {
  int measured_by = 0;               // the rank that reads this clock and exchanges; 0: the very clock of rank 0
  std::vector<ClockSample> samples;  // those of its exchanges so far that decide the fit, known at rank 0
  ClockFit fit;                      // to the clock of rank 0; known at rank 0
  bool same() const { return measured_by == 0; }
  std::int64_t to_run_ns(std::int64_t raw_ns) const { return same() ? raw_ns : run_time_ns(fit, raw_ns); }
};

class RankWorld {
 public:
  virtual ~RankWorld() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual const RankPlace& place(int rank) const = 0;
  int node_of(int rank) const { return place(rank).node; }
  int num_nodes() const;
  // Whether every rank reads the clock of rank 0.
  bool one_clock() const;
  // Whether more ranks run on some host than it has cores for; with several nodes, more threads that may be busy: three
  // a rank.
  virtual bool oversubscribed() const = 0;
  // How often threads poll for messages between nodes, for the provenance of times; "" when there are none.
  virtual std::string polling_for_messages() const { return {}; }

  virtual void barrier() = 0;
  // The bytes of every process, by rank, at rank 0; nothing at the others.
  virtual std::vector<std::vector<std::byte>> gather(std::span<const std::byte> bytes) = 0;
  // The element-wise sum over all processes, at all of them.
  virtual std::vector<std::int64_t> sum(std::vector<std::int64_t> values) = 0;
  // Whether any process says so.
  bool any(bool here) { return sum({here ? 1 : 0}).front() > 0; }
  // The error of the lowest rank that has one, at all of them.
  virtual std::optional<Error> agree(const std::optional<Error>& mine) = 0;
  // The text of rank 0, at all of them.
  virtual std::string share(const std::string& text) = 0;
  // Between two processes: each send() meets a receive() of the other, in order, of as many bytes (at most 1 GiB).
  virtual void send(int to, std::span<const std::byte> bytes) = 0;
  virtual void receive(int from, std::span<std::byte> bytes) = 0;
  // Every process calls it last, also after an error. False: not all have come within that time, which happens when
  // one of them met an error that the others do not know of; abort() then. <= 0 s: as long as it takes.
  virtual bool leave_together(double seconds) = 0;
  // Exchanges times with rank 0; clocks() at rank 0 then fit them too.
  virtual void measure_clocks() = 0;
  virtual const std::vector<ClockOfRank>& clocks() const = 0;

  // Ends all processes at once, after this one's message was printed.
  [[noreturn]] virtual void abort(const std::string& message) = 0;
};

// Why there is no MPI; without a message when there is.
Problem mpi_unavailable();
// Starts MPI: once in the life of a process. MPI ends when the world goes.
// Throws Error: kUnavailable, or what MPI says.
std::unique_ptr<RankWorld> start_mpi_world(const WorldOptions& options);

}  // namespace spscope
