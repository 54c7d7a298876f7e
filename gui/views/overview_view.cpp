// Overview: who wins, by how much and how sure, and what holds the others back: the sentences of the report, the
// table of strategies, and where their time goes.
#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "backend/analysis/judgement.h"
#include "backend/analysis/mode_group.h"
#include "backend/base/number_text.h"
#include "backend/report/conclusion.h"
#include "backend/report/headline.h"
#include "backend/report/json_result.h"
#include "backend/report/observed_part.h"
#include "backend/report/section.h"
#include "gui/ui/table_view.h"
#include "gui/views/document_view.h"
#include "gui/views/timeline/facts.h"
#include "gui/views/view.h"

namespace spscope::gui {
namespace {

class OverviewView final : public View {
 public:
  void draw(Ui& ui, Session& session) override {
    for (std::size_t f = 0; f < session.files().size(); ++f) {
      if (!session.in_scope(static_cast<int>(f))) continue;
      const FileContent* content = session.files()[f]->content();
      const Ui::Scope inside = ui.scope(fmt::format("file {}", f));
      if (content == nullptr) {
        draw_makespans(ui, *session.files()[f]);
        continue;
      }
      for (std::size_t w = 0; w < content->comparisons.size(); ++w) {
        const Ui::Scope workload = ui.scope(fmt::format("workload {}", w));
        draw_comparison(ui, session, static_cast<int>(f), content->comparisons[w]);
        ui.space(14);
      }
      for (const Observation& o : content->observed) draw_observed(ui, session, *session.files()[f], o);
    }
  }

  void draw_early(Ui& ui, Session& session) override {
    for (std::size_t f = 0; f < session.files().size(); ++f) {
      if (!session.in_scope(static_cast<int>(f))) continue;
      const Ui::Scope inside = ui.scope(fmt::format("file {}", f));
      draw_makespans(ui, *session.files()[f]);
    }
  }

  bool has_details(const Session& session) override { return session.selection().strategy.has_value(); }

  void draw_details(Ui& ui, Session& session) override {
    const auto& key = session.selection().strategy;
    const auto chosen = key ? session.find(*key) : std::nullopt;
    if (!chosen) return;
    ui.text(chosen->label, {.face = Face::kBold});
    const Judgement judgement = judgement_of(*chosen);
    if (const auto reason = judgement.reason(*chosen->strategy); reason && !judgement.ranked.empty()) {
      ui.text(reason_text(*reason, *chosen->strategy, *judgement.ranked.front()) + ".", {.wrap = true});
      ui.space(4);
      if (reason->late) {
        if (ui.button("why", fmt::format("Why is rank {} late?", reason->late->rank), {.primary = true}))
          show_late_rank(session, *chosen, reason->late->rank);
        ui.space(4);
      }
    }
    if (ui.button("timeline", "Timeline of its slowest pass")) show_pass(session, *chosen, "timeline");
    if (ui.button("heads", "Its heads")) show_pass(session, *chosen, "heads");
    ui.space(6);
    if (!chosen->strategy->parameters.values().empty()) {
      ui.text("Parameters", {.face = Face::kBold, .ink = Token::kMuted});
      for (const auto& [name, value] : chosen->strategy->parameters.values())
        ui.text(fmt::format("{} = {}", name, to_text(value)), {.face = Face::kMono});
    }
  }

  // What `report --json` says, of each comparison.
  Json dump(Session& session) override {
    Json list = Json::array();
    for (const auto& file : session.files()) {
      if (const auto* early = file->early()) list.push_back(makespans_json(*early));
      if (const FileContent* content = file->content())
        for (const Comparison& c : content->comparisons) {
          Json one = Json::object();
          Json sentences = Json::array();
          for (const ModeGroup& group : by_mode(c))
            for (const Sentence& sentence : conclusions(group)) sentences.push_back(sentence.text);
          one["conclusions"] = std::move(sentences);
          one["result"] = result_json(c);
          list.push_back(std::move(one));
        }
    }
    return list;
  }

 private:
  static Json makespans_json(const std::vector<StrategyMakespan>& makespans) {
    Json strategies = Json::array();
    for (const StrategyMakespan& s : makespans) {
      Json one = Json::object();
      one["id"] = s.id;
      one["layer_passes"] = s.layer_passes;
      one["makespan_ns"] = s.makespan_ns ? Json(*s.makespan_ns) : Json();
      strategies.push_back(std::move(one));
    }
    Json json = Json::object();
    json["makespans"] = std::move(strategies);
    return json;
  }

