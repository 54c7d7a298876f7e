#include "backend/collect/live_collection.h"

#include "backend/base/result.h"

namespace spscope {

LiveCollection::LiveCollection(CollectingNote note) : note_(std::move(note)) {}

LiveShard* LiveCollection::head() {
  const auto found = shards_.find(note_.head_db());
  return found != shards_.end() ? &found->second : nullptr;
}

void LiveCollection::poll() {
  for (const std::string& path : note_.shards()) {
    if (shards_.contains(path)) continue;
    // One that is being made has no tables yet: the next time.
    static_cast<void>(failure_of([&] { shards_.try_emplace(path, path); }));
  }
  for (auto& [path, shard] : shards_) committed_events_ += shard.new_events();
}

std::string LiveCollection::op_name(RunId run, OpId op) {
  const auto known = names_.find({run, op});
  if (known != names_.end()) return known->second;
  LiveShard* const shard = head();
  const std::string name = shard != nullptr ? shard->op_name(run, op) : "";
  if (!name.empty()) names_.emplace(std::pair(run, op), name);
  return name;
}

LiveShard::Place LiveCollection::place(RunId run, int rank, int lane, OpId op) {
  LiveShard* const shard = head();
  return shard != nullptr ? shard->place(run, rank, lane, op) : LiveShard::Place{};
}

}  // namespace spscope
