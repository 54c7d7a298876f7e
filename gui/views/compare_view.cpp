// Compare: from one strategy to another, of one file or two: what the difference of their makespans is made of, layer
// pass by layer pass and event by event, and whether it is one.
#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <map>

#include "backend/analysis/judgement.h"
#include "backend/analysis/mode_group.h"
#include "backend/analysis/regression.h"
#include "backend/base/number_text.h"
#include "backend/report/conclusion.h"
#include "backend/report/headline.h"
#include "backend/report/section.h"
#include "backend/store/timeline_events.h"
#include "gui/views/document_view.h"
#include "gui/views/view.h"

namespace spscope::gui {
namespace {

// Why the times of two strategies do not compare; "" when they do.
std::string why_not(const Chosen& a, const Chosen& b) {
  if (a.comparison != b.comparison)
    if (const std::string what = difference(a.comparison->workload, b.comparison->workload); !what.empty())
      return "they ran different workloads: " + what;
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
  BannerTone tone = BannerTone::kNote;
};
// REQUIRES: they compare.
Verdict verdict_on(const Chosen& a, const Chosen& b) {
  const ModeGroup pair{a.strategy->mode, a.comparison, {a.strategy, b.strategy}};
  const Judgement judgement = judge(pair);
  if (judgement.foreign) return {sentence(foreign_compute_note(pair)), BannerTone::kWarning};
  if (judgement.empty_masks) return {"Nothing is attended: the times compare nothing.", BannerTone::kWarning};
  const std::string& first = judgement.ranked.empty() || judgement.ranked.front() == a.strategy ? a.label : b.label;
  switch (judgement.lead) {
    case Lead::kClear:
      return {first + " is faster" + support_mark(judgement) + ".", BannerTone::kDone};
    case Lead::kTied:
      return {"Equally fast: the difference is within the spread of the repeats.", BannerTone::kNote};
    case Lead::kTooClose:
      return {fmt::format("Too close to call: the difference is within the error of the model ({}).",
                          judgement.error ? percent_text(judgement.error->median) : "not measured"),
              BannerTone::kNote};
    case Lead::kDepends:
      return {"It depends on the host: within the range of the network's numbers either is faster.", BannerTone::kNote};
    case Lead::kUnknown:
      break;
  }
  return {"The times do not show which is faster.", BannerTone::kWarning};
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
    pick(session, all);
    std::vector<std::string> labels;
    for (const Chosen& c : all) labels.push_back(c.label);
    ui.text("From", {.ink = Token::kMuted, .max_width = ui.px(44)});
    ui.same_line();
    ui.choice("from", labels, from_, ui.px(220));
    ui.same_line();
    ui.text("to", {.ink = Token::kMuted, .max_width = ui.px(24)});
    ui.same_line();
    ui.choice("to", labels, to_, ui.px(220));
    ui.same_line();
    if (ui.button("swap", "Swap")) std::swap(from_, to_);
    ui.space(4);
    const Chosen &a = all[static_cast<std::size_t>(from_)], &b = all[static_cast<std::size_t>(to_)];
    if (from_ == to_) {
      ui.note("Choose two different strategies.");
      return;
    }
    if (const std::string why = why_not(a, b); !why.empty()) {
      ui.banner("not comparable", BannerTone::kWarning, "Not comparable: " + why + ".");
      return;
    }
    const Verdict verdict = verdict_on(a, b);
    ui.banner("verdict", verdict.tone, verdict.words);
    if (const auto reason = slower_reason(a, b); reason && verdict.tone != BannerTone::kWarning)
      ui.text(*reason, {.max_width = std::min(ui.width_left(), ui.px(980)), .wrap = true});
    ui.space(6);
    draw_waterfall(ui, session, a, b);
    ui.space(8);
    draw_passes(ui, session, a, b);
    ui.space(8);
    draw_events(ui, session, a, b);
  }

  void draw_details(Ui& ui, Session&) override {
    ui.note(
        "The steps from one makespan to the other are means over ranks and add up to the difference exactly. Click a "
        "step or a layer pass to see both timelines there.");
  }

  Json dump(Session& session) override {
    Json json = Json::object();
    const std::vector<Chosen> all = session.chosen();
    if (all.size() < 2 || from_ == to_ || std::max(from_, to_) >= static_cast<int>(all.size())) return json;
    const Chosen &a = all[static_cast<std::size_t>(from_)], &b = all[static_cast<std::size_t>(to_)];
    json["from"] = a.key.id;
    json["to"] = b.key.id;
    json["not_comparable"] = why_not(a, b);
    if (!why_not(a, b).empty()) return json;
    json["verdict"] = verdict_on(a, b).words;
    json["from_ns"] = *a.strategy->makespan_ns;
    json["to_ns"] = *b.strategy->makespan_ns;
    if (const auto fall = waterfall(*a.strategy, *b.strategy))
      for (const Waterfall::Step& step : fall->steps) {
        json[step.name] = static_cast<std::int64_t>(step.delta_ns);
        if (step.modelled) json["modelled"].push_back(step.name);
      }
    return json;
  }

