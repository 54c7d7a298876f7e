// Balance: how evenly work is spread: the ratios with their definitions, time by rank, and a map of layer passes.
#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "backend/analysis/explanation.h"
#include "backend/analysis/reason.h"
#include "backend/base/number_text.h"
#include "backend/report/metrics.h"
#include "backend/report/section.h"
#include "gui/views/balance_map.h"
#include "gui/views/document_view.h"
#include "gui/views/view.h"

namespace spscope::gui {
namespace {

class BalanceView final : public View {
 public:
  void draw(Ui& ui, Session& session) override {
    const std::vector<Chosen> chosen = session.chosen();
    map_.draw(ui, session, chosen);
    ui.space(8);
    ask(session, chosen);
    draw_what_if(ui, session, chosen);
    ui.space(8);
    std::set<const Comparison*> done;
    int number = 0;
    for (const Chosen& c : chosen) {
      if (!done.insert(c.comparison).second) continue;
      const Ui::Scope inside = ui.scope(fmt::format("workload {}", number++));
      const Section section = make_section("balance", {.comparison = *c.comparison});
      int block_number = 0;
      for (const Block& block : section.blocks) {
        const auto subject = blocks_.draw(ui, fmt::format("block {}", block_number++), block);
        ui.space(4);
        if (subject && !subject->strategy.empty()) {
          Selection selection = session.selection();
          selection.strategy = StrategyKey{c.key.file, subject->strategy};
          selection.rank = subject->rank;
          selection.op.reset();
          session.select(selection);
        }
      }
    }
  }

  void draw_details(Ui& ui, Session& session) override {
    const Selection& s = session.selection();
    const auto chosen = s.strategy ? session.find(*s.strategy) : std::nullopt;
    if (chosen) {
      draw_straggler(ui, session, *chosen);
      draw_excess(ui, *chosen);
      ui.space(8);
    }
    ui.text("What the ratios mean", {.face = Face::kBold, .ink = Token::kMuted});
    for (const Definition& d : metrics()) {
      if (d.id.find("imbalance") == std::string::npos) continue;
      ui.text(d.title, {.face = Face::kBold});
      ui.text(d.meaning, {.wrap = true});
      ui.text("Not for: " + d.not_for, {.ink = Token::kMuted, .wrap = true});
    }
  }

  Json dump(Session& session) override {
    Json list = Json::array();
    for (const Chosen& c : session.chosen()) {
      Json one = Json::object();
      one["strategy"] = c.key.id;
      one["imbalance_ratio"] = optional_json(c.strategy->imbalance_ratio);
      one["barrier_imbalance_ratio"] = optional_json(c.strategy->barrier_imbalance_ratio);
      one["coupled_imbalance_ratio"] = optional_json(c.strategy->coupled_imbalance_ratio);
      one["planned_imbalance_ratio"] = optional_json(c.strategy->planned_imbalance_ratio);
      one["compute_ns"] = c.strategy->times.compute_ns;
      one["wait_late_peer_ns"] = c.strategy->times.wait_late_peer_ns;
      one["wire_ns"] = c.strategy->times.wire_ns;
      one["waited_for_ns"] = c.strategy->waited_for_ns;
      if (const StrategyExplanation* e = explanation_of(c)) {
        one["what_if"] = Json::array();
        for (const EditResult& r : e->edits) {
          Json edit = Json::object();
          edit["edit"] = time_edit_key(r.edit);
          edit["rank"] = r.edit.rank;
          edit["makespan_ns"] = r.makespan_ns;
          edit["change_ns"] = r.change_ns;
          one["what_if"].push_back(std::move(edit));
        }
        one["makespan_ns"] = e->makespan_ns;
        one["repeat"] = e->repeat;
        one["unchanged"] = unchanged_text(*e);
        one["stragglers"] = Json::array();
        for (const Straggler& x : e->stragglers) {
          Json straggler = Json::object();
          straggler["rank"] = x.rank;
          straggler["excess_ns"] = x.excess_ns;
          straggler["more_tiles_ns"] = x.more_tiles_ns;
          straggler["slower_tiles_ns"] = x.slower_tiles_ns;
          straggler["other_ns"] = x.other_ns;
          straggler["held_up_ns"] = x.held_up_ns;
          one["stragglers"].push_back(std::move(straggler));
        }
      }
      one["map"] = map_.dump(*c.strategy);
      list.push_back(std::move(one));
    }
    return list;
  }

