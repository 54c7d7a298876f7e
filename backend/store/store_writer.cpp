#include "backend/store/store_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <optional>
#include <unordered_map>

#include "backend/base/check.h"
#include "backend/store/embedded_schema.h"
#include "backend/store/enum_names.h"
#include "backend/store/mask_codec.h"
#include "backend/store/output_file.h"
#include "backend/store/plan_codec.h"
#include "backend/store/sqlite.h"
#include "backend/store/timeline_events.h"
#include "backend/store/value_text.h"

namespace spscope {

namespace {

constexpr std::size_t kMaxPlanOpRows = 4096;

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  char text[32];
  return std::string(text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc));
}

void mark_as_ours(Database& db, const WriteOptions& options) {
  if (options.max_bytes > 0) {
    Statement page_bytes(db, "PRAGMA page_size");
    page_bytes.step();
    db.execute(fmt::format("PRAGMA max_page_count = {}",
                           std::max<std::int64_t>(1, options.max_bytes / page_bytes.integer(0))));
  }
  // First, and on disk before anything else, so that what a crash leaves is known to be ours.
  db.execute(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", kApplicationId, kSchemaVersion));
}

void create_schema(Database& db, const WriteOptions& options) {
  for (const SqlText& migration : embedded_migrations()) db.execute(std::string(migration.text));
  Statement note(db, "INSERT INTO meta (key, value) VALUES (?, ?)");
  note.run("schema_version", std::to_string(kSchemaVersion));
  note.run("min_reader", std::to_string(kMinReader));
  note.run("tool_version", options.tool_version);
  note.run("created_utc", utc_now());
  Statement name(db, "INSERT INTO enum_name (kind, value, name) VALUES (?, ?, ?)");
  for (const EnumName& row : enum_names()) name.run(row.kind, row.value, row.name);
}

}  // namespace

struct StoreWriter::State {
  State(std::string path, const WriteOptions& options)
      : out(std::move(path), options.force),
        db(std::make_unique<Database>(Database::create(out.temporary_path(), out.path()))) {
    mark_as_ours(*db, options);
    transaction.emplace(*db);
    create_schema(*db, options);
    events.emplace(*db);
  }

  // A prepared statement for each text, made when it is first used.
  Statement& statement(std::string_view sql) {
    const auto known = statements.find(sql);
    return known != statements.end() ? known->second : statements.try_emplace(sql, *db, sql).first->second;
  }

  // Destroyed from the last to the first: statements, transaction, connection, file.
  OutputFile out;
  std::unique_ptr<Database> db;
  std::optional<Transaction> transaction;
  std::optional<EventWriter> events;
  std::map<std::string_view, Statement> statements;  // by literals, which live for ever
  std::unordered_map<std::uint64_t, PlanId> plans;
  std::unordered_map<std::uint64_t, StoredMaskId> masks;
  std::int64_t free_ns = 0;  // run clock after every repeat so far
};

StoreWriter::StoreWriter(std::string path, const WriteOptions& options)
    : state_(std::make_unique<State>(std::move(path), options)) {}
StoreWriter::~StoreWriter() = default;
StoreWriter::StoreWriter(StoreWriter&&) noexcept = default;
StoreWriter& StoreWriter::operator=(StoreWriter&&) noexcept = default;

const std::string& StoreWriter::path() const { return state_->out.path(); }
EventWriter& StoreWriter::events() { return *state_->events; }

void StoreWriter::add_machine(std::span<const MachineFact> facts) {
  for (const MachineFact& fact : facts)
    state_->statement("INSERT INTO machine_fact (name, value) VALUES (?, ?)").run(fact.name, fact.value);
}

