#include "backend/job/run_shards.h"

#include <unistd.h>

#include <map>

#include "backend/base/host.h"
#include "backend/job/run_collectors.h"

namespace spscope {
namespace {

// More than any strategy uses: a lane beyond them is recorded, and only missing on the page.
constexpr int kPageLanes = 8;

ShardWriterOptions writer_options(const CollectingNote& note, const RunShardsOptions& options) {
  ShardWriterOptions writer;
  writer.shard = {ShardKind::kRank, ShardClock::kRaw, options.first_rank, note.collection};
  writer.write.tool_version = options.tool_version;
  if (options.on_failure) writer.on_failure = [tell = options.on_failure](const Error&) { tell(); };
  return writer;
}

// Rank n is on GPU n, modulo how many there are, whatever executes ranks on GPUs.
CollectedProcess watched_process(int first_rank, int ranks) {
  CollectedProcess process;
  if (ranks == 1) process.rank = first_rank;
  for (int rank = first_rank; rank < first_rank + ranks; ++rank) process.devices.push_back(rank);
  return process;
}

}  // namespace

struct RunShards::Ranks {
  Ranks(const CollectingNote& note, const RunShardsOptions& options)
      : first_rank(options.first_rank),
        ranks(options.ranks),
        node(options.node),
        host(note.host),
        page(note.rank_now(first_rank), this_process(first_rank, ranks, kPageLanes, note.id())),
        shard(note.rank_db(first_rank), writer_options(note, options)),
        recorder(shard, page, first_rank, ranks, kPageLanes),
        collectors(options.collect, options.device, shard, watched_process(first_rank, ranks)) {
    recorder.set_collectors(collectors.all());
    shard.write([&](StoreWriter& store) { store_processes(store, {}); });
    shard.checkpoint();
  }

  // `ends`: why ranks ended badly.
  void store_processes(StoreWriter& store, const std::map<int, std::string>& ends) const {
    for (int rank = first_rank; rank < first_rank + ranks; ++rank) {
      const auto end = ends.find(rank);
      store.add_rank_process({rank, host, node, boot_id(), ::getpid(), end != ends.end() ? end->second : ""});
    }
  }

  const int first_rank, ranks, node;
  const std::string host;
  NowPageWriter page;
  ShardWriter shard;
  RunRecorder recorder;
  RunCollectors collectors;
};

RunShards::RunShards(const CollectingNote& note, const RunShardsOptions& options) {
  WriteOptions write;
  write.tool_version = options.tool_version;
  if (options.head)
    head_ = StoreWriter::shard(note.head_db(), {ShardKind::kHead, ShardClock::kRun, -1, note.collection}, write);
  if (options.ranks > 0) ranks_ = std::make_unique<Ranks>(note, options);
}

RunShards::~RunShards() = default;

RunTarget RunShards::target() { return {head_ ? &*head_ : nullptr, ranks_ ? &ranks_->recorder : nullptr}; }

void RunShards::add_incident(const IncidentRecord& incident) {
  if (ranks_ && !ranks_->recorder.incidents().empty()) return;  // what the rank's process knows names the cause
  head_->add_incident(incident);
}

void RunShards::finish_ranks() {
  if (ranks_ && !ranks_finished_) {
    ranks_finished_ = true;
    ranks_->collectors.stop();
    std::map<int, std::string> ends;
    for (const IncidentRecord& incident : ranks_->recorder.incidents())
      ends.try_emplace(incident.rank, incident.message);
    ranks_->shard.write([&](StoreWriter& store) {
      for (const IncidentRecord& incident : ranks_->recorder.incidents()) store.add_incident(incident);
      ranks_->store_processes(store, ends);
      for (const CollectorRecord& collector : ranks_->collectors.records(ranks_->first_rank))
        store.add_collector(collector);
    });
    ranks_->shard.finish();
    ranks_->recorder.publish_counts();
    if (!ranks_->shard.failure()) ranks_->page.set_complete();
  }
  if (head_) head_->checkpoint();
}

void RunShards::finish() {
  finish_ranks();
  if (head_) head_->finish();
  head_.reset();
}

std::vector<std::string> RunShards::collectors_left_out() const {
  return ranks_ ? ranks_->collectors.left_out() : std::vector<std::string>();
}

std::optional<Error> RunShards::failure() const { return ranks_ ? ranks_->shard.failure() : std::nullopt; }

}  // namespace spscope
