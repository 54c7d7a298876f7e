#include "backend/store/store_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "backend/base/check.h"
#include "backend/base/errno_remedy.h"
#include "backend/base/file_system.h"
#include "backend/base/result.h"
#include "backend/store/chunk/chunk_codec.h"
#include "backend/store/new_store.h"
#include "backend/store/output_file.h"
#include "backend/store/sqlite/sqlite.h"
#include "backend/store/sqlite/value_text.h"
#include "backend/store/stored_mask.h"
#include "backend/store/stored_plan.h"
#include "backend/store/timeline_events.h"

namespace spscope {

namespace {

// An empty file of our own.
void create_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0)
    throw Error(errno == EEXIST ? ErrorCode::kStoreExists : ErrorCode::kOutputPlace,
                fmt::format("cannot create \"{}\": {}", path, std::strerror(errno)),
                remedy_of(errno, fmt::format("choose an empty folder on a local disk with {}", kScratchSetting)));
  ::close(fd);
}

}  // namespace

struct StoreWriter::State {
  State(std::unique_ptr<OutputFile> own, OutputFile& out, const WriteOptions& options)
      : own(std::move(own)), out(&out), db(std::make_unique<Database>(Database::create(out.held_path(), out.path()))) {
    mark_as_ours(*db, options.max_bytes);
    begin({}, options);
  }
  State(const std::string& path, const ShardRecord& shard, const WriteOptions& options)
      : db(std::make_unique<Database>(Database::create_shard(path))) {
    mark_as_ours(*db, options.max_bytes);
    db->write_ahead();
    begin(shard, options);
    commit();
  }

  void begin(const ShardRecord& shard, const WriteOptions& options) {
    transaction.emplace(*db);
    create_tables(*db, options.tool_version, shard);
    events.emplace(*db, shard.kind == ShardKind::kNone ? Compress::kBest : Compress::kFast);
  }
  void commit() {
    transaction->commit();
    transaction.emplace(*db);
  }

  // A prepared statement for each text, made when it is first used.
  Statement& statement(std::string_view sql) {
    const auto known = statements.find(sql);
    return known != statements.end() ? known->second : statements.try_emplace(sql, *db, sql).first->second;
  }

  void add_mesh(StrategyId strategy, std::size_t number, const RankMesh& mesh) {
    statement("INSERT INTO strategy_mesh (strategy_id, mesh, ulysses, ring) VALUES (?, ?, ?, ?)")
        .run(strategy, number, mesh.ulysses, mesh.ring);
    Statement& member = statement(
        "INSERT INTO strategy_group (strategy_id, mesh, kind, group_index, position, rank) VALUES (?, ?, ?, ?, ?, ?)");
    const std::vector<std::vector<int>>* kinds[] = {&mesh.ulysses_groups, &mesh.ring_groups};
    for (int kind = 0; kind < 2; ++kind)
      for (std::size_t group = 0; group < kinds[kind]->size(); ++group)
        for (std::size_t position = 0; position < (*kinds[kind])[group].size(); ++position)
          member.run(strategy, number, kind, group, position, (*kinds[kind])[group][position]);
  }
  void add_problem(StrategyId strategy, std::size_t ordinal, const Problem& p) {
    statement(
        "INSERT INTO problem (strategy_id, ordinal, code, field, message, hint, file, line, line_column) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)")
        .run(strategy, ordinal, p.code, p.field, p.message, p.hint, p.place.file, p.place.line, p.place.column);
  }

  // Destroyed from the last to the first: statements, transaction, connection, file.
  std::unique_ptr<OutputFile> own;
  OutputFile* out = nullptr;  // of a finished file
  std::unique_ptr<Database> db;
  std::optional<Transaction> transaction;
  std::optional<EventWriter> events;
  std::map<std::string_view, Statement> statements;  // by texts that live for ever
  std::unordered_map<std::uint64_t, PlanId> plans;
  std::unordered_map<std::uint64_t, StoredMaskId> masks;
  std::int64_t free_ns = 0;  // run clock after every repeat so far
};

StoreWriter::StoreWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
StoreWriter::StoreWriter(std::string path, const WriteOptions& options) {
  auto out = std::make_unique<OutputFile>(std::move(path), options.force);
  OutputFile& place = *out;
  state_ = std::make_unique<State>(std::move(out), place, options);
}
StoreWriter::StoreWriter(OutputFile& out, const WriteOptions& options)
    : state_(std::make_unique<State>(nullptr, out, options)) {}
