// How the timeline of whole files is painted: heads and layer passes of a file, rows of strips as one texture, events
// as rectangles where they can be told apart.
#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "backend/base/number_text.h"
#include "gui/views/document_view.h"
#include "gui/views/timeline/event_facts.h"
#include "gui/views/timeline/facts.h"
#include "gui/views/timeline/file_time.h"
#include "gui/views/timeline/time_spans.h"

namespace spscope::gui {
namespace {

constexpr int kMostSpans = 10'000;   // rectangles of a draw list
constexpr float kLabelHeight = 14;   // of the label of a rank, in the design's pixels
constexpr float kNamedHeight = 16;   // of a row with its name and those of its events
constexpr float kTargetHeight = 10;  // lower rows are chosen in their gutter together
constexpr float kPassHeight = 20;    // of the layer passes
constexpr float kStrategyHeight = 18;
constexpr float kLeastPass = 4;    // passes are marked at most so densely
constexpr float kLeastLabel = 20;  // a narrower box has no room for a part of a name
constexpr int kOverviewRows = 10;  // ranks of the minimap
constexpr float kDimmed = 0.72F;   // opacity of what covers rows that are not meant

// The right end of what had not ended when recording stopped: teeth of the colour behind it.
void tear(Ui& ui, const Rect& rect) {
  const float tooth = std::min(ui.px(5), rect.width() / 2);
  for (float y = rect.top; y < rect.bottom; y += tooth)
    ui.draw_list().AddTriangleFilled({rect.right + 1, y}, {rect.right - tooth, y + tooth / 2},
                                     {rect.right + 1, y + tooth}, ui.color(ui.back()));
  ui.mark("torn", {rect.right - tooth, rect.top, rect.right, rect.bottom});
}

// Before the row of a rank of which events are missing in the file: a broken line.
void gap_mark(Ui& ui, const Rect& row, std::int64_t missing) {
  const float x = row.right - ui.px(10), high = std::min(row.height(), ui.px(16)),
              top = row.top + (row.height() - high) / 2;
  const ImVec2 zigzag[] = {
      {x + ui.px(4), top}, {x, top + high * 0.35F}, {x + ui.px(6), top + high * 0.65F}, {x + ui.px(2), top + high}};
  ui.draw_list().AddPolyline(zigzag, 4, ui.color(Token::kWarn), 0, ui.px(1.5F));
  ui.mark("gap", {x, top, x + ui.px(6), top + high}, fmt::format("{}", missing), false, ui.theme().color(Token::kWarn));
}

// What stands on a span that stands for several.
std::string more_words(const FileEvents& events, const TimeSpan& span) {
  return fmt::format("+{} more", events.hidden[static_cast<std::size_t>(span.hidden) - 1].size());
}

// Ranks, devices, threads and programs among the rows, each once: some have several rows, counters are none of them.
std::ptrdiff_t num_shown(const std::vector<FileRow>& all, const std::vector<int>& shown) {
  std::set<int> rows;
  for (const int place : shown) {
    const FileRow& row = all[static_cast<std::size_t>(place)];
    if (row.sub == 0 && (row.kind == FileRowKind::kLanes || row.kind == FileRowKind::kTrack)) rows.insert(place);
  }
  return std::ssize(rows);
}

// The row that stands for a rank.
bool is_rank(const FileRow& row) {
  return row.kind == FileRowKind::kLanes || (row.kind == FileRowKind::kGroup && row.rank != kNoRank);
}

std::string target_name(const FileRow& row) {
  if (row.kind == FileRowKind::kCounters) return fmt::format("counters {}", row.group);
  if (row.kind == FileRowKind::kGroup) return "heading " + row.title;
  return row.track ? fmt::format("track {}", static_cast<std::int64_t>(*row.track)) : row.label;
}

}  // namespace

void FileTime::draw_overview(Ui& ui, Session& session, const Rect& rect) {
  const float height = rect.height() / static_cast<float>(std::max<std::size_t>(1, shown_.size()));
  float top = rect.top;
  for (Band* band : shown_) {
    const Rect mine{rect.left, top, rect.right, top + height};
    top += height;
    if (!band->times || !band->times->why_none.empty()) continue;
    const StripFile& file = band->strips;
    TimeAxis all;
    all.set_extent(time_.axis.extent_ns());
    all.place(mine.left, mine.width());
    const int shift = whole_shift(file.begin_ns, file.end_ns, file.base_shift);
    const auto pieces = chunks_.pieces(session.workers(), file, shift, file.begin_ns, file.end_ns);
    std::vector<StripRow> strips, rows;
    for (const FileRow& row : band->times->rows)
      if (row.strip >= 0 && row.sub == 0) strips.push_back({row.strip, row.of()});
    const std::size_t count = std::min<std::size_t>(strips.size(), kOverviewRows);
    for (std::size_t i = 0; i < count; ++i) rows.push_back(strips[i * strips.size() / count]);
    band->overview.draw(ui, mine, {pieces, rows, file.begin_ns}, all);
  }
}

void FileTime::draw_head(Ui& ui, Session& session, Band& band) {
  const ImVec2 from = ImGui::GetCursorScreenPos();
  const TimeAxis& axis = time_.axis;
  const float right = axis.left() + axis.width(), head = ui.px(26);
  ui.fill({from.x, from.y, right, from.y + head}, ui.color(Token::kRaised));
  const std::optional<Rgb> behind = ui.theme().color(Token::kRaised);
  ui.text_at(from.x + ui.px(6), from.y + ui.px(5), band.open->name,
             {.face = Face::kBold, .max_width = axis.left() - from.x - ui.px(10)}, behind);
  std::string words = "reading the times of the file";
  if (band.times && band.times->why_none.empty()) {
    std::set<std::string> strategies;
    for (const PassMark& pass : band.times->passes) strategies.insert(pass.strategy_id);
    words = extent_words(band);
    if (band.times->num_ranks() > 0)
      words += fmt::format(", {} ranks", count_text(static_cast<double>(band.times->num_ranks())));
    if (!band.times->passes.empty())
      words += fmt::format(", {} strateg{}, {} layer passes", strategies.size(), strategies.size() == 1 ? "y" : "ies",
                           count_text(static_cast<double>(band.times->passes.size())));
    if (const auto tracks = band.times->num_tracks(); tracks > 0)
      words += fmt::format(", {} rows of devices, threads and programs", tracks);
    if (!rows_.filter.filter().ranges.empty())
      words += fmt::format(", {} shown", count_text(static_cast<double>(num_shown(band.times->rows, band.rows))));
    if (band.events_slot.error() == nullptr && band.events_slot.value() != nullptr &&
        band.events_slot.value()->too_many && !band.events)
      words += "; too many events to draw each: zoom in, or show fewer ranks";
  } else if (band.times) {
    words = sentence(band.times->why_none);
  }
  ui.text_at(axis.left() + ui.px(4), from.y + ui.px(5), words,
             {.ink = Token::kMuted, .max_width = axis.width() - ui.px(8)}, behind);
  ImGui::Dummy({right - from.x, head});
  if (const Error* error = band.times_slot.error()) draw_error(ui, "times", *error);
  if (const Error* error = chunks_.error(band.strips)) draw_error(ui, "strips", *error);
  if (const Error* error = band.events_slot.error()) draw_error(ui, "events", *error);
  for (const auto& [heading, slot] : band.counters)
    if (const Error* error = slot->error()) draw_error(ui, "counters", *error);
  if (!band.times || band.times->why_none.empty() || session.chosen().empty()) return;
  if (ui.button("show pass", "Show a layer pass", {.primary = true})) {
    Scope scope = session.scope();
    scope.whole_file = false;
    session.set_scope(std::move(scope));
  }
}

// Which strategy runs when: passes that follow each other as one.
void FileTime::draw_strategies(Ui& ui, const Band& band) {
  const TimeAxis& axis = time_.axis;
  const ImVec2 from = ImGui::GetCursorScreenPos();
  const float left_end = axis.left(), right_end = left_end + axis.width(), height = ui.px(kStrategyHeight);
  ui.text_at(from.x + ui.px(8), from.y + ui.px(3), "strategies",
             {.face = Face::kSmall, .ink = Token::kMuted, .max_width = left_end - from.x - ui.px(12)});
  ImGui::PushClipRect({left_end, from.y}, {right_end, from.y + height}, true);
  const std::vector<PassMark>& passes = band.times->passes;
  for (std::size_t i = 0, next = 0; i < passes.size(); i = next) {
    next = i + 1;
    while (next < passes.size() && passes[next].strategy_id == passes[i].strategy_id) ++next;
    const float left = std::max(left_end, axis.x(shown_ns(band, passes[i].begin_ns)));
    const float right = std::min(right_end, axis.x(shown_ns(band, passes[next - 1].end_ns)));
    if (right - left < ui.px(kLeastPass)) continue;
    const Rect box{left, from.y + 1, right - 1, from.y + height - 1};
    ui.fill(box, ui.color(Token::kRaised));
    if (box.width() >= ui.px(kLeastLabel))
      ui.text_at(left + ui.px(3), box.top + ui.px(2), passes[i].label,
                 {.face = Face::kSmall, .max_width = box.width() - ui.px(4)}, ui.theme().color(Token::kRaised));
    ui.mark(fmt::format("strategy {} {}", passes[i].strategy_id, i), box, passes[i].label);
  }
  ImGui::PopClipRect();
  ImGui::Dummy({right_end - from.x, height});
}

void FileTime::draw_passes(Ui& ui, Session& session, const Band& band) {
  const TimeAxis& axis = time_.axis;
  const ImVec2 from = ImGui::GetCursorScreenPos();
  const Rect strip{axis.left(), from.y, axis.left() + axis.width(), from.y + ui.px(kPassHeight)};
  ui.text_at(from.x + ui.px(8), from.y + ui.px(3), "layer passes",
             {.face = Face::kSmall, .ink = Token::kMuted, .max_width = strip.left - from.x - ui.px(12)});
  const Hit hit = ui.target("passes", strip, {.kind = "area", .ring = false});
  const PassMark* chosen = pass_of_scope(session, band);
  const PassMark* pointed = nullptr;
  ImGui::PushClipRect({strip.left, strip.top}, {strip.right, strip.bottom}, true);
  float drawn_to = strip.left - ui.px(kLeastPass);
  for (const PassMark& pass : band.times->passes) {
    const float left = axis.x(shown_ns(band, pass.begin_ns)), right = axis.x(shown_ns(band, pass.end_ns));
    if (right < strip.left || left > strip.right) continue;
    const float mouse = ImGui::GetMousePos().x;
    if (hit.hovered && left <= mouse && mouse < std::max(right, left + 1)) pointed = &pass;
    if (&pass != chosen && left - drawn_to < ui.px(kLeastPass) && right - left < ui.px(kLeastPass)) continue;
    drawn_to = left;
    const Rect box{left, strip.top + 1, std::max(left + 1, right - 1), strip.bottom - 1};
    const bool is_chosen = &pass == chosen;
    if (right - left >= ui.px(kLeastPass)) ui.fill(box, ui.color(is_chosen ? Token::kSelected : Token::kRaised));
    ui.fill({left, box.top, left + std::max(1.F, ui.px(1)), box.bottom}, ui.color(Token::kEdge));
    const float room = std::min(box.right, strip.right) - std::max(box.left, strip.left) - ui.px(8);
    std::string text = fmt::format("{}, layer {}, step {}", pass.label, pass.layer, pass.step);
    if (ui.text_width(text, Face::kSmall) > room) text = fmt::format("layer {}, step {}", pass.layer, pass.step);
    if (ui.text_width(text, Face::kSmall) <= room) {
      ui.text_at(std::max(box.left, strip.left) + ui.px(4), box.top + ui.px(2), text,
                 {.face = Face::kSmall, .max_width = room},
                 ui.theme().color(is_chosen ? Token::kSelected : Token::kRaised));
    }
    ui.mark(fmt::format("pass {} {}", static_cast<std::int64_t>(pass.run), pass.repeat), box, pass_words(pass),
            is_chosen);
  }
  ImGui::PopClipRect();
  ImGui::Dummy({strip.right - from.x, strip.height()});
  if (pointed == nullptr) return;
  ui.tooltip(fmt::format("{}: {} from {}. Double click: show it alone", pass_words(*pointed),
                         duration(pointed->end_ns - pointed->begin_ns),
                         moment(pointed->begin_ns - band.times->zero_ns)));
  if (hit.double_clicked) return show_pass(session, band, *pointed);
  if (!hit.clicked) return;
  Scope scope = session.scope();
  scope.layer = pointed->layer;
  scope.step = pointed->step;
  if (std::ranges::count(band.times->passes, pointed->run, &PassMark::run) > 1) scope.repeat = pointed->repeat;
  session.set_scope(std::move(scope));
  Selection s = session.selection();
  s.strategy = StrategyKey{band.file, pointed->strategy_id};
  s.op.reset();
  session.select(s);
}

void FileTime::draw_band(Ui& ui, Session& session, Band& band, float room) {
  const Ui::Scope inside = ui.scope("file " + band.open->name);
  draw_head(ui, session, band);
  if (!band.times || !band.times->why_none.empty()) return;
  if (!band.times->passes.empty()) {
    draw_strategies(ui, band);
    draw_passes(ui, session, band);
  }
  draw_rows(ui, session, band, room - ui.px(26 + kStrategyHeight + kPassHeight + 10));
  ImGui::Dummy({0, ui.px(8)});
}

void FileTime::draw_rows(Ui& ui, Session& session, Band& band, float room) {
  const ImVec2 from = ImGui::GetCursorScreenPos();
  const auto count = static_cast<float>(band.rows.size());
  // 512 ranks fit one screen: rows shrink to a pixel. Where each needs its name the pane scrolls.
  const float least = has_names(band) ? ui.px(kNamedHeight) : 1.F;
  const float height = std::clamp(std::max(ui.px(60), room) / std::max(1.F, count), least, ui.px(22));
  band.top = from.y;
  band.row_height = height;
  const Rect whole{time_.axis.left(), from.y, time_.axis.left() + time_.axis.width(), from.y + height * count};
  ImGui::Dummy({whole.right - from.x, whole.height()});
  const Rect clip = ui.clip();
  const int first = std::max(0, static_cast<int>(std::floor((clip.top - whole.top) / height)));
  const int last =
      std::min(static_cast<int>(band.rows.size()), static_cast<int>(std::ceil((clip.bottom - whole.top) / height)));
  if (first >= last) return;
  const Rect place{whole.left, whole.top + height * static_cast<float>(first), whole.right,
                   whole.top + height * static_cast<float>(last)};
  ImGui::PushClipRect({place.left, std::max(place.top, clip.top)}, {place.right, std::min(place.bottom, clip.bottom)},
                      true);
  std::int64_t visible = 0;
  if (band.events)
    for (int r = first; r < last; ++r) {
      const auto& row = band.events->rows[static_cast<std::size_t>(band.rows[static_cast<std::size_t>(r)])];
      const auto begin = time_.axis.begin_ns() + static_cast<double>(band.times->zero_ns);
      const auto end = time_.axis.end_ns() + static_cast<double>(band.times->zero_ns);
      visible += std::max<std::ptrdiff_t>(0, std::ranges::lower_bound(row, end, {}, [](const TimeSpan& s) {
                                               return static_cast<double>(s.begin_ns);
                                             }) - std::ranges::lower_bound(row, begin, {}, [](const TimeSpan& s) {
                                               return static_cast<double>(s.end_ns);
                                             }));
    }
  if (!band.events) {
    // Where nothing was read yet.
    ui.fill({place.left, place.top, time_.axis.x(shown_ns(band, band.times->end_ns)), place.bottom},
            ui.color(Token::kEmpty));
    const std::span<const StripRow> rows(band.row_strips);
    band.picture.draw(
        ui, place,
        {band.pieces, rows.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first)),
         band.times->zero_ns},
        time_.axis);
  } else if (height < ui.px(6) || drawn_spans_ + visible > kMostSpans) {
    draw_event_pixels(ui, band, place, first, last);
  } else {
    drawn_spans_ += static_cast<int>(visible);
    draw_events(ui, session, band, place, first, last);
  }
  draw_told(ui, band, place, first, last);
  ImGui::PopClipRect();
  draw_labels(ui, session, band, {from.x, whole.top, whole.left - ui.px(4), whole.bottom});
  draw_dimmed(ui, band);
  take_hover(ui, session, band, place);
}

