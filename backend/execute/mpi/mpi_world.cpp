#include "backend/execute/mpi/mpi_world.h"

#include <fmt/format.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <thread>

#include "backend/base/check.h"
#include "backend/base/clock.h"
#include "backend/base/cores.h"
#include "backend/base/host.h"
#include "backend/base/printable.h"
#include "backend/execute/mpi/mpi_check.h"

namespace spscope {

Problem mpi_unavailable() { return {}; }

std::unique_ptr<RankWorld> start_mpi_world(const WorldOptions& options) {
  return std::make_unique<mpi::MpiWorld>(options);
}

namespace mpi {
namespace {

constexpr int kAbortCode = 74;  // of a world that ends itself, apart from what signals and MPI use
constexpr int kClockTag = 1;    // on the communicator of the world
constexpr int kGatherTag = 2, kBytesTag = 3;
constexpr int kClockExchanges = 64;    // a measurement of one rank
constexpr std::size_t kMaxText = 256;  // host names and boot ids

// Threads of a rank that may be busy at once when there are other nodes: the lane that computes, the lane that
// communicates (no strategy has more than one) and the thread that receives; the last two poll. On one node nobody
// polls, and one thread of a rank is busy.
constexpr int kBusyThreadsBetweenNodes = 3;

// What each process tells all others at the start.
struct Introduction {
  int pid = 0, first_of_node = 0, cores = 1;
  char host[kMaxText] = {}, boot_id[kMaxText] = {};
};

void copy_text(std::string_view text, char (&out)[kMaxText]) {
  const std::size_t length = std::min(text.size(), kMaxText - 1);
  std::memcpy(out, text.data(), length);
  out[length] = 0;
}

// Unless the user says otherwise. The component is vader in Open MPI 4 and sm in Open MPI 5; each ignores the variable
// of the other, and other libraries ignore all.
void keep_segments_in(const std::string& folder) {
  if (folder.empty()) return;
  for (const char* name : {"OMPI_MCA_btl_vader_backing_directory", "OMPI_MCA_btl_sm_backing_directory",
                           "OMPI_MCA_osc_sm_backing_directory"})
    ::setenv(name, folder.c_str(), 0);
}

Comm duplicate(MPI_Comm comm) {
  MPI_Comm made = MPI_COMM_NULL;
  check(MPI_Comm_dup(comm, &made));
  check(MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN));
  return Comm(made);
}

// Processes that share memory; cut further for tests.
Comm split_nodes(MPI_Comm world, int rank, int ranks_per_node) {
  MPI_Comm host = MPI_COMM_NULL;
  check(MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &host));
  Comm shared(host);
  if (ranks_per_node > 0) {
    int in_host = 0;
    check(MPI_Comm_rank(host, &in_host));
    MPI_Comm part = MPI_COMM_NULL;
    check(MPI_Comm_split(host, in_host / ranks_per_node, rank, &part));
    shared = Comm(part);
  }
  check(MPI_Comm_set_errhandler(shared.get(), MPI_ERRORS_RETURN));
  return shared;
}

}  // namespace

