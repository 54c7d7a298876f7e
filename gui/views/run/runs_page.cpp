// The page of runs: those that wait, go on or have ended, and what the one that is looked at does now.
#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>

#include "backend/base/clock.h"
#include "backend/base/error.h"
#include "backend/base/number_text.h"
#include "backend/report/section.h"
#include "gui/views/run/run_view.h"

namespace spscope::gui {
namespace {

constexpr float kListWidth = 250;

void draw_listing(Ui& ui, const std::string& text) {
  ui.pane("printed", {.height = ui.height_left(), .back = Token::kRaised, .scroll_x = true}, [&] {
    std::istringstream lines(text);
    ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(0, 0));
    for (std::string line; std::getline(lines, line);)
      ui.text(line.empty() ? " " : line,
              {.face = Face::kMono, .max_width = std::max(ui.width_left(), ui.text_width(line, Face::kMono) + 2)});
    ImGui::PopStyleVar();
  });
}

Table ranks_table(const WatchedRun& seen) {
  Table table;
  table.columns = {number_column("rank", "", 0),      text_column("now"),          number_column("peer", "", 0),
                   number_column("in it for", "", 0), number_column("ops", "", 0), number_column("events", "", 0)};
  for (const WatchedRank& rank : seen.ranks) {
    Row& row = table.rows.emplace_back();
    const bool waits = rank.now.state == LaneState::kWaitingForPeer && rank.now.peer >= 0;
    row.cells = {cell(Hint::kCount, rank.rank),
                 text_cell(doing_text(rank)),
                 waits ? cell(Hint::kCount, rank.now.peer) : text_cell("–"),
                 rank.now.inside_op() ? cell(Hint::kDuration, rank.seconds * 1e9) : text_cell("–"),
                 text_cell(rank.place.ops > 0 ? fmt::format("{} of {}", rank.place.ops_done, rank.place.ops) : "–"),
                 cell(Hint::kCount, static_cast<double>(rank.sent))};
  }
  return table;
}

Table advice_table(const Advice& advice) {
  Table table;
  table.columns = {text_column("strategy"),
                   number_column("end to end", "end_to_end", 0),
                   number_column("a layer", "makespan", 0),
                   number_column("vs " + advice.reference, "speedup", 0),
                   number_column("compute", "compute", 0),
                   number_column("late peer", "wait_late_peer", 0),
                   number_column("wire", "wire", 0),
                   number_column("imbalance", "imbalance_ratio", 0),
                   number_column("sent/rank", "bytes_sent", 0)};
  for (const AdvisedStrategy& s : advice.strategies)
    table.rows.push_back(
        {.cells = {text_cell(s.label), cell(Hint::kDuration, s.end_to_end_ns), cell(Hint::kDuration, s.layer_ns),
                   cell(Hint::kSpeedup, s.speedup), cell(Hint::kDuration, s.compute_ns),
                   cell(Hint::kDuration, s.wait_late_peer_ns), cell(Hint::kDuration, s.wire_ns),
                   cell(Hint::kRatio, s.imbalance), cell(Hint::kBytes, s.sent_bytes)},
         .best = s.is_best});
  return table;
}

// What the program said beside its result, line by line as it said it.
void draw_notes(Ui& ui, const QueuedRun& run) {
  for (const std::string& note : run.notes) {
    std::istringstream lines(note);
    for (std::string line; std::getline(lines, line);)
      ui.text(line, {.face = Face::kMono, .ink = Token::kMuted, .wrap = true});
  }
}

// Why a run failed: the first line stands out, what else the program said follows as it said it.
void draw_failure(Ui& ui, const QueuedRun& run) {
  std::istringstream lines(run.why);
  std::string line;
  std::getline(lines, line);
  ui.banner("why", BannerTone::kError, run.hint.empty() ? sentence(line) : sentence(line) + " " + sentence(run.hint));
  while (std::getline(lines, line)) ui.text(line, {.face = Face::kMono, .wrap = true});
  draw_notes(ui, run);
  if (run.end && run.end->signal == 0) ui.note(fmt::format("spscope ended with {}.", end_text(*run.end)));
}

// A run that the user stopped did what was asked: what it kept, in words, and no fault.
void draw_stopped(Ui& ui, const QueuedRun& run, bool kept, bool left) {
  std::string text = "You stopped this run. ";
  if (kept) {
    text += "What was complete by then is kept: open it, or run it again for the whole.";
  } else if (left) {
    text += "It ended before its file was made: recover what it recorded, or run it again.";
  } else if (run.out.empty()) {
    text += "Its result would only have been shown here.";
  } else {
    text += "No layer pass was complete, so nothing was kept: run it again.";
  }
  ui.banner("why", BannerTone::kNote, text);
  // Whatever else went wrong on the way: that it was stopped is said.
  if (!run.why.starts_with(error_id(ErrorCode::kInterrupted))) ui.text(run.why, {.face = Face::kMono, .wrap = true});
  draw_notes(ui, run);
}

// The command as a user types it.
std::string typed_command(std::vector<std::string> words) {
  words[0] = "spscope";
  std::erase(words, "--progress=json");  // only the window asks for these
  if (words.size() > 1 && words[1] == "advise") std::erase(words, "--json");
  return shell_line(words);
}

}  // namespace

