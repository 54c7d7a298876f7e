#include "backend/store/merge/merge_events.h"

#include <optional>
#include <thread>
#include <utility>

#include "backend/base/result.h"
#include "backend/store/chunk/chunk_appender.h"
#include "backend/store/merge/merge_feed.h"
#include "backend/store/pyramid/lod_store.h"

namespace spscope {

namespace {

// The writing half.
void write_batches(Database& out, const MergeEventsInput& input, MergePipe<EventBatch>& pipe) {
  std::optional<ChunkAppender> chunks;  // of one group
  LodWriter pyramids(out, input.recorded_until_ns);
  std::optional<int> group;
  std::int64_t done = 0;
  while (std::optional<EventBatch> batch = pipe.pop()) {
    if (input.interrupt != nullptr && input.interrupt->load())
      throw Error(ErrorCode::kInterrupted, "the merge was interrupted", "make the file later with spscope recover");
    if (group != batch->group) {
      if (chunks) chunks->flush();
      chunks.emplace(out, Compress::kBest);
      group = batch->group;
    }
    for (const NewPyramid& made : batch->pyramids) pyramids.open(made.pyramid_id, batch->rank, made.track, made.base);
    if (batch->size() > 0) {
      ChunkAppender::Open& open = chunks->at(batch->track);
      chunks->append(batch->run, open, batch->spans);
      chunks->append(batch->run, open, batch->collectives);
      chunks->append(batch->run, open, batch->counters);
      chunks->append(batch->run, open, batch->work);
    }
    for (const PyramidBuckets& next : batch->buckets) pyramids.append(next.pyramid_id, next.buckets);
    done += static_cast<std::int64_t>(batch->size());
    if (input.on_progress) input.on_progress(done);
    batch->clear();
    pipe.recycle(std::move(*batch));
  }
  if (chunks) chunks->flush();
}

}  // namespace

NameId Renumbered::name(NameId id) const { return id < names.size() ? names[id] : 0; }

CommunicatorId Renumbered::communicator(CommunicatorId id) const {
  const auto found = communicators.find(id);
  return found != communicators.end() ? found->second : 0;
}

WorkDetailId Renumbered::detail(WorkDetailId id) const {
  const auto found = details.find(id);
  return found != details.end() ? found->second : 0;
}

std::int64_t merge_events(Database& out, const MergeEventsInput& input) {
  MergePipe<EventBatch> pipe;
  std::optional<Result<std::int64_t>> clamped;
  std::jthread reader([&] {
    clamped = capture([&] { return feed_events(input, pipe); });
    pipe.finish();
  });
  const std::optional<Error> unwritten = failure_of([&] { write_batches(out, input, pipe); });
  pipe.abandon();
  reader.join();
  // What the reader met is the cause when both failed: the writer then only ran dry.
  if (!*clamped) throw clamped->error();
  if (unwritten) throw *unwritten;
  return **clamped;
}

}  // namespace spscope
