// What the timeline of whole files says in words and tables: the selected event or rank, the events of a name by rank
// and by layer pass, and its numbers as JSON.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "backend/base/number_text.h"
#include "backend/report/section.h"
#include "gui/views/timeline/event_facts.h"
#include "gui/views/timeline/facts.h"
#include "gui/views/timeline/file_time.h"

namespace spscope::gui {
namespace {

// Rows whose bytes are in the dump; of more ranks their sums only.
constexpr std::size_t kDumpedRows = 64;

std::string_view selectable_words(const FileTimes& times) {
  const bool has_ranks = std::ranges::any_of(times.rows, [](const FileRow& row) { return row.rank != kNoRank; });
  if (!times.passes.empty()) return "Select a rank, an event or a layer pass.";
  return has_ranks ? "Select a rank or an event." : "Select an event.";
}

}  // namespace

void FileTime::show_pass(Session& session, const Band& band, const PassMark& pass) const {
  Link link = session.here();
  link.scope.whole_file = false;
  link.scope.layer = pass.layer;
  link.scope.step = pass.step;
  if (std::ranges::count(band.times->passes, pass.run, &PassMark::run) > 1) link.scope.repeat = pass.repeat;
  link.selection.strategy = StrategyKey{band.file, pass.strategy_id};
  link.selection.time.reset();
  session.go(link);
}

void FileTime::event_details(Ui& ui, Session& session, const Place& place) {
  const RowEvent& event = place.band->events->events[static_cast<std::size_t>(place.event)];
  const SpanEvent& span = event.span;
  const std::int64_t zero = place.band->times->zero_ns;
  ui.text(place.band->events->name(event), {.face = Face::kBold, .wrap = true});
  ui.text(fmt::format("{}, {}", place.band->open->name, place.band->times->place_of(event)),
          {.ink = Token::kMuted, .wrap = true});
  ui.space(4);
  fact(ui, "begin", moment(span.begin_ns - zero));
  if (span.end_ns != kNeverEnded) {
    fact(ui, "end", moment(span.end_ns - zero));
    fact(ui, "duration", duration(span.end_ns - span.begin_ns));
  } else {
    fact(ui, "end", "it did not end");
  }
  if (event.wait_begin_ns < event.wait_end_ns)
    fact(ui, waited_words(event), duration(event.wait_end_ns - event.wait_begin_ns));
  if (span.op_id >= 0) fact(ui, "op", fmt::format("{}", span.op_id));
  for (const EventFact& known : event_facts(event, place.band->events->detail(event)))
    fact(ui, known.name, known.value);
  ui.space(4);
  const PassMark* pass = place.band->times->pass_of(event.run, span.begin_ns);
  if (pass == nullptr) {
    if (!place.band->times->passes.empty()) ui.note("It belongs to no layer pass.");
    return;
  }
  ui.text(pass_words(*pass), {.wrap = true});
  fact(ui, "begin in it", duration(span.begin_ns - pass->begin_ns));
  ui.space(4);
  if (ui.button("show pass", "Show this layer pass", {.primary = true})) show_pass(session, *place.band, *pass);
}

void FileTime::rank_details(Ui& ui, const Band& band, int rank) const {
  const auto found = std::ranges::find(band.times->rows, rank, &FileRow::rank);
  if (found == band.times->rows.end()) return;
  const bool has_lanes = found->kind == FileRowKind::kLanes;
  std::array<std::int64_t, kNumTimeParts> busy_ns = found->busy_ns;
  std::int64_t missing = found->missing;
  for (auto row = found + 1; !has_lanes && row != band.times->rows.end() && row->rank == rank; ++row) {
    for (std::size_t part = 0; part < busy_ns.size(); ++part) busy_ns[part] += row->busy_ns[part];
    missing += row->missing;
  }
  ui.text(fmt::format("rank {} of {}", rank, band.open->name), {.face = Face::kBold, .wrap = true});
  ui.text(has_lanes ? "over the whole file, summed over its lanes" : "over the whole file, summed over its rows",
          {.face = Face::kSmall, .ink = Token::kMuted});
  if (found->node >= 0) fact(ui, "node", fmt::format("{}", found->node));
  for (std::size_t part = 0; part < busy_ns.size(); ++part)
    if (has_lanes ? part < kNumRankParts : busy_ns[part] > 0)
      fact(ui, part_name(static_cast<TimePart>(part)), duration(busy_ns[part]));
  if (missing > 0) fact(ui, "missing events", count_text(static_cast<double>(missing)));
}

void FileTime::draw_details(Ui& ui, Session& session) {
  const Selection& s = session.selection();
  const Band* band = band_of(s);
  if (band == nullptr) return ui.note("The file is being read.");
  if (const Place place = selected(session); place.band != nullptr) {
    event_details(ui, session, place);
  } else if (s.rank) {
    rank_details(ui, *band, *s.rank);
    if (s.op) ui.note("Zoom to the selected operation to see it.");
  } else {
    ui.note(fmt::format(
        "{} Rows are made of buckets of time: the colour is what most of a bucket goes to, and how strong it is, how "
        "busy it is. Zoom in to see events.",
        selectable_words(*band->times)));
    fact(ui, "bucket", duration(std::int64_t{1} << band->shift));
    ui.space(6);
    draw_parts(ui, band->times->parts);
  }
  if (const PassMark* pass = pass_of_scope(session, *band); pass != nullptr && selected(session).band == nullptr) {
    ui.space(6);
    ui.text(pass_words(*pass), {.wrap = true});
    fact(ui, "length", duration(pass->end_ns - pass->begin_ns));
    if (ui.button("show pass", "Show this layer pass")) show_pass(session, *band, *pass);
  }
  if (s.name.empty()) return;
  const NameStatistics* found = statistics(session);
  draw_loading(ui, "statistics", statistics_, "Reading the events of the name");
  if (const Error* error = statistics_.error()) draw_error(ui, "statistics error", *error);
  if (found == nullptr) return;
  if (found->all.count > 0) draw_statistics(ui, s.name, found->all);
  if (found->unfinished > 0) ui.note(fmt::format("{} did not end", count_text(static_cast<double>(found->unfinished))));
}

const NameStatistics* FileTime::statistics(Session& session) {
  const Selection& s = session.selection();
  const Band* band = band_of(s);
  if (band == nullptr || s.name.empty()) return nullptr;
  NameQuery query{.name = s.name};
  if (s.time) query.window = {band->times->zero_ns + s.time->begin_ns, band->times->zero_ns + s.time->end_ns};
  const std::optional<EventGroup> group = tab_ == Tab::kLayers      ? std::optional(EventGroup::kLayer)
                                          : tab_ == Tab::kSteps     ? std::optional(EventGroup::kStep)
                                          : tab_ == Tab::kRingSteps ? std::optional(EventGroup::kRingStep)
                                                                    : std::nullopt;
  statistics_.ask(session.workers(),
                  fmt::format("{}\n{}\n{}\n{} {} {}", band->open->path, band->open->generation, s.name,
                              query.window.begin_ns, query.window.end_ns, group ? static_cast<int>(*group) : -1),
                  [path = band->open->path, generation = band->open->generation, query, group](
                      Readers& readers, const Cancelled&, QueryProgress&) {
                    const StoreReader& reader = readers.of(path, generation);
                    NameQuery grouped = query;
                    if (group) grouped.group_of = group_of_events(reader, *group);
                    return reader.name_statistics(grouped);
                  });
  return statistics_.current() ? statistics_.value() : nullptr;
}

void FileTime::draw_groups(Ui& ui, const NameStatistics& found) {
  const char* const what = tab_ == Tab::kLayers ? "layer" : tab_ == Tab::kSteps ? "denoise step" : "ring step";
  if (found.by_group.empty()) return ui.note(fmt::format("No event of this name has a {}.", what));
  Table groups = statistics_table(what);
  for (const auto& [key, s] : found.by_group) groups.rows.push_back(statistics_row(fmt::format("{} {}", what, key), s));
  show_table(ui, "groups", groups, by_group_state_);
}

void FileTime::draw_table(Ui& ui, Session& session, Tab tab) {
  tab_ = tab;
  const Selection& selection = session.selection();
  const Band* band = band_of(selection);
  if (band == nullptr) return;
  if (tab == Tab::kNames) {
    names_.ask(session.workers(), fmt::format("{}\n{}\n{}", band->open->path, band->open->generation, find_),
               [path = band->open->path, generation = band->open->generation, text = find_](
                   Readers& readers, const Cancelled&, QueryProgress&) {
                 return readers.of(path, generation).find_name(text);
               });
    draw_loading(ui, "names", names_, "Counting events by name");
    const std::vector<NameCount>* names = names_.value();
    if (names == nullptr) return;
    Table found;
    found.columns = {text_column("event"), number_column("count in the file", "", 0)};
    for (const NameCount& name : *names)
      found.rows.push_back({{text_cell(name.name), cell(Hint::kCount, static_cast<double>(name.count))}});
    const TableHit hit = show_table(ui, "events", found, names_state_);
    if (!hit.clicked) return;
    Selection s = selection;
    s.name = (*names)[static_cast<std::size_t>(*hit.clicked)].name;
    s.op.reset();
    picked_.reset();
    return session.select(s);
  }
  if (selection.name.empty()) return ui.note("Select a name under Events by name.");
  const NameStatistics* found = statistics(session);
  draw_loading(ui, "statistics", statistics_, "Reading the events of the name");
  if (found == nullptr) return;
  if (tab == Tab::kRanks) {
    Table ranks = statistics_table("rank");
    std::vector<int> numbers;
    for (const auto& [rank, s] : found->by_rank) {
      ranks.rows.push_back(statistics_row(fmt::format("rank {}", rank), s));
      numbers.push_back(rank);
    }
    const TableHit hit = show_table(ui, "ranks", ranks, by_rank_state_);
    if (hit.clicked) select_rank(session, *band, numbers[static_cast<std::size_t>(*hit.clicked)]);
    return;
  }
  if (tab != Tab::kPasses) return draw_groups(ui, *found);
  Table passes = statistics_table("layer pass");
  std::vector<const PassMark*> marks;
  for (const auto& [run, s] : found->by_run) {
    const auto mark = std::ranges::find(band->times->passes, run, &PassMark::run);
    marks.push_back(mark != band->times->passes.end() ? &*mark : nullptr);
    passes.rows.push_back(statistics_row(
        marks.back() == nullptr ? "none" : fmt::format("{}, layer {}, step {}", mark->label, mark->layer, mark->step),
        s));
  }
  const TableHit hit = show_table(ui, "passes", passes, by_pass_state_, {.row_tooltip = "Double click: show it alone"});
  if (hit.activated && marks[static_cast<std::size_t>(*hit.activated)] != nullptr)
    show_pass(session, *band, *marks[static_cast<std::size_t>(*hit.activated)]);
}

Json FileTime::dump(Session& session) {
  Json json = Json::object();
  json["time"] = "file";
  json["begin_ns"] = time_.axis.begin_ns();
  json["end_ns"] = time_.axis.end_ns();
  if (pointed_) json["pointed_rank"] = *pointed_;
  json["bands"] = Json::array();
  for (const Band* band : shown_) {
    Json one = Json::object();
    one["file"] = band->open->name;
    if (band->times && band->times->why_none.empty()) {
      one["zero_ns"] = band->times->zero_ns;
      one["end_ns"] = band->times->end_ns;
      one["base_shift"] = band->times->base_shift;
      one["passes"] = static_cast<std::int64_t>(band->times->passes.size());
      one["shift"] = band->shift;
      one["drawn"] = band->events ? "events" : "strips";
      one["ranks"] = Json::array();
      one["tracks"] = Json::array();
      one["counters"] = Json::array();
      for (std::size_t i = 0; i < band->rows.size(); ++i) {
        if (i > 0 && band->rows[i] == band->rows[i - 1]) continue;
        const FileRow& row = band->times->rows[static_cast<std::size_t>(band->rows[i])];
        if (row.kind == FileRowKind::kLanes) one["ranks"].push_back(row.rank);
        if (row.kind == FileRowKind::kTrack && row.sub == 0) one["tracks"].push_back(row.title);
        if (row.kind == FileRowKind::kCounters || row.kind == FileRowKind::kCounter)
          one["counters"].push_back(counter_json(*band, row));
      }
      one["pieces"] = Json::array();
      for (const StripPiece& piece : band->pieces) one["pieces"].push_back(piece_json(*band, piece));
      if (band->events) one["events"] = static_cast<std::int64_t>(band->events->events.size());
    } else if (band->times) {
      one["problem"] = band->times->why_none;
    }
    json["bands"].push_back(std::move(one));
  }
  if (const Place place = selected(session); place.band != nullptr) {
    const RowEvent& event = place.band->events->events[static_cast<std::size_t>(place.event)];
    Json one = Json::object();
    one["name"] = place.band->events->name(event);
    one["rank"] = event.rank;
    one["run"] = static_cast<std::int64_t>(event.run);
    one["op"] = event.span.op_id;
    one["begin_ns"] = event.span.begin_ns;
    json["selected"] = std::move(one);
  }
  return json;
}

// A counter with what it is at the ends of the screen, or the heading of several.
Json FileTime::counter_json(const Band& band, const FileRow& row) const {
  Json json = {{"rank", row.rank}, {"label", row.label}, {"title", row.title}};
  if (row.kind == FileRowKind::kCounters) {
    json["of"] = row.unit;
    return json;
  }
  json["unit"] = row.unit;
  const CounterSeries* series = series_of(band, row);
  if (series == nullptr || series->empty()) return json;
  json["least"] = series->least();
  json["most"] = series->most();
  const double zero = static_cast<double>(band.times->zero_ns);
  for (const auto& [name, ns] : {std::pair("at_begin", time_.axis.begin_ns()), {"at_end", time_.axis.end_ns()}})
    if (const CounterPoint* point = series->at(static_cast<std::int64_t>(ns + zero))) json[name] = point->last;
  return json;
}

// The buckets of a piece that are on the screen: of each row the fifteenths of a bucket that are busy, by the part of
// time that leads in it; and of few rows their bytes.
Json FileTime::piece_json(const Band& band, const StripPiece& piece) {
  const std::int64_t first = lod_bucket(piece.begin_ns, piece.shift);
  const std::int64_t count = lod_bucket(piece.end_ns - 1, piece.shift) - first + 1;
  Json json = Json::object();
  json["shift"] = piece.shift;
  json["first_bucket"] = first;
  json["num_buckets"] = count;
  json["rows"] = Json::array();
  for (const int place : band.rows) {
    const FileRow& row = band.times->rows[static_cast<std::size_t>(place)];
    if (row.strip < 0 || row.sub > 0) continue;
    const std::span<const std::uint8_t> bytes = piece.rows[static_cast<std::size_t>(row.strip)].subspan(
        static_cast<std::size_t>(first - piece.first_bucket), static_cast<std::size_t>(count));
    std::array<std::int64_t, kNumTimeParts> sums{};
    std::string hex;
    for (const std::uint8_t byte : bytes) {
      sums[static_cast<std::size_t>(part_of_strip(byte, row.of()))] += byte & 15;
      if (band.rows.size() <= kDumpedRows) hex += fmt::format("{:02x}", byte);
    }
    Json one = Json::object();
    one["rank"] = row.rank;
    if (row.track) one["track"] = row.title;
    one["busy"] = Json::object();
    for (std::size_t part = 0; part < sums.size(); ++part)
      if (part < kNumRankParts || sums[part] > 0)
        one["busy"][std::string(part_name(static_cast<TimePart>(part)))] = sums[part];
    if (!hex.empty()) one["bytes"] = hex;
    json["rows"].push_back(std::move(one));
  }
  return json;
}

}  // namespace spscope::gui
