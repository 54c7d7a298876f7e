// Trace events as JSON, one event a line: a process for each rank, a thread for each track (lane and slot), one above
// them for the runs of the rank with their repeats inside, and arrows for the messages of the plan. Tracks without a
// rank are threads of processes behind those of the ranks, one for each process or device that they name. The name of a
// track ends with its device where its process has several. Samples of counters are counter events (C), which readers
// join by process and name. Times are microseconds with three decimals, which are the nanoseconds of the run clock.
//
// Events of a track do not overlap and are complete events (X). Those of a lane's track for overlapping events are
// asynchronous pairs (b, e), because viewers drop overlapping slices of a thread. Modelled events are marked in their
// name and arguments. An arrow is drawn for each message between two ranks whose plan is stored, unless its operation
// has more than eight partners, whose arrows would not be legible; and one from each call of CUDA to each kernel, copy
// and memset that it asked for, as far as their correlation is stored.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>

#include "backend/base/json.h"
#include "backend/base/regular_file.h"
#include "backend/base/whole_file.h"
#include "backend/exchange/export.h"
#include "backend/store/chunk/chunk_codec.h"
#include "backend/store/sqlite/any_value.h"
#include "backend/store/store_reader.h"

namespace spscope {

namespace {

constexpr std::string_view kHead = "{\"otherData\":{\"generator\":\"spscope export --format chrome\"";
constexpr std::size_t kTraceBufferBytes = 1 << 20, kMaxArrows = 8;

std::string json_text(std::string_view text) { return Json(text).dump(); }

// Nanoseconds as microseconds: 1234567 -> 1234.567
std::string microseconds(std::int64_t time_ns) {
  const std::uint64_t size =
      time_ns < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(time_ns) : static_cast<std::uint64_t>(time_ns);
  return fmt::format("{}{}.{:03}", time_ns < 0 ? "-" : "", size / 1000, size % 1000);
}

// Wraps around on overflow, which only a damaged file can cause.
std::int64_t difference_ns(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}

// What all events of a run share.
struct ExportedRun {
  std::string title;      // usp u2 r2, layer 3, denoise step 1
  std::string arguments;  // "run":1,"strategy":"usp-2","layer":3,"denoise_step":1
  bool modelled = false;  // when its repeats begin and end
  std::optional<PlanId> plan_id;
  std::uint64_t first_arrow = 0;  // number of its first arrow
};

// One repeat of a run at a rank.
struct Repeat {
  std::int64_t number = 0, begin_ns = 0, end_ns = 0;
};

// An event; 0 where it has no such number.
struct Event {
  std::int64_t id, run;
  TrackId track;
  std::int64_t begin_ns, end_ns, op;
  std::string name, category;
  bool unfinished, clamped, modelled, overlapping, is_on_device;  // on a device: a kernel, copy or memset
  std::optional<std::int64_t> transfer_begin_ns, repeat;
  std::int64_t entry_ns, sequence, bytes, peer, correlation, detail;
};
// Its columns, in the order of the members.
constexpr std::string_view kEvents =
    "SELECT e.event_id, coalesce(e.run_id, 0), e.track_id, e.begin_ns, e.end_ns, e.op_id, coalesce(e.name, ''),"
    " coalesce(e.category, 'other'), e.unfinished, e.clamped, e.modelled, (SELECT s.overlapping FROM main.track s"
    " WHERE s.track_id = e.track_id), e.category_id IN (7, 8, 9), e.transfer_begin_ns, e.repeat,"
    " coalesce(e.entry_ns, 0), coalesce(e.sequence, 0), coalesce(e.bytes, 0), coalesce(e.peer, 0),"
    " coalesce(e.correlation_id, 0), coalesce(e.work_detail_id, 0) FROM temp.event e";

void read(const Statement& row, int column, std::int64_t& number) { number = row.integer(column); }
void read(const Statement& row, int column, TrackId& track) { track = TrackId{row.integer(column)}; }
void read(const Statement& row, int column, std::string& text) { text = row.text(column); }
void read(const Statement& row, int column, bool& flag) { flag = row.integer(column) != 0; }
void read(const Statement& row, int column, std::optional<std::int64_t>& number) {
  number = row.is_null(column) ? std::nullopt : std::optional(row.integer(column));
}
template <typename... Member>
void read_columns(const Statement& row, Member&... members) {
  int column = 0;
  (read(row, column++, members), ...);
}

void read_event(const Statement& row, Event& e) {
  read_columns(row, e.id, e.run, e.track, e.begin_ns, e.end_ns, e.op, e.name, e.category, e.unfinished, e.clamped,
               e.modelled, e.overlapping, e.is_on_device, e.transfer_begin_ns, e.repeat, e.entry_ns, e.sequence,
               e.bytes, e.peer, e.correlation, e.detail);
}

// Calls that work was asked for with, the earlier of those that share a correlation first.
constexpr std::string_view kCalls =
    "SELECT e.track_id, e.correlation_id, e.begin_ns FROM temp.event e"
    " WHERE e.category_id = 11 AND e.correlation_id > 0 ORDER BY e.begin_ns";

// Repeats by rank and time. Where a schedule made the times, all ranks of a run have the same.
constexpr std::string_view kRepeats =
    "SELECT t.rank, p.run_id, p.repeat, p.begin_ns, p.end_ns FROM main.rank_repeat p JOIN (SELECT DISTINCT rank FROM"
    " main.track) t ON t.rank BETWEEN p.rank AND p.rank + p.ranks - 1 UNION ALL"
    " SELECT u.rank, p.run_id, p.repeat, p.begin_ns, p.end_ns FROM main.repeat p JOIN main.rank_usage u USING (run_id)"
    " WHERE p.run_id NOT IN (SELECT run_id FROM main.rank_repeat) ORDER BY rank, begin_ns, repeat";

class ChromeWriter {
 public:
  ChromeWriter(const ExportSource& source, WholeFile& file) : db_(*source.db), plans_(source.path), file_(file) {
    text_ = fmt::format("{},\"stored_run\":{}}},\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n", kHead,
                        json_text(source.path));
    read_runs();
  }

