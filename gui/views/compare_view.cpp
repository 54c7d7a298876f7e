// Compare: from one strategy to another, of one file or two: what the difference of their makespans is made of, layer
// pass by layer pass and event by event, and whether it is one.
#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>

#include "backend/analysis/judgement.h"
#include "backend/analysis/mode_group.h"
#include "backend/analysis/name_means.h"
#include "backend/analysis/pass_changes.h"
#include "backend/analysis/regression.h"
#include "backend/base/number_text.h"
#include "backend/report/conclusion.h"
#include "backend/report/format.h"
#include "backend/report/headline.h"
#include "backend/report/section.h"
#include "gui/views/document_view.h"
#include "gui/views/view.h"

namespace spscope::gui {
namespace {

// Why the times of two strategies do not compare; "" when they do.
std::string why_not(const Chosen& a, const Chosen& b) {
  if (a.comparison != b.comparison) {
    if (const std::string what = difference(a.comparison->workload, b.comparison->workload); !what.empty())
      return "they ran different workloads: " + what;
    if (!same_strategy(*a.strategy, *b.strategy) && a.strategy->mode == b.strategy->mode)
      return "of two runs a strategy compares with the same one, of the same parameters";
  }
  if (a.strategy->mode != b.strategy->mode)
    return fmt::format("one was {}, the other {}", mode_word(a.strategy->mode), mode_word(b.strategy->mode));
  for (const Chosen* c : {&a, &b}) {
    if (!c->strategy->legal()) return c->label + " cannot run: " + c->strategy->reason();
    if (!c->strategy->makespan_ns) return c->label + " has no times";
    if (c->strategy->verify == "failed") return c->label + " has wrong outputs";
  }
  return why_not_comparable(*a.comparison, *b.comparison, *a.strategy, *b.strategy);
}

struct Verdict {
  std::string words;
  std::string row;  // the same in a cell of a table; "": as above
  BannerTone tone = BannerTone::kNote;
  std::string unmeasured = {};  // why no measurement supports it
  const std::string& in_row() const { return row.empty() ? words : row; }
};

// As `spscope compare` does. REQUIRES: the same strategy of two runs, which compare.
Verdict verdict_on_runs(const Chosen& a, const Chosen& b) {
  const Change change = change_of(*a.comparison, *b.comparison, *a.strategy, *b.strategy, 0);
  if (!change.slower_by) return {"The times do not show which is faster.", "", BannerTone::kWarning};
  return {fmt::format("{} is {}.", b.label, change_words(change)), "",
          change.within_spread ? BannerTone::kNote : BannerTone::kDone};
}

// REQUIRES: they compare.
Verdict verdict_on(const Chosen& a, const Chosen& b) {
  if (a.comparison != b.comparison) return verdict_on_runs(a, b);
  const ModeGroup pair{a.strategy->mode, a.comparison, {a.strategy, b.strategy}};
  const Judgement judgement = judge(pair);
  if (judgement.foreign) return {sentence(foreign_compute_note(pair)), "Not comparable.", BannerTone::kWarning};
  if (judgement.empty_masks) return {"No query attends to a key, so the times say nothing.", "", BannerTone::kWarning};
  const std::string& first = judgement.ranked.empty() || judgement.ranked.front() == a.strategy ? a.label : b.label;
  const std::string mark = support_mark(judgement);
  switch (judgement.lead) {
    case Lead::kClear:
      return {first + " is faster" + mark + ".", first + " is faster.", BannerTone::kDone,
              unmeasured_sentence(judgement)};
    case Lead::kTied:
      return {"Equally fast: the difference is within the spread of the repeats.", "Equally fast.", BannerTone::kNote};
    case Lead::kTooClose:
      return {fmt::format("Too close to call{}: the difference is less than {}, the model's median error.", mark,
                          limit_text(judgement)),
              "Too close to call.", BannerTone::kNote, unmeasured_sentence(judgement)};
    case Lead::kDepends:
      return {fmt::format("It depends on the network{}: within the range of its numbers either is faster.", mark),
              "It depends on the network.", BannerTone::kNote, unmeasured_sentence(judgement)};
    case Lead::kUnknown:
      break;
  }
  return {"The times do not show which is faster.", "", BannerTone::kWarning};
}

// "31.2 ms ± 0.4", with the spread of its repeats where there are several.
std::string time_with_spread(const Chosen& c) {
  return joined(cell_text(duration_cell(c.strategy->makespan_ns, c.strategy->makespan_spread_ns)));
}

class CompareView final : public View {
 public:
  void draw(Ui& ui, Session& session) override {
    const std::vector<Chosen> all = session.chosen();
    if (all.size() < 2) {
      if (ui.empty_state("one", "Only one strategy is chosen. A comparison needs two.", "Show all strategies")) {
        Scope scope = session.scope();
        scope.strategies.clear();
        session.set_scope(scope);
      }
      return;
    }
    auto [from, to] = picked(session, all);
    std::vector<std::string> labels;
    for (const Chosen& c : all) labels.push_back(c.label);
    ui.text("From", {.ink = Token::kMuted, .max_width = ui.px(44), .beside = true});
    ui.same_line();
    bool changed = ui.choice("from", labels, from, ui.px(220));
    ui.same_line();
    ui.text("to", {.ink = Token::kMuted, .max_width = ui.px(24), .beside = true});
    ui.same_line();
    changed |= ui.choice("to", labels, to, ui.px(220));
    ui.same_line();
    if (ui.button("swap", "Swap")) {
      std::swap(from, to);
      changed = true;
    }
    ui.space(4);
    const Chosen &a = all[static_cast<std::size_t>(from)], &b = all[static_cast<std::size_t>(to)];
    if (changed) {
      from_ = a.key;
      to_ = b.key;
      chosen_for_ = session.selection().strategy;
    }
    if (from == to) {
      ui.note("Choose two different strategies.");
      return;
    }
    if (const std::string why = why_not(a, b); !why.empty()) {
      ui.banner("not comparable", BannerTone::kWarning, "Not comparable: " + why + ".");
      return;
    }
    const Verdict verdict = verdict_on(a, b);
    ui.banner("verdict", verdict.tone, verdict.words);
    ui.text(fmt::format("{}: {}. {}: {}.", a.label, time_with_spread(a), b.label, time_with_spread(b)), {.wrap = true});
    if (!verdict.unmeasured.empty()) ui.text(verdict.unmeasured, {.ink = Token::kMuted, .wrap = true});
    if (const auto reason = slower_reason(a, b); reason && verdict.tone == BannerTone::kDone)
      ui.text(*reason, {.max_width = std::min(ui.width_left(), ui.px(980)), .wrap = true});
    ui.space(6);
    draw_waterfall(ui, session, a, b);
    ui.space(8);
    draw_others(ui, session, all, a);
    draw_passes(ui, session, a, b);
    ui.space(8);
    draw_events(ui, session, a, b);
  }

