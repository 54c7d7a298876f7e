// What the timeline says in words and tables: the operation under the pointer, the selected one, statistics of names,
// the matrix of ranks and layer passes, bookmarks, and its numbers as JSON.
#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "backend/analysis/over_ranks.h"
#include "backend/base/number_text.h"
#include "backend/plan/op_bytes.h"
#include "backend/store/name_statistics.h"
#include "gui/views/document_view.h"
#include "gui/views/timeline/facts.h"
#include "gui/views/timeline/timeline_view.h"

namespace spscope::gui {
namespace {

// The tabs of a layer pass; that of durations is there while some are selected.
enum Tab : int { kNamesTab, kRanksTab, kRingStepsTab, kMatrixTab, kBookmarksTab, kDurationsTab };
// Messages of the selected operation: those of all-to-alls of 128 ranks.
constexpr int kMostListed = 256;
constexpr int kFileBookmarksTab = static_cast<int>(FileTime::Tab::kRingSteps) + 1;

}  // namespace

void TimelineView::op_tip(Ui& ui, const Shown& shown, OpId id) {
  const Plan& plan = *shown.band->pass->plan;
  const Op& op = plan.ops[static_cast<std::size_t>(id)];
  const OpTimes& t = shown.band->times(id);
  const auto line = [&](const std::string& words) { ui.text(words, {.max_width = ui.px(460)}); };
  const bool has_times = has_ghost(shown) && ghost_->answer != nullptr && !ghost_->shown.reads;
  ui.tooltip([&] {
    ui.text(shown.band->name(id), {.face = Face::kBold, .max_width = ui.px(460)});
    if (shown.ghost && has_times) line("modelled: " + time_edit_text(ghost_->answer->edit));
    line(fmt::format("rank {}, {} from {}", op.rank, duration(t.end_ns - t.begin_ns), duration(t.begin_ns)));
    if (t.begin_ns > t.post_ns)
      line(fmt::format("waited {} from {}", duration(t.begin_ns - t.post_ns), duration(t.post_ns)));
    if (op.tiles > 0)
      line(
          fmt::format("{} tiles, ring step {}", count_text(static_cast<double>(op.tiles)), plan.post_of(op).ring_step));
    const OpBytes bytes = op_bytes(plan, op);
    if (bytes.sent + bytes.received > 0)
      line(fmt::format("sends {}, receives {}{}", bytes_text(static_cast<double>(bytes.sent)),
                       bytes_text(static_cast<double>(bytes.received)),
                       bytes.peer >= 0 ? fmt::format(", peer rank {}", bytes.peer) : ""));
    if (const OpId late = shown.band->late_partner(id); late != kNone)
      line(fmt::format("rank {} came last", plan.ops[static_cast<std::size_t>(late)].rank));
    if (!has_times) return;
    line(shown.ghost ? "as it was: " + ghost_words(id, true)
                     : fmt::format("{}: {}, modelled", time_edit_text(ghost_->answer->edit), ghost_words(id, false)));
  });
}

void TimelineView::op_details(Ui& ui, Session& session, const Shown& shown, OpId id) {
  const Band& band = *shown.band;
  const Plan& plan = *band.pass->plan;
  const Op& op = plan.ops[static_cast<std::size_t>(id)];
  const OpTimes& t = band.times(id);
  ui.text(band.name(id), {.face = Face::kBold, .wrap = true});
  ui.text(fmt::format("{}, rank {}, op {}", shown.chosen.label, op.rank, id), {.ink = Token::kMuted});
  ui.space(4);
  fact(ui, "begin", duration(t.begin_ns));
  fact(ui, "end", duration(t.end_ns));
  fact(ui, "duration", duration(t.end_ns - t.begin_ns));
  if (t.begin_ns > t.post_ns) fact(ui, "waited before", duration(t.begin_ns - t.post_ns));
  fact(ui, "slack", duration(band.slack_ns[static_cast<std::size_t>(id)]));
  const bool on_path = std::ranges::any_of(
      band.path.steps, [&](const PathStep& s) { return s.op == id && s.share != PathShare::kIdle; });
  fact(ui, "critical path", on_path ? "yes" : "no");
  if (op.tiles > 0) {
    fact(ui, "tiles", count_text(static_cast<double>(op.tiles)));
    fact(ui, "ring step", fmt::format("{}", plan.post_of(op).ring_step));
  }
  if (op.flops > 0) fact(ui, "GFLOP", count_text(std::round(static_cast<double>(op.flops) * 1e-9)));
  const OpBytes bytes = op_bytes(plan, op);
  if (bytes.sent > 0) fact(ui, "sends", bytes_text(static_cast<double>(bytes.sent)));
  if (bytes.received > 0) fact(ui, "receives", bytes_text(static_cast<double>(bytes.received)));
  if (has_ghost(shown) && ghost_->answer != nullptr && !ghost_->shown.reads) {
    const OpTimes& edited = ghost_->answer->band->times(id);
    ui.space(4);
    ui.text("modelled: " + time_edit_text(ghost_->answer->edit),
            {.face = Face::kBold, .ink = Token::kMuted, .wrap = true});
    fact(ui, "begin", duration(edited.begin_ns));
    fact(ui, "end", duration(edited.end_ns));
    fact(ui, "duration", duration(edited.end_ns - edited.begin_ns));
    if (edited.begin_ns > edited.post_ns) fact(ui, "waited before", duration(edited.begin_ns - edited.post_ns));
  }
  ui.space(4);
  if (const OpId late = band.late_partner(id); late != kNone) {
    const int rank = plan.ops[static_cast<std::size_t>(late)].rank;
    ui.text(fmt::format("It waited {} for rank {}, the last of its partners to arrive.",
                        duration(t.begin_ns - t.post_ns), rank),
            {.wrap = true});
    if (ui.button("go to late rank", fmt::format("Go to rank {}", rank))) select_op(session, shown, late);
    if (ui.button("why", fmt::format("Why is rank {} late? Its heads", rank), {.primary = true})) {
      Selection s = session.selection();
      s.strategy = shown.chosen.key;
      s.rank = rank;
      session.select(s);
      show_heads(session);
    }
  }
  int listed = 0;
  for (const MessageId m : plan.messages_of(op)) {
    const Message& message = plan.messages[static_cast<std::size_t>(m)];
    if (message.src == message.dst) continue;
    if (listed++ == 0) ui.text("Messages", {.face = Face::kBold, .ink = Token::kMuted});
    if (listed > kMostListed) continue;
    const int other = message.src == op.rank ? message.dst : message.src;
    const OpId twin = band.op_of(op.post, other);
    const std::string words = fmt::format("{} rank {}: {}", message.src == op.rank ? "to" : "from", other,
                                          bytes_text(static_cast<double>(message.bytes)));
    if (ui.link(fmt::format("message {}", m), words) && twin != kNone) select_op(session, shown, twin);
  }
  if (listed > kMostListed) ui.note(fmt::format("and {} more", listed - kMostListed));
}

void TimelineView::rank_details(Ui& ui, Session& session, const Shown& shown, int rank) {
  const PassData& pass = *shown.band->pass;
  const auto r = static_cast<std::size_t>(rank);
  if (r >= pass.times.compute_ns.size()) return;
  ui.text(fmt::format("rank {} of {}", rank, shown.chosen.label), {.face = Face::kBold, .wrap = true});
  ui.text(fmt::format("In layer {} of denoise step {} alone:", pass.run.layer, pass.run.denoise_step),
          {.face = Face::kSmall, .ink = Token::kMuted, .wrap = true});
  fact(ui, "compute", duration(pass.times.compute_ns[r]));
  fact(ui, "over the mean", percent_text(above_mean(pass.times.compute_ns, r)));
  fact(ui, "late peer", duration(pass.times.wait_late_peer_ns[r]));
  fact(ui, "wire", duration(pass.times.wire_ns[r]));
  fact(ui, "other", duration(pass.times.other_ns[r]));
  if (r < pass.usage.size()) fact(ui, "tiles", count_text(pass.usage[r].tiles));
  ui.space(4);
  std::int64_t for_it = 0;
  for (const RankWait& wait : pass.detail.waits) for_it += wait.late_rank == rank ? wait.wait_ns : 0;
  if (for_it > 0) ui.text(fmt::format("The other ranks together wait {} for it:", duration(for_it)), {.wrap = true});
  int listed = 0;
  for (const RankWait& wait : pass.detail.waits) {
    if (wait.late_rank != rank || listed++ >= 8) continue;
    if (ui.link(fmt::format("wait {}", listed),
                fmt::format("rank {}: {} in {}", wait.rank, duration(wait.wait_ns), wait.collective))) {
      Selection s = session.selection();
      s.rank = wait.rank;
      session.select(s);
    }
  }
  if (ui.button("heads", "Why? Its heads", {.primary = true})) show_heads(session);
}

void TimelineView::draw_histogram(Ui& ui, Session& session, const Shown& shown, const std::string& name) {
  const auto bands = names_of_bands(session);
  if (bands == nullptr) return;
  const auto of_band = std::ranges::find(*bands, shown.band, &NamesOfBand::band);
  const auto found = std::ranges::lower_bound(shown.band->names, name);
  if (of_band == bands->end() || found == shown.band->names.end() || *found != name) return;
  const DurationStatistics& s = of_band->by_name[static_cast<std::size_t>(found - shown.band->names.begin())];
  if (s.count == 0) return;
  const Rect bins = draw_statistics(ui, name, s);
  if (!brush_.over(ui, bins, s, *shown.band, key_of(shown), name, session.selection().time)) return;
  tab_ = kDurationsTab;
  session.settings().table = true;
}

void TimelineView::draw_details(Ui& ui, Session& session) {
  if (session.scope().whole_file) return file_.draw_details(ui, session);
  Selection s = session.selection();
  // What is selected of a strategy without a band cannot be told.
  const bool is_shown =
      !s.strategy || std::ranges::any_of(shown_, [&](const Shown& one) { return one.chosen.key == *s.strategy; });
  if (!is_shown) s = {};
  const Shown* shown = shown_of(s);
  if (shown == nullptr) {
    const bool loading =
        std::ranges::any_of(shown_, [](const Shown& one) { return one.band == nullptr && one.problem.empty(); });
    ui.note(loading ? "The timeline is being read." : "The file keeps no timeline of what is selected.");
    return;
  }
  const auto ops = shown->band->name_of.size();
  if (s.op && static_cast<std::size_t>(*s.op) < ops) {
    op_details(ui, session, *shown, *s.op);
  } else if (s.rank && s.strategy) {
    rank_details(ui, session, *shown, *s.rank);
  } else {
    ui.note(
        "Select a rank or an operation. The line at the foot of the rows is the critical path, the chain of "
        "operations that sets the makespan.");
    const RunProvenance& from = shown->band->pass->run.provenance;
    const bool compute = from.compute == Source::kModelled, network = from.network == Source::kModelled;
    StackedBars legend;
    legend.parts = {{"compute", "", compute}, {"late peer", "", network}, {"wire", "", network}};
    draw_legend(ui, legend);
    ui.space(4);
    fact(ui, "compute", duration(shown->band->path_ns(PathShare::kCompute)));
    fact(ui, "transfers", duration(shown->band->path_ns(PathShare::kWire)));
    fact(ui, "gaps", duration(shown->band->path_ns(PathShare::kIdle)));
    ui.text("on the critical path of " + shown->chosen.label, {.face = Face::kSmall, .ink = Token::kMuted});
  }
  if (!s.name.empty()) {
    draw_histogram(ui, session, *shown, s.name);
  } else {
    brush_.clear();
  }
}

std::shared_ptr<const std::vector<NamesOfBand>> TimelineView::names_of_bands(Session& session) {
  const std::optional<TimeRange> range = session.selection().time;
  std::string key = range ? fmt::format("{} {}", range->begin_ns, range->end_ns) : "whole";
  std::vector<NamesOfBand> bands;
  for (const Shown& shown : shown_) {
    if (shown.band == nullptr) continue;
    key += "\n" + shown.band->pass->key + "\n" + name_of(shown.chosen.key) + "\n" + shown.chosen.label;
    bands.push_back({shown.chosen.key, shown.chosen.label, shown.band, {}});
  }
  names_.ask(session.workers(), std::move(key),
             [bands = std::move(bands), range](Readers&, const Cancelled& cancelled, QueryProgress&) {
               std::vector<NamesOfBand> found = bands;
               for (NamesOfBand& one : found) one.by_name = statistics_by_name(*one.band, range, cancelled);
               return found;
             });
  return names_.share();
}

Table TimelineView::bookmarks_table() const {
  Table table;
  table.columns = {text_column("bookmark"), text_column("from"), text_column("to")};
  for (const Link& link : bookmarks_)
    table.rows.push_back({{text_cell(link_text(link)), text_cell(duration(link.selection.time->begin_ns)),
                           text_cell(duration(link.selection.time->end_ns))}});
  return table;
}

void TimelineView::list_names(const std::shared_ptr<const std::vector<NamesOfBand>>& bands) {
  if (bands == listed_.bands && find_ == listed_.find) return;
  listed_ = {.bands = bands, .find = find_, .table = statistics_table("event"), .keys = {}};
  listed_.table.columns.insert(listed_.table.columns.begin() + 1, text_column("strategy"));
  for (const NamesOfBand& one : *bands)
    for (std::size_t n = 0; n < one.by_name.size(); ++n) {
      const std::string& name = one.band->names[n];
      if (one.by_name[n].count == 0 || name.find(find_) == std::string::npos) continue;
      Row row = statistics_row(name, one.by_name[n]);
      row.cells.insert(row.cells.begin() + 1, text_cell(one.label));
      listed_.table.rows.push_back(std::move(row));
      listed_.keys.push_back(one.key);
    }
}

void TimelineView::draw_statistics_of_names(Ui& ui, Session& session) {
  const auto bands = names_of_bands(session);
  draw_loading(ui, "counting", names_, "Adding up all events");
  if (bands == nullptr) return;
  list_names(bands);
  const TableHit hit = show_table(ui, "events", listed_.table, statistics_);
  if (!hit.clicked) return;
  const auto row = static_cast<std::size_t>(*hit.clicked);
  Selection s = session.selection();
  s.name = listed_.table.rows[row].cells[0].text;
  s.op.reset();
  s.strategy = listed_.keys[row];
  session.select(s);
}

// The events of the selected name by rank, or by ring step.
void TimelineView::draw_groups(Ui& ui, Session& session, bool by_rank) {
  const Selection& selection = session.selection();
  const Shown* shown = shown_of(selection);
  if (shown == nullptr || selection.name.empty()) return ui.note("Select a name under Events by name.");
  const auto name = std::ranges::lower_bound(shown->band->names, selection.name);
  if (name == shown->band->names.end() || *name != selection.name)
    return ui.note(fmt::format("{} has no events of this name in the layer pass.", shown->chosen.label));
  const std::optional<TimeRange> range = selection.time;
  groups_.ask(session.workers(),
              fmt::format("{}\n{}\n{} {}", shown->band->pass->key, selection.name, by_rank,
                          range ? fmt::format("{} {}", range->begin_ns, range->end_ns) : ""),
              [band = shown->band, number = static_cast<int>(name - shown->band->names.begin()), range, by_rank](
                  Readers&, const Cancelled& cancelled, QueryProgress&) {
                const Plan& plan = *band->pass->plan;
                const auto group = [&](const Op& op) { return by_rank ? op.rank : plan.post_of(op).ring_step; };
                return statistics_by_group(*band, number, range, group, cancelled);
              });
  // Those of another name or group would be told as those of this one.
  if (!groups_.current()) return draw_loading(ui, "counting", groups_, "Adding up all events");
  Table table = statistics_table(by_rank ? "rank" : "ring step");
  std::vector<int> keys;
  for (const auto& [key, s] : *groups_.value()) {
    table.rows.push_back(statistics_row(fmt::format("{} {}", by_rank ? "rank" : "ring step", key), s));
    keys.push_back(key);
  }
  const TableHit hit = show_table(ui, by_rank ? "ranks" : "ring steps", table, by_rank ? by_rank_ : by_ring_step_);
  if (!hit.clicked || !by_rank) return;
  Selection s = selection;
  s.strategy = shown->chosen.key;
  s.rank = keys[static_cast<std::size_t>(*hit.clicked)];
  s.op.reset();
  session.select(s);
}

void TimelineView::bookmark(Session& session) {
  const TimeAxis& axis = session.scope().whole_file ? file_.axis() : time_.axis;
  Link link = session.here();
  link.selection.time = TimeRange{std::llround(axis.begin_ns()), std::llround(axis.end_ns())};
  bookmarks_.push_back(std::move(link));
  tab_ = kBookmarksTab;
  file_tab_ = kFileBookmarksTab;
}

void TimelineView::draw_bookmarks(Ui& ui, Session& session) {
  if (bookmarks_.empty())
    return ui.note(key_tip(ui, "No bookmarks. One keeps the place that is on the screen", Command::kBookmark) + ".");
  const TableHit hit = show_table(ui, "bookmarks", bookmarks_table(), bookmarks_state_);
  if (!hit.clicked) return;
  const Link link = bookmarks_[static_cast<std::size_t>(*hit.clicked)];
  session.go(link);
  TimeAxis& axis = link.scope.whole_file ? file_.axis() : time_.axis;
  axis.show(static_cast<double>(link.selection.time->begin_ns), static_cast<double>(link.selection.time->end_ns));
}

void TimelineView::draw_durations(Ui& ui, Session& session) {
  const auto op = brush_.draw_table(ui);
  const Shown* shown = shown_of(session.selection());
  if (op && shown != nullptr) select_op(session, *shown, *op);
}

void TimelineView::draw_table(Ui& ui, Session& session) {
  static const std::vector<std::string> kTabs = {"Events by name", "By rank", "By ring step", "Ranks and layer passes",
                                                 "Bookmarks"};
  static const std::vector<std::string> kFileTabs = {"Events by name", "By rank",      "By layer pass", "By layer",
                                                     "By step",        "By ring step", "Bookmarks"};
  const bool whole_file = session.scope().whole_file;
  std::vector<std::string> tabs = whole_file ? kFileTabs : kTabs;
  if (!whole_file && brush_.active()) tabs.emplace_back("Selected durations");
  if (!whole_file) tab_ = std::min(tab_, static_cast<int>(tabs.size()) - 1);
  bool& unfolded = session.settings().table;
  // Folded, each tab unfolds the table.
  const auto choose = [&](int now) {
    int chosen = unfolded ? now : -1;
    unfolded |= ui.segments("tab", tabs, chosen);
    return chosen < 0 ? now : chosen;
  };
  if (whole_file && session.chosen().empty()) {  // no file has layer passes
    tabs = {kFileTabs[0], kFileTabs[1], kFileTabs.back()};
    const int shown = choose(file_tab_ == kFileBookmarksTab ? 2 : std::min(file_tab_, 1));
    file_tab_ = shown == 2 ? kFileBookmarksTab : shown;
  } else {
    int& tab = whole_file ? file_tab_ : tab_;
    tab = choose(tab);
  }
  if (!unfolded) return;
  flow(ui, 60);
  if (ui.button("fold", "Hide", {.quiet = true, .tooltip = key_tip(ui, "Only the names of tables", Command::kTable)}))
    unfolded = false;
  if (session.selection().time && (whole_file ? file_tab_ < kFileBookmarksTab : tab_ < kMatrixTab)) {
    flow(ui, 260);
    const TimeRange range = *session.selection().time;
    ui.text(fmt::format("from {} to {}", duration(range.begin_ns), duration(range.end_ns)),
            {.face = Face::kSmall, .ink = Token::kMuted, .beside = true});
    ui.same_line();
    if (ui.button("whole", whole_file ? "Whole file" : "Whole pass", {.quiet = true})) {
      Selection s = session.selection();
      s.time.reset();
      session.select(s);
    }
  }
  if (whole_file ? file_tab_ == kFileBookmarksTab : tab_ == kBookmarksTab) return draw_bookmarks(ui, session);
  if (whole_file) return file_.draw_table(ui, session, static_cast<FileTime::Tab>(file_tab_));
  if (tab_ == kNamesTab) return draw_statistics_of_names(ui, session);
  if (tab_ == kRanksTab || tab_ == kRingStepsTab) return draw_groups(ui, session, tab_ == kRanksTab);
  if (tab_ == kDurationsTab) return draw_durations(ui, session);
  if (const Shown* shown = shown_of(session.selection())) matrix_.draw(ui, session, shown->chosen);
}

Json TimelineView::dump_ranks(const Band& band) {
  Json ranks = Json::array();
  for (const BandRow& row : band.ranks) {
    std::int64_t sums[4] = {0, 0, 0, 0};
    for (const TimeSpan& span : row.spans) sums[static_cast<int>(span.part)] += span.end_ns - span.begin_ns;
    Json one = Json::object();
    one["rank"] = row.rank;
    one["compute_ns"] = sums[0];
    one["wait_late_peer_ns"] = sums[1];
    one["wire_ns"] = sums[2];
    one["spans"] = static_cast<std::int64_t>(row.spans.size());
    ranks.push_back(std::move(one));
  }
  return ranks;
}

Json TimelineView::dump(Session& session) {
  if (session.scope().whole_file) return file_.dump(session);
  Json json = Json::object();
  json["begin_ns"] = time_.axis.begin_ns();
  json["end_ns"] = time_.axis.end_ns();
  if (const auto pass = session.pass()) {
    json["layer"] = pass->layer;
    json["denoise_step"] = pass->step;
  }
  if (pointed_) json["pointed_rank"] = *pointed_;
  if (brush_.active()) json["brush"] = brush_.dump();
  json["bands"] = Json::array();
  for (const Shown& shown : shown_) {
    Json band = Json::object();
    band["strategy"] = shown.chosen.key.id;
    band["problem"] = shown.problem;
    if (shown.band != nullptr) {
      band["makespan_ns"] = shown.band->makespan_ns;
      band["zero_ns"] = shown.band->pass->zero_ns;  // on the clock of `spscope explain`
      band["begin_ns"] = shown.band->begin_ns;
      band["end_ns"] = shown.band->end_ns;
      band["ranks"] = dump_ranks(*shown.band);
      if (has_ghost(shown) && ghost_->answer != nullptr && !ghost_->shown.reads)
        band["ghost"] = dump_ghost(session.selection());
      band["critical_path"] = Json::array();
      for (const PathStep& step : shown.band->path.steps) {
        Json one = Json::object();
        one["op"] = step.op;
        one["rank"] = step.rank;
        one["share"] = path_share_name(step.share);
        one["begin_ns"] = step.begin_ns;
        one["end_ns"] = step.end_ns;
        band["critical_path"].push_back(std::move(one));
      }
      band["waits"] = Json::array();
      for (const RankWait& wait : shown.band->pass->detail.waits)
        band["waits"].push_back({{"rank", wait.rank},
                                 {"late_rank", wait.late_rank},
                                 {"collective", wait.collective},
                                 {"wait_ns", wait.wait_ns}});
      const Selection& s = session.selection();
      if (s.strategy == shown.chosen.key && s.op && static_cast<std::size_t>(*s.op) < shown.band->name_of.size()) {
        Json op = Json::object();
        op["op"] = *s.op;
        op["name"] = shown.band->name(*s.op);
        op["slack_ns"] = shown.band->slack_ns[static_cast<std::size_t>(*s.op)];
        const OpId late = shown.band->late_partner(*s.op);
        if (late != kNone) op["late_rank"] = shown.band->pass->plan->ops[static_cast<std::size_t>(late)].rank;
        op["arrows"] = Json::array();
        for (const Arrow& arrow : arrows(shown, s))
          op["arrows"].push_back({{"from_rank", arrow.from_rank},
                                  {"to_rank", arrow.to_rank},
                                  {"from_ns", arrow.from_ns},
                                  {"to_ns", arrow.to_ns},
                                  {"to_late", arrow.to_late}});
        band["selected"] = std::move(op);
      }
    }
    json["bands"].push_back(std::move(band));
  }
  return json;
}

}  // namespace spscope::gui
