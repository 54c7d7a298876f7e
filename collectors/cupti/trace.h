// CuptiTrace: from records of CUPTI to events on tracks: kernels, copies and memsets on the streams of devices; calls,
// waits and NVTX ranges on threads of the host; what CUPTI took for itself on a track of its own.
//
// What a call asks for has the op that its thread had pushed (op_ids.h). A stream gets the rank of the first op that is
// seen on it. One thread makes all calls.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_map>

#include "collectors/collector.h"
#include "collectors/cupti/op_ids.h"
#include "collectors/cupti/records.h"
#include "collectors/track_rows.h"

namespace spscope::cupti {

// Its tracks are named by ranks alone, and its launches say their ops.
inline bool is_of_plan(const CollectedProcess& process) { return !process.process.has_value(); }

class CuptiTrace {
 public:
  CuptiTrace(TraceSink& sink, const CollectedProcess& process);

  void take(const Record& record);
  // Hands over what ended by then, and had its records within the time that CUPTI takes for them.
  void settle(std::int64_t ended_by_ns);
  // Ranges that began by then will not end, as recording had paused since.
  void end_ranges(std::int64_t begun_by_ns);
  // Hands over everything; ranges that have not ended are unfinished.
  void finish();
  // Adds records that never came here to the ledger of CUPTI's own track: which stream they were of, nobody knows.
  void missed(std::int64_t dropped, std::int64_t unreadable);

  // Of events held back, rings, names, details and calls, the most that settle() found. Any thread.
  std::int64_t memory_bytes() const { return memory_bytes_; }
  // Records that make no event: numbers of ops, calls that are not among kApiCalls, and one end of each range.
  std::int64_t num_parts() const { return num_parts_; }
  // Events for which rings of tracks had no room: their ledgers count them. Any thread.
  std::int64_t num_refused() const { return num_refused_; }
  // Records of what began when no events were wanted. Any thread.
  std::int64_t num_left_out() const { return num_left_out_; }

 private:
  // Of a device stream until an op tells the rank, at most so many are held back.
  static constexpr std::size_t kHeldForRank = 4096;
  // A program may start a thread for each request; the memory that is shared with attach has 1024 tracks. Threads that
  // come when those before have so many rows share one each for calls, waits and ranges.
  static constexpr std::size_t kMaxHostRows = 512;
  struct Stream {
    TrackRows rows;
    bool has_rank = false;
  };
  struct OpenRange {
    std::int64_t begin_ns = 0;
    NameId name = 0;
    std::uint32_t thread = 0;
    int depth = 0;
  };

  void take_one(const KernelRecord& kernel);
  void take_one(const CopyRecord& copy);
  void take_one(const MemsetRecord& memset);
  void take_one(const SynchronizationRecord& wait);
  void take_one(const OverheadRecord& overhead);
  void take_one(const ApiRecord& call);
  void take_one(const ExternalCorrelationRecord& pushed);
  void take_one(const MarkerRecord& marker);
  void end_range(const OpenRange& range, std::int64_t end_ns, std::uint32_t flags);
  bool leave_out(std::int64_t begin_ns);
  void settle(Stream& stream, std::int64_t ended_by_ns, bool all);
  void settle(std::int64_t ended_by_ns, bool all);
  void count_memory();
  void count_refused();
  std::optional<LaunchedOp> op_of(const RingRecord& work) const;
  void complete(RingRecord& work) const;

  Stream& stream_at(const Place& place);
  TrackRows& thread_rows(std::uint32_t thread, const char* what);
  TrackRows& add_thread_rows(const std::string& name, int max_rows);
  Track host_track(std::string name) const;
  NameId name(const std::string& text);
  NameId kernel_name(const char* mangled);
  WorkDetailId detail(const WorkDetail& what);

  TraceSink& sink_;
  const CollectedProcess process_;
  const std::shared_ptr<RoomWait> wait_ = std::make_shared<RoomWait>();
  RecentCalls calls_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, Stream> streams_;  // by device, context, stream
  std::map<std::uint32_t, std::uint32_t> first_context_;                               // of each device
  std::map<std::string, TrackRows> threads_;                                           // by name of the track
  TrackRows overhead_;
  std::unordered_map<std::uint32_t, OpenRange> ranges_;  // that have begun, by id
  std::map<std::uint32_t, int> depth_;                   // of each thread: its ranges that have begun
  std::unordered_map<std::string, NameId> names_, kernel_names_;
  std::map<WorkDetail, WorkDetailId> details_;
  std::int64_t num_parts_ = 0;
  std::size_t num_host_rows_ = 0;  // of threads_
  std::atomic<std::int64_t> memory_bytes_{0}, num_refused_{0}, num_left_out_{0};
};

}  // namespace spscope::cupti