Comm::~Comm() {
  if (comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
}

std::int64_t Patience::next_nap_ns() {
  constexpr int kYields = 200, kLongest = 10;  // naps
  constexpr std::int64_t kSpinNs = 1000 * kNapNs;
  bool yields = ++turns_ <= kYields;
  if (!yields && waiting_ == Waiting::kSpins) {
    if (begin_ns_ == 0) begin_ns_ = now_ns();
    yields = now_ns() - begin_ns_ < kSpinNs;
  }
  if (yields) {
    sched_yield();
    return 0;
  }
  // Linux makes every sleep of a thread 50 us longer, unless it asked for another slack.
  if (!slack_set_) ::prctl(PR_SET_TIMERSLACK, 1UL);
  slack_set_ = true;
  return waiting_ == Waiting::kIdles ? kNapNs * std::min((turns_ - kYields) / 64 + 1, kLongest) : kNapNs;
}

void Patience::pause() {
  if (const std::int64_t ns = next_nap_ns(); ns > 0) std::this_thread::sleep_for(std::chrono::nanoseconds(ns));
}

void wait(MPI_Request& request) {
  Patience patience;
  for (int done = 0;;) {
    check(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
    if (done != 0) return;
    patience.pause();
  }
}

MpiWorld::MpiWorld(const WorldOptions& options) : last_line_(options.last_line) {
  keep_segments_in(segments_.path());
  int provided = MPI_THREAD_SINGLE;
  check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided));
  if (provided != MPI_THREAD_MULTIPLE) {
    MPI_Finalize();
    throw Error(ErrorCode::kUnavailable, "this MPI library does not let several threads call it (MPI_THREAD_MULTIPLE)",
                "use an MPI library that does, or --launcher threads");
  }
  check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  world_ = duplicate(MPI_COMM_WORLD);
  control_ = duplicate(MPI_COMM_WORLD);
  data_ = duplicate(MPI_COMM_WORLD);
  check(MPI_Comm_rank(world_.get(), &rank_));
  node_ = split_nodes(world_.get(), rank_, options.ranks_per_node);
  find_places(options);
  window_ = std::make_unique<NodeWindow>(node_.get());
}

void MpiWorld::find_places(const WorldOptions& options) {
  Introduction mine;
  mine.pid = static_cast<int>(getpid());
  mine.cores = usable_cores();
  mine.first_of_node = rank_;
  check(MPI_Bcast(&mine.first_of_node, 1, MPI_INT, 0, node_.get()));
  copy_text(host_name(), mine.host);
  copy_text(boot_id(), mine.boot_id);
  int size = 0;
  check(MPI_Comm_size(world_.get(), &size));
  std::vector<Introduction> all(static_cast<std::size_t>(size));
  check(MPI_Allgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, world_.get()));

  std::map<int, int> node_of_first;
  std::map<std::string, int> ranks_of_boot, first_of_boot;
  for (const Introduction& one : all) {
    const int node = node_of_first.emplace(one.first_of_node, static_cast<int>(node_of_first.size())).first->second;
    places_.push_back({node, one.host, one.boot_id, one.pid});
    ++ranks_of_boot[one.boot_id];
    const int rank = static_cast<int>(clocks_.size());
    // Without a boot id, the name tells hosts apart.
    const std::string boot = one.boot_id[0] != 0 ? one.boot_id : std::string("of ") + one.host;
    const int first = first_of_boot.emplace(boot, rank).first->second;
    clocks_.push_back({options.measure_clocks ? rank : first, {}, {}});
  }
  for (int rank = 0; rank < size; ++rank)
    if (node_of(rank) == node_of(rank_)) ranks_of_node_.push_back(rank);
  const int threads_per_rank = node_of_first.size() > 1 ? kBusyThreadsBetweenNodes : 1;
  for (const Introduction& one : all)
    oversubscribed_ = oversubscribed_ || ranks_of_boot[one.boot_id] * threads_per_rank > one.cores;
}

std::string MpiWorld::polling_for_messages() const {
  if (num_nodes() == 1) return {};
  if (!oversubscribed_)
    return "polled without a pause, by threads that have a core each; after a wait of 50 ms, every 50 us";
  return fmt::format(
      "polled every {} us: {} threads a rank (compute, communication, receiver) are more than the cores of a host, so "
      "each "
      "message may wait that long",
      Patience::kNapNs / 1000, kBusyThreadsBetweenNodes);
}

MpiWorld::~MpiWorld() {
  window_.reset();
  for (Comm* comm : {&node_, &data_, &control_, &world_}) *comm = Comm();
  MPI_Finalize();
}

void MpiWorld::keep(std::shared_ptr<const void> memory) {
  const std::lock_guard lock(kept_mutex_);
  kept_.push_back(std::move(memory));
}