 private:
  // At first the fastest and the slowest; a selected strategy is the one that is compared with the fastest.
  void pick(const Session& session, const std::vector<Chosen>& all) {
    const int count = static_cast<int>(all.size());
    if (picked_ == session.scope().strategies && from_ < count && to_ < count && from_ >= 0) return;
    picked_ = session.scope().strategies;
    const auto ns = [](const Chosen& c) { return c.strategy->makespan_ns.value_or(INT64_MAX); };
    from_ = static_cast<int>(std::ranges::min_element(all, {}, ns) - all.begin());
    to_ = from_ == 0 ? 1 : 0;
    for (int i = 0; i < count; ++i)
      if (i != from_ && session.selection().strategy == all[static_cast<std::size_t>(i)].key) to_ = i;
  }

  static std::optional<std::string> slower_reason(const Chosen& a, const Chosen& b) {
    const bool b_slower = b.strategy->makespan_ns > a.strategy->makespan_ns;
    const Chosen &slow = b_slower ? b : a, &fast = b_slower ? a : b;
    const auto reason = reason_for(*slow.strategy, *fast.strategy);
    return reason ? std::optional(sentence(reason_text(*reason, *slow.strategy, *fast.strategy))) : std::nullopt;
  }

  static void show_both(Session& session, const Chosen& a, const Chosen& b, std::optional<LayerPass> pass) {
    Link link = session.here();
    link.view = "timeline";
    link.scope.strategies = {a.key, b.key};
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
    fall->caption = "Means over ranks, of all layer passes together; they add up exactly.";
    if (std::ranges::any_of(fall->steps, &Waterfall::Step::modelled)) fall->caption += " Hatched: modelled.";
    if (document_.draw(ui, "waterfall", *fall)) show_both(session, a, b, {});
  }

  void draw_passes(Ui& ui, Session& session, const Chosen& a, const Chosen& b) {
    Table table;
    table.caption = "By layer pass";
    table.columns = {number_column("denoise step", "", 0),  number_column("layer", "", 0),
                     number_column(a.label, "makespan", 0), number_column(b.label, "makespan", 0),
                     number_column("difference", "", 0),    number_column("ratio", "", 0)};
    std::vector<LayerPass> passes;
    for (const LayerResult& x : a.strategy->by_layer)
      for (const LayerResult& y : b.strategy->by_layer) {
        if (x.layer != y.layer || x.denoise_step != y.denoise_step || !x.makespan_ns || !y.makespan_ns) continue;
        const auto difference = static_cast<double>(*y.makespan_ns - *x.makespan_ns);
        table.rows.push_back(
            {{cell(Hint::kCount, x.denoise_step), cell(Hint::kCount, x.layer), duration_cell(x.makespan_ns),
              duration_cell(y.makespan_ns), cell(Hint::kDuration, difference),
              cell(Hint::kRatio, static_cast<double>(*y.makespan_ns) / static_cast<double>(*x.makespan_ns))}});
        passes.push_back({x.layer, x.denoise_step});
      }
    const TableHit hit = show_table(ui, "passes", table, passes_state_,
                                    {.filter = false, .height = table.rows.size() > 12 ? ui.px(320) : -1});
    if (hit.clicked) show_both(session, a, b, passes[static_cast<std::size_t>(*hit.clicked)]);
  }

  // What the ranks do longer, by name of event, in the layer pass that is looked at.
  void draw_events(Ui& ui, Session& session, const Chosen& a, const Chosen& b) {
    std::map<std::string, std::pair<double, double>> sums;
    bool there = true;
    for (const Chosen* c : {&a, &b}) {
      const PassData* pass = session.pass_data(*c).value();
      if (pass == nullptr || !pass->timeline) {
        there = false;
        continue;
      }
      for (std::size_t i = 0; i < pass->plan->ops.size(); ++i) {
        const OpTimes& t = pass->timeline->ops[i];
        auto& sum = sums[op_name(*pass->plan, pass->plan->ops[i])];
        (c == &a ? sum.first : sum.second) += static_cast<double>(t.end_ns - t.begin_ns) / pass->plan->ranks;
      }
    }
    if (!there) return;
    const auto pass = session.pass();
    Table table;
    table.caption = fmt::format("By event, mean over ranks, in layer {} of denoise step {}", pass->layer, pass->step);
    table.columns = {text_column("event"), number_column(a.label, "", 0), number_column(b.label, "", 0),
                     number_column("difference", "", 0)};
    for (const auto& [name, sum] : sums)
      table.rows.push_back({{text_cell(name), cell(Hint::kDuration, sum.first), cell(Hint::kDuration, sum.second),
                             cell(Hint::kDuration, sum.second - sum.first)}});
    show_table(ui, "events", table, events_state_, {.filter = false, .height = -1});
  }

  int from_ = -1, to_ = -1;
  std::vector<StrategyKey> picked_;
  DocumentView document_;
  TableState passes_state_, events_state_;
};

}  // namespace

std::unique_ptr<View> make_compare_view() { return std::make_unique<CompareView>(); }

}  // namespace spscope::gui
