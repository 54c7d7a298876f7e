#include "gui/views/timeline/file_time.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "backend/base/number_text.h"
#include "gui/views/timeline/facts.h"

namespace spscope::gui {
namespace {

// Events are drawn once a bucket of the finest shift is wider than this, in the design's pixels.
constexpr float kBucketOfEvents = 8;
// So many rows of tracks, or ranks alone, keep their names.
constexpr std::size_t kMostNamedTracks = 256, kMostNamedRanks = 16;
constexpr std::size_t kUnitsOfCounter = 2;  // how many rows a counter is as high as

}  // namespace

void draw_time_mode(Ui& ui, Session& session) {
  const Ui::Scope inside = ui.scope("time");
  const bool was = session.scope().whole_file;
  bool whole = was;
  if (ui.button("pass", "Layer pass", {.selected = !was, .tooltip = "One layer pass, each strategy from its own zero"}))
    whole = false;
  ui.same_line(4);
  if (ui.button("file", "Whole file", {.selected = was, .tooltip = "All that the open files hold, as it happened"}))
    whole = true;
  if (whole == was) return;
  Scope scope = session.scope();
  scope.whole_file = whole;
  session.set_scope(std::move(scope));
  Selection s = session.selection();
  s.time.reset();  // a range of one has no meaning in the other
  session.select(s);
}

double FileTime::shown_ns(const Band& band, std::int64_t ns) { return static_cast<double>(ns - band.times->zero_ns); }

std::string FileTime::pass_words(const PassMark& pass) {
  return fmt::format("{}, layer {}, denoise step {}, repeat {}", pass.label, pass.layer, pass.step, pass.repeat);
}

void FileTime::take_bands(Session& session) {
  shown_.clear();
  std::int64_t extent = 0;
  bool all_there = true;
  const auto& files = session.files();
  for (std::size_t f = 0; f < files.size(); ++f) {
    const OpenFile& file = *files[f];
    if (file.content() == nullptr || !session.in_scope(static_cast<int>(f))) continue;
    auto& band = bands_[{file.path, file.generation}];
    if (!band) band = std::make_unique<Band>();
    band->file = static_cast<int>(f);
    band->open = &file;
    band->times_slot.ask(
        session.workers(), fmt::format("{}", file.generation),
        [path = file.path, generation = file.generation](Readers& readers, const Cancelled&, QueryProgress&) {
          return load_file_times(readers.of(path, generation));
        });
    band->times = band->times_slot.share();
    all_there &= band->times != nullptr || band->times_slot.error() != nullptr;
    if (band->times && band->times->why_none.empty()) {
      extent = std::max(extent, band->times->end_ns - band->times->zero_ns);
      band->strips = {file.path, file.generation, band->times->zero_ns, band->times->end_ns, band->times->base_shift};
      take_rows(session, *band);
    }
    shown_.push_back(band.get());
  }
  std::erase_if(bands_, [&](const auto& row) { return std::ranges::find(shown_, row.second.get()) == shown_.end(); });
  if (extent > 0) time_.axis.set_extent(extent);
  if (!fitted_ && all_there && extent > 0) {
    fitted_ = true;
    if (const auto& time = session.selection().time)
      time_.axis.show(static_cast<double>(time->begin_ns), static_cast<double>(time->end_ns));
  }
}

void FileTime::take_rows(const Session& session, Band& band) const {
  const std::vector<int>& groups = session.scope().counters;
  band.rows.clear();
  const std::vector<FileRow>& rows = band.times->rows;
  band.unfolded.clear();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].kind == FileRowKind::kCounters && std::ranges::binary_search(groups, rows[i].group))
      band.unfolded.insert(i);
    const bool is_counter = rows[i].kind == FileRowKind::kCounter;
    if (!rows_.filter.filter().holds(rows[i].rank, rows[i].node)) continue;
    if (is_counter && !band.unfolded.contains(rows[i].heading)) continue;
    band.rows.insert(band.rows.end(), is_counter ? kUnitsOfCounter : 1, static_cast<int>(i));
  }
  std::ranges::stable_sort(band.rows, {}, [&](int row) {
    // Tracks stay behind the rank that they name, and those of none behind all.
    const FileRow& rank = rows[rows[static_cast<std::size_t>(row)].owner];
    const std::int64_t by = rows_.order == RowOrder::kCompute ? -rank.busy(TimePart::kCompute)
                            : rows_.order == RowOrder::kWait  ? -rank.busy(TimePart::kLatePeer)
                            : rows_.order == RowOrder::kNode  ? rank.node
                                                              : rank.rank;
    return std::tuple(rank.rank == kNoRank, !pinned_.contains({band.file, rank.rank}), by, rank.rank);
  });
  band.row_strips.clear();
  for (const int place : band.rows) {
    const FileRow& row = rows[static_cast<std::size_t>(place)];
    band.row_strips.push_back({row.strip, row.of()});
  }
}