void FileTime::draw_label(Ui& ui, const Band& band, const FileRow& of, const Rect& row, bool selected) const {
  const std::optional<Rgb> back = selected                         ? std::optional(ui.theme().color(Token::kSelected))
                                  : of.kind == FileRowKind::kGroup ? std::optional(ui.theme().color(Token::kRaised))
                                                                   : std::nullopt;
  // What is headed stands under the bar of colour, counters under their heading.
  float left = row.left + ui.px(of.headed ? 28 : 20);
  if (is_rank(of))
    ui.fill({row.left + ui.px(8), row.top + ui.px(2), row.left + ui.px(12), row.bottom - ui.px(2)},
            Ui::color(rank_color(of.rank)), ui.px(2));
  const float middle = row.top + row.height() / 2, s = ui.px(3.5F);
  if (of.kind == FileRowKind::kCounters) {
    const ImVec2 at(left - ui.px(7), middle);
    if (band.unfolded.contains(of.heading))
      ui.draw_list().AddTriangleFilled({at.x - s, at.y - s / 2}, {at.x + s, at.y - s / 2}, {at.x, at.y + s},
                                       ui.color(Token::kMuted));
    else
      ui.draw_list().AddTriangleFilled({at.x - s / 2, at.y - s}, {at.x + s, at.y}, {at.x - s / 2, at.y + s},
                                       ui.color(Token::kMuted));
  }
  if (of.kind == FileRowKind::kCounter) left += ui.px(10);
  const bool pinned = of.kind == FileRowKind::kLanes && pinned_.contains({band.file, of.rank});
  const float line = ui.line_height(Face::kSmall);
  const CounterSeries* series = of.kind == FileRowKind::kCounter ? series_of(band, of) : nullptr;
  const bool two_lines = series != nullptr && !series->empty() && row.height() >= 2 * line + ui.px(2);
  const float top = two_lines ? middle - line + ui.px(1) : row.top + (row.height() - line) / 2 + ui.px(1);
  ui.text_at(left, top, of.label + (pinned ? " (pinned)" : ""),
             {.face = Face::kSmall, .max_width = row.right - left - ui.px(2)}, back);
  if (two_lines)
    ui.text_at(left, top + line, counter_range_text(of, *series),
               {.face = Face::kSmall, .ink = Token::kMuted, .max_width = row.right - left - ui.px(2)}, back);
}