  void draw_details(Ui& ui, Session&) override {
    ui.note(
        "The steps between the two makespans are means over ranks, and they add up to the difference. Click a "
        "step or a layer pass to see both timelines there.");
  }

  void forget(int closed_file) override {
    for (std::optional<StrategyKey>* key : {&from_, &to_, &chosen_for_})
      if (*key && !outlives(**key, closed_file)) key->reset();
  }

  Json dump(Session& session) override {
    Json json = Json::object();
    const std::vector<Chosen> all = session.chosen();
    if (all.size() < 2) return json;
    const auto [from, to] = picked(session, all);
    if (from == to) return json;
    const Chosen &a = all[static_cast<std::size_t>(from)], &b = all[static_cast<std::size_t>(to)];
    json["from"] = a.key.id;
    json["to"] = b.key.id;
    json["not_comparable"] = why_not(a, b);
    if (!why_not(a, b).empty()) return json;
    const Verdict verdict = verdict_on(a, b);
    json["verdict"] = verdict.words;
    json["unmeasured"] = verdict.unmeasured;
    for (const Chosen& c : all) {
      if (c.key == a.key) continue;
      Json other = Json::object();
      other["to"] = c.key.id;
      other["file"] = c.file->name;
      other["to_ns"] = c.strategy->makespan_ns ? Json(*c.strategy->makespan_ns) : Json();
      other["not_comparable"] = why_not(a, c);
      if (why_not(a, c).empty()) other["verdict"] = verdict_on(a, c).in_row();
      json["others"].push_back(std::move(other));
    }
    json["from_ns"] = *a.strategy->makespan_ns;
    json["to_ns"] = *b.strategy->makespan_ns;
    json["passes"] = Json::array();
    for (const PassChange& c : pass_changes(*a.strategy, *b.strategy))
      json["passes"].push_back(
          {{"layer", c.layer}, {"denoise_step", c.denoise_step}, {"from_ns", c.from_ns}, {"to_ns", c.to_ns}});
    if (const auto fall = waterfall(*a.strategy, *b.strategy))
      for (const Waterfall::Step& step : fall->steps) {
        json[step.name] = static_cast<std::int64_t>(step.delta_ns);
        if (step.modelled) json["modelled"].push_back(step.name);
      }
    return json;
  }

