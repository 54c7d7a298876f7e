// The tables `event` and `event_stats` against a filter over plain records, written without them.
#include "backend/store/event_table/event_table.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "backend/base/rng.h"
#include "backend/store/chunk/chunk_codec.h"
#include "backend/store/embedded_schema.h"
#include "backend/store/open_store.h"
#include "backend/store/sqlite/query.h"

namespace spscope {
namespace {

using Rows = std::vector<std::vector<std::optional<std::string>>>;

// An event as the table should show it.
struct Shown {
  std::int64_t event_id, run_id, track_id, rank, lane, begin_ns, end_ns, op_id;
  std::string name;
  std::uint32_t flags;
};

// A store in memory whose events are known as plain records too.
class EventTable : public ::testing::Test {
 protected:
  EventTable() {
    db_.execute(std::string(embedded_schema()));
    db_.execute(
        "INSERT INTO string VALUES (0, ''), (1, 'attend'), (2, 'exchange k'), (3, 'norm');"
        "INSERT INTO enum_name VALUES ('event.category', 0, 'other'), ('event.category', 1, 'attend'),"
        " ('event.category', 2, 'local'), ('event.category', 4, 'transfer');");
  }

  void add_run(std::int64_t run_id, std::int64_t end_ns) {
    Statement(db_,
              "INSERT INTO run (run_id, strategy_id, layer, denoise_step, mesh, compute_source, network_source, timing,"
              " planning_ns, density, tiles, tiles_redundant, moved_fraction, parameter_bytes, verdict, error_metric, "
              "finished) "
              "VALUES (?1, 1, ?1, 0, 0, 0, 0, 0, 0, 0.0, 0.0, 0.0, 0.0, 0, 0, '', 1)")
        .run(run_id);
    if (end_ns >= 0) Statement(db_, "INSERT INTO repeat VALUES (?, 0, 0, ?, ?, 0, 1)").run(run_id, end_ns, end_ns);
  }
  void add_track(std::int64_t id, int rank, int lane) {
    Statement(db_, "INSERT INTO track VALUES (?, 0, '', NULL, NULL, ?, ?, 0, 0)").run(id, rank, lane);
  }
  std::int64_t add_chunk(std::int64_t run, std::int64_t track, const EncodedChunk& chunk) {
    const ChunkHeader& h = chunk.header;
    Statement insert(db_,
                     "INSERT INTO chunk (run_id, track_id, seq, record_kind, codec, count,"
                     " begin_min_ns, begin_max_ns, end_max_ns, op_min, op_max, crc32c, data) "
                     "VALUES (?, ?, (SELECT count(*) FROM chunk WHERE track_id = ?2), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    insert.run(run, track, h.kind, h.codec, h.count, h.begin_min_ns, h.begin_max_ns, h.end_max_ns, h.op_min, h.op_max,
               h.crc32c, std::span<const std::uint8_t>(chunk.data));
    return db_.last_insert_id();
  }