void FileTime::draw_labels(Ui& ui, Session& session, Band& band, const Rect& gutter) {
  const Selection& selection = session.selection();
  const bool same_file = selection.strategy ? selection.strategy->file == band.file : shown_.size() == 1;
  const int step = label_step(band.row_height, ui.px(kLabelHeight));
  const bool each = band.row_height >= ui.px(kTargetHeight);
  const Rect clip = ui.clip();
  // A selected row keeps its label, and those that would stand in it have none.
  const auto chosen = std::ranges::find_if(band.rows, [&](int row) {
    const FileRow& of = band.times->rows[static_cast<std::size_t>(row)];
    return same_file && is_rank(of) && selection.rank == of.rank;
  });
  const auto far_from_chosen = [&](std::size_t i) {
    const auto rows = std::abs(static_cast<std::ptrdiff_t>(i) - (chosen - band.rows.begin()));
    return chosen == band.rows.end() || static_cast<float>(rows) * band.row_height >= ui.px(kLabelHeight);
  };
  Hit hit;
  if (!each) hit = ui.target("ranks", gutter, {.kind = "area", .ring = false});
  std::optional<std::size_t> clicked;
  for (std::size_t i = 0, next = 0; i < band.rows.size(); i = next) {
    const auto place = static_cast<std::size_t>(band.rows[i]);
    for (next = i + 1; next < band.rows.size() && band.rows[next] == band.rows[i];) ++next;
    const FileRow& of = band.times->rows[place];
    const Rect row{gutter.left, gutter.top + static_cast<float>(i) * band.row_height, gutter.right,
                   gutter.top + static_cast<float>(next) * band.row_height};
    if (row.bottom < clip.top || row.top > clip.bottom || of.sub > 0) continue;
    const bool selected = same_file && is_rank(of) && selection.rank == of.rank;
    if (selected || of.kind == FileRowKind::kGroup)
      ui.fill(row, ui.color(selected ? Token::kSelected : Token::kRaised));
    const std::string& label = of.label;
    if (each)
      hit = ui.target(target_name(of), row,
                      {.kind = "row", .text = label, .selected = selected, .small = row.height() < ui.px(20)});
    const bool pointed = each ? hit.hovered : hit.hovered && row.holds(ImGui::GetMousePos().x, ImGui::GetMousePos().y);
    if (pointed && of.kind == FileRowKind::kLanes) pointed_ = of.rank;
    if (pointed && hit.clicked) clicked = place;
    const std::int64_t missing = of.missing;
    const std::string lost =
        missing > 0 ? fmt::format("{} events of it are not in the file", count_text(static_cast<double>(missing))) : "";
    if (missing > 0 && row.height() >= ui.px(6)) gap_mark(ui, row, missing);
    const bool is_short = of.title != label || ui.text_width(label, Face::kSmall) > row.width() - ui.px(34);
    if (pointed && (!each || missing > 0 || is_short))
      ui.tooltip(missing > 0 ? fmt::format("{}: {}", of.title, lost) : of.title);
    const bool tall = next - i > 1 && row.height() >= ui.px(kLabelHeight);
    if (!selected && !tall && (i % static_cast<std::size_t>(step) != 0 || !(step == 1 || far_from_chosen(i)))) continue;
    if (row.top + ui.px(kLabelHeight) > clip.bottom + ui.px(4)) continue;
    draw_label(ui, band, of, {row.left, row.top, row.right, row.top + std::max(row.height(), ui.px(kLabelHeight))},
               selected);
  }
  if (!clicked) return;
  take_row(session, band, *clicked);
  ui.again();
}