void FileTime::ask_counters(Session& session, Band& band) {
  std::erase_if(band.counters, [&](const auto& row) { return !band.unfolded.contains(row.first); });
  for (const std::size_t heading : band.unfolded) {
    auto& slot = band.counters[heading];
    if (!slot) slot = std::make_unique<QuerySlot<FileCounters>>();
    slot->ask(session.workers(), fmt::format("{}", heading),
              [path = band.open->path, generation = band.open->generation, heading, known = band.times](
                  Readers& readers, const Cancelled&, QueryProgress&) {
                return load_file_counters(readers.of(path, generation), known->rows, heading);
              });
  }
}

void FileTime::ask_events(Session& session, Band& band) {
  const FileTimes& times = *band.times;
  const auto begin = times.zero_ns + static_cast<std::int64_t>(std::floor(time_.axis.begin_ns()));
  const auto end = times.zero_ns + static_cast<std::int64_t>(std::ceil(time_.axis.end_ns()));
  const EventWindow window = steady_window(begin, end);
  band.events_slot.ask(session.workers(), fmt::format("{} {}", window.begin_ns, window.end_ns),
                       [path = band.open->path, generation = band.open->generation, window, known = band.times](
                           Readers& readers, const Cancelled&, QueryProgress&) {
                         return load_file_events(readers.of(path, generation), known->rows, window, known->end_ns);
                       });
  const auto events = band.events_slot.share();
  const bool covers = events && !events->too_many && events->window.begin_ns <= std::max(begin, times.zero_ns) &&
                      events->window.end_ns >= std::min(end, times.end_ns);
  if (covers) band.events = events;
}

FileTime::Band* FileTime::band_of(const Selection& selection) {
  for (Band* band : shown_)
    if (band->times && band->times->why_none.empty() && (!selection.strategy || selection.strategy->file == band->file))
      return band;
  return nullptr;
}

const PassMark* FileTime::pass_of_scope(Session& session, const Band& band) const {
  const auto pass = session.pass();
  const auto& strategy = session.selection().strategy;
  if (!pass || !strategy) return nullptr;
  const auto found = std::ranges::find_if(band.times->passes, [&](const PassMark& mark) {
    return mark.strategy_id == strategy->id && mark.layer == pass->layer && mark.step == pass->step &&
           mark.repeat == session.scope().repeat.value_or(mark.repeat);
  });
  return found != band.times->passes.end() ? &*found : nullptr;
}

FileTime::Place FileTime::selected(Session& session) {
  const Selection& s = session.selection();
  Band* band = band_of(s);
  if (band == nullptr || !band->events || (!s.rank && !picked_)) return {};
  const PassMark* pass = pass_of_scope(session, *band);
  const auto is_it = [&](const RowEvent& e) {
    if (picked_ && picked_->rank == s.rank.value_or(kNoRank)) return e == *picked_;
    return s.op && pass != nullptr && !e.track && e.span.op_id == *s.op && e.run == pass->run &&
           pass->begin_ns <= e.span.begin_ns && e.span.begin_ns <= pass->end_ns;
  };
  const auto& events = band->events->events;
  const int rank = s.rank.value_or(kNoRank);
  for (auto e = std::ranges::lower_bound(events, rank, {}, &RowEvent::rank); e != events.end() && e->rank == rank; ++e)
    if (is_it(*e)) return {band, static_cast<int>(e - events.begin())};
  return {};
}

void FileTime::take_row(Session& session, Band& band, std::size_t row) {
  const FileRow& of = band.times->rows[row];
  if (of.kind != FileRowKind::kCounters) return select_rank(session, band, of.rank);
  Scope scope = session.scope();
  const auto at = std::ranges::lower_bound(scope.counters, of.group);
  if (at != scope.counters.end() && *at == of.group)
    scope.counters.erase(at);
  else
    scope.counters.insert(at, of.group);
  session.set_scope(std::move(scope));
}

void FileTime::select_rank(Session& session, const Band& band, int rank) {
  Selection s = session.selection();
  if (!s.strategy || s.strategy->file != band.file) {
    s.strategy.reset();
    for (const Chosen& chosen : session.chosen())
      if (!s.strategy && chosen.key.file == band.file) s.strategy = chosen.key;
  }
  if (rank != kNoRank) s.rank = rank;
  s.op.reset();
  picked_.reset();
  session.select(s);
}

