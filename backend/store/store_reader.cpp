#include "backend/store/store_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include "backend/store/open_store.h"
#include "backend/store/rank_repeats.h"
#include "backend/store/sqlite/sqlite.h"
#include "backend/store/sqlite/value_text.h"
#include "backend/store/stored_figures.h"
#include "backend/store/stored_mask.h"
#include "backend/store/stored_plan.h"

namespace spscope {
namespace {

void read_figure(const Statement& row, int column, std::int64_t& figure) { figure = row.integer(column); }
void read_figure(const Statement& row, int column, double& figure) { figure = row.real(column); }
}  // namespace

struct StoreReader::State {
  explicit State(const std::string& path) : State(open_store(path)) {}
  explicit State(OpenedStore opened)
      : db(std::move(opened.db)), file(std::move(opened.file)), shard(opened.shard), events(db) {}

  // The only row of a question about one thing.
  template <typename... Values>
  Statement row(std::string_view sql, std::string_view what, const Values&... key) {
    Statement statement(db, sql);
    if (!statement.bind_all(key...).step()) db.throw_damaged(fmt::format("it has no such {}", what));
    return statement;
  }
  // The integers of a question, as an enumerator of a type with values from 0 to `last`.
  template <typename Enum>
  static Enum number(const Statement& row, int column, Enum last) {
    return static_cast<Enum>(row.integer(column, 0, static_cast<std::int64_t>(last)));
  }

  // Whether some events that the program made are not in the file.
  bool misses_events() const {
    return std::ranges::any_of(events.ledger(), [](const LedgerRecord& row) { return row.sent != row.stored; });
  }
  // The rows of a condition, by repeat and rank.
  template <typename... Values>
  std::vector<RankRepeat> rank_repeats(std::string_view condition, const Values&... values) {
    Statement rows(db, fmt::format("SELECT {} FROM main.rank_repeat WHERE {} ORDER BY repeat, rank", kRankRepeatColumns,
                                   condition));
    rows.bind_all(values...);
    std::vector<RankRepeat> repeats;
    while (rows.step()) repeats.push_back(rank_repeat_of(rows));
    return repeats;
  }
  void read_parameters(StrategyRecord& strategy);
  void read_ranks(StrategyRecord& strategy);
  void read_meshes(StrategyRecord& strategy);
  void read_problems(StrategyRecord& strategy);
  void read_pick(StrategyRecord& strategy);