void FileTime::draw_dimmed(Ui& ui, const Band& band) const {
  if (!pointed_) return;
  const auto cover = [&](std::size_t first, std::size_t last) {
    if (first >= last) return;
    const Rect rect{time_.axis.left(), band.top + static_cast<float>(first) * band.row_height,
                    time_.axis.left() + time_.axis.width(), band.top + static_cast<float>(last) * band.row_height};
    ui.fill(rect, ui.color(Token::kSurface, kDimmed));
    ui.mark(fmt::format("dim {} to {}", first, last - 1), rect);
  };
  const auto at = std::ranges::find_if(band.rows, [&](int row) {
    const FileRow& of = band.times->rows[static_cast<std::size_t>(row)];
    return of.kind == FileRowKind::kLanes && of.rank == *pointed_;
  });
  const auto lit = static_cast<std::size_t>(at - band.rows.begin());
  cover(0, lit);
  cover(lit + 1, band.rows.size());
}

void FileTime::draw_event_pixels(Ui& ui, Band& band, const Rect& place, int first, int last) {
  const int columns = std::max(1, static_cast<int>(std::lround(place.width())));
  const double zero = static_cast<double>(band.times->zero_ns);
  const auto width = static_cast<std::size_t>(columns);
  StripPixels& pixels = band.picture.pixels();
  pixels.covered.assign(width, 1);
  pixels.cells.resize(static_cast<std::size_t>(last - first) * width);
  for (int r = first; r < last; ++r) {
    const auto row = static_cast<std::size_t>(band.rows[static_cast<std::size_t>(r)]);
    fold_row(band.events->rows[row], time_.axis.begin_ns() + zero, time_.axis.end_ns() + zero,
             std::span(pixels.cells).subspan(static_cast<std::size_t>(r - first) * width, width));
  }
  band.picture.draw(ui, place, last - first);
}