 private:
  // Indices of what is compared: what was chosen here; at first the fastest, with the strategy that is selected.
  std::pair<int, int> picked(const Session& session, const std::vector<Chosen>& all) const {
    const auto index = [&](const std::optional<StrategyKey>& key) -> std::optional<int> {
      if (!key) return std::nullopt;
      const auto found = std::ranges::find(all, *key, &Chosen::key);
      return found == all.end() ? std::nullopt : std::optional(static_cast<int>(found - all.begin()));
    };
    const auto ns = [](const Chosen& c) { return c.strategy->makespan_ns.value_or(INT64_MAX); };
    const int fastest = static_cast<int>(std::ranges::min_element(all, {}, ns) - all.begin());
    const bool holds = chosen_for_ == session.selection().strategy;  // another selection is another question
    const int from = (holds ? index(from_) : std::nullopt).value_or(fastest);
    // The first that compares with it.
    const auto compares = std::ranges::find_if(all, [&](const Chosen& c) {
      return c.key != all[static_cast<std::size_t>(from)].key &&
             why_not(all[static_cast<std::size_t>(from)], c).empty();
    });
    const int other = compares != all.end() ? static_cast<int>(compares - all.begin()) : from == 0 ? 1 : 0;
    const int selected = index(session.selection().strategy).value_or(other);
    return {from, (holds ? index(to_) : std::nullopt).value_or(selected == from ? other : selected)};
  }

  static std::optional<std::string> slower_reason(const Chosen& a, const Chosen& b) {
    const bool b_slower = b.strategy->makespan_ns > a.strategy->makespan_ns;
    const Chosen &slow = b_slower ? b : a, &fast = b_slower ? a : b;
    const auto reason = reason_for(*slow.strategy, *fast.strategy);
    return reason ? std::optional(reason_text(*reason, *slow.strategy, *fast.strategy) + ".") : std::nullopt;
  }

  static void show_both(Session& session, const Chosen& a, const Chosen& b, std::optional<LayerPass> pass) {
    Link link = session.here();
    link.view = "timeline";
    link.scope.strategies = {a.key, b.key};
    link.selection = {};
    link.selection.strategy = b.key;
    if (pass) {
      link.scope.layer = pass->layer;
      link.scope.step = pass->step;
    }
    session.go(link);
  }

  void draw_waterfall(Ui& ui, Session& session, const Chosen& a, const Chosen& b) {
    auto fall = waterfall(*a.strategy, *b.strategy);
    if (!fall) {
      ui.note("No timelines are kept, so the difference cannot be divided.");
      return;
    }
    fall->from.label = a.label;
    fall->to.label = b.label;
    fall->caption =
        "Means over ranks, of all layer passes together. Steps below a hundredth of the largest are left out.";
    if (std::ranges::any_of(fall->steps, &Waterfall::Step::modelled)) fall->caption += " Hatched steps are modelled.";
    if (document_.draw(ui, "waterfall", *fall)) show_both(session, a, b, {});
  }

  // All of the chosen ones against the first, where there are more than two: a row leads to its waterfall.
  void draw_others(Ui& ui, const Session& session, const std::vector<Chosen>& all, const Chosen& a) {
    if (all.size() < 3) return;
    if (others_of_ != a.key || others_revision_ != session.revision()) {
      others_of_ = a.key;
      others_revision_ = session.revision();
      list_others(all, a);
    }
    const TableHit hit = show_table(ui, "others", others_table_, others_state_,
                                    {.tools = Tools::kFolded, .height = others_.size() > 8 ? ui.px(240) : -1});
    ui.space(8);
    if (!hit.clicked) return;
    from_ = a.key;
    to_ = others_[static_cast<std::size_t>(*hit.clicked)];
    chosen_for_ = session.selection().strategy;
    ui.again();
  }

  void list_others(const std::vector<Chosen>& all, const Chosen& a) {
    others_.clear();
    others_table_ = {};
    others_table_.caption = fmt::format("All against {}", a.label);
    others_table_.columns = {text_column("strategy"), number_column("makespan", "makespan", 0),
                             number_column("difference", "", 0), text_column("verdict")};
    for (const Chosen& c : all) {
      if (c.key == a.key) continue;
      const std::string why = why_not(a, c);
      const auto both = why.empty() ? std::optional(*c.strategy->makespan_ns - *a.strategy->makespan_ns) : std::nullopt;
      others_table_.rows.push_back(
          {{text_cell(c.label), duration_cell(c.strategy->makespan_ns, c.strategy->makespan_spread_ns),
            duration_cell(both), text_cell(why.empty() ? verdict_on(a, c).in_row() : "Not comparable: " + why + ".")}});
      others_.push_back(c.key);
    }
  }