  // Runs, tracks and chunks of every kind, with instants, gaps, unfinished events and times below zero.
  void fill(Rng& rng) {
    for (int run = 1; run <= 3; ++run) add_run(run, run == 3 ? -1 : 100'000);
    for (int track = 1; track <= 6; ++track) add_track(track, (track - 1) / 2, (track - 1) % 2);
    for (std::int64_t track = 1; track <= 6; ++track) {
      std::int64_t now_ns = rng.below(100) - 50;
      for (std::int64_t run = 1; run <= 3; ++run)
        for (int chunk = 0; chunk < 3; ++chunk) now_ns = fill_chunk(rng, run, track, now_ns);
    }
  }

  std::int64_t fill_chunk(Rng& rng, std::int64_t run, std::int64_t track, std::int64_t now_ns) {
    std::vector<CollectiveEvent> events(static_cast<std::size_t>(1 + rng.below(40)));
    for (CollectiveEvent& e : events) {
      now_ns += rng.below(3) * rng.below(100);
      e.span.begin_ns = now_ns;
      e.span.end_ns = now_ns += rng.below(4) * rng.below(50);
      e.span.op_id = rng.below(60) - 1;
      e.span.name = static_cast<NameId>(rng.below(4));
      e.span.flags = event_flags(static_cast<EventCategory>(rng.below(5)), static_cast<int>(rng.below(3)));
      e.entry_ns = e.span.begin_ns;
      e.transfer_begin_ns = e.transfer_end_ns = e.span.end_ns;
      e.bytes = rng.below(1 << 20);
      e.sequence = rng.below(100);
      e.peer = static_cast<std::int32_t>(rng.below(4)) - 1;
    }
    if (run == 3 || (track == 1 && rng.below(2) == 0)) {  // nothing comes after it in the chunk
      events.back().span.end_ns = kNeverEnded;
      events.back().span.flags |= kEventUnfinished;
    }
    const Compress compress = rng.below(2) == 0 ? Compress::kFast : Compress::kBest;
    std::vector<SpanEvent> spans;
    std::vector<WorkEvent> work;
    for (const CollectiveEvent& e : events) {
      spans.push_back(e.span);
      work.push_back({e.span, rng.below(100), static_cast<std::uint32_t>(rng.bits())});
    }
    const std::int64_t id = add_chunk(run, track,
                                      track % 2 == 0 ? encode_chunk(events, compress)
                                      : track == 5   ? encode_chunk(work, compress)
                                                     : encode_chunk(spans, compress));
    remember(id, run, track, spans);
    return now_ns;
  }

  void remember(std::int64_t chunk_id, std::int64_t run, std::int64_t track, const std::vector<SpanEvent>& spans) {
    static const char* const names[] = {"", "attend", "exchange k", "norm"};
    for (std::size_t i = 0; i < spans.size(); ++i) {
      const SpanEvent& e = spans[i];
      const bool open = (e.flags & kEventUnfinished) != 0;
      const std::int64_t run_end = run == 3 ? e.begin_ns : 100'000;
      shown_.push_back({chunk_id * 4096 + static_cast<std::int64_t>(i), run, track, (track - 1) / 2, (track - 1) % 2,
                        e.begin_ns, open ? std::max(e.begin_ns, run_end) : e.end_ns, e.op_id, names[e.name], e.flags});
    }
  }

  QueryResult ask(const std::string& sql) {
    if (!tables_) add_event_tables(db_), tables_ = true;
    return run_query(db_, sql);
  }

  Database db_ = Database::in_memory();
  bool tables_ = false;
  std::vector<Shown> shown_;
};

struct NamedColumn {
  const char* name;
  std::int64_t Shown::*value;
};
constexpr NamedColumn kColumns[] = {{"event_id", &Shown::event_id}, {"run_id", &Shown::run_id},
                                    {"track_id", &Shown::track_id}, {"rank", &Shown::rank},
                                    {"lane", &Shown::lane},         {"begin_ns", &Shown::begin_ns},
                                    {"end_ns", &Shown::end_ns},     {"op_id", &Shown::op_id}};

bool compare(double left, const std::string& op, double right) {
  return op == "="    ? left == right
         : op == "<"  ? left < right
         : op == "<=" ? left <= right
         : op == ">"  ? left > right
                      : left >= right;
}

TEST_F(EventTable, AnyBoundsGiveTheRowsOfAPlainFilter) {
  Rng rng(11);
  fill(rng);
  const std::string ops[] = {"=", "<", "<=", ">", ">="};
  std::size_t found = 0;
  for (int trial = 0; trial < 600; ++trial) {
    std::string where = "1";
    std::vector<const Shown*> expected;
    for (const Shown& e : shown_) expected.push_back(&e);
    for (std::int64_t term = rng.below(4); term > 0; --term) {
      const NamedColumn& column = kColumns[rng.below(std::ssize(kColumns))];
      const std::string& op = ops[rng.below(5)];
      // A value that occurs, moved a little, as a whole number, a real or a text.
      const std::int64_t near = shown_[static_cast<std::size_t>(rng.below(std::ssize(shown_)))].*column.value;
      const double value = static_cast<double>(near + rng.below(3) - 1) + (rng.below(4) == 0 ? 0.5 : 0);
      const std::string text = value == static_cast<double>(static_cast<std::int64_t>(value))
                                   ? std::to_string(static_cast<std::int64_t>(value))
                                   : std::to_string(value);
      where += std::string(" AND ") + column.name + " " + op + " " + (rng.below(5) == 0 ? "'" + text + "'" : text);
      std::erase_if(expected,
                    [&](const Shown* e) { return !compare(static_cast<double>(e->*column.value), op, value); });
    }
    std::ranges::sort(expected, {}, &Shown::event_id);
    Rows rows;
    for (const Shown* e : expected)
      rows.push_back({std::to_string(e->event_id), std::to_string(e->begin_ns), std::to_string(e->end_ns), e->name});
    const std::string sql = "SELECT event_id, begin_ns, end_ns, name FROM event WHERE " + where + " ORDER BY event_id";
    ASSERT_EQ(ask(sql).rows, rows) << sql;
    found += rows.size();
  }
  EXPECT_GT(found, 1000u);
}

TEST_F(EventTable, StatisticsAreTheSumsOfAPlainLoop) {
  Rng rng(12);
  fill(rng);
  using Key = std::tuple<std::int64_t, std::int64_t, std::string, std::uint32_t>;
  const char* const categories[] = {"other", "attend", "local", "", "transfer"};
  for (int trial = 0; trial < 300; ++trial) {
    const std::int64_t begin = rng.below(4000) - 500, end = begin + rng.below(3000);
    const bool one_name = rng.below(2) == 0;
    std::map<Key, std::vector<std::int64_t>> sums;  // count, total, min, max, first, last, unfinished
    for (const Shown& e : shown_) {
      const bool open = (e.flags & kEventUnfinished) != 0;
      const std::int64_t end_ns = open ? kNeverEnded : e.end_ns;
      if (!(e.begin_ns < end && (end_ns > begin || (e.begin_ns == end_ns && end_ns >= begin)))) continue;
      if (one_name && e.name != "norm") continue;
      auto [it, is_new] = sums.try_emplace({e.run_id, e.rank, e.name, e.flags & 0xff},
                                           std::vector<std::int64_t>{0, 0, kNeverEnded, -1, kNeverEnded, -1000, 0});
      std::vector<std::int64_t>& s = it->second;
      if (open) {
        ++s[6];
        continue;
      }
      ++s[0], s[1] += e.end_ns - e.begin_ns;
      s[2] = std::min(s[2], e.end_ns - e.begin_ns), s[3] = std::max(s[3], e.end_ns - e.begin_ns);
      s[4] = std::min(s[4], e.begin_ns), s[5] = std::max(s[5], e.end_ns);
    }
    Rows rows;
    for (const auto& [key, s] : sums) {
      const auto& [run, rank, name, category] = key;
      std::vector<std::optional<std::string>> row = {std::to_string(run), std::to_string(rank), "rank lane", name};
      row.push_back(category == 3 ? std::nullopt : std::optional<std::string>(categories[category]));
      for (std::size_t i = 0; i < s.size(); ++i)
        row.push_back(i >= 2 && i <= 5 && s[0] == 0 ? std::nullopt : std::optional(std::to_string(s[i])));
      rows.push_back(row);
    }
    const std::string sql = "SELECT * FROM event_stats(" + std::to_string(begin) + ", " + std::to_string(end) + ")" +
                            (one_name ? " WHERE name = 'norm'" : "");
    Rows answer = ask(sql).rows;
    std::sort(answer.begin(), answer.end());
    std::sort(rows.begin(), rows.end());
    ASSERT_EQ(answer, rows) << sql;
  }
}

TEST_F(EventTable, BoundsAtTheEndsOfTheNumbersAreTaken) {
  Rng rng(13);
  fill(rng);
  const std::string all = std::to_string(shown_.size());
  const std::string low = "(-9223372036854775807 - 1)", high = "9223372036854775807";
  const std::pair<std::string, std::vector<std::string>> bounds[] = {
      {all,
       {"begin_ns >= " + low, "begin_ns <= " + high, "begin_ns > -1e300", "begin_ns < 1e300", "begin_ns > -9.3e18"}},
      {"0",
       {"begin_ns < " + low, "begin_ns > " + high, "begin_ns > 1e300", "begin_ns = 1e300", "begin_ns = NULL",
        "begin_ns > 10 AND begin_ns < 5"}}};
  for (const auto& [count, conditions] : bounds)
    for (const std::string& where : conditions)
      EXPECT_EQ(ask("SELECT count(*) FROM event WHERE " + where).rows[0][0], count) << where;
}

// Joins hand over values row by row, and the planner may turn them either way.
TEST_F(EventTable, JoinsGiveTheSameBothWaysRound) {
  Rng rng(14);
  fill(rng);
  std::int64_t expected = 0;
  for (const Shown& a : shown_)
    for (const Shown& b : shown_) expected += a.rank == 0 && a.op_id == b.op_id && b.run_id == 1;
  for (const std::string tables : {"event a CROSS JOIN event b", "event b JOIN event a"})
    EXPECT_EQ(
        ask("SELECT count(*) FROM " + tables + " ON a.op_id = b.op_id AND b.run_id = 1 WHERE a.rank = 0").rows[0][0],
        std::to_string(expected))
        << tables;
}

TEST_F(EventTable, CountersAreNoEvents) {
  add_run(1, 10);
  add_track(1, 0, 0);
  const CounterSample sample;
  add_chunk(1, 1, encode_chunk(std::span<const CounterSample>(&sample, 1), Compress::kFast));
  EXPECT_EQ(ask("SELECT count(*) FROM event").rows[0][0], "0");
  EXPECT_TRUE(ask("SELECT * FROM event_stats").rows.empty());
}

// The largest size of this process so far.
double peak_mb() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024e-6;
}

// A chunk of a hundred bytes may claim any name.
TEST_F(EventTable, LargeNumbersOfNamesTakeNoMoreMemoryThanSmallOnes) {
  constexpr int kRanks = 300;
  add_run(1, 10);
  for (int rank = 0; rank < kRanks; ++rank) {
    const SpanEvent event = {.begin_ns = 1, .end_ns = 3, .name = rank % 2 == 0 ? NameId{65'535} : NameId{4'095}};
    add_track(rank + 1, rank, 0);
    add_chunk(1, rank + 1, encode_chunk(std::span<const SpanEvent>(&event, 1), Compress::kFast));
  }
  const double before_mb = peak_mb();
  EXPECT_EQ(ask("SELECT count(*) FROM event_stats WHERE count = 1 AND total_ns = 2 AND name IS NULL").rows[0][0],
            std::to_string(kRanks));
  EXPECT_LT(peak_mb() - before_mb, 200);
}

TEST_F(EventTable, DamagedChunksGiveAnErrorText) {
  const SpanEvent event = {1, 2, 3, 1, 1};
  const EncodedChunk good = encode_chunk(std::span<const SpanEvent>(&event, 1), Compress::kFast);
  add_run(1, 10);
  add_track(1, 0, 0);
  add_chunk(1, 1, good);
  EXPECT_EQ(ask("SELECT count(*) FROM event").rows[0][0], "1");
  const std::pair<const char*, const char*> changes[] = {{"run_id = 7", "run 7"},
                                                         {"track_id = 9", "track 9"},
                                                         {"crc32c = crc32c + 1", "checksum"},
                                                         {"count = 2", ""},
                                                         {"count = 0", ""},
                                                         {"count = 1 << 40", "count"},
                                                         {"record_kind = 7", "record_kind"},
                                                         {"codec = 9", "layout"},
                                                         {"data = x''", ""}};
  for (const auto& [change, word] : changes) {
    SCOPED_TRACE(change);
    db_.execute("BEGIN");
    db_.execute(std::string("UPDATE chunk SET ") + change);
    for (const char* table : {"event", "event_stats"}) {
      std::string message;
      try {
        ask(std::string("SELECT * FROM ") + table);
      } catch (const Error& error) {
        message = error.what();
      }
      EXPECT_FALSE(message.empty()) << table;
      EXPECT_NE(message.find(word), std::string::npos) << message;
    }
    db_.execute("ROLLBACK");
  }
  EXPECT_EQ(ask("SELECT count(*) FROM event").rows[0][0], "1");
}

TEST_F(EventTable, AnAnswerIsOfTheFileAsItIsNow) {
  add_run(1, 10);
  add_track(1, 0, 0);
  const SpanEvent event = {1, 2, 3, 1, 1};
  EXPECT_EQ(ask("SELECT count(*) FROM event").rows[0][0], "0");
  add_chunk(1, 1, encode_chunk(std::span<const SpanEvent>(&event, 1), Compress::kFast));
  add_run(2, 10);
  add_track(2, 5, 0);
  add_chunk(2, 2, encode_chunk(std::span<const SpanEvent>(&event, 1), Compress::kFast));
  EXPECT_EQ(ask("SELECT group_concat(rank) FROM event").rows[0][0], "0,5");
}

}  // namespace
}  // namespace spscope