void FileTime::draw_events(Ui& ui, Session& session, const Band& band, const Rect& place, int first, int last) {
  const TimeAxis& axis = time_.axis;
  const double zero = static_cast<double>(band.times->zero_ns);
  const Place chosen = selected(session);
  for (int r = first; r < last; ++r) {
    const auto index = static_cast<std::size_t>(band.rows[static_cast<std::size_t>(r)]);
    const float top = place.top + static_cast<float>(r - first) * band.row_height + 1;
    const std::vector<TimeSpan>& row = band.events->rows[index];
    auto span = std::ranges::lower_bound(row, axis.begin_ns() + zero, {},
                                         [](const TimeSpan& s) { return static_cast<double>(s.end_ns); });
    for (; span != row.end() && static_cast<double>(span->begin_ns) < axis.end_ns() + zero; ++span) {
      const float left = std::max(place.left, axis.x(static_cast<double>(span->begin_ns) - zero));
      const float right = std::min(place.right, std::max(left + 1, axis.x(static_cast<double>(span->end_ns) - zero)));
      const Rect rect{left, top, right - (right - left > ui.px(4) ? 1.F : 0.F), top + band.row_height - 2};
      draw_event(ui, band, session.selection(), *span, rect);
      if (chosen.band == &band && chosen.event == span->op && span->hidden == 0)
        ui.outline(rect, ui.color(Token::kInk), 0, ui.px(2));
    }
  }
}