  std::int64_t write() {
    read_tracks();
    read_calls();
    name_processes();
    name_tracks();
    write_repeats();
    write_counters();
    Statement rows(db_, kEvents);
    std::int64_t count = 0;
    for (Event event; rows.step(); ++count) {
      read_event(rows, event);
      write_event(event);
    }
    text_ += "\n]}\n";
    file_.write(text_);
    return count;
  }

 private:
  void read_runs();
  void read_tracks();
  void read_calls();
  void name_processes();
  void name_tracks();
  void write_repeats();
  void write_counters();
  void write_run(int rank, const ExportedRun& run, std::span<const Repeat> repeats);
  void write_event(const Event& event);
  void write_arrows(const Event& event, const ExportedRun& run);
  void write_launch(const Event& event);
  std::string work_arguments(const Event& event);
  const Op* op_of(const Event& event, const ExportedRun& run);
  std::string arguments_of(const Event& event, const ExportedRun& run);
  const std::string& name_of(const Event& event);
  static std::string name_of(const Track& track);

  void begin_line() {
    if (has_lines_) text_ += ",\n";
    has_lines_ = true;
    if (text_.size() < kTraceBufferBytes) return;
    file_.write(text_);
    text_.clear();
  }
  void slice(const std::string& place, std::int64_t begin_ns, std::int64_t end_ns, const std::string& arguments) {
    begin_line();
    text_ += fmt::format(R"({{"ph":"X",{},"ts":{},"dur":{},"args":{{{}}}}})", place, microseconds(begin_ns),
                         microseconds(difference_ns(end_ns, begin_ns)), arguments);
  }
  // An end of an arrow, inside a slice of the track.
  void arrow_end(bool is_begin, std::string_view kind, std::uint64_t number, TrackId track, std::int64_t time_ns,
                 const std::string& arguments) {
    begin_line();
    text_ += fmt::format(
        R"({{"ph":"{0}","id":{1},"pid":{2},"tid":{3},"ts":{4},"name":"{5}","cat":"{5}"{6},"args":{{{7}}}}})",
        is_begin ? "s" : "f", number, pids_[track], static_cast<std::int64_t>(track), microseconds(time_ns), kind,
        is_begin ? "" : ",\"bp\":\"e\"", arguments);
  }
  void metadata(std::string_view what, std::int64_t pid, std::optional<std::int64_t> track,
                const std::string& arguments) {
    begin_line();
    text_ += fmt::format(R"({{"ph":"M","name":"{}","pid":{},{}"args":{{{}}}}})", what, pid,
                         track ? fmt::format("\"tid\":{},", *track) : std::string(), arguments);
  }