WorkloadId StoreWriter::add_workload(const WorkloadRecord& w) {
  state_
      ->statement(
          "INSERT INTO workload (config_toml, config_hash, cluster_toml, model, pattern, cluster, scope, tokens, "
          "text_tokens, blocks, density, heads, head_dim, batch, layers, denoise_steps, model_layers, forward_passes, "
          "ranks, nodes, gpus_per_node, data_parallel, dtype) "
          "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
      .run(w.config_toml, w.config_hash, w.cluster_toml, w.model, w.pattern, w.cluster, w.scope, w.tokens,
           w.text_tokens, w.blocks, w.density, w.heads, w.head_dim, w.batch, w.layers, w.denoise_steps, w.model_layers,
           w.forward_passes, w.ranks, w.nodes, w.gpus_per_node, w.data_parallel, w.dtype);
  return WorkloadId{state_->db->last_insert_id()};
}

StrategyId StoreWriter::add_strategy(const StrategyRecord& s) {
  state_
      ->statement(
          "INSERT INTO strategy (workload_id, id, name, label, mode, backend, legal, reason, ulysses, ring) "
          "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
      .run(s.workload_id, s.id, s.name, s.label, s.mode, s.backend, s.legal(),
           s.legal() ? std::string() : s.problems.front().message, s.ulysses, s.ring);
  const StrategyId key{state_->db->last_insert_id()};
  for (const auto& [name, value] : s.parameters.values())
    state_->statement("INSERT INTO strategy_parameter (strategy_id, name, kind, value) VALUES (?, ?, ?, ?)")
        .run(key, name, value.index(), to_text(value));
  for (std::size_t rank = 0; rank < s.rank_map.size(); ++rank)
    state_->statement("INSERT INTO strategy_node (strategy_id, rank, node) VALUES (?, ?, ?)")
        .run(key, rank, s.rank_map[rank]);
  const std::vector<std::vector<int>>* kinds[] = {&s.ulysses_groups, &s.ring_groups};
  for (int kind = 0; kind < 2; ++kind)
    for (std::size_t group = 0; group < kinds[kind]->size(); ++group)
      for (std::size_t position = 0; position < (*kinds[kind])[group].size(); ++position)
        state_
            ->statement(
                "INSERT INTO strategy_group (strategy_id, kind, group_index, position, rank) VALUES (?, ?, ?, ?, ?)")
            .run(key, kind, group, position, (*kinds[kind])[group][position]);
  for (std::size_t i = 0; i < s.problems.size(); ++i) {
    const Problem& p = s.problems[i];
    state_
        ->statement(
            "INSERT INTO problem (strategy_id, ordinal, code, field, message, hint, file, line, line_column) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)")
        .run(key, i, p.code, p.field, p.message, p.hint, p.place.file, p.place.line, p.place.column);
  }
  return key;
}

StoredMaskId StoreWriter::add_mask(const BlockMask& mask, std::string_view recipe) {
  SPSCOPE_CHECK(!mask.refined());
  const auto [it, is_new] = state_->masks.try_emplace(mask.hash());
  if (!is_new) return it->second;
  const std::vector<std::uint8_t> bits = recipe.empty() ? encode_mask(mask) : std::vector<std::uint8_t>();
  state_
      ->statement(
          "INSERT INTO mask (hash, recipe, heads, tokens, blocks, density, codec, data) "
          "VALUES (?, ?, ?, ?, ?, ?, ?, ?)")
      .run(hash_text(it->first), recipe, mask.heads(), mask.tokens(), mask.blocks(), mask.density(),
           recipe.empty() ? kMaskCodec : kMaskCodecNone, std::span<const std::uint8_t>(bits));
  it->second = StoredMaskId{state_->db->last_insert_id()};
  int head = 0;
  for (const DensityThumbnail& picture : make_thumbnails(mask))
    state_->statement("INSERT INTO mask_thumbnail (mask_id, head, side, cells) VALUES (?, ?, ?, ?)")
        .run(it->second, head++, DensityThumbnail::kSide, std::span<const std::uint8_t>(picture.cells));
  return it->second;
}

void StoreWriter::place_mask(WorkloadId workload, const MaskPlace& place) {
  state_->statement("INSERT INTO mask_place (workload_id, denoise_step, layer, axis, mask_id) VALUES (?, ?, ?, ?, ?)")
      .run(workload, place.denoise_step, place.layer, place.axis, place.mask_id);
}

PlanId StoreWriter::add_plan(const Plan& plan) {
  const auto [it, is_new] = state_->plans.try_emplace(plan_hash(plan));
  if (!is_new) return it->second;
  const std::vector<std::uint8_t> data = encode_plan(plan);
  state_
      ->statement(
          "INSERT INTO plan (hash, codec, ranks, lanes, num_ops, num_messages, data) VALUES (?, ?, ?, ?, ?, ?, ?)")
      .run(hash_text(it->first), kPlanCodec, plan.ranks, plan.lanes, plan.ops.size(), plan.messages.size(),
           std::span<const std::uint8_t>(data));
  it->second = PlanId{state_->db->last_insert_id()};
  if (plan.ops.size() > kMaxPlanOpRows) return it->second;
  for (std::size_t id = 0; id < plan.ops.size(); ++id) {
    const Op& op = plan.ops[id];
    const Post& post = plan.post_of(op);
    const OpBytes bytes = op_bytes(plan, op);
    std::string group;
    if (op.group != kNone) group = fmt::format("{}", fmt::join(plan.group(op.group), " "));
    state_
        ->statement(
            "INSERT INTO plan_op (plan_id, op_id, rank, lane, post, kind, name, ring_step, group_ranks, tiles, flops, "
            "bytes_sent, bytes_received) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
        .run(it->second, id, op.rank, post.lane, op.post, post.kind, op_name(plan, op), post.ring_step, group, op.tiles,
             op.flops, bytes.sent, bytes.received);
  }
  return it->second;
}

RunId StoreWriter::add_run(const RunRecord& r) {
  state_
      ->statement(
          "INSERT INTO run (strategy_id, layer, denoise_step, plan_id, compute_source, network_source, timing, "
          "planning_ns, density, tiles, tiles_redundant, moved_fraction, parameter_bytes, bound_ns, "
          "planned_imbalance_ratio, decided, verdict, max_error, error_metric) "
          "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
      .run(r.strategy_id, r.layer, r.denoise_step, r.plan_id, r.provenance.compute, r.provenance.network,
           r.provenance.timing, r.planning_ns, r.density, r.tiles, r.tiles_redundant, r.moved_fraction,
           r.parameter_bytes, r.bound_ns, r.planned_imbalance_ratio, r.decided, r.verdict, r.max_error, r.error_metric);
  return RunId{state_->db->last_insert_id()};
}

void StoreWriter::add_usage(RunId run, std::span<const RankUsage> ranks) {
  for (const RankUsage& u : ranks)
    state_
        ->statement(
            "INSERT INTO rank_usage (run_id, rank, tiles, flops, bytes_sent_intra_node, bytes_sent_inter_node, "
            "bytes_received, messages, memory_peak_bytes, memory_bound_bytes, counted) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
        .run(run, u.rank, u.tiles, u.flops, u.bytes_sent_intra_node, u.bytes_sent_inter_node, u.bytes_received,
             u.messages, u.memory_peak_bytes, u.memory_bound_bytes, u.counted);
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
    "INSERT INTO repeat (run_id, repeat, begin_ns, end_ns, makespan_ns, has_timeline) VALUES (?, ?, ?, ?, ?, ?)";

}  // namespace

void StoreWriter::add_repeat(RunId run, const RepeatRecord& repeat) {
  const std::int64_t begin_ns = repeat.begin_ns == RepeatRecord::kAfterEverything ? state_->free_ns : repeat.begin_ns;
  const std::int64_t end_ns = begin_ns + repeat.makespan_ns;
  state_->statement(kInsertRepeat).run(run, repeat.repeat, begin_ns, end_ns, repeat.makespan_ns, false);
  state_->free_ns = std::max(state_->free_ns, end_ns + 1);
}

void StoreWriter::add_repeat(RunId run, const RepeatRecord& repeat, const Plan& plan, const Timeline& timeline,
                             const RunProvenance& provenance) {
  const std::int64_t begin_ns = repeat.begin_ns == RepeatRecord::kAfterEverything ? state_->free_ns : repeat.begin_ns;
  std::int64_t end_ns = begin_ns;
  for (const OpTimes& times : timeline.ops) end_ns = std::max(end_ns, begin_ns + times.end_ns);
  append_timeline(events(), run, plan, timeline, begin_ns, provenance);
  state_->statement(kInsertRepeat).run(run, repeat.repeat, begin_ns, end_ns, repeat.makespan_ns, true);
  // One nanosecond between passes, so that an instant at the end of one is not taken for the begin of the next.
  state_->free_ns = std::max(state_->free_ns, end_ns + 1);
}

void StoreWriter::finish() {
  state_->events->finish();
  state_->events.reset();
  state_->statements.clear();
  state_->transaction->commit();
  state_->transaction.reset();
  state_->db.reset();
  state_->out.commit();
}

void check_output(const std::string& path, bool force) { OutputFile::check(path, force); }

}  // namespace spscope