void FileTime::draw_event(Ui& ui, const Band& band, const Selection& selection, const TimeSpan& span,
                          const Rect& rect) const {
  const auto part = static_cast<std::size_t>(span.part);
  const RowEvent& event = band.events->events[static_cast<std::size_t>(span.op)];
  const std::string more = span.hidden != 0 ? more_words(*band.events, span) : "";
  const std::string& name = span.hidden != 0 ? more : band.events->name(event);
  draw_time(ui, rect, part, (event.span.flags & kEventModelled) != 0 && rect.height() >= ui.px(8));
  // Not where something else takes over meanwhile.
  if (event.span.end_ns == kNeverEnded && span.end_ns >= band.times->end_ns) tear(ui, rect);
  // Several: a second edge below the first.
  if (span.hidden != 0 && rect.height() >= ui.px(8))
    ui.fill({rect.left, rect.bottom - ui.px(3), rect.right, rect.bottom - ui.px(2)}, ui.color(Token::kSurface));
  if (!selection.name.empty() && name == selection.name && !selection.op)
    ui.outline(rect, ui.color(Token::kInk, 0.75F), 0, ui.px(1));
  if (rect.width() >= ui.px(24) && rect.height() >= ui.px(13)) {
    const bool wait = is_wait(span.part);
    const Rgb back = ui.theme().color(wait ? Token::kSurface : part_token(part));
    ui.text_at(
        rect.left + ui.px(4), rect.top + (rect.height() - ui.line_height(Face::kSmall)) / 2 + ui.px(2),
        span.part == TimePart::kLatePeer ? "wait: " + name
        : wait                           ? "queued: " + name
                                         : name,
        {.face = Face::kSmall, .ink = wait ? Token::kInk : on_part_token(part), .max_width = rect.width() - ui.px(7)},
        back);
  }
  ui.mark(fmt::format("rank {} op {} {}", event.rank, event.span.op_id, part), rect, name, false,
          ui.theme().color(part_edge_token(part)));
}