  // Of a file that is still read: what it tells at once, a table for each workload.
  void draw_makespans(Ui& ui, const OpenFile& file) {
    const std::vector<StrategyMakespan>* makespans = file.early();
    if (makespans == nullptr) return;
    std::map<WorkloadId, Table> tables;
    for (const StrategyMakespan& s : *makespans) {
      Table& table = tables[s.workload_id];
      if (table.columns.empty())
        table.columns = {text_column("strategy"), number_column("makespan", "makespan", 0),
                         number_column("layer passes", "", 0), number_column("slowest pass", "", 0),
                         text_column("it is")};
      const auto& slowest = s.slowest;
      table.rows.push_back(
          {.cells = {text_cell(s.label), duration_cell(s.makespan_ns),
                     cell(Hint::kCount, static_cast<double>(s.layer_passes)),
                     duration_cell(slowest ? std::optional(slowest->makespan_ns) : std::nullopt),
                     text_cell(slowest ? fmt::format("layer {}, step {}", slowest->layer, slowest->denoise_step) : "")},
           .of = {.strategy = s.id}});
    }
    ui.text("Makespans", {.face = Face::kTitle});
    for (const auto& [workload, table] : tables) {
      const std::string name = fmt::format("makespans {}", static_cast<std::int64_t>(workload));
      show_table(ui, name, table, early_[file.path + name], {.tools = Tools::kFolded, .height = -1});
    }
    ui.note("Once the whole file is read you see why they differ and how far to trust it.");
  }

  // A program that nobody planned: how long it ran, what was collected of it, and what of that was lost.
  void draw_observed(Ui& ui, Session& session, const OpenFile& file, const Observation& o) {
    const Ui::Scope inside = ui.scope("observed");
    const auto count = [](std::int64_t of) { return count_text(static_cast<double>(of)); };
    ui.text(o.run.short_command(), {.face = Face::kTitle, .wrap = true});
    ui.text(who_waits_text(o), {.wrap = true});
    ui.text("This program was observed. It has no strategies to compare, and all its times are measured.",
            {.ink = Token::kMuted, .wrap = true});
    ui.space(6);
    fact(ui, "program ran", o.run.finished ? duration(o.run.end_ns - o.run.begin_ns) : "until nobody saw it any more");
    if (o.last_event_ns > o.first_event_ns)
      fact(ui, "first to last event", duration(o.last_event_ns - o.first_event_ns));
    fact(ui, "ranks", o.ranks > 0 ? count(o.ranks) : "none");
    fact(ui, "events", count(o.recording.events_stored));
    fact(ui, "lost", lost_text(o));
    ui.space(6);
    if (ui.button("timeline", "Show its timeline", {.primary = true})) session.show("timeline");
    ui.same_line();
    if (ui.button("report", "Its report")) session.show("report");
    ui.space(10);
    for (const Block& block : collectors_section(o).blocks) {
      if (const auto* table = std::get_if<Table>(&block)) {
        ui.text("What collectors stored", {.face = Face::kTitle});
        show_table(ui, "collectors", *table, early_[file.path + " collectors"],
                   {.tools = Tools::kFolded, .height = -1});
      }
      if (const auto* note = std::get_if<Paragraph>(&block)) ui.note(note->text);
    }
    ui.space(14);
  }

  static Judgement judgement_of(const Chosen& chosen) {
    for (const ModeGroup& group : by_mode(*chosen.comparison))
      if (std::ranges::find(group.strategies, chosen.strategy) != group.strategies.end()) return judge(group);
    return {};
  }

  static void show_pass(Session& session, const Chosen& chosen, const std::string& view) {
    Link link = session.here();
    link.selection.strategy = chosen.key;
    if (const auto slowest = slowest_pass_of(*chosen.strategy)) {
      link.scope.layer = slowest->layer;
      link.scope.step = slowest->step;
    }
    link.view = view;
    session.go(link);
  }

  static void show_late_rank(Session& session, const Chosen& chosen, int rank) {
    Link link = session.here();
    keep_pass_of(session, *chosen.strategy, link.scope);
    link.selection.strategy = chosen.key;
    link.selection.rank = rank;
    link.selection.op.reset();
    link.view = "timeline";
    session.go(link);
  }