 private:
  // Of each file of the chosen strategies, the layer pass that is looked at.
  void ask(Session& session, const std::vector<Chosen>& chosen) {
    explained_.clear();
    why_none_ = "The file keeps no timelines of this layer pass, so the model cannot schedule it again.";
    pass_ = session.pass();
    if (!pass_) return;
    for (const Chosen& c : chosen) {
      if (!has_run(*c.strategy, *pass_) || explained_.contains(c.key.file)) continue;
      if (Session::ExplanationSlot* slot = session.explanation(c))
        explained_[c.key.file] = slot;
      else
        why_none_ = "Schedules follow once the file has been read again.";
    }
  }

  // nullptr while the answer is that of another layer pass, and where there is none.
  const StrategyExplanation* explanation_of(const Chosen& chosen) {
    const auto slot = explained_.find(chosen.key.file);
    if (slot == explained_.end() || !slot->second->current()) return nullptr;
    return find_explained(*slot->second->value(), chosen.key.id);
  }

  // Of those that can be scheduled anew the selected strategy, else that of the schedule in the timeline, else the one
  // whose ranks wait longest, else the slowest.
  const Chosen* edited(const Session& session, const std::vector<Chosen>& chosen) {
    const Chosen* best = nullptr;
    std::optional<StrategyKey> meant = session.selection().strategy;
    if (!meant && session.scope().what_if) meant = session.scope().what_if->strategy;
    std::vector<Chosen> can;
    for (const Chosen& c : chosen) {
      const StrategyExplanation* e = explanation_of(c);
      if (e == nullptr || e->edits.empty()) continue;
      if (meant == c.key) return &c;
      can.push_back(c);
      if (best == nullptr || e->makespan_ns > explanation_of(*best)->makespan_ns) best = &c;
    }
    const Chosen* waits = waits_longest(can);
    return waits != nullptr ? &*std::ranges::find(chosen, waits->key, &Chosen::key) : best;
  }

