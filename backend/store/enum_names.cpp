#include "backend/store/enum_names.h"

#include <vector>

#include "backend/plan/plan.h"
#include "backend/plan/timeline.h"
#include "backend/record/events.h"
#include "backend/record/rank_records.h"
#include "backend/store/chunk/chunk_codec.h"
#include "backend/store/records.h"

namespace spscope {

namespace {

std::vector<EnumName> all_names() {
  std::vector<EnumName> rows;
  const auto add = [&](std::string_view kind, auto value, std::string_view name) {
    rows.push_back({kind, static_cast<int>(value), name});
  };
  for (Dtype x : {Dtype::kBf16, Dtype::kFp32}) add("workload.dtype", x, dtype_name(x));
  int mode = 0;
  for (std::string_view name : {"execute", "project", "simulate", "observed"}) add("strategy.mode", mode++, name);
  int kind = 0;
  for (std::string_view name : {"bool", "integer", "real", "text"}) add("strategy_parameter.kind", kind++, name);
  add("strategy_group.kind", 0, "ulysses");
  add("strategy_group.kind", 1, "ring");
  for (int x = 0; x < kNumPostKinds; ++x) add("plan_op.kind", x, post_kind_name(static_cast<PostKind>(x)));
  for (Source x : {Source::kMeasured, Source::kModelled}) {
    add("run.compute_source", x, source_name(x));
    add("run.network_source", x, source_name(x));
  }
  for (Timing x : {Timing::kClean, Timing::kOversubscribed}) add("run.timing", x, timing_name(x));
  for (Verdict x : {Verdict::kSkipped, Verdict::kPassed, Verdict::kFailed}) add("run.verdict", x, verdict_name(x));
  add("mask_place.axis", AttendedAxis::kOuter, "outer");
  add("mask_place.axis", AttendedAxis::kInner, "inner");
  for (int x = 0; x < kNumEventCategories; ++x)
    add("event.category", x, event_category_name(static_cast<EventCategory>(x)));
  for (int x = 0; x < kNumRecordKinds; ++x) add("chunk.record_kind", x, record_kind_name(static_cast<RecordKind>(x)));
  add("chunk.codec", ChunkCodec::kPlanes, chunk_codec_name(ChunkCodec::kPlanes));
  for (int x = 0; x < kNumTrackKinds; ++x) add("track.kind", x, track_kind_name(static_cast<TrackKind>(x)));
  for (int x = 0; x < kNumIncidentKinds; ++x) add("incident.kind", x, incident_kind_name(static_cast<IncidentKind>(x)));
  for (int x = 0; x < kNumCollectorOutcomes; ++x)
    add("collector.outcome", x, collector_outcome_name(static_cast<CollectorOutcome>(x)));
  return rows;
}

}  // namespace

std::span<const EnumName> enum_names() {
  static const std::vector<EnumName> rows = all_names();
  return rows;
}

}  // namespace spscope