void RunsPage::look_at(RunPages& pages, const std::string& out) {
  found_out_ = out;
  pages.shown = 0;
  for (const QueuedRun& run : pages.queue.runs())
    if (run.out == out) pages.shown = run.number;
}

bool RunsPage::watches_found(Session& session, const RunPages& pages) {
  if (pages.shown != 0) return false;
  return std::ranges::any_of(finder_.look(session), [&](const FoundRun& run) {
    return run.note.out == found_out_ && run.state == CollectorState::kRuns;
  });
}

void RunsPage::follow(Session& session, RunPages& pages) {
  if (const QueuedRun* run = pages.queue.find(pages.shown); run != nullptr && run->goes_on() && !run->out.empty())
    look(session, run->out);
}

void RunsPage::look(Session& session, const std::string& out) {
  watch_.follow(session.workers(), out);
  live_.follow(session.workers(), out);
}

void RunsPage::draw(Ui& ui, Session& session, RunPages& pages) {
  const float height = ui.height_left();
  ui.pane("list", {.width = std::min(ui.px(kListWidth), ui.width_left() * 0.4F), .height = height, .padded = false},
          [&] { draw_list(ui, session, pages); });
  ui.same_line(16);
  ui.pane("run", {.width = ui.width_left(), .height = height, .padded = false}, [&] {
    if (const QueuedRun* run = pages.queue.find(pages.shown)) return draw_run(ui, session, pages, *run);
    for (const FoundRun& run : finder_.look(session))
      if (run.note.out == found_out_) return draw_found(ui, session, pages, run);
    std::error_code fault;
    if (!found_out_.empty() && std::filesystem::exists(found_out_, fault)) {
      ui.text(std::filesystem::path(found_out_).filename().string(), {.face = Face::kTitle});
      ui.note("The run has ended. It is kept in " + found_out_);
      if (ui.button("open", "Open", {.primary = true})) session.go_to_file(found_out_);
      return;
    }
    if (ui.empty_state("none", "No run is chosen. What you start is listed here, with what its ranks do.",
                       "Set up a run"))
      pages.on_runs = false;
  });
}

void RunsPage::draw_list(Ui& ui, Session& session, RunPages& pages) {
  const float width = ui.width_left() - ui.px(4);
  for (const QueuedRun& run : pages.queue.runs()) {
    const std::string label = fmt::format("{}  {}", run.title, run_state_name(run.state));
    if (ui.button(
            fmt::format("run {}", run.number), label,
            {.quiet = true, .selected = run.number == pages.shown, .tooltip = run.out, .width = width, .left = true}))
      pages.shown = run.number;
  }
  std::set<std::string> own;
  for (const QueuedRun& run : pages.queue.runs()) own.insert(run.out);
  bool heading = false;
  for (const FoundRun& run : finder_.look(session)) {
    if (own.contains(run.note.out)) continue;
    if (!std::exchange(heading, true)) ui.heading("Found on this machine");
    const std::string name = std::filesystem::path(run.note.out).filename().string();
    const char* state = run.state == CollectorState::kRuns    ? "running"
                        : run.state == CollectorState::kEnded ? "died"
                                                              : "elsewhere";
    if (ui.button("found " + run.note.out, fmt::format("{}  {}", name, state),
                  {.quiet = true,
                   .selected = pages.shown == 0 && run.note.out == found_out_,
                   .tooltip = run.note.out,
                   .width = width,
                   .left = true})) {
      pages.shown = 0;
      found_out_ = run.note.out;
    }
  }
}