  Database db;
  FileRecord file;
  ShardRecord shard;
  EventReader events;
  std::optional<LodReader> lod;
};

StoreReader::StoreReader(std::string path) : state_(std::make_unique<State>(path)) {}
StoreReader::StoreReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
StoreReader StoreReader::shard(const std::string& path) {
  return StoreReader(std::make_unique<State>(open_shard(path)));
}
StoreReader::~StoreReader() = default;
StoreReader::StoreReader(StoreReader&&) noexcept = default;
StoreReader& StoreReader::operator=(StoreReader&&) noexcept = default;

const std::string& StoreReader::path() const { return state_->db.path(); }
const FileRecord& StoreReader::file() const { return state_->file; }
const ShardRecord& StoreReader::shard_record() const { return state_->shard; }
const EventReader& StoreReader::events() const { return state_->events; }
std::vector<TableText> StoreReader::schema() const {
  std::vector<TableText> tables;
  for (const auto& [question, in_file] :
       {std::pair("SELECT name, sql FROM sqlite_temp_schema WHERE sql IS NOT NULL ORDER BY name", false),
        std::pair("SELECT name, sql FROM sqlite_schema WHERE type = 'table' ORDER BY name", true)})
    for (const auto& row : query(question).rows) tables.push_back({row[0].value_or(""), row[1].value_or(""), in_file});
  return tables;
}

const LodReader& StoreReader::lod() const {
  if (!state_->lod) state_->lod.emplace(state_->db);
  return *state_->lod;
}
NameStatistics StoreReader::name_statistics(const NameQuery& query) const {
  return spscope::name_statistics(state_->db, query);
}
std::vector<NameCount> StoreReader::find_name(std::string_view text) const {
  return spscope::find_name(state_->db, text);
}
void StoreReader::cancel_by(const CancelToken& token) { state_->db.cancel_by(token); }
QueryResult StoreReader::query(const std::string& sql, const QueryLimits& limits) const {
  return run_query(state_->db, sql, limits);
}

std::vector<MachineFact> StoreReader::machine() const {
  Statement rows(state_->db, "SELECT name, value FROM machine_fact ORDER BY ordinal");
  std::vector<MachineFact> facts;
  while (rows.step()) facts.push_back({rows.text(0), rows.text(1)});
  return facts;
}

std::vector<WorkloadRecord> StoreReader::workloads() const {
  Statement rows(
      state_->db,
      "SELECT workload_id, config_toml, config_hash, cluster_toml, model, pattern, cluster, scope, tokens,"
      " text_tokens, blocks, heads, head_dim, batch, layers, denoise_steps, model_layers,"
      " forward_passes, ranks, nodes, gpus_per_node, data_parallel, dtype, guidance, combine_bytes, combine_ns "
      "FROM workload ORDER BY workload_id");
  std::vector<WorkloadRecord> workloads;
  while (rows.step()) {
    WorkloadRecord& w = workloads.emplace_back();
    w.workload_id = WorkloadId{rows.integer(0)};
    std::string* const texts[] = {&w.config_toml, &w.config_hash, &w.cluster_toml, &w.model,
                                  &w.pattern,     &w.cluster,     &w.scope};
    for (int i = 0; i < 7; ++i) *texts[i] = rows.text(1 + i);
    w.tokens = rows.integer(8);
    w.text_tokens = rows.integer(9);
    w.blocks = rows.integer(10);
    int* const counts[] = {&w.heads,         &w.head_dim,      &w.batch,          &w.layers,
                           &w.denoise_steps, &w.model_layers,  &w.forward_passes, &w.ranks,
                           &w.nodes,         &w.gpus_per_node, &w.data_parallel};
    for (int i = 0; i < 11; ++i) *counts[i] = rows.count(11 + i);
    w.dtype = State::number(rows, 22, Dtype::kFp32);
    w.guidance = rows.count(23);
    w.combine_bytes = rows.integer(24);
    w.combine_ns = rows.integer(25);
  }
  return workloads;
}

void StoreReader::State::read_parameters(StrategyRecord& strategy) {
  Statement rows(db, "SELECT name, kind, value FROM strategy_parameter WHERE strategy_id = ? ORDER BY name");
  rows.bind_all(strategy.strategy_id);
  while (rows.step()) {
    const std::string text = rows.text(2);
    std::optional<ParameterValue> value = parameter_value(static_cast<std::size_t>(rows.count(1)), text);
    if (!value) db.throw_damaged(fmt::format("parameter {} of a strategy has the value \"{}\"", rows.text(0), text));
    strategy.parameters.set(rows.text(0), std::move(*value));
  }
}

void StoreReader::State::read_ranks(StrategyRecord& strategy) {
  Statement nodes(db, "SELECT rank, node FROM strategy_node WHERE strategy_id = ? ORDER BY rank");
  nodes.bind_all(strategy.strategy_id);
  while (nodes.step()) {
    if (nodes.integer(0) != static_cast<std::int64_t>(strategy.rank_map.size()))
      db.throw_damaged("a strategy lacks a rank");
    strategy.rank_map.push_back(nodes.count(1));
  }
}

void StoreReader::State::read_meshes(StrategyRecord& strategy) {
  Statement meshes(db, "SELECT mesh, ulysses, ring FROM strategy_mesh WHERE strategy_id = ? ORDER BY mesh");
  meshes.bind_all(strategy.strategy_id);
  while (meshes.step()) {
    if (meshes.count(0) != std::ssize(strategy.meshes)) db.throw_damaged("a strategy lacks a mesh");
    strategy.meshes.push_back({meshes.count(1), meshes.count(2)});
  }
  Statement members(db,
                    "SELECT mesh, kind, group_index, position, rank FROM strategy_group WHERE strategy_id = ? "
                    "ORDER BY mesh, kind, group_index, position");
  members.bind_all(strategy.strategy_id);
  while (members.step()) {
    const auto mesh = static_cast<std::size_t>(members.count(0));
    if (mesh >= strategy.meshes.size()) db.throw_damaged("a group is of no mesh");
    RankMesh& of = strategy.meshes[mesh];
    auto& groups = members.integer(1, 0, 1) == 0 ? of.ulysses_groups : of.ring_groups;
    const auto group = static_cast<std::size_t>(members.count(2)),
               position = static_cast<std::size_t>(members.count(3));
    if (group == groups.size()) groups.emplace_back();
    if (group + 1 != groups.size() || position != groups.back().size()) db.throw_damaged("a strategy lacks a group");
    groups.back().push_back(members.count(4));
  }
}

void StoreReader::State::read_problems(StrategyRecord& strategy) {
  Statement rows(db,
                 "SELECT code, field, message, hint, file, line, line_column FROM problem WHERE strategy_id = ? "
                 "ORDER BY ordinal");
  rows.bind_all(strategy.strategy_id);
  while (rows.step())
    strategy.problems.push_back({static_cast<ErrorCode>(rows.count(0)),
                                 rows.text(1),
                                 rows.text(2),
                                 rows.text(3),
                                 {rows.text(4), rows.count(5), rows.count(6)}});
}

void StoreReader::State::read_pick(StrategyRecord& strategy) {
  Statement rows(db, "SELECT settings, predicted_ns, next_label, next_ns FROM strategy_pick WHERE strategy_id = ?");
  rows.bind_all(strategy.strategy_id);
  if (rows.step()) strategy.pick = StrategyPick{rows.count(0), rows.integer(1), rows.text(2), rows.integer(3)};
}

std::vector<StrategyRecord> StoreReader::strategies() const {
  Statement rows(state_->db,
                 "SELECT strategy_id, workload_id, id, name, label, mode, device, backend, legal FROM strategy "
                 "ORDER BY strategy_id");
  std::vector<StrategyRecord> strategies;
  while (rows.step()) {
    StrategyRecord& s = strategies.emplace_back();
    s.strategy_id = StrategyId{rows.integer(0)};
    s.workload_id = WorkloadId{rows.integer(1)};
    s.id = rows.text(2);
    s.name = rows.text(3);
    s.label = rows.text(4);
    s.mode = State::number(rows, 5, RunMode::kObserved);
    s.device = rows.text(6);
    s.backend = rows.text(7);
    state_->read_parameters(s);
    state_->read_ranks(s);
    state_->read_meshes(s);
    state_->read_problems(s);
    state_->read_pick(s);
    if (rows.flag(8) != s.legal())
      state_->db.throw_damaged("a strategy is illegal without a problem, or legal with one");
  }
  return strategies;
}

std::vector<int> StoreReader::nodes_of_ranks(const StrategyRecord& strategy) const {
  const Statement nodes = state_->row("SELECT count(DISTINCT node) FROM rank_process", "process");
  return nodes.integer(0) > 1 ? std::vector<int>() : strategy.rank_map;
}

std::vector<RunRecord> StoreReader::runs(StrategyId strategy) const {
  std::string figures;
  for_each_figure([&](const FigureRow& figure, auto) {
    if (figure.is_stored()) figures += fmt::format(", {}", figure.name);
  });
  Statement rows(state_->db,
                 "SELECT run_id, layer, denoise_step, mesh, plan_id, compute_source, network_source, timing, decided,"
                 " verdict, max_error, error_metric, finished, (SELECT count(*) FROM strategy_mesh m WHERE"
                 " m.strategy_id = run.strategy_id)" +
                     figures + " FROM run WHERE strategy_id = ? ORDER BY denoise_step, layer");
  rows.bind_all(strategy);
  std::vector<RunRecord> runs;
  while (rows.step()) {
    RunRecord& r = runs.emplace_back();
    r.run_id = RunId{rows.integer(0)};
    r.strategy_id = strategy;
    r.layer = rows.count(1);
    r.denoise_step = rows.count(2);
    r.mesh = rows.count(3);
    if (!rows.is_null(4)) r.plan_id = PlanId{rows.integer(4)};
    r.provenance.compute = State::number(rows, 5, Source::kModelled);
    r.provenance.network = State::number(rows, 6, Source::kModelled);
    r.provenance.timing = State::number(rows, 7, Timing::kOversubscribed);
    if (!rows.is_null(8)) r.decided = rows.flag(8);
    r.verdict = State::number(rows, 9, Verdict::kFailed);
    if (!rows.is_null(10)) r.max_error = rows.real(10);
    r.error_metric = rows.text(11);
    r.finished = rows.flag(12);
    if (r.mesh >= rows.integer(13)) state_->db.throw_damaged("a run has a mesh that its strategy has not");
    int column = 13;
    for_each_figure([&](const FigureRow& figure, auto of) {
      if (figure.is_stored() && !rows.is_null(++column)) read_figure(rows, column, of(r).emplace());
    });
  }
  return runs;
}

std::vector<RankUsage> StoreReader::usage(RunId run) const { return load_usage(state_->db, run); }

std::vector<Traffic> StoreReader::traffic(RunId run) const { return load_traffic(state_->db, run); }

std::vector<RepeatRecord> StoreReader::repeats(RunId run) const {
  Statement rows(state_->db,
                 "SELECT repeat, begin_ns, makespan_ns, has_timeline, lead_ns FROM repeat WHERE run_id = ? "
                 "ORDER BY repeat");
  rows.bind_all(run);
  std::vector<RepeatRecord> repeats;
  while (rows.step())
    repeats.push_back({rows.count(0), rows.integer(1), rows.integer(2), rows.flag(3), rows.integer(4)});
  return repeats;
}

std::map<RunId, std::vector<RepeatRecord>> StoreReader::repeats(StrategyId strategy) const {
  Statement rows(state_->db,
                 "SELECT repeat, begin_ns, makespan_ns, has_timeline, lead_ns, run_id FROM repeat JOIN run USING "
                 "(run_id) WHERE strategy_id = ? ORDER BY run_id, repeat");
  rows.bind_all(strategy);
  std::map<RunId, std::vector<RepeatRecord>> repeats;
  while (rows.step())
    repeats[RunId{rows.integer(5)}].push_back(
        {rows.count(0), rows.integer(1), rows.integer(2), rows.flag(3), rows.integer(4)});
  return repeats;
}

std::vector<RankRepeat> StoreReader::rank_repeats(RunId run) const { return state_->rank_repeats("run_id = ?", run); }

std::vector<CollectorRecord> StoreReader::collectors() const {
  Statement rows(
      state_->db,
      "SELECT first_rank, process, name, thread_ns, callback_ns, memory_bytes, records, dropped, notes, outcome "
      "FROM collector ORDER BY first_rank, process, name");
  std::vector<CollectorRecord> collectors;
  while (rows.step())
    collectors.push_back({static_cast<int>(rows.integer(0, kNoRank, std::numeric_limits<int>::max())),
                          rows.text(1),
                          rows.text(2),
                          {rows.integer(3), rows.integer(4), rows.integer(5), rows.integer(6), rows.integer(7)},
                          rows.text(8),
                          State::number(rows, 9, CollectorOutcome::kNotStarted)});
  return collectors;
}

std::vector<RankProcess> StoreReader::rank_processes() const {
  Statement rows(state_->db, "SELECT rank, host, node, boot_id, pid, state_text FROM rank_process ORDER BY rank");
  std::vector<RankProcess> processes;
  while (rows.step())
    processes.push_back({rows.count(0), rows.text(1), rows.count(2), rows.text(3), rows.integer(4), rows.text(5)});
  return processes;
}

std::vector<RankClock> StoreReader::rank_clocks() const {
  Statement rows(state_->db,
                 "SELECT rank, raw_zero_ns, offset_ns, drift, bound_ns, exchanges FROM clock_fit ORDER BY rank");
  std::vector<RankClock> clocks;
  while (rows.step())
    clocks.push_back({static_cast<int>(rows.integer(0, kNoRank, std::numeric_limits<int>::max())),
                      {.raw_zero_ns = rows.integer(1),
                       .offset_ns = rows.integer(2),
                       .drift = rows.real(3),
                       .bound_ns = rows.integer(4),
                       .exchanges = rows.integer(5)}});
  return clocks;
}

std::vector<ClockSample> StoreReader::clock_samples(int rank) const {
  Statement rows(state_->db,
                 "SELECT sent_ns, remote_ns, received_ns FROM clock_exchange WHERE rank = ? ORDER BY ordinal");
  rows.bind_all(rank);
  std::vector<ClockSample> samples;
  while (rows.step()) samples.push_back({rows.integer(0), rows.integer(1), rows.integer(2)});
  return samples;
}

std::vector<IncidentRecord> StoreReader::incidents() const {
  Statement rows(state_->db, "SELECT rank, lane, op_id, run_id, kind, message FROM incident ORDER BY ordinal");
  constexpr std::int64_t kMaxInt = std::numeric_limits<int>::max();
  std::vector<IncidentRecord> incidents;
  while (rows.step()) {
    IncidentRecord& i = incidents.emplace_back();
    i.rank = static_cast<int>(rows.integer(0, -1, kMaxInt));
    i.lane = static_cast<int>(rows.integer(1, -1, kMaxInt));
    i.op_id = rows.integer(2);
    if (!rows.is_null(3)) i.run_id = RunId{rows.integer(3)};
    i.kind = State::number(rows, 4, IncidentKind::kInterrupted);
    i.message = rows.text(5);
  }
  return incidents;
}

Plan StoreReader::plan(PlanId id) const { return load_plan(state_->db, id); }

std::optional<Timeline> StoreReader::timeline(RunId run, int repeat) const {
  state_->db.cancel_token().require_going();
  const Statement pass = state_->row(
      "SELECT r.begin_ns, r.end_ns, r.has_timeline, p.num_ops FROM repeat r JOIN run USING (run_id) "
      "LEFT JOIN plan p USING (plan_id) WHERE r.run_id = ? AND r.repeat = ?",
      "repeat", run, repeat);
  if (!pass.flag(2)) return std::nullopt;
  const EventWindow whole{pass.integer(0, 0, kNeverEnded), pass.integer(1, pass.integer(0), kNeverEnded)};
  const int num_ops = pass.count(3);
  // When ranks were in this repeat; all the time of the repeat for those without a row.
  const std::vector<RankRepeat> windows = state_->rank_repeats("run_id = ? AND repeat = ?", run, repeat);
  // The number of ops is not believed before that many events were read.
  std::vector<OpEvent> events = state_->events.op_events(run, whole.begin_ns, whole.end_ns);
  std::erase_if(events, [&](const OpEvent& e) {
    return std::ranges::any_of(windows, [&](const RankRepeat& r) {
      return r.holds(e.rank) && (e.post_ns < r.begin_ns || e.post_ns > r.end_ns);
    });
  });
  const bool unfinished = std::ranges::any_of(events, [](const OpEvent& e) { return e.end_ns == kNeverEnded; });
  if (unfinished || (std::ssize(events) < num_ops && state_->misses_events())) return std::nullopt;
  if (std::ssize(events) != num_ops) state_->db.throw_damaged("a timeline does not have one event an op");
  Timeline timeline;
  timeline.ops.resize(events.size(), {-1, -1, -1});
  for (const OpEvent& event : events) {
    const auto inside = [&](std::int64_t time_ns) { return whole.begin_ns <= time_ns && time_ns <= whole.end_ns; };
    if (event.op_id >= num_ops || !inside(event.begin_ns) || !inside(event.end_ns))
      state_->db.throw_damaged(fmt::format("an event of op {} lies outside its plan or its repeat", event.op_id));
    OpTimes& stored = timeline.ops[static_cast<std::size_t>(event.op_id)];
    if (stored.post_ns >= 0) state_->db.throw_damaged("a timeline has an op twice");
    stored = {event.post_ns - whole.begin_ns, event.begin_ns - whole.begin_ns, event.end_ns - whole.begin_ns};
  }
  return timeline;
}

std::vector<MaskPlace> StoreReader::mask_places(WorkloadId workload) const {
  Statement rows(state_->db,
                 "SELECT layer, denoise_step, axis, mask_id FROM mask_place WHERE workload_id = ? "
                 "ORDER BY denoise_step, layer, axis");
  rows.bind_all(workload);
  std::vector<MaskPlace> places;
  while (rows.step())
    places.push_back({rows.count(0), rows.count(1), static_cast<AttendedAxis>(rows.integer(2, 1, 2)),
                      StoredMaskId{rows.integer(3)}});
  return places;
}

MaskRecord StoreReader::mask_record(StoredMaskId id) const {
  const Statement row =
      state_->row("SELECT hash, recipe, heads, tokens, blocks, density FROM mask WHERE mask_id = ?", "mask", id);
  MaskRecord mask;
  mask.mask_id = id;
  const std::optional<std::uint64_t> hash = parse_hash(row.text(0));
  if (!hash) state_->db.throw_damaged("the hash of a mask is not one");
  mask.hash = *hash;
  mask.recipe = row.text(1);
  mask.heads = row.count(2);
  mask.tokens = row.integer(3);
  mask.blocks = row.integer(4);
  mask.density = row.real(5);
  return mask;
}

std::optional<BlockMask> StoreReader::mask_bits(StoredMaskId id) const { return load_mask(state_->db, id); }

std::vector<DensityThumbnail> StoreReader::thumbnails(StoredMaskId id) const { return load_thumbnails(state_->db, id); }

}  // namespace spscope
