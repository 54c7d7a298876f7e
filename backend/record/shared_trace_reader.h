// SharedTraceReader: brings what a program leaves in shared memory to a sink of this process.
//
// Nothing there is trusted: the program may be broken, may write while it is read, and may have ended at any moment.
// Records that make no sense count as unreadable. A record waits in the shared ring until the ring of the sink has
// room, so what was published is lost only when the memory goes.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/record/rank_records.h"
#include "backend/record/shared_trace.h"
#include "backend/record/trace_sink.h"

namespace spscope {

// Whose events they are: tracks are named by this, whatever the program says.
struct SharedTraceOwner {
  std::optional<int> rank = {};
  std::string process = {};
};

class SharedTraceReader {
 public:
  static constexpr std::int64_t kMostNotes = 64;
  static constexpr std::size_t kMostClaims = 4096;

  // Memory and sink outlive this. `on_note` gets what the process says about its collecting, kMostNotes at most, and
  // what is wrong with the memory, without the name of the process.
  SharedTraceReader(SharedTrace& memory, SharedTraceOwner owner, TraceSink& sink,
                    std::function<void(const std::string&)> on_note);

  // Brings over what is there and finds room in the sink; says whether that was anything.
  bool drain();
  // Whether nothing is left to be brought over.
  bool is_empty() const;
  // What is published from now on is not brought over, so that a program that goes on keeps nobody waiting.
  void seal();
  // Counts what is left of each track that is known as dropped; says how many records are left in all. No drain()
  // follows.
  std::int64_t drop_rest();
  // Whether all collectors that were started have ended, so that they hold nothing back.
  bool have_collectors_ended() const;
  std::int64_t records() const { return records_; }  // that were brought over
  // "336 more notes of it are not shown"; "": all were.
  std::string notes_left_out() const;
  // How many events have no name and no detail, as the log had no room for them, and what to do; "": none.
  std::string left_unnamed() const;
  // What says its rank, in the order of time, kMostClaims at most.
  const std::vector<RankClaim>& claims() const { return claims_; }
  std::int64_t num_tracks() const { return std::ssize(tracks_); }
  // What each collector took, as the program said last, with its notes. Where a collector did not come to its end, that
  // is one of them. A process that `lives_on` is no longer watched.
  std::vector<CollectorRecord> collectors(bool lives_on = false) const;

 private:
  struct Source {
    EventRing* to = nullptr;
    Track track;
    std::size_t first_record = 0, num_records = 0;
    std::uint64_t taken = 0, dropped = 0, unreadable = 0;
    bool is_broken = false;
  };
  bool read_log();
  bool read_entry(SharedTrace::Entry entry, std::span<const std::uint8_t> bytes);
  bool add_note(std::span<const std::uint8_t> bytes);
  bool add_track(std::span<const std::uint8_t> bytes);
  bool add_claim(std::span<const std::uint8_t> bytes);
  bool read_ring(Source& source, std::uint64_t pushed);
  void read_counts(Source& source, std::size_t place);
  // False when the record makes no sense on the track.
  bool translate(const Source& source, RingRecord& record) const;
  void give_up(const std::string& why);
  bool has_ended(std::size_t collector) const;
  // How much was published, up to the seal.
  std::uint64_t pushed(std::size_t place) const;
  std::uint64_t log_end() const;

  SharedTrace& memory_;
  const SharedTraceOwner owner_;
  TraceSink& sink_;
  const std::function<void(const std::string&)> on_note_;
  struct Ends {
    std::vector<std::uint64_t> pushed = {};
    std::uint64_t log = 0;
  };
  std::optional<Ends> sealed_;
  std::size_t log_read_ = 0;
  bool log_is_broken_ = false;
  std::vector<NameId> names_ = {0};  // of the sink, by those of the memory
  std::vector<WorkDetailId> details_ = {0};
  std::vector<Source> tracks_;
  std::vector<RankClaim> claims_;
  struct Named {
    std::string name, notes;  // a line each
    bool was_started = true;
  };
  std::vector<Named> collectors_;
  std::vector<std::uint64_t> pushed_;  // scratch of drain()
  std::int64_t records_ = 0, notes_ = 0;
};

}  // namespace spscope