  void draw_comparison(Ui& ui, Session& session, int file, const Comparison& c) {
    ui.text(workload_line(c.workload, executes(c)), {.face = Face::kTitle});
    draw_hint(ui, session, c, ui.path());
    const Section section = make_section("summary", {.comparison = c});
    std::set<std::string> said;  // above the view
    for (const ModeGroup& group : by_mode(c))
      for (std::string& warning : timing_warnings(group)) said.insert(std::move(warning));
    // What wins, then the bars with the reasons beside them, then the table, and behind it what remains to be said.
    std::set<std::string> charted;
    for (const Block& block : section.blocks)
      if (const auto* chart = std::get_if<StackedBars>(&block))
        for (const StackedBars::Bar& bar : chart->bars) charted.insert(bar.of.strategy);
    std::vector<const Block*> first, tables, rest;
    std::map<std::string, const Paragraph*> reasons;  // by strategy
    for (const Block& block : section.blocks) {
      const auto* p = std::get_if<Paragraph>(&block);
      if (p != nullptr && said.contains(p->text)) continue;
      const bool begins_with_one =
          p != nullptr && p->tone == Tone::kReason && !p->mentions.empty() && p->mentions.front().begin == 0;
      if (begins_with_one && charted.contains(p->mentions.front().subject.strategy) &&
          reasons.emplace(p->mentions.front().subject.strategy, p).second)
        continue;
      const bool leads = p != nullptr && (p->tone == Tone::kConclusion || p->tone == Tone::kWarning);
      const bool is_chart = std::holds_alternative<StackedBars>(block);
      (leads || is_chart ? first : std::holds_alternative<Table>(block) ? tables : rest).push_back(&block);
    }
    int number = 0;
    for (const std::vector<const Block*>* blocks : {&first, &tables, &rest})
      for (const Block* block : *blocks) {
        const std::string name = fmt::format("block {}", number++);
        const auto* chart = std::get_if<StackedBars>(block);
        const auto subject = chart != nullptr ? draw_chart(ui, name, *chart, reasons) : blocks_.draw(ui, name, *block);
        if (!std::holds_alternative<Paragraph>(*block)) ui.space(4);
        if (subject) follow(session, file, *subject);
      }
  }

  static std::optional<Subject> draw_chart(Ui& ui, const std::string& name, const StackedBars& chart,
                                           const std::map<std::string, const Paragraph*>& reasons) {
    const Ui::Scope inside = ui.scope(name);
    std::vector<const Paragraph*> beside;
    for (const StackedBars::Bar& bar : chart.bars) {
      const auto reason = reasons.find(bar.of.strategy);
      beside.push_back(reason != reasons.end() ? reason->second : nullptr);
    }
    return draw_bars(ui, "chart", chart, beside);
  }

  // The next step for somebody who opened a file for the first time, until it was taken.
  void draw_hint(Ui& ui, Session& session, const Comparison& c, const std::string& place) {
    const bool taken = took_hint(session, "overview");
    if (taken && !hint_heights_.contains(place)) return;
    // Of the strategy that loses most by waiting.
    const StrategyResult* waits = nullptr;
    std::optional<Reason> why;
    for (const ModeGroup& group : by_mode(c)) {
      const Judgement judgement = judge(group);
      for (const StrategyResult* s : judgement.ranked)
        if (const auto reason = judgement.reason(*s);
            reason && reason->late && (!why || reason->removed_ns > why->removed_ns)) {
          waits = s;
          why = reason;
        }
    }
    if (waits == nullptr) return;
    const float top = ImGui::GetCursorPosY();
    if (taken) {
      // Its place is kept while the window is open: nothing moves under the pointer.
      ui.banner("hint", BannerTone::kNote,
                fmt::format("Seen: how {} waits for rank {}. Its heads say why.", waits->label, why->late->rank));
      ImGui::SetCursorPosY(std::max(ImGui::GetCursorPosY(), top + hint_heights_[place]));
      return;
    }
    const std::string words = fmt::format("Next: see how {} waits for rank {}.", waits->label, why->late->rank);
    const bool pressed = spscope::gui::draw_hint(ui, session, "overview", words, "Show me");
    hint_heights_[place] = ImGui::GetCursorPosY() - top;
    if (!pressed) return;
    for (const Chosen& chosen : session.all_strategies())
      if (chosen.strategy == waits) {
        show_late_rank(session, chosen, why->late->rank);
        return;
      }
  }

  DocumentView blocks_;
  std::map<std::string, TableState> early_;    // by file and table
  std::map<std::string, float> hint_heights_;  // of hints that this window has shown, by where they stand
};

}  // namespace

std::unique_ptr<View> make_overview_view() { return std::make_unique<OverviewView>(); }

}  // namespace spscope::gui