  // What the layer pass would take if one thing were otherwise: ghosts beside the bar of what it takes. A click on one
  // draws its schedule.
  void draw_what_if(Ui& ui, Session& session, const std::vector<Chosen>& chosen) {
    const Ui::Scope inside = ui.scope("what if");
    if (!pass_) return;
    ui.heading("What if");
    bool loading = false;
    for (auto& [file, slot] : explained_) {
      const std::string number = fmt::format("{}", file);
      draw_loading(ui, "loading " + number, *slot, "Scheduling the layer pass again");
      if (const Error* error = slot->error()) draw_error(ui, "failed " + number, *error);
      loading |= slot->loading();
    }
    const Chosen* of = edited(session, chosen);
    if (of == nullptr) {
      if (!loading) ui.note(why_none_);
      return;
    }
    const StrategyExplanation& e = *explanation_of(*of);
    ui.text(fmt::format("The model schedules one layer pass of {} again with one thing changed: layer {}, denoise step "
                        "{}, {}. All these times are modelled. Click one to see its schedule in the timeline.",
                        of->label, pass_->layer, pass_->step,
                        session.scope().repeat ? fmt::format("repeat {}", e.repeat) : "median repeat"),
            {.face = Face::kSmall, .ink = Token::kMuted, .wrap = true});
    if (const std::string note = unchanged_text(e); !note.empty())
      ui.text(note, {.face = Face::kSmall, .ink = Token::kMuted, .wrap = true});
    double most = static_cast<double>(e.makespan_ns);
    for (const EditResult& r : e.edits) most = std::max(most, static_cast<double>(r.makespan_ns));
    const float label_width = std::min(ui.px(300), ui.width_left() * 0.4F), value_width = ui.px(190),
                height = ui.px(24);
    const float track = std::max(ui.px(60), ui.width_left() - label_width - value_width);
    // The one that is drawn in the timeline.
    const auto& shown = session.scope().what_if;
    std::optional<TimeEditKind> chosen_edit;
    // `change_ns`: against the ghost of nothing changed, for what is stored need not be one schedule of the model.
    const auto row = [&](const std::string& name, std::int64_t ns, std::optional<TimeEditKind> ghost,
                         std::int64_t change_ns) {
      const ImVec2 from = ImGui::GetCursorScreenPos();
      const Rect bar{from.x + label_width, from.y + ui.px(4),
                     from.x + label_width + static_cast<float>(static_cast<double>(ns) / most) * track,
                     from.y + height - ui.px(4)};
      std::optional<Rgb> behind;
      if (ghost) {
        const Rect whole{from.x, from.y, from.x + ui.width_left(), from.y + height};
        const bool selected = shown && shown->strategy == of->key && shown->edit == *ghost;
        const Hit hit = ui.target("show " + name, whole,
                                  {.kind = "row",
                                   .text = name,
                                   .tooltip = "Show this schedule in the timeline, below the pass as it was",
                                   .selected = selected});
        if (hit.clicked) chosen_edit = ghost;
        if (hit.hovered || selected) {
          const Token token = selected ? Token::kSelected : Token::kHover;
          ui.fill(whole, ui.color(token));
          behind = ui.theme().color(token);
        }
      }
      ui.text_at(from.x + ui.px(4), from.y + ui.px(4), name,
                 {.ink = ghost ? Token::kAccent : Token::kInk, .max_width = label_width - ui.px(12)}, behind);
      if (ghost) {
        ui.hatch(bar, ui.color(Token::kMuted, 0.7F));
        ui.outline(bar, ui.color(Token::kMuted), 0, ui.px(1));
      } else {
        ui.fill(bar, ui.color(Token::kEdge));
        if (e.provenance.network == Source::kModelled) ui.hatch(bar, ui.color(Token::kSurface, 0.28F));
      }
      ui.mark(name, bar, fmt::format("{}", ns));
      const std::string by = change_ns != 0 ? fmt::format(" ({}{})", change_ns < 0 ? "−" : "+",
                                                          duration_text(std::abs(static_cast<double>(change_ns))))
                                            : "";
      ui.text_at(from.x + ui.width_left() - value_width, from.y + ui.px(4), duration_text(static_cast<double>(ns)) + by,
                 {.face = Face::kMono, .max_width = value_width, .right = true}, behind);
      ImGui::SetCursorScreenPos(from);
      ImGui::Dummy({ui.width_left(), height});
    };
    row("as it is", e.makespan_ns, std::nullopt, 0);
    for (const EditResult& r : e.edits)
      if (r.edit.kind != TimeEditKind::kNone || r.makespan_ns != e.makespan_ns)
        row(r.edit.kind == TimeEditKind::kNone ? "scheduled again, nothing changed" : time_edit_text(r.edit),
            r.makespan_ns, r.edit.kind, r.change_ns);
    if (chosen_edit) show_ghost(session, {of->key, *chosen_edit});
  }

  // The timeline, with the schedule of an edit below the band of the strategy.
  static void show_ghost(Session& session, WhatIf what_if) {
    Link link = session.here();
    link.view = "timeline";
    link.scope.whole_file = false;
    if (link.selection.strategy != what_if.strategy) link.selection = {};
    link.selection.strategy = what_if.strategy;
    link.scope.what_if = std::move(what_if);
    session.go(link);
  }