void FileTime::select_event(Session& session, const Place& place) {
  const RowEvent& event = place.band->events->events[static_cast<std::size_t>(place.event)];
  const std::vector<PassMark>& passes = place.band->times->passes;
  picked_ = event;
  Selection s = session.selection();
  s.rank = event.rank == kNoRank ? std::nullopt : std::optional(event.rank);
  s.op = event.span.op_id >= 0 && !event.track ? std::optional(static_cast<int>(event.span.op_id)) : std::nullopt;
  s.name = place.band->events->name(event);
  if (const PassMark* pass = place.band->times->pass_of(event.run, event.span.begin_ns)) {
    s.strategy = StrategyKey{place.band->file, pass->strategy_id};
    Scope scope = session.scope();
    scope.layer = pass->layer;
    scope.step = pass->step;
    if (std::ranges::count(passes, pass->run, &PassMark::run) > 1) scope.repeat = pass->repeat;
    session.set_scope(std::move(scope));
  }
  session.select(s);
}

void FileTime::step_event(Session& session, int direction, bool same_name) {
  const Place place = selected(session);
  if (place.band == nullptr) return;
  const FileEvents& events = *place.band->events;
  const RowEvent& now = events.events[static_cast<std::size_t>(place.event)];
  for (const std::vector<TimeSpan>& row : events.rows) {
    const auto at =
        std::ranges::find_if(row, [&](const TimeSpan& span) { return span.op == place.event && span.hidden == 0; });
    if (at == row.end()) continue;
    for (auto i = at - row.begin() + direction; i >= 0 && i < std::ssize(row); i += direction) {
      const TimeSpan& span = row[static_cast<std::size_t>(i)];
      const int other = span.op;
      const RowEvent& event = events.events[static_cast<std::size_t>(other)];
      if (other == place.event || span.hidden != 0 || (same_name && event.span.name != now.span.name)) continue;
      return select_event(session, {place.band, other});
    }
  }
}

void FileTime::step_rank(Session& session, int direction) {
  const Place place = selected(session);
  if (place.band == nullptr) return;
  const auto& events = place.band->events->events;
  const RowEvent& now = events[static_cast<std::size_t>(place.event)];
  int nearest = -1;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const RowEvent& e = events[i];
    if (e.rank != now.rank + direction || e.run != now.run || e.span.name != now.span.name) continue;
    const auto distance = [&](const RowEvent& x) { return std::abs(x.span.begin_ns - now.span.begin_ns); };
    if (nearest < 0 || distance(e) < distance(events[static_cast<std::size_t>(nearest)])) nearest = static_cast<int>(i);
  }
  if (nearest >= 0) select_event(session, {place.band, nearest});
}

bool FileTime::run(Command command, Session& session) {
  if (time_.run(command)) return true;
  const Selection& s = session.selection();
  switch (command) {
    case Command::kZoomSelection:
    case Command::kFitSelection: {
      std::optional<TimeRange> range = s.time;
      if (const Place place = selected(session); !range && place.band != nullptr) {
        const SpanEvent& span = place.band->events->events[static_cast<std::size_t>(place.event)].span;
        range = TimeRange{span.begin_ns - place.band->times->zero_ns, next_begin_ns(span) - place.band->times->zero_ns};
      }
      time_.fit(range, command == Command::kFitSelection);
      return true;
    }
    case Command::kPreviousEvent:
    case Command::kNextEvent:
      step_event(session, command == Command::kNextEvent ? 1 : -1, false);
      return true;
    case Command::kPreviousSame:
    case Command::kNextSame:
      step_event(session, command == Command::kNextSame ? 1 : -1, true);
      return true;
    case Command::kPreviousRank:
    case Command::kNextRank:
      step_rank(session, command == Command::kNextRank ? 1 : -1);
      return true;
    case Command::kPin:
      if (const Band* band = band_of(s); band != nullptr && s.rank) {
        const std::pair key{band->file, *s.rank};
        if (pinned_.erase(key) == 0) pinned_.insert(key);
      }
      return true;
    case Command::kFind:
      focus_find_ = true;
      return true;
    default:
      return false;
  }
}

const std::vector<TimeSpan>* FileTime::spans_at(const Band& band, float y) {
  if (!band.events || band.row_height <= 0 || y < band.top) return nullptr;
  const auto at = static_cast<std::size_t>((y - band.top) / band.row_height);
  return at < band.rows.size() ? &band.events->rows[static_cast<std::size_t>(band.rows[at])] : nullptr;
}

void FileTime::toolbar(Ui& ui, Session& session) {
  time_.begin_toolbar(ui);
  if (!session.chosen().empty()) {  // else there are no layer passes
    draw_time_mode(ui, session);
    flow(ui, 190);
  }
  time_.buttons(ui);
  const bool has_ranks = std::ranges::any_of(
      shown_, [](const Band* band) { return band->times == nullptr || band->times->num_ranks() > 0; });
  flow(ui, has_ranks ? 108 : 96);
  rows_.draw(ui, has_ranks);
  if (!time_.is_tiny() || focus_find_ || !find_.empty()) find_field(ui, session);
  time_.time_field(ui);
}