void RunsPage::draw_run(Ui& ui, Session& session, RunPages& pages, const QueuedRun& run) {
  const Ui::Scope inside = ui.scope("shown");
  ui.text(run.title, {.face = Face::kTitle});
  const std::string command = typed_command(run.words);
  ui.text(command, {.face = Face::kMono, .ink = Token::kMuted, .tooltip = command});
  const std::int64_t now = now_ns();
  if (run.goes_on()) {
    if (run.progress) {
      const RunProgress at = moved_on(*run.progress, now);
      ui.progress("progress", at.total > 0 ? std::optional(static_cast<double>(at.done) / at.total) : std::nullopt,
                  fmt::format("{} for {}; {} of {} plans done", progress_text(at), time_text(at), at.done, at.total),
                  false);
    } else {
      ui.progress("progress", std::nullopt,
                  run.said.empty() ? clock_text(static_cast<double>(now - run.begin_ns) * 1e-9) : run.said, false);
    }
    ui.space(4);
    const bool stopping = run.state == RunState::kStopping;
    if (ui.button("stop", stopping ? "Stopping…" : "Stop",
                  {.tooltip = "Stops between two operations; layer passes that every strategy has completed are kept",
                   .disabled_why = stopping ? "it stops between two operations, then merges what is complete" : ""}))
      pages.queue.stop(run.number);
    if (stopping) {
      ui.same_line();
      if (ui.button("stop now", "Stop now",
                    {.tooltip = "Ends the run at once; what was recorded can be recovered",
                     .disabled_why = run.can_stop_now(now) ? "" : "a second signal counts a second after the first"}))
        pages.queue.stop(run.number);
    }
    ui.space(6);
    if (const WatchedRun* seen = watch_.seen(); seen != nullptr && seen->out == run.out) draw_live(ui, *seen);
    return;
  }
  std::error_code fault;
  const bool kept = !run.out.empty() && std::filesystem::exists(run.out, fault);
  const std::vector<FoundRun>& found_now = finder_.look(session);
  const bool left = std::ranges::any_of(found_now, [&](const FoundRun& other) {
    return other.note.out == run.out && other.state == CollectorState::kEnded;
  });
  if (run.state == RunState::kWaiting) {
    ui.note("It begins when the run before it has ended.");
    if (ui.button("cancel", "Cancel", {})) pages.queue.stop(run.number);
    return;
  }
  if (run.state == RunState::kFailed) draw_failure(ui, run);
  if (run.state == RunState::kStopped) draw_stopped(ui, run, kept, left);
  if (run.state == RunState::kDone) draw_notes(ui, run);
  if (run.state == RunState::kCancelled) ui.note("It was cancelled before it began.");
  if (kept && run.out.ends_with(".db") &&
      ui.button("open", run.state == RunState::kDone ? "Open" : "Open what was kept", {.primary = true}))
    session.go_to_file(run.out);
  if (left) {
    ui.note("What the run recorded is still there. Recover makes a file of it.");
    if (draw_recover(ui, pages, run.out, !kept)) return;
  }
  if (kept || left) ui.same_line();
  if (run.state != RunState::kDone) {
    if (ui.button("again", "Run again", {.tooltip = "The same command, to a file of its own"}))
      return run_again(pages, run);
    ui.same_line();
  }
  if (ui.button("remove", "Remove from the list", {.quiet = true})) return pages.queue.remove(run.number);
  if (kept) ui.note("Kept in " + run.out);
  ui.space(6);
  if (run.printed.empty()) return;
  if (const Advice* advice = advice_of(run)) return draw_advice(ui, session, pages, run, *advice);
  draw_listing(ui, run.printed);
}

const Advice* RunsPage::advice_of(const QueuedRun& run) {
  if (run.words.size() < 2 || run.words[1] != "advise") return nullptr;
  if (std::exchange(advice_of_, run.number) != run.number) advice_ = read_advice(run.printed);
  return advice_ ? &*advice_ : nullptr;
}

