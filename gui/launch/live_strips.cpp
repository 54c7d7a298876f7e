#include "gui/launch/live_strips.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "backend/base/clock.h"
#include "backend/record/rank_records.h"
#include "gui/launch/device_names.h"

namespace spscope::gui {
namespace {

constexpr std::int64_t kStripsEveryNs = 200'000'000;
// A look that takes long, as of millions of events, leaves a thread free for most of the time.
constexpr std::int64_t kRestOfLooks = 3;

// The smallest shift that cuts the window into at most so many buckets.
int shift_of(std::int64_t begin, std::int64_t end, int columns) {
  int shift = 0;
  while (shift < kMaxLodShift && lod_bucket(end, shift) - lod_bucket(begin, shift) >= std::max(columns, 1)) ++shift;
  return shift;
}

// The events of a track, as far as they are inside the level.
void add_track(LodLevel& level, const LiveTrack& track, std::int64_t until_ns) {
  add_events(level, track.spans, until_ns);
  const std::int64_t begin = lod_begin_ns(level.first_bucket, level.shift);
  const std::int64_t end = lod_begin_ns(level.first_bucket + std::ssize(level.buckets), level.shift);
  std::vector<LodEvent> inside;
  for (const CollectiveEvent& event : track.collectives)
    if (event.span.begin_ns < end && event.span.end_ns >= begin) inside.push_back(lod_event(event));
  add_events(level, inside, until_ns);
}

// What is known of events that are no longer held. Closer than their buckets are, each is spread evenly.
void add_older(LodLevel& level, const LodLevel& older, std::int64_t until_ns) {
  const std::int64_t first = level.first_bucket, count = std::ssize(level.buckets);
  const int closer = std::max(0, older.shift - level.shift);
  const std::int64_t first_older = first >> closer, end_older = ((first + count - 1) >> closer) + 1;
  const std::vector<LodBucket> answer = lod_answer(older, level.shift + closer, first_older, end_older, until_ns);
  for (std::int64_t i = 0; i < count; ++i) {
    LodBucket part = answer[static_cast<std::size_t>(((first + i) >> closer) - first_older)];
    for (std::int64_t& busy_ns : part.busy_ns) busy_ns >>= closer;
    merge_bucket(level.buckets[static_cast<std::size_t>(i)], part, until_ns);
  }
}

}  // namespace

std::string track_label(const Track& track, const std::optional<std::string>& device) {
  const std::string name = track.name.empty() ? std::string(track_kind_name(track.kind)) : track.name;
  return device ? fmt::format("{}, {}", name, *device) : name;
}

LivePicture live_picture(const LiveEvents& events, const LiveWindow& window) {
  LivePicture picture;
  // In the order of rows. Work that overlapped is on tracks of one name.
  using Key = std::tuple<bool, int, bool, TrackKind, std::string, std::string>;
  std::map<Key, std::vector<const LiveTrack*>> rows;
  std::set<std::string> devices;
  picture.first_ns = std::numeric_limits<std::int64_t>::max();
  for (const LiveTrack* track : events.tracks()) {
    const Track& of = track->track;
    if (track->num_events() == 0) continue;
    const bool is_lane = of.kind == TrackKind::kRankLane && of.rank;
    rows[{!of.rank, of.rank.value_or(kNoRank), !is_lane, of.kind, is_lane ? "" : track_label(of, of.device),
          of.process.value_or("")}]
        .push_back(track);
    if (of.device) devices.insert(*of.device);
    picture.events += track->num_events();
    picture.first_ns = std::min(picture.first_ns, track->first_ns);
  }
  if (picture.events == 0) return {};
  picture.until_ns = std::max(events.recorded_until_ns(), picture.first_ns + 1);
  const auto all = static_cast<double>(picture.until_ns - picture.first_ns);
  const double span = window.span_ns > 0 ? std::min(window.span_ns, all) : all;
  const double from = std::clamp(window.follow ? all - span : window.begin_ns, 0.0, all - span);
  const std::int64_t begin = picture.first_ns + static_cast<std::int64_t>(std::floor(from));
  const std::int64_t end = std::max(begin, picture.first_ns + static_cast<std::int64_t>(std::ceil(from + span)) - 1);
  picture.shift = shift_of(begin, end, window.columns);
  picture.first_bucket = lod_bucket(begin, picture.shift);
  const DeviceNames device_names(devices);
  std::optional<int> headed;  // the rank whose lanes have a row
  std::map<NameId, NameId> places;
  for (const auto& [key, tracks] : rows) {
    LodLevel level = make_lod_level(picture.shift, begin, end);
    for (const LiveTrack* track : tracks) {
      if (track->older_events > 0) add_older(level, track->older, picture.until_ns);
      add_track(level, *track, picture.until_ns);
    }
    LiveStrip& strip = picture.rows.emplace_back(
        LiveStrip{.rank = std::get<1>(key), .track = std::get<4>(key), .strip = lod_strip(level), .longest = {}});
    if (strip.track.empty()) headed = strip.rank;
    const Track& of = tracks.front()->track;
    const bool says_rank = strip.track.empty() || (strip.rank != kNoRank && headed != strip.rank);
    if (says_rank) strip.label = fmt::format("rank {}", strip.rank);
    Track named = of;
    named.name = short_track_name(of.name);
    if (!strip.track.empty()) strip.label += (says_rank ? ", " : "") + track_label(named, device_names.of(of.device));
    for (const std::uint8_t byte : strip.strip)
      if ((byte & 15) != 0) strip.categories |= 1U << (byte >> 4);
    for (LodBucket& bucket : level.buckets) {
      if (bucket.longest) {
        const auto [place, is_new] =
            places.try_emplace(bucket.longest->name, static_cast<NameId>(picture.names.size()));
        if (is_new) picture.names.push_back(events.name(bucket.longest->name));
        bucket.longest->name = place->second;
      }
      strip.longest.push_back(bucket.longest);
    }
  }
  return picture;
}

void LiveStrips::follow(Workers& workers, const std::string& out, const LiveWindow& window) {
  if (out != out_) {
    slot_.forget();
    out_ = out;
    eye_ = std::make_shared<Eye>();
    looked_ns_ = 0;
  }
  if (slot_.loading()) return;
  const std::int64_t now = now_ns();
  if (window == window_ && looked_ns_ != 0 &&
      now - looked_ns_ < std::max(kStripsEveryNs, (1 + kRestOfLooks) * eye_->took_ns))
    return;
  window_ = window;
  looked_ns_ = now;
  slot_.ask(workers, fmt::format("{} {}", out, now),
            [out, window, eye = eye_](Readers&, const Cancelled&, QueryProgress&) {
              const std::int64_t begin = now_ns();
              if (!eye->note) eye->note = find_collection(out);  // none: it has not begun yet, or it is over
              if (eye->note) eye->events.poll(eye->note->shards());
              LivePicture picture = live_picture(eye->events, window);
              eye->took_ns = now_ns() - begin;
              return picture;
            });
}

const LivePicture* LiveStrips::seen() {
  const LivePicture* picture = slot_.value();
  return picture != nullptr && picture->events > 0 ? picture : nullptr;
}

}  // namespace spscope::gui