  void draw_passes(Ui& ui, Session& session, const Chosen& a, const Chosen& b) {
    if (const std::pair now{a.strategy->by_layer.data(), b.strategy->by_layer.data()};
        passes_of_ != now || passes_revision_ != session.revision()) {
      passes_of_ = now;
      passes_revision_ = session.revision();
      list_passes(a, b);
    }
    const TableHit hit = show_table(ui, "passes", passes_table_, passes_state_,
                                    {.tools = Tools::kFolded, .height = passes_.size() > 12 ? ui.px(320) : -1});
    if (hit.clicked) show_both(session, a, b, passes_[static_cast<std::size_t>(*hit.clicked)]);
  }

  void list_passes(const Chosen& a, const Chosen& b) {
    passes_.clear();
    passes_table_ = {};
    passes_table_.caption = "By layer pass";
    passes_table_.columns = {number_column("denoise step", "", 0),  number_column("layer", "", 0),
                             number_column(a.label, "makespan", 0), number_column(b.label, "makespan", 0),
                             number_column("difference", "", 0),    number_column("ratio", "", 0)};
    for (const PassChange& c : pass_changes(*a.strategy, *b.strategy)) {
      passes_table_.rows.push_back(
          {{cell(Hint::kCount, c.denoise_step), cell(Hint::kCount, c.layer), duration_cell(c.from_ns),
            duration_cell(c.to_ns), duration_cell(c.change_ns), cell(Hint::kRatio, c.ratio)}});
      passes_.push_back({c.layer, c.denoise_step});
    }
  }

  // What the ranks do longer, by name of event, in the layer pass that is looked at.
  void draw_events(Ui& ui, Session& session, const Chosen& a, const Chosen& b) {
    Session::PassSlot &of_a = session.pass_data(a), &of_b = session.pass_data(b);
    if (const auto pass = session.pass(); !pass || !has_run(*a.strategy, *pass) || !has_run(*b.strategy, *pass)) return;
    const auto first = of_a.share(), second = of_b.share();
    if (!of_a.current() || !of_b.current() || !first->timeline || !second->timeline) return;
    if (events_of_ != std::pair(first, second)) {
      events_of_ = {first, second};
      list_events(a, b);
    }
    const auto pass = session.pass();
    events_table_.caption =
        fmt::format("By event, mean over ranks, in layer {} of denoise step {} alone", pass->layer, pass->step);
    // What the steps of the waterfall and these rows have in common, and what not.
    ui.text(
        "These rows cover one layer pass, the steps above all of them. Here a transfer counts from its first byte to "
        "its "
        "last, even while its rank computes. Above, wire counts only exposed communication. So a transfer can grow "
        "here "
        "while wire shrinks above, because compute hides more of it.",
        {.face = Face::kSmall, .ink = Token::kMuted, .max_width = std::min(ui.width_left(), ui.px(980)), .wrap = true});
    show_table(ui, "events", events_table_, events_state_, {.tools = Tools::kFolded, .height = -1});
  }

  void list_events(const Chosen& a, const Chosen& b) {
    events_table_ = {};
    events_table_.columns = {text_column("event"), number_column(a.label, "", 0), number_column(b.label, "", 0),
                             number_column("difference", "", 0)};
    const auto& [first, second] = events_of_;
    for (const NameChange& c : name_changes(*first->plan, *first->timeline, *second->plan, *second->timeline))
      events_table_.rows.push_back({{text_cell(c.name), cell(Hint::kDuration, c.from_ns),
                                     cell(Hint::kDuration, c.to_ns), cell(Hint::kDuration, c.change_ns)}});
  }

  std::optional<StrategyKey> from_, to_, chosen_for_;  // what was chosen here, and which strategy was selected then
  DocumentView document_;
  Table passes_table_, events_table_, others_table_;
  std::vector<StrategyKey> others_;  // of the rows of others_table_
  std::optional<StrategyKey> others_of_;
  int others_revision_ = -1;
  std::vector<LayerPass> passes_;  // of the rows of passes_table_
  std::pair<const LayerResult*, const LayerResult*> passes_of_;
  int passes_revision_ = -1;
  std::pair<std::shared_ptr<const PassData>, std::shared_ptr<const PassData>> events_of_;
  TableState passes_state_, events_state_, others_state_;
};

}  // namespace

std::unique_ptr<View> make_compare_view() { return std::make_unique<CompareView>(); }

}  // namespace spscope::gui
