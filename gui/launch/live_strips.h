// LiveStrips: the events that a run in progress has committed, as a strip for each of its ranks (lod_strip_byte), and
// for what collectors see of its devices and threads: read several times a second on a thread of the workers, as
// `LiveWatch` looks at what the ranks do at the moment.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/record/collecting_note.h"
#include "backend/store/live_events.h"
#include "gui/session/query_slot.h"

namespace spscope::gui {

// What is to be seen, in time since the first event of the run.
struct LiveWindow {
  bool follow = true;                // it ends at the newest event
  double begin_ns = 0, span_ns = 0;  // span 0: all there is
  int columns = 1000;                // buckets that are at most needed
  friend bool operator==(const LiveWindow&, const LiveWindow&) = default;
};

struct LiveStrip {
  int rank = 0;                                   // kNoRank: of what names none
  std::string track = {};                         // "stream 7, GPU 0 at 0000:3B:00.0"; "": the lanes of the rank
  std::string label = {};                         // "rank 3"; "stream 7, GPU 0" behind the lanes of its rank
  std::vector<std::uint8_t> strip;                // from LivePicture::first_bucket
  unsigned categories = 0;                        // that lead anywhere in it, a bit each
  std::vector<std::optional<SpanEvent>> longest;  // of each bucket; names are places in LivePicture::names
};

// Times are of the run clock.
struct LivePicture {
  std::int64_t events = 0;                  // of all rows, in and out of the window
  std::int64_t first_ns = 0, until_ns = 0;  // of them
  int shift = 0;
  std::int64_t first_bucket = 0;
  std::vector<LiveStrip> rows;  // of ranks in order, behind each its tracks; last those of none
  std::vector<std::string> names;

  std::string_view name(const SpanEvent& event) const {
    return event.name < names.size() ? std::string_view(names[event.name]) : std::string_view();
  }
};

// What the row of a track that is no lane is called, with a name of its device: "stream 7, GPU 0".
std::string track_label(const Track& track, const std::optional<std::string>& device);
// What a window shows of the events that were read.
LivePicture live_picture(const LiveEvents& events, const LiveWindow& window);

class LiveStrips {
 public:
  // Once a frame while the run that writes `out` goes on.
  void follow(Workers& workers, const std::string& out, const LiveWindow& window);
  // As of the last look; nullptr before there was an event.
  const LivePicture* seen();
  const std::string& out() const { return out_; }

 private:
  // Of one run: used by one look after the other.
  struct Eye {
    std::optional<CollectingNote> note;
    LiveEvents events;
    std::int64_t took_ns = 0;  // the last look
  };
  std::string out_;
  LiveWindow window_;
  std::shared_ptr<Eye> eye_;
  QuerySlot<LivePicture> slot_;
  std::int64_t looked_ns_ = 0;
};

}  // namespace spscope::gui
