// MpiWorld: the processes that mpirun or srun started, as a RankWorld. Owns MPI: started with all threads allowed to
// call, ended when the world goes.
//
// Ranks on one host form a node and share memory; what processes of a node need for a run lies in one window, which is
// made when a plan first needs it and kept as long as it is large enough.
#pragma once

#include <mpi.h>

#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "backend/base/segment_folder.h"
#include "backend/execute/mpi/node_window.h"
#include "backend/execute/rank_world.h"

namespace spscope::mpi {

// Owning MPI_Comm.
class Comm {
 public:
  Comm() = default;
  explicit Comm(MPI_Comm comm) : comm_(comm) {}
  Comm(Comm&& other) noexcept : comm_(std::exchange(other.comm_, MPI_COMM_NULL)) {}
  Comm& operator=(Comm&& other) noexcept {
    std::swap(comm_, other.comm_);
    return *this;
  }
  ~Comm();
  MPI_Comm get() const { return comm_; }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

// How a thread waits for what another process does. Open MPI makes progress only inside calls, so it polls, and pauses
// in between.
enum class Waiting {
  kSpins,  // polls all the time, and pauses only once it has waited for a thousand times as long as a pause
  kNaps,   // pauses soon, for kNapNs: cores are left to ranks that compute
  kIdles,  // pauses soon, and longer and longer: nothing is being timed
};
class Patience {
 public:
  static constexpr std::int64_t kNapNs = 50'000;

  explicit Patience(Waiting waiting = Waiting::kIdles) : waiting_(waiting) {}
  // Lets other threads run; returns for how long to pause before the next look.
  std::int64_t next_nap_ns();
  void pause();

 private:
  const Waiting waiting_;
  int turns_ = 0;
  std::int64_t begin_ns_ = 0;  // of spinning
  bool slack_set_ = false;
};

class MpiWorld final : public RankWorld {
 public:
  explicit MpiWorld(const WorldOptions& options);
  ~MpiWorld() override;

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(places_.size()); }
  const RankPlace& place(int rank) const override { return places_[static_cast<std::size_t>(rank)]; }
  bool oversubscribed() const override { return oversubscribed_; }
  std::string polling_for_messages() const override;
  void barrier() override;
  std::vector<std::vector<std::byte>> gather(std::span<const std::byte> bytes) override;
  std::vector<std::int64_t> sum(std::vector<std::int64_t> values) override;
  std::optional<Error> agree(const std::optional<Error>& mine) override;
  std::string share(const std::string& text) override;
  void send(int to, std::span<const std::byte> bytes) override;
  void receive(int from, std::span<std::byte> bytes) override;
  bool leave_together(double seconds) override;
  void measure_clocks() override;
  const std::vector<ClockOfRank>& clocks() const override { return clocks_; }
  [[noreturn]] void abort(const std::string& message) override;

  // -- for the executor and the communicator of this folder
  // Everybody comes; false: `give_up` said so first, and the barrier must not be used again.
  bool barrier_unless(const std::function<bool()>& give_up, Waiting waiting);
  MPI_Comm control() const { return control_.get(); }
  MPI_Comm data() const { return data_.get(); }
  NodeWindow& window() { return *window_; }
  // While a repeat is timed: spins where every thread that may be busy has a core.
  Waiting timed_waiting() const { return oversubscribed_ ? Waiting::kNaps : Waiting::kSpins; }
  const std::vector<int>& ranks_of_node() const { return ranks_of_node_; }  // this one's, ascending
  // The text of every rank of this node, in the order of ranks_of_node(). Collective in the node.
  std::vector<std::string> share_in_node(const std::string& text);
  // Whether every process of this node says so. Collective in the node.
  bool all_in_node(bool here);
  // Number of the repeat that begins, over all plans and warm-ups: tells its messages from late ones of earlier
  // repeats.
  std::int32_t next_epoch() { return ++epoch_; }
  // Takes memory that MPI may still read or write after a run was stopped, and frees it when MPI has ended.
  // Thread-safe.
  void keep(std::shared_ptr<const void> memory);

 private:
  void find_places(const WorldOptions& options);
  std::vector<ClockSample> exchange_times(int other);

  const SegmentFolder segments_;  // outlives MPI
  int rank_ = 0;
  std::vector<RankPlace> places_;
  std::vector<int> ranks_of_node_;
  bool oversubscribed_ = false;
  std::int32_t epoch_ = 0;
  Comm world_, control_, data_, node_;
  std::unique_ptr<NodeWindow> window_;
  std::mutex kept_mutex_;
  std::vector<std::shared_ptr<const void>> kept_;  // see keep()
  std::vector<ClockOfRank> clocks_;
  const std::function<std::string(const std::string&)> last_line_;
};

// Waits for a request. MPI_Wait would spin.
void wait(MPI_Request& request);

}  // namespace spscope::mpi