void MpiWorld::barrier() {
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Ibarrier(world_.get(), &request));
  wait(request);
}

bool MpiWorld::barrier_unless(const std::function<bool()>& give_up, Waiting waiting) {
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Ibarrier(world_.get(), &request));
  Patience patience(waiting);
  for (int done = 0; done == 0; patience.pause()) {
    check(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
    if (done == 0 && give_up()) return false;
  }
  return true;
}

std::vector<std::vector<std::byte>> MpiWorld::gather(std::span<const std::byte> bytes) {
  std::int64_t mine = static_cast<std::int64_t>(bytes.size());
  std::vector<std::int64_t> counts(places_.size());
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Igather(&mine, 1, MPI_INT64_T, counts.data(), 1, MPI_INT64_T, 0, world_.get(), &request));
  wait(request);
  // In pieces, since MPI counts in int.
  constexpr std::int64_t kPieceBytes = 1 << 28;
  if (rank_ != 0) {
    for (std::int64_t at = 0; at < mine; at += kPieceBytes) {
      const auto count = static_cast<int>(std::min(kPieceBytes, mine - at));
      check(MPI_Isend(bytes.data() + at, count, MPI_BYTE, 0, kGatherTag, world_.get(), &request));
      wait(request);
    }
    return {};
  }
  std::vector<std::vector<std::byte>> all(places_.size());
  all[0].assign(bytes.begin(), bytes.end());
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    all[rank].resize(static_cast<std::size_t>(counts[rank]));
    for (std::int64_t at = 0; at < counts[rank]; at += kPieceBytes) {
      const auto count = static_cast<int>(std::min(kPieceBytes, counts[rank] - at));
      check(MPI_Irecv(all[rank].data() + at, count, MPI_BYTE, static_cast<int>(rank), kGatherTag, world_.get(),
                      &request));
      wait(request);
    }
  }
  return all;
}

std::vector<std::int64_t> MpiWorld::sum(std::vector<std::int64_t> values) {
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Iallreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_INT64_T, MPI_SUM, world_.get(),
                       &request));
  wait(request);
  return values;
}

std::optional<Error> MpiWorld::agree(const std::optional<Error>& mine) {
  int first = mine ? rank_ : size();
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Iallreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, world_.get(), &request));
  wait(request);
  if (first == size()) return std::nullopt;
  struct Shown {
    int code;
    char text[2048], hint[512];
  } shown{};
  if (rank_ == first) {
    shown.code = static_cast<int>(mine->code());
    std::strncpy(shown.text, mine->what(), sizeof shown.text - 1);
    std::strncpy(shown.hint, mine->hint().c_str(), sizeof shown.hint - 1);
  }
  check(MPI_Ibcast(&shown, sizeof shown, MPI_BYTE, first, world_.get(), &request));
  wait(request);
  return Error(static_cast<ErrorCode>(shown.code), shown.text, shown.hint);
}

std::string MpiWorld::share(const std::string& text) {
  auto length = static_cast<std::int64_t>(text.size());
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Ibcast(&length, 1, MPI_INT64_T, 0, world_.get(), &request));
  wait(request);
  std::string shared = rank_ == 0 ? text : std::string(static_cast<std::size_t>(length), ' ');
  check(MPI_Ibcast(shared.data(), message_count(shared.size()), MPI_BYTE, 0, world_.get(), &request));
  wait(request);
  return shared;
}

void MpiWorld::send(int to, std::span<const std::byte> bytes) {
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Isend(bytes.data(), message_count(bytes.size()), MPI_BYTE, to, kBytesTag, world_.get(), &request));
  wait(request);
}

void MpiWorld::receive(int from, std::span<std::byte> bytes) {
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Irecv(bytes.data(), message_count(bytes.size()), MPI_BYTE, from, kBytesTag, world_.get(), &request));
  wait(request);
}

