#include "backend/collect/live_collection.h"

#include "backend/base/result.h"
#include "backend/store/sqlite/sqlite.h"

namespace spscope {

struct LiveCollection::Shard {
  explicit Shard(const std::string& path)
      : db(Database::open_shard(path)),
        new_chunks(db, "SELECT coalesce(max(chunk_id), 0), coalesce(sum(count), 0) FROM main.chunk WHERE chunk_id > ?"),
        name(db,
             "SELECT o.name FROM main.run r JOIN main.plan_op o ON o.plan_id = r.plan_id "
             "WHERE r.run_id = ? AND o.op_id = ?"),
        place(db,
              "SELECT coalesce(sum(o.op_id <= ?2), 0), count(*) FROM main.run r JOIN main.plan_op o "
              "ON o.plan_id = r.plan_id WHERE r.run_id = ?1 AND o.rank = ?3 AND o.lane = ?4") {}

  Database db;
  Statement new_chunks, name, place;
  std::int64_t last_chunk = 0;
};

namespace {

// Calls `read` with the row of the statement, if there is one. A shard that is gone, or damaged, has none.
template <typename Read, typename... Values>
void with_row(Statement& statement, Read&& read, const Values&... values) {
  static_cast<void>(failure_of([&] {
    if (statement.bind_all(values...).step()) read(statement);
  }));
  statement.reset();
}

}  // namespace

LiveCollection::LiveCollection(CollectingNote note) : note_(std::move(note)) {}
LiveCollection::~LiveCollection() = default;

LiveCollection::Shard* LiveCollection::head() {
  const auto found = shards_.find(note_.head_db());
  return found != shards_.end() ? found->second.get() : nullptr;
}

void LiveCollection::poll() {
  for (const std::string& path : note_.shards()) {
    if (shards_.contains(path)) continue;
    // One that is being made has no tables yet: the next time.
    Result<std::unique_ptr<Shard>> opened = capture([&] { return std::make_unique<Shard>(path); });
    if (opened) shards_.emplace(path, std::move(*opened));
  }
  for (auto& [path, shard] : shards_)
    with_row(
        shard->new_chunks,
        [&, s = shard.get()](Statement& row) {
          if (row.integer(0) > s->last_chunk) s->last_chunk = row.integer(0);
          committed_events_ += row.integer(1);
        },
        shard->last_chunk);
}

std::string LiveCollection::op_name(RunId run, OpId op) {
  const auto known = names_.find({run, op});
  if (known != names_.end()) return known->second;
  std::string name;
  if (Shard* shard = head())
    with_row(
        shard->name, [&](Statement& row) { name = row.text(0); }, run, op);
  if (!name.empty()) names_.emplace(std::pair(run, op), name);
  return name;
}

LiveCollection::Place LiveCollection::place(RunId run, int rank, int lane, OpId op) {
  Place place;
  if (Shard* shard = head())
    with_row(
        shard->place,
        [&](Statement& row) {
          place = {row.count(0), row.count(1)};
        },
        run, op, rank, lane);
  return place;
}

}  // namespace spscope