void FileTime::take_hover(Ui& ui, Session& session, Band& band, const Rect& place) {
  const ImVec2 mouse = ImGui::GetMousePos();
  if (!place.holds(mouse.x, mouse.y) || !ImGui::IsWindowHovered(ImGuiHoveredFlags_AllowWhenBlockedByActiveItem)) return;
  const auto at = static_cast<std::size_t>(std::max(0.F, (mouse.y - band.top) / band.row_height));
  if (at >= band.rows.size()) return;
  const auto row = static_cast<std::size_t>(band.rows[at]);
  const double now = time_.axis.ns(mouse.x) + static_cast<double>(band.times->zero_ns);
  const bool clicked = ImGui::IsMouseReleased(ImGuiMouseButton_Left) && !time_.measuring() &&
                       ImGui::GetMouseDragDelta(ImGuiMouseButton_Left, 0).x == 0;
  const FileRow& of = band.times->rows[row];
  if (of.kind == FileRowKind::kCounter) return counter_tip(ui, band, of, now);
  if (of.kind == FileRowKind::kCounters || of.kind == FileRowKind::kGroup) {
    ui.tooltip(of.unit.empty() ? of.title : of.unit);
    if (!clicked) return;
    take_row(session, band, row);
    return ui.again();
  }
  if (!band.events) {
    if (clicked) select_rank(session, band, of.rank);
    ui.tooltip(fmt::format("{} at {}", band.times->rows[row - static_cast<std::size_t>(of.sub)].title,
                           moment(static_cast<std::int64_t>(time_.axis.ns(mouse.x)))));
    return;
  }
  const std::vector<TimeSpan>& spans = band.events->rows[row];
  const auto over =
      std::ranges::lower_bound(spans, now, {}, [](const TimeSpan& s) { return static_cast<double>(s.end_ns); });
  if (over == spans.end() || static_cast<double>(over->begin_ns) > now + time_.axis.ns_per_pixel()) return;
  if (over->hidden != 0) return hidden_tip(ui, band, band.events->hidden[static_cast<std::size_t>(over->hidden) - 1]);
  hovered_ = Place{&band, over->op};
  if (clicked) select_event(session, *hovered_);
}