// The answer in its sentences and as a table, and the run that shows it in detail.
void RunsPage::draw_advice(Ui& ui, Session& session, RunPages& pages, const QueuedRun& run, const Advice& advice) {
  const Ui::Scope inside = ui.scope("advice");
  for (std::size_t i = 0; i < advice.sentences.size(); ++i)
    ui.text(advice.sentences[i], {.face = i == 0 ? Face::kBold : Face::kBody, .wrap = true});
  ui.space(4);
  const bool runs_it =
      !advice.run_arguments.empty() && ui.button("run this", "Run this",
                                                 {.primary = true,
                                                  .tooltip = "Simulates the strategy that is advised beside " +
                                                             advice.reference + ", and keeps their timelines"});
  ui.space(4);
  show_table(ui, "strategies", advice_table(advice), strategies_, {.tools = Tools::kFolded, .height = -1});
  if (!runs_it) return;
  const std::string out = free_output(pages.queue, Verb::kRun);
  session.settings().add_run_folder(std::filesystem::path(out).parent_path().string());
  pages.shown =
      pages.queue.add(std::filesystem::path(out).filename().string(), advised_run(run.words, advice, out), out);
}

bool RunsPage::draw_recover(Ui& ui, RunPages& pages, const std::string& out, bool primary) {
  if (recover_of_ != out) {
    recover_of_ = out;
    recover_to_ = recovered_path(out);
  }
  ui.field("recover to", recover_to_,
           {.width = std::clamp(ui.width_left() - ui.px(110), ui.px(160), ui.px(460)),
            .hint = "Where to write it",
            .mono = true});
  ui.same_line();
  std::error_code fault;
  const std::string taken = recover_to_.empty()                           ? "no file is named"
                            : std::filesystem::exists(recover_to_, fault) ? "there is such a file: choose another name"
                                                                          : "";
  const std::string to = recover_to_;
  if (!ui.button("recover", "Recover",
                 {.primary = primary,
                  .tooltip = "To another disk where this one is full; what the run recorded is not touched",
                  .disabled_why = taken}))
    return false;
  recover_of_.clear();
  recover(pages, out, std::filesystem::absolute(to).lexically_normal().string());
  return true;
}

void RunsPage::draw_found(Ui& ui, Session& session, RunPages& pages, const FoundRun& run) {
  const Ui::Scope inside = ui.scope("found");
  ui.text(std::filesystem::path(run.note.out).filename().string(), {.face = Face::kTitle});
  ui.note(fmt::format("{}, begun {} by process {} on host {}", run.note.out, run.note.started_utc, run.note.pid,
                      run.note.host));
  if (run.state == CollectorState::kElsewhere) {
    ui.note(fmt::format("It runs, or ran, on host {}: spscope watch shows it there.", run.note.host));
    return;
  }
  if (run.state == CollectorState::kEnded) {
    ui.banner("died", BannerTone::kWarning,
              "Its process ended before the run was merged. Every event that it had committed is still there.");
    draw_recover(ui, pages, run.note.out, true);
    return;
  }
  look(session, run.note.out);
  if (ui.button("stop", "Stop",
                {.tooltip = "Stops between two operations; layer passes that every strategy has completed are kept"})) {
    session.notice(stop_run(run.note) ? "The run was asked to stop; it merges what is complete."
                                      : "The run has ended.");
    finder_.again();
  }
  ui.space(6);
  if (const WatchedRun* seen = watch_.seen(); seen != nullptr && seen->out == run.note.out) {
    if (seen->progress)
      ui.text(fmt::format("{} for {}", progress_text(*seen->progress), time_text(*seen->progress)), {.wrap = true});
    draw_live(ui, *seen);
  }
}

void RunsPage::draw_live(Ui& ui, const WatchedRun& seen) {
  constexpr std::size_t kMostFindings = 8;
  for (std::size_t i = 0; i < std::min(seen.findings.size(), kMostFindings); ++i)
    ui.banner(fmt::format("finding {}", i), seen.findings[i].fault() ? BannerTone::kError : BannerTone::kNote,
              seen.findings[i].message);
  ui.text(seen.events_text(), {.ink = Token::kMuted,
                               .tooltip = "What is in the files of the run survives whatever happens to its process"});
  live_.draw(ui, seen.out, &seen);
  show_table(ui, "ranks", ranks_table(seen), ranks_, {.tools = Tools::kFolded});
}

}  // namespace spscope::gui