float FileTime::gutter(const Ui& ui) const {
  constexpr float kLeast = TimeArea::kGutter, kMost = 220, kMostOfView = 0.26F, kBesideName = 36;
  float wanted = ui.px(kLeast);
  for (const Band* band : shown_)
    if (has_names(*band))
      for (const int place : band->rows) {
        const FileRow& row = band->times->rows[static_cast<std::size_t>(place)];
        wanted = std::max(wanted, ui.text_width(row.label, Face::kSmall) + ui.px(kBesideName));
      }
  return std::min(wanted, std::max(ui.px(kLeast), std::min(ui.px(kMost), ui.width_left() * kMostOfView)));
}

bool FileTime::has_names(const Band& band) {
  if (band.times == nullptr || !band.times->why_none.empty()) return false;
  return band.rows.size() <= (band.times->num_tracks() > 0 ? kMostNamedTracks : kMostNamedRanks);
}

std::string FileTime::extent_words(const Band& band) {
  std::vector<std::string> words;
  for (const Observation& o : band.open->content()->observed) {
    words.push_back(o.run.finished ? fmt::format("program ran {}", duration(o.run.end_ns - o.run.begin_ns))
                                   : "the end of the program was not seen");
    // Not the extent of the picture, to which counters belong too.
    if (o.last_event_ns > o.first_event_ns)
      words.push_back(fmt::format("first to last event {}", duration(o.last_event_ns - o.first_event_ns)));
  }
  if (words.empty()) return duration(band.times->end_ns - band.times->zero_ns);
  return fmt::format("{}", fmt::join(words, ", "));
}

void FileTime::find_field(Ui& ui, Session& session) {
  const float width = TimeArea::flow_to_find(ui);
  const std::string hint = key_tip(ui, "Find", Command::kFind);
  if (!ui.field("find", find_, {.width = width, .hint = hint, .focus = std::exchange(focus_find_, false)})) return;
  if (!find_.empty()) session.settings().table = true;
  if (find_.empty()) {
    Selection s = session.selection();
    s.name.clear();
    session.select(s);
  }
}

void FileTime::draw(Ui& ui, Session& session) {
  take_bands(session);
  toolbar(ui, session);
  hovered_.reset();
  pointed_.reset();
  drawn_spans_ = 0;
  time_.place(ui, gutter(ui));
  chunks_.begin_frame();
  for (Band* band : shown_) {
    band->events.reset();
    band->pieces.clear();
    if (!band->times || !band->times->why_none.empty()) continue;
    const TimeAxis& axis = time_.axis;
    const std::int64_t zero = band->times->zero_ns;
    band->shift = strip_shift(axis.ns_per_pixel(), band->times->base_shift);
    band->pieces = chunks_.pieces(session.workers(), band->strips, band->shift,
                                  zero + static_cast<std::int64_t>(std::floor(axis.begin_ns())),
                                  zero + static_cast<std::int64_t>(std::ceil(axis.end_ns())));
    if (std::ldexp(1, band->times->coarsest_base) / axis.ns_per_pixel() > static_cast<double>(ui.px(kBucketOfEvents)))
      ask_events(session, *band);
    else
      band->events_slot.forget();
    ask_counters(session, *band);
  }
  time_.minimap(ui, [&](const Rect& rect) { draw_overview(ui, session, rect); });
  chunks_.end_frame();
  time_.ruler(ui);
  const float room = ui.height_left() / static_cast<float>(std::max<std::size_t>(1, shown_.size()));
  ui.pane("bands", {.height = ui.height_left(), .back = Token::kSurface, .padded = false}, [&] {
    const ImVec2 top = ImGui::GetCursorScreenPos();
    const Rect area{time_.axis.left(), ui.clip().top, time_.axis.left() + time_.axis.width(), ui.clip().bottom};
    time_.take_pointer(ui, session, area, [&](std::int64_t ns, std::int64_t most) {
      for (const Band* band : shown_)
        if (const auto* spans = spans_at(*band, ImGui::GetMousePos().y))
          return nearest_edge(*spans, ns + band->times->zero_ns, most) - band->times->zero_ns;
      return ns;
    });
    ImGui::SetCursorScreenPos(top);
    ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(0, 0));
    for (Band* band : shown_) draw_band(ui, session, *band, room);
    ImGui::PopStyleVar();
    ImGui::PushClipRect({area.left, area.top}, {area.right, area.bottom}, true);
    time_.draw_marks(ui, area, session.selection().time);
    ImGui::PopClipRect();
  });
  if (hovered_) event_tip(ui, *hovered_);
}

}  // namespace spscope::gui