  // Rank by rank, what makes it slow: more tiles, or slower ones.
  void draw_excess(Ui& ui, const Chosen& chosen) {
    const StrategyExplanation* e = explanation_of(chosen);
    if (e == nullptr || e->stragglers.empty()) return;
    ui.space(6);
    ui.text(fmt::format("Ranks that compute longer than the mean in layer {} of denoise step {}", pass_->layer,
                        pass_->step),
            {.face = Face::kSmall, .ink = Token::kMuted, .wrap = true});
    int listed = 0;
    for (const Straggler& s : e->stragglers) {
      if (listed++ >= 6) break;
      const auto ms = [](std::int64_t ns) { return duration_text(static_cast<double>(ns)); };
      ui.text(fmt::format("rank {}: +{}", s.rank, ms(s.excess_ns)), {.face = Face::kBold, .wrap = true});
      ui.text(excess_text(s), {.wrap = true});
      if (!s.heads.empty())
        ui.text(fmt::format("heads {}{}", s.heads,
                            s.density && s.mean_density
                                ? fmt::format(": density {}, of all heads {}", percent_text(*s.density),
                                              percent_text(*s.mean_density))
                                : ""),
                {.ink = Token::kMuted, .wrap = true});
      if (s.held_up_ns > 0)
        ui.text(fmt::format("held up {} ranks, {} together", s.held_up.size(), ms(s.held_up_ns)),
                {.ink = Token::kMuted, .wrap = true});
    }
  }

  static Json optional_json(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

  // Who is slow, by how much, and whom that held up.
  static void draw_straggler(Ui& ui, Session& session, const Chosen& chosen) {
    const StrategyResult& s = *chosen.strategy;
    ui.text(chosen.label, {.face = Face::kBold, .wrap = true});
    const auto late = late_rank(s);
    if (!late) {
      ui.note("No rank waits for another.");
      return;
    }
    ui.text(fmt::format("Over all layer passes the other ranks wait longest for rank {}, {} of all their waiting.",
                        late->rank, percent_text(late->share)),
            {.wrap = true});
    std::string more;
    if (late->more_tiles != 0)
      more = fmt::format("has {} {} tiles", percent_text(std::abs(late->more_tiles)),
                         late->more_tiles < 0 ? "fewer" : "more");
    if (late->more_compute != 0)
      more += fmt::format("{}computes {} {}", more.empty() ? "" : " and ", percent_text(std::abs(late->more_compute)),
                          late->more_compute < 0 ? "shorter" : "longer");
    if (!more.empty()) ui.text("Against the mean of the ranks it " + more + ".", {.wrap = true});
    if (!late->heads.empty()) ui.text("Its heads: " + late->heads, {.wrap = true});
    ui.space(4);
    int listed = 0;
    for (const RankWait& wait : s.rank_waits) {
      if (wait.late_rank != late->rank || listed++ >= 8) continue;
      ui.text(fmt::format("rank {} waits {} in {}", wait.rank, duration_text(static_cast<double>(wait.wait_ns)),
                          wait.collective),
              {.face = Face::kSmall, .ink = Token::kMuted, .wrap = true});
    }
    const auto go = [&](const char* view) {
      Link link = session.here();
      link.view = view;
      link.selection.strategy = chosen.key;
      link.selection.rank = late->rank;
      link.selection.op.reset();
      session.go(link);
    };
    if (ui.button("timeline", "Its timeline")) go("timeline");
    ui.same_line();
    if (ui.button("heads", "Its heads", {.primary = true})) go("heads");
  }

  DocumentView blocks_;
  std::optional<LayerPass> pass_;                       // that is explained
  std::map<int, Session::ExplanationSlot*> explained_;  // by file
  std::string why_none_;                                // when nothing is scheduled anew
  BalanceMap map_;
};

}  // namespace

std::unique_ptr<View> make_balance_view() { return std::make_unique<BalanceView>(); }

}  // namespace spscope::gui