// On a communicator that nothing else uses for collectives: the others may be inside one.
std::vector<std::string> MpiWorld::share_in_node(const std::string& text) {
  std::vector<int> sizes(ranks_of_node_.size()), offsets;
  const int mine = message_count(text.size());
  check(MPI_Allgather(&mine, 1, MPI_INT, sizes.data(), 1, MPI_INT, node_.get()));
  int total = 0;
  for (const int size : sizes) offsets.push_back(total), total += size;
  std::string all(static_cast<std::size_t>(total), 0);
  check(MPI_Allgatherv(text.data(), mine, MPI_CHAR, all.data(), sizes.data(), offsets.data(), MPI_CHAR, node_.get()));
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    texts.push_back(all.substr(static_cast<std::size_t>(offsets[i]), static_cast<std::size_t>(sizes[i])));
  return texts;
}

bool MpiWorld::all_in_node(bool here) {
  int all = here ? 1 : 0;
  check(MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_LAND, node_.get()));
  return all != 0;
}

bool MpiWorld::leave_together(double seconds) {
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Ibarrier(data_.get(), &request));
  const std::int64_t begin_ns = now_ns();
  Patience patience;
  for (int done = 0; done == 0; patience.pause()) {
    check(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
    if (done == 0 && seconds > 0 && static_cast<double>(now_ns() - begin_ns) * 1e-9 > seconds) return false;
  }
  return true;
}

// Between rank 0 and the rank whose clock is measured. Known at rank 0.
std::vector<ClockSample> MpiWorld::exchange_times(int other) {
  std::vector<ClockSample> samples(kClockExchanges);
  for (ClockSample& sample : samples) {
    std::int64_t stamp_ns = 0;
    if (rank_ == 0) {
      check(MPI_Recv(&stamp_ns, 1, MPI_INT64_T, other, kClockTag, world_.get(), MPI_STATUS_IGNORE));
      stamp_ns = now_ns();
      check(MPI_Send(&stamp_ns, 1, MPI_INT64_T, other, kClockTag, world_.get()));
    } else {
      sample.sent_ns = now_ns();
      check(MPI_Send(&stamp_ns, 1, MPI_INT64_T, 0, kClockTag, world_.get()));
      check(MPI_Recv(&sample.remote_ns, 1, MPI_INT64_T, 0, kClockTag, world_.get(), MPI_STATUS_IGNORE));
      sample.received_ns = now_ns();
    }
  }
  const int bytes = static_cast<int>(samples.size() * sizeof(ClockSample));
  if (rank_ == 0)
    check(MPI_Recv(samples.data(), bytes, MPI_BYTE, other, kClockTag, world_.get(), MPI_STATUS_IGNORE));
  else
    check(MPI_Send(samples.data(), bytes, MPI_BYTE, 0, kClockTag, world_.get()));
  return samples;
}

// One rank after the other plays with rank 0, so that no exchange waits for another one.
void MpiWorld::measure_clocks() {
  for (int other = 1; other < size(); ++other) {
    ClockOfRank& clock = clocks_[static_cast<std::size_t>(other)];
    if (clock.measured_by != other || (rank_ != 0 && rank_ != other)) continue;
    const std::vector<ClockSample> samples = exchange_times(other);
    if (rank_ != 0) continue;
    clock.samples.insert(clock.samples.end(), samples.begin(), samples.end());
    clock.samples = clock_envelope(clock.samples);
    clock.fit = fit_clock(clock.samples);
  }
  for (ClockOfRank& clock : clocks_)
    if (!clock.same()) clock.fit = clocks_[static_cast<std::size_t>(clock.measured_by)].fit;
}

void MpiWorld::abort(const std::string& message) {
  fmt::print(stderr, "{}\n", printable(last_line_ ? last_line_(message) : message));
  std::fflush(stderr);
  MPI_Abort(world_.get(), kAbortCode);
  std::abort();  // MPI_Abort does not return
}

}  // namespace mpi
}  // namespace spscope