StoreWriter StoreWriter::shard(const std::string& path, const ShardRecord& shard, const WriteOptions& options) {
  SPSCOPE_CHECK(shard.kind != ShardKind::kNone);
  create_file(path);
  Result<std::unique_ptr<State>> state = capture([&] { return std::make_unique<State>(path, shard, options); });
  if (state) return StoreWriter(std::move(*state));
  for (const char* const beside : {"", "-wal", "-shm"}) ::unlink((path + beside).c_str());  // nobody reads half of one
  throw state.error();
}
StoreWriter::~StoreWriter() = default;
StoreWriter::StoreWriter(StoreWriter&&) noexcept = default;
StoreWriter& StoreWriter::operator=(StoreWriter&&) noexcept = default;

const std::string& StoreWriter::path() const { return state_->db->path(); }
EventWriter& StoreWriter::events() { return *state_->events; }
Database& StoreWriter::database() { return *state_->db; }

void StoreWriter::add_machine(std::span<const MachineFact> facts) {
  for (const MachineFact& fact : facts)
    state_->statement("INSERT INTO machine_fact (name, value) VALUES (?, ?)").run(fact.name, fact.value);
}

WorkloadId StoreWriter::add_workload(const WorkloadRecord& w) {
  state_
      ->statement(
          "INSERT INTO workload (config_toml, config_hash, cluster_toml, model, pattern, cluster, scope, tokens, "
          "text_tokens, blocks, heads, head_dim, batch, layers, denoise_steps, model_layers, forward_passes, "
          "ranks, nodes, gpus_per_node, data_parallel, dtype, guidance, combine_bytes, combine_ns) "
          "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
      .run(w.config_toml, w.config_hash, w.cluster_toml, w.model, w.pattern, w.cluster, w.scope, w.tokens,
           w.text_tokens, w.blocks, w.heads, w.head_dim, w.batch, w.layers, w.denoise_steps, w.model_layers,
           w.forward_passes, w.ranks, w.nodes, w.gpus_per_node, w.data_parallel, w.dtype, w.guidance, w.combine_bytes,
           w.combine_ns);
  return WorkloadId{state_->db->last_insert_id()};
}

StrategyId StoreWriter::add_strategy(const StrategyRecord& s) {
  state_
      ->statement(
          "INSERT INTO strategy (workload_id, id, name, label, mode, device, backend, legal, reason) "
          "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)")
      .run(s.workload_id, s.id, s.name, s.label, s.mode, s.device, s.backend, s.legal(),
           s.legal() ? std::string() : s.problems.front().message);
  const StrategyId key{state_->db->last_insert_id()};
  for (const auto& [name, value] : s.parameters.values())
    state_->statement("INSERT INTO strategy_parameter (strategy_id, name, kind, value) VALUES (?, ?, ?, ?)")
        .run(key, name, value.index(), to_text(value));
  for (std::size_t rank = 0; rank < s.rank_map.size(); ++rank)
    state_->statement("INSERT INTO strategy_node (strategy_id, rank, node) VALUES (?, ?, ?)")
        .run(key, rank, s.rank_map[rank]);
  for (std::size_t i = 0; i < s.meshes.size(); ++i) state_->add_mesh(key, i, s.meshes[i]);
  for (std::size_t i = 0; i < s.problems.size(); ++i) state_->add_problem(key, i, s.problems[i]);
  if (s.pick)
    state_
        ->statement(
            "INSERT INTO strategy_pick (strategy_id, settings, predicted_ns, next_label, next_ns) VALUES (?, ?, ?, ?, "
            "?)")
        .run(key, s.pick->settings, s.pick->predicted_ns, s.pick->next_label, s.pick->next_ns);
  return key;
}

void StoreWriter::add_mesh(StrategyId strategy, std::size_t number, const RankMesh& mesh, const std::string& label) {
  state_->add_mesh(strategy, number, mesh);
  state_->statement("UPDATE strategy SET label = ? WHERE strategy_id = ?").run(label, strategy);
}

void StoreWriter::refuse_strategy(StrategyId strategy, const Problem& problem) {
  state_->statement("UPDATE strategy SET legal = 0, reason = ? WHERE strategy_id = ?").run(problem.message, strategy);
  state_->add_problem(strategy, 0, problem);
  state_->statement("UPDATE run SET finished = 0 WHERE strategy_id = ?").run(strategy);
}

StoredMaskId StoreWriter::add_mask(const BlockMask& mask, std::string_view recipe) {
  const auto [it, is_new] = state_->masks.try_emplace(mask.hash());
  if (!is_new) return it->second;
  it->second = store_mask(*state_->db, mask, recipe);
  return it->second;
}

void StoreWriter::place_mask(WorkloadId workload, const MaskPlace& place) {
  state_->statement("INSERT INTO mask_place (workload_id, denoise_step, layer, axis, mask_id) VALUES (?, ?, ?, ?, ?)")
      .run(workload, place.denoise_step, place.layer, place.axis, place.mask_id);
}

PlanId StoreWriter::add_plan(const Plan& plan) {
  const auto [it, is_new] = state_->plans.try_emplace(plan_hash(plan));
  if (!is_new) return it->second;
  it->second = store_plan(*state_->db, plan, it->first);
  return it->second;
}

RunId StoreWriter::add_run(const RunRecord& run) {
  const RunId id = begin_run(run);
  finish_run(id, run);
  return id;
}

RunId StoreWriter::begin_run(const RunRecord& r) {
  state_
      ->statement(
          "INSERT INTO run (strategy_id, layer, denoise_step, mesh, plan_id, compute_source, network_source, timing, "
          "verdict, error_metric, finished) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0, '', 0)")
      .run(r.strategy_id, r.layer, r.denoise_step, r.mesh, r.plan_id, r.provenance.compute, r.provenance.network,
           r.provenance.timing);
  return RunId{state_->db->last_insert_id()};
}

void StoreWriter::finish_run(RunId id, const RunRecord& r) {
  static const std::string sql = [] {
    std::string figures;
    for_each_figure([&](const FigureRow& figure, auto) {
      if (figure.is_stored()) figures += fmt::format(", {} = ?", figure.name);
    });
    return "UPDATE run SET plan_id = ?, compute_source = ?, network_source = ?, timing = ?, decided = ?, verdict = ?, "
           "max_error = ?, error_metric = ?, finished = ?" +
           figures + " WHERE run_id = ?";
  }();
  Statement& update = state_->statement(sql);
  int next = 0;
  const auto bind = [&](const auto&... values) { (update.bind(next++, values), ...); };
  bind(r.plan_id, r.provenance.compute, r.provenance.network, r.provenance.timing, r.decided, r.verdict, r.max_error,
       r.error_metric, r.finished);
  for_each_figure([&](const FigureRow& figure, auto of) {
    if (figure.column == FigureColumn::kStored) bind(of(r).value_or(0));
    if (figure.column == FigureColumn::kNullable) bind(of(r));
  });
  bind(id);
  update.run();
}

void StoreWriter::add_usage(RunId run, std::span<const RankUsage> ranks) {
  for (const RankUsage& u : ranks)
    state_
        ->statement(
            "INSERT INTO rank_usage (run_id, rank, tiles, flops, bytes_sent_intra_node, bytes_sent_inter_node, "
            "bytes_received, messages, memory_peak_bytes, memory_bound_bytes, counted, host_post_ns) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
        .run(run, u.rank, u.tiles, u.flops, u.bytes_sent_intra_node, u.bytes_sent_inter_node, u.bytes_received,
             u.messages, u.memory_peak_bytes, u.memory_bound_bytes, u.counted, u.host_post_ns);
}

void StoreWriter::add_traffic(RunId run, std::span<const Traffic> traffic) {
  for (const Traffic& t : traffic) {
    SPSCOPE_CHECK(t.src != t.dst);
    state_->statement("INSERT INTO traffic (run_id, src, dst, tensor, messages, bytes) VALUES (?, ?, ?, ?, ?, ?)")
        .run(run, t.src, t.dst, t.tensor, t.messages, t.bytes);
  }
}

namespace {

constexpr std::string_view kInsertRepeat =
    "INSERT INTO repeat (run_id, repeat, begin_ns, end_ns, makespan_ns, has_timeline, lead_ns) "
    "VALUES (?, ?, ?, ?, ?, ?, ?)";

}  // namespace

void StoreWriter::add_repeat(RunId run, const RepeatRecord& repeat) {
  const std::int64_t begin_ns = repeat.begin_ns == RepeatRecord::kAfterEverything ? state_->free_ns : repeat.begin_ns;
  const std::int64_t end_ns = begin_ns + repeat.makespan_ns;
  state_->statement(kInsertRepeat)
      .run(run, repeat.repeat, begin_ns, end_ns, repeat.makespan_ns, repeat.has_timeline, repeat.lead_ns);
  state_->free_ns = std::max(state_->free_ns, end_ns + 1);
}

void StoreWriter::add_repeat(RunId run, const RepeatRecord& repeat, const Plan& plan, const Timeline& timeline,
                             const RunProvenance& provenance) {
  const std::int64_t begin_ns = repeat.begin_ns == RepeatRecord::kAfterEverything ? state_->free_ns : repeat.begin_ns;
  // A rank without an op in this pass may have ended the pass before later than all others end this one.
  std::int64_t end_ns = begin_ns + repeat.lead_ns + repeat.makespan_ns;
  for (const OpTimes& times : timeline.ops) end_ns = std::max(end_ns, begin_ns + times.end_ns);
  append_timeline(events(), run, plan, timeline, begin_ns, provenance);
  state_->statement(kInsertRepeat).run(run, repeat.repeat, begin_ns, end_ns, repeat.makespan_ns, true, repeat.lead_ns);
  // One nanosecond between repeats, so that an instant at the end of one is not taken for the begin of the next.
  state_->free_ns = std::max(state_->free_ns, end_ns + 1);
}

void StoreWriter::add_rank_process(const RankProcess& p) {
  state_
      ->statement(
          "INSERT OR REPLACE INTO rank_process (rank, host, node, boot_id, pid, state_text) VALUES (?, ?, ?, ?, ?, ?)")
      .run(p.rank, p.host, p.node, p.boot_id, p.pid, p.state_text);
}

void StoreWriter::add_collector(const CollectorRecord& c) {
  state_
      ->statement(
          "INSERT OR REPLACE INTO collector (first_rank, process, name, thread_ns, callback_ns, memory_bytes, records, "
          "dropped, notes, outcome) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
      .run(c.first_rank, c.process, c.name, c.cost.thread_ns, c.cost.callback_ns, c.cost.memory_bytes, c.cost.records,
           c.cost.dropped, c.notes, static_cast<int>(c.outcome));
}

void StoreWriter::add_rank_clock(const RankClock& clock) {
  const ClockFit& fit = clock.fit;
  state_
      ->statement(
          "INSERT OR REPLACE INTO clock_fit (rank, raw_zero_ns, offset_ns, drift, bound_ns, exchanges) "
          "VALUES (?, ?, ?, ?, ?, ?)")
      .run(clock.rank, fit.raw_zero_ns, fit.offset_ns, fit.drift, fit.bound_ns, fit.exchanges);
}

void StoreWriter::add_clock_samples(int rank, std::span<const ClockSample> samples) {
  for (const ClockSample& s : samples)
    state_
        ->statement(
            "INSERT INTO clock_exchange (rank, ordinal, sent_ns, remote_ns, received_ns) "
            "SELECT ?1, coalesce(max(ordinal) + 1, 0), ?2, ?3, ?4 FROM clock_exchange WHERE rank = ?1")
        .run(rank, s.sent_ns, s.remote_ns, s.received_ns);
}

void StoreWriter::replace_clock_samples(int rank, std::span<const ClockSample> samples) {
  state_->statement("DELETE FROM clock_exchange WHERE rank = ?").run(rank);
  add_clock_samples(rank, samples);
}

void StoreWriter::add_rank_repeat(const RankRepeat& r) {
  state_->statement("INSERT INTO rank_repeat (run_id, repeat, rank, begin_ns, end_ns, ranks) VALUES (?, ?, ?, ?, ?, ?)")
      .run(r.run_id, r.repeat, r.rank, r.begin_ns, r.end_ns, r.ranks);
}

void StoreWriter::add_incident(const IncidentRecord& i) {
  state_->statement("INSERT INTO incident (rank, lane, op_id, run_id, kind, message) VALUES (?, ?, ?, ?, ?, ?)")
      .run(i.rank, i.lane, i.op_id, i.run_id, i.kind, i.message);
}

void StoreWriter::checkpoint() {
  state_->events->flush();
  if (state_->out == nullptr) state_->commit();
}

void StoreWriter::finish() {
  state_->events->finish();
  state_->events.reset();
  state_->statements.clear();
  state_->transaction->commit();
  state_->transaction.reset();
  if (state_->out != nullptr) pack_small(*state_->db);
  state_->db.reset();
  if (state_->out != nullptr) state_->out->commit();
}

}  // namespace spscope