void FileTime::event_tip(Ui& ui, const Place& place) const {
  const RowEvent& event = place.band->events->events[static_cast<std::size_t>(place.event)];
  const SpanEvent& span = event.span;
  const std::int64_t zero = place.band->times->zero_ns;
  const auto line = [&](const std::string& words) { ui.text(words, {.max_width = ui.px(460)}); };
  ui.tooltip([&] {
    ui.text(place.band->events->name(event), {.face = Face::kBold, .max_width = ui.px(460)});
    const std::string length = span.end_ns == kNeverEnded ? "did not end" : duration(span.end_ns - span.begin_ns);
    line(fmt::format("{}, {} from {}", place.band->times->place_of(event), length, moment(span.begin_ns - zero)));
    if (event.wait_begin_ns < event.wait_end_ns)
      line(fmt::format("{} {} from {}", waited_words(event), duration(event.wait_end_ns - event.wait_begin_ns),
                       moment(event.wait_begin_ns - zero)));
    if (span.op_id >= 0) line(fmt::format("op {}", span.op_id));
    std::string facts;
    for (const EventFact& known : event_facts(event, place.band->events->detail(event)))
      facts += fmt::format("{}{} {}", facts.empty() ? "" : ", ", known.name, known.value);
    if (!facts.empty()) ui.text(facts, {.max_width = ui.px(460), .wrap = true});
    if (const PassMark* pass = place.band->times->pass_of(event.run, span.begin_ns)) line(pass_words(*pass));
  });
}

void FileTime::hidden_tip(Ui& ui, const Band& band, const std::vector<OpId>& hidden) const {
  constexpr std::size_t kMostNamed = 8;
  ui.tooltip([&] {
    ui.text(fmt::format("{} events at once, which have no row of their own", hidden.size()), {.face = Face::kBold});
    for (std::size_t i = 0; i < std::min(hidden.size(), kMostNamed); ++i) {
      const RowEvent& event = band.events->events[static_cast<std::size_t>(hidden[i])];
      const std::string length =
          event.span.end_ns == kNeverEnded ? "did not end" : duration(event.span.end_ns - event.span.begin_ns);
      ui.text(fmt::format("{}, {} from {}", band.events->name(event), length,
                          moment(event.span.begin_ns - band.times->zero_ns)),
              {.max_width = ui.px(460)});
    }
    if (hidden.size() > kMostNamed) ui.text(fmt::format("and {} more", hidden.size() - kMostNamed));
  });
}

}  // namespace spscope::gui
