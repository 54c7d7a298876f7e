#include "backend/store/live_shard.h"

#include <algorithm>

#include "backend/base/result.h"
#include "backend/store/sqlite/sqlite.h"

namespace spscope {

struct LiveShard::State {
  explicit State(const std::string& path)
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

// Calls `read` with the row of the statement, if there is one. A shard that is removed, or damaged, has none.
template <typename Read, typename... Values>
void with_row(Statement& statement, Read&& read, const Values&... values) {
  static_cast<void>(failure_of([&] {
    if (statement.bind_all(values...).step()) read(statement);
  }));
  statement.reset();
}

}  // namespace

LiveShard::LiveShard(const std::string& path) : state_(std::make_unique<State>(path)) {}
LiveShard::~LiveShard() = default;

std::int64_t LiveShard::new_events() {
  std::int64_t events = 0;
  const auto read = [&](const Statement& row) {
    state_->last_chunk = std::max(state_->last_chunk, row.integer(0));
    events = row.integer(1);
  };
  with_row(state_->new_chunks, read, state_->last_chunk);
  return events;
}

std::string LiveShard::op_name(RunId run, OpId op) {
  std::string name;
  with_row(
      state_->name, [&](const Statement& row) { name = row.text(0); }, run, op);
  return name;
}

LiveShard::Place LiveShard::place(RunId run, int rank, int lane, OpId op) {
  Place place;
  const auto read = [&](const Statement& row) { place = {row.count(0), row.count(1)}; };
  with_row(state_->place, read, run, op, rank, lane);
  return place;
}

bool shard_has_events(const std::string& path) {
  Database db = Database::open_shard(path);
  return Statement(db, "SELECT 1 FROM main.chunk LIMIT 1").step();
}

}  // namespace spscope