  Database& db_;
  StoreReader plans_;
  WholeFile& file_;
  std::string text_;
  bool has_lines_ = false;
  std::int64_t repeats_tid_ = 0;                 // of the track of runs and repeats, in the process of each rank
  std::vector<Track> tracks_;                    // ranks first
  std::map<TrackId, std::int64_t> pids_;         // process of each track: its rank, or a number behind all
  std::map<std::string, std::int64_t> foreign_;  // process of tracks without a rank, by its name
  std::map<TrackId, std::string> counters_;      // name of each counter as JSON
  std::map<std::int64_t, ExportedRun> runs_;     // 0: events of no run
  std::map<std::pair<std::string, bool>, std::string> names_;  // name, modelled -> JSON
  // Numbers of correlations are of their process: of the rank and process that a track names.
  using ProcessKey = std::pair<std::optional<int>, std::optional<std::string>>;
  struct Call {
    TrackId track = {};
    std::int64_t begin_ns = 0;
  };
  std::map<TrackId, ProcessKey> process_of_;
  std::map<ProcessKey, std::unordered_map<std::int64_t, Call>> calls_;  // by correlation
  std::uint64_t first_launch_ = 1;                                      // number of an arrow behind those of messages
  std::map<std::int64_t, std::string> details_;                         // arguments of each work detail
  std::optional<PlanId> plan_id_;
  Plan plan_;  // of plan_id_
};

void ChromeWriter::read_runs() {
  Statement rows(db_,
                 "SELECT r.run_id, s.id, r.layer, r.denoise_step, r.plan_id, s.label, "
                 "r.compute_source <> 0 OR r.network_source <> 0 FROM main.run r "
                 "LEFT JOIN main.strategy s USING (strategy_id)");
  while (rows.step()) {
    ExportedRun& run = runs_[rows.integer(0)];
    run.modelled = rows.flag(6);
    run.title = fmt::format("{}, layer {}, denoise step {}", rows.is_null(5) ? "run" : rows.text(5), rows.integer(2),
                            rows.integer(3));
    run.arguments = fmt::format("\"run\":{},\"strategy\":{},\"layer\":{},\"denoise_step\":{}", rows.integer(0),
                                rows.is_null(1) ? "null" : json_text(rows.text(1)), rows.integer(2), rows.integer(3));
    if (!rows.is_null(4)) run.plan_id = PlanId{rows.integer(4)};
  }
  Statement messages(db_,
                     "SELECT r.run_id, p.num_messages * (1 + coalesce((SELECT max(t.repeat) FROM main.repeat t "
                     "WHERE t.run_id = r.run_id), 0)) FROM main.run r JOIN main.plan p USING (plan_id) ORDER BY 1");
  for (std::uint64_t first = 1; messages.step(); first = first_launch_) {
    runs_[messages.integer(0)].first_arrow = first;
    first_launch_ = first + static_cast<std::uint64_t>(messages.integer(1));
  }
}

void ChromeWriter::read_tracks() {
  tracks_ = plans_.events().tracks();
  std::int64_t next_pid = 0;
  for (const Track& track : tracks_) {
    if (track.rank) {
      pids_[track.track_id] = *track.rank;
      next_pid = std::max(next_pid, std::int64_t{*track.rank} + 1);
      continue;
    }
    const std::string name = track.process ? *track.process : track.device.value_or("other tracks");
    const auto [it, is_new] = foreign_.try_emplace(name, next_pid);
    next_pid += is_new;
    pids_[track.track_id] = it->second;
  }
  for (const Track& track : tracks_)
    repeats_tid_ = std::max(repeats_tid_, static_cast<std::int64_t>(track.track_id) + 1);
}

void ChromeWriter::read_calls() {
  for (const Track& track : tracks_) process_of_[track.track_id] = {track.rank, track.process};
  Statement any(db_, "SELECT 1 FROM main.chunk WHERE record_kind = ? LIMIT 1");
  if (!any.bind_all(RecordKind::kWork).step()) return;
  for (Statement rows(db_, kCalls); rows.step();) {
    const TrackId track{rows.integer(0)};
    calls_[process_of_[track]].try_emplace(rows.integer(1), Call{track, rows.integer(2)});
  }
}

void ChromeWriter::name_processes() {
  const auto name_process = [&](std::int64_t pid, const std::string& name) {
    metadata("process_name", pid, std::nullopt, "\"name\":" + json_text(name));
    metadata("process_sort_index", pid, std::nullopt, fmt::format("\"sort_index\":{}", pid));
  };
  Statement rows(db_,
                 "SELECT t.rank, min(p.host) FROM main.track t LEFT JOIN main.rank_process p USING (rank) "
                 "WHERE t.rank IS NOT NULL GROUP BY t.rank ORDER BY t.rank");
  while (rows.step()) {
    const std::string host = rows.is_null(1) || rows.text(1).empty() ? "" : " on " + rows.text(1);
    name_process(rows.count(0), fmt::format("rank {}{}", rows.count(0), host));
    metadata("thread_name", rows.count(0), repeats_tid_, "\"name\":\"runs and repeats\"");
    metadata("thread_sort_index", rows.count(0), repeats_tid_, "\"sort_index\":-1");
  }
  for (const auto& [name, pid] : foreign_) name_process(pid, name);
}

std::string ChromeWriter::name_of(const Track& track) {
  std::string name = track.name.empty() ? std::string(track_kind_name(track.kind)) : track.name;
  if (track.kind == TrackKind::kRankLane)
    name = fmt::format("lane {} ({})", *track.lane, *track.lane == 0 ? "compute" : "communication");
  const bool is_process = !track.rank && !track.process;  // then the device is the process of the track
  if (track.device && !is_process) name += fmt::format(" ({})", *track.device);
  if (track.slot > 0) name += fmt::format(" slot {}", track.slot);
  if (track.overlapping) name += " (overlapping)";
  return name;
}

void ChromeWriter::name_tracks() {
  int order = 0;
  std::set<std::pair<std::int64_t, std::string>> taken;  // process and name of counters
  for (const Track& track : tracks_) {
    const auto tid = static_cast<std::int64_t>(track.track_id);
    std::string name = name_of(track);
    if (track.kind == TrackKind::kCounter) {
      if (!taken.emplace(pids_[track.track_id], name).second) name += fmt::format(" (track {})", tid);
      counters_[track.track_id] = json_text(name);
      continue;
    }
    metadata("thread_name", pids_[track.track_id], tid, "\"name\":" + json_text(name));
    metadata("thread_sort_index", pids_[track.track_id], tid, fmt::format("\"sort_index\":{}", order++));
  }
}

void ChromeWriter::write_counters() {
  Statement rows(db_, "SELECT track_id, time_ns, value FROM temp.counter");
  while (rows.step()) {
    if (rows.is_null(2)) continue;  // not a number: JSON has none
    const TrackId track{rows.integer(0)};
    begin_line();
    text_ += fmt::format(R"({{"ph":"C","pid":{},"name":{},"ts":{},"args":{{"value":{}}}}})", pids_[track],
                         counters_[track], microseconds(rows.integer(1)), Json(rows.real(2)).dump());
  }
}

void ChromeWriter::write_repeats() {
  Statement rows(db_, kRepeats);
  std::pair<int, std::int64_t> place;  // rank and run of `repeats`
  std::vector<Repeat> repeats;
  const auto flush = [&] {
    if (!repeats.empty()) write_run(place.first, runs_[place.second], repeats);
    repeats.clear();
  };
  while (rows.step()) {
    const std::pair next(rows.count(0), rows.integer(1));
    if (next != place) flush();
    place = next;
    repeats.push_back({rows.integer(2), rows.integer(3), rows.integer(4)});
  }
  flush();
}

// Repeats that follow one another on a rank, inside a slice for all of them.
void ChromeWriter::write_run(int rank, const ExportedRun& run, std::span<const Repeat> repeats) {
  const std::string mark = run.modelled ? " (modelled)" : "";
  const std::string arguments = run.arguments + (run.modelled ? ",\"modelled\":true" : "");
  const auto place = [&](std::string_view kind, const std::string& name) {
    return fmt::format("\"pid\":{},\"tid\":{},\"name\":{},\"cat\":\"{}\"", rank, repeats_tid_, json_text(name + mark),
                       kind);
  };
  slice(place("run", run.title), repeats.front().begin_ns, repeats.back().end_ns, arguments);
  for (const Repeat& repeat : repeats)
    slice(place("repeat", fmt::format("repeat {}", repeat.number)), repeat.begin_ns, repeat.end_ns,
          fmt::format("{},\"repeat\":{}", arguments, repeat.number));
}

const std::string& ChromeWriter::name_of(const Event& event) {
  std::string& text = names_[{event.name, event.modelled}];
  if (text.empty()) text = json_text(event.modelled ? event.name + " (modelled)" : event.name);
  return text;
}

// The operation of an event; nullptr when its plan is not stored. Events come run by run, so that the plan at hand is
// mostly the right one.
const Op* ChromeWriter::op_of(const Event& event, const ExportedRun& run) {
  if (!run.plan_id || event.op < 0) return nullptr;
  if (plan_id_ != run.plan_id) {
    plan_ = plans_.plan(*run.plan_id);
    plan_id_ = run.plan_id;
  }
  const auto index = static_cast<std::size_t>(event.op);
  return index < plan_.ops.size() ? &plan_.ops[index] : nullptr;
}

// "tiles":96,"heads":"0-4, 7","ring_step":2
std::string attend_arguments(const Plan& plan, const Op& op) {
  std::string heads;
  for (const Span& span : plan.sets->spans(op.heads))
    heads += fmt::format("{}{}{}", heads.empty() ? "" : ", ", span.begin,
                         span.size() > 1 ? fmt::format("-{}", span.end - 1) : std::string());
  return fmt::format(",\"tiles\":{},\"heads\":\"{}\",\"ring_step\":{}", op.tiles, heads, plan.post_of(op).ring_step);
}

// The ranks that an operation meets: those of its messages, of a reduce or a barrier its group.
std::set<int> peers_of(const Plan& plan, const Op& op) {
  std::set<int> peers;
  for (const MessageId id : plan.messages_of(op)) {
    const Message& message = plan.messages[static_cast<std::size_t>(id)];
    if (message.src == op.rank || message.dst == op.rank)
      peers.insert(message.src == op.rank ? message.dst : message.src);
  }
  const PostKind kind = plan.kind_of(op);
  if (op.group >= 0 && (kind == PostKind::kReduce || kind == PostKind::kBarrier))
    for (const int member : plan.group(op.group)) peers.insert(member);
  peers.erase(op.rank);
  return peers;
}

std::string ChromeWriter::arguments_of(const Event& event, const ExportedRun& run) {
  std::string text = run.arguments + (run.arguments.empty() ? "" : ",");
  text += fmt::format("\"op\":{},\"event\":{}", event.op, event.id);
  if (event.repeat) text += fmt::format(",\"repeat\":{}", *event.repeat);
  for (const auto& [is_so, name] :
       {std::pair(event.modelled, "modelled"), {event.unfinished, "unfinished"}, {event.clamped, "clamped"}})
    if (is_so) text += fmt::format(",\"{}\":true", name);
  const Op* const op = op_of(event, run);
  if (op != nullptr && plan_.kind_of(*op) == PostKind::kAttend) text += attend_arguments(plan_, *op);
  if (!event.transfer_begin_ns) return text + work_arguments(event);
  text +=
      fmt::format(",\"waited_us\":{},\"bytes\":{},\"sequence\":{}",
                  microseconds(difference_ns(*event.transfer_begin_ns, event.begin_ns)), event.bytes, event.sequence);
  if (op == nullptr || event.peer >= 0) text += fmt::format(",\"peer\":{}", event.peer);
  if (op == nullptr) return text;
  return text + fmt::format(",\"peers\":[{}]", fmt::join(peers_of(plan_, *op), ","));
}

// "bytes":4096,"correlation":17,"grid":[8,1,1],"block":[128,1,1]
std::string ChromeWriter::work_arguments(const Event& event) {
  std::string text;
  for (const auto& [number, name] : {std::pair(event.bytes, "bytes"), {event.correlation, "correlation"}})
    if (number != 0) text += fmt::format(",\"{}\":{}", name, number);
  if (event.detail == 0) return text;
  const auto [it, is_new] = details_.try_emplace(event.detail);
  if (is_new) {
    const WorkDetail what = plans_.events().work_detail(static_cast<WorkDetailId>(event.detail));
    if (what.grid[0] > 0)
      it->second = fmt::format(",\"grid\":[{}],\"block\":[{}],\"registers_per_thread\":{},\"shared_bytes\":{}",
                               fmt::join(what.grid, ","), fmt::join(what.block, ","), what.registers_per_thread,
                               std::int64_t{what.static_shared_bytes} + what.dynamic_shared_bytes);
  }
  return text + it->second;
}

// From the call to the work that it asked for. Calls of threads that serve several ranks name none.
void ChromeWriter::write_launch(const Event& event) {
  const ProcessKey& process = process_of_[event.track];
  const Call* call = nullptr;
  for (const ProcessKey& of : {process, {std::nullopt, process.second}}) {
    const auto calls = calls_.find(of);
    if (call != nullptr || calls == calls_.end()) continue;
    if (const auto found = calls->second.find(event.correlation); found != calls->second.end()) call = &found->second;
  }
  if (call == nullptr || call->begin_ns > event.begin_ns) return;
  const std::uint64_t number = first_launch_ + static_cast<std::uint64_t>(event.id);
  const std::string arguments = fmt::format("\"correlation\":{}", event.correlation);
  arrow_end(true, "launch", number, call->track, call->begin_ns, arguments);
  arrow_end(false, "launch", number, event.track, event.begin_ns, arguments);
}

void ChromeWriter::write_event(const Event& event) {
  const ExportedRun& run = runs_[event.run];
  const std::string place =
      fmt::format("\"pid\":{},\"tid\":{},\"name\":{},\"cat\":{}", pids_[event.track],
                  static_cast<std::int64_t>(event.track), name_of(event), json_text(event.category));
  const std::string arguments = arguments_of(event, run);
  if (event.overlapping) {
    begin_line();
    text_ += fmt::format(R"({{"ph":"b","id":{0},{1},"ts":{2},"args":{{{3}}}}},{4}{{"ph":"e","id":{0},{1},"ts":{5}}})",
                         event.id, place, microseconds(event.begin_ns), arguments, "\n", microseconds(event.end_ns));
    return;
  }
  slice(place, event.begin_ns, event.end_ns, arguments);
  if (event.transfer_begin_ns && event.repeat) write_arrows(event, run);
  if (event.is_on_device && event.correlation > 0) write_launch(event);
}

// The end points of the messages that the operation sends and receives. Both ends know the message by its place in the
// plan. The end point is inside its slice, and that of the receiver is the later one: the sender's is when it had the
// data ready, for its transfer begins when it notices the receiver, which may be done by then.
void ChromeWriter::write_arrows(const Event& event, const ExportedRun& run) {
  const Op* const op = op_of(event, run);
  if (op == nullptr) return;
  const std::span<const MessageId> ids = plan_.messages_of(*op);
  std::size_t sent = 0, received = 0;
  for (const MessageId id : ids) {
    const Message& message = plan_.messages[static_cast<std::size_t>(id)];
    if (message.src == message.dst) continue;
    sent += message.src == op->rank;
    received += message.dst == op->rank;
  }
  if (std::max(sent, received) > kMaxArrows) return;
  const std::int64_t received_ns = std::max(*event.transfer_begin_ns, difference_ns(event.end_ns, 1));
  const std::uint64_t base = run.first_arrow + static_cast<std::uint64_t>(*event.repeat) * plan_.messages.size();
  for (const MessageId id : ids) {
    const Message& message = plan_.messages[static_cast<std::size_t>(id)];
    if (message.src == message.dst || (message.src != op->rank && message.dst != op->rank)) continue;
    const bool sends = message.src == op->rank;
    arrow_end(sends, "message", base + static_cast<std::uint64_t>(id), event.track,
              sends ? event.entry_ns : received_ns, fmt::format("\"bytes\":{}", message.bytes));
  }
}

}  // namespace

ExportReport export_chrome(const ExportSource& source, const std::string& path) {
  WholeFile file(path);
  ExportReport report;
  report.events = ChromeWriter(source, file).write();
  file.commit();
  return report;
}

bool is_chrome(const std::string& path) {
  const RegularFile file(path);
  return file.is_open() && file.read_at(0, kHead.size()) == kHead;
}

}  // namespace spscope
