#include "gui/session/session.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "backend/analysis/over_ranks.h"
#include "backend/analysis/slowest_pass.h"
#include "backend/base/clock.h"

namespace spscope::gui {
namespace {

// Layer passes that are kept in memory beside those on the screen.
constexpr std::size_t kKeptPasses = 48;
constexpr std::size_t kKeptPlaces = 200;

// Tells whether a path is still the same file with the same content; 0: there is no such file.
std::uint64_t identity_of(const std::string& path) {
  struct stat s {};
  if (stat(path.c_str(), &s) != 0) return 0;
  std::uint64_t h = 1469598103934665603ull;
  for (const std::uint64_t v : {std::uint64_t(s.st_dev), std::uint64_t(s.st_ino), std::uint64_t(s.st_size),
                                std::uint64_t(s.st_mtim.tv_sec), std::uint64_t(s.st_mtim.tv_nsec)})
    h = (h ^ v) * 1099511628211ull;
  return h | 1;
}

std::string whole_path(const std::string& path) { return std::filesystem::absolute(path).lexically_normal().string(); }

FileContent read_file(Readers& readers, const std::string& path, int generation, const Cancelled& cancelled,
                      QueryProgress& progress) {
  StoreReader& reader = readers.of(path, generation);
  const auto on_run = [&](std::int64_t done, std::int64_t all) {
    cancelled.require_going();
    progress.fraction = static_cast<double>(done) / static_cast<double>(all);
  };
  return {compare_store(reader, on_run), reader.file(), observations(reader)};
}

// The end of a path that no other file has as its name: "run.db", "a/run.db", "x/a/run.db".
std::string name_among(const std::vector<std::unique_ptr<OpenFile>>& files, const std::filesystem::path& path) {
  std::filesystem::path name = path.filename(), rest = path.parent_path();
  const auto is_taken = [&] {
    return std::ranges::any_of(files, [&](const auto& file) { return file->name == name.string(); });
  };
  for (; is_taken(); rest = rest.parent_path()) name = rest.has_filename() ? rest.filename() / name : path;
  return name.string();
}

std::string pass_key(const OpenFile& file, const std::string& id, LayerPass pass, std::optional<int> repeat) {
  return fmt::format("{}\n{}\n{}\n{} {} {}", file.path, file.generation, id, pass.layer, pass.step,
                     repeat.value_or(-1));
}

}  // namespace

bool outlives(StrategyKey& key, int closed_file) {
  if (key.file == closed_file) return false;
  if (key.file > closed_file) --key.file;
  return true;
}

bool has_run(const StrategyResult& strategy, LayerPass pass) {
  return std::ranges::any_of(strategy.by_layer, [&](const LayerResult& layer) {
    return layer.layer == pass.layer && layer.denoise_step == pass.step;
  });
}

const Chosen* waits_longest(std::span<const Chosen> strategies) {
  constexpr double kLeastShare = 0.01;
  const Chosen* longest = nullptr;
  double most = 0;
  for (const Chosen& c : strategies) {
    const double wait = mean_over_ranks(c.strategy->times.wait_late_peer_ns);
    if (wait <= most || wait < kLeastShare * static_cast<double>(c.strategy->makespan_ns.value_or(0))) continue;
    longest = &c;
    most = wait;
  }
  return longest;
}

const StrategyExplanation* find_explained(const Explanation& all, const std::string& id) {
  const auto found = std::ranges::find(all.strategies, id, &StrategyExplanation::id);
  return found == all.strategies.end() || !found->missing.empty() ? nullptr : &*found;
}

const std::vector<StrategyMakespan>* OpenFile::early() const {
  constexpr double kAtOnceS = 0.3;  // of smaller files the content comes before anybody has read them
  if (content() != nullptr || (slot->loading() && slot->loading_s() < kAtOnceS)) return nullptr;
  return makespans->value();
}

FileState OpenFile::state() const {
  if (slot->value() != nullptr) return FileState::kReady;
  if (slot->was_cancelled()) return FileState::kGivenUp;
  return slot->error() != nullptr ? FileState::kFailed : FileState::kLoading;
}

void Session::open(const std::string& path) {
  const std::string whole = whole_path(path);
  for (const auto& file : files_)
    if (file->path == whole) return;
  auto file = std::make_unique<OpenFile>();
  file->path = whole;
  file->name = name_among(files_, whole);
  file->slot = std::make_unique<QuerySlot<FileContent>>();
  file->makespans = std::make_unique<QuerySlot<std::vector<StrategyMakespan>>>();
  files_.push_back(std::move(file));
  reload(static_cast<int>(files_.size()) - 1);
}

void Session::reload(int index) {
  OpenFile& file = *files_[static_cast<std::size_t>(index)];
  file.generation = ++generations_;
  ++revision_;
  file.identity = identity_of(file.path);
  file.changed.clear();
  const std::string key = fmt::format("{}", file.generation);
  file.slot->ask(workers_, key,
                 [path = file.path, generation = file.generation](Readers& readers, const Cancelled& cancelled,
                                                                  QueryProgress& progress) {
                   return read_file(readers, path, generation, cancelled, progress);
                 });
  // Asked last, so that it is answered first.
  file.makespans->ask(
      workers_, key,
      [path = file.path, generation = file.generation](Readers& readers, const Cancelled&, QueryProgress&) {
        return makespans(readers.of(path, generation));
      });
}

void Session::close(int index) {
  if (index < 0 || index >= static_cast<int>(files_.size())) return;
  forget(index);
  back_.clear();
  forward_.clear();
  if (files_.empty()) view_ = "start";
}

void Session::forget(int index) {
  const std::string path = files_[static_cast<std::size_t>(index)]->path;
  files_.erase(files_.begin() + index);
  workers_.let_go(path);
  std::erase_if(passes_, [&](const auto& pass) { return pass.first.starts_with(path + "\n"); });
  explained_.erase(path);
  std::erase_if(scope_.strategies, [&](StrategyKey& key) { return !outlives(key, index); });
  if (scope_.what_if && !outlives(scope_.what_if->strategy, index)) scope_.what_if.reset();
  if (selection_.strategy && !outlives(*selection_.strategy, index)) selection_ = {};
  if (scope_.file == index || files_.size() < 2) {
    scope_.file.reset();
  } else if (scope_.file && *scope_.file > index) {
    --*scope_.file;
  }
  // A layer pass of the file that went may be in none of the others.
  const std::vector<LayerPass> left = passes();
  const auto is_left = [&](const LayerPass& p) {
    return (!scope_.layer || *scope_.layer == p.layer) && (!scope_.step || *scope_.step == p.step);
  };
  if (!any_loading() && std::ranges::none_of(left, is_left)) {
    scope_.layer.reset();
    scope_.step.reset();
    scope_.repeat.reset();
  }
  ++revision_;
  if (on_close_) on_close_(index);
}

bool Session::any_loading() const {
  return std::ranges::any_of(files_, [](const auto& f) { return f->slot->loading(); });
}

bool Session::look_at_disk() {
  bool changed = false;
  for (const auto& file : files_) {
    const std::uint64_t now = identity_of(file->path);
    const std::string before = file->changed;
    if (now == file->identity) {
      file->changed.clear();
    } else {
      file->changed = now == 0 ? "the file was removed: what is shown was read before"
                               : "the file has changed on disk since it was read";
    }
    changed |= file->changed != before;
  }
  return changed;
}

void Session::set_scope(Scope scope) {
  if (scope == scope_) return;
  remember();
  scope_ = std::move(scope);
  ++revision_;
}

void Session::look_at(std::optional<int> file) {
  if (file == scope_.file) return;
  remember();
  scope_.file = file;
  std::erase_if(scope_.strategies, [&](const StrategyKey& key) { return key.file != file; });
  if (file && scope_.what_if && scope_.what_if->strategy.file != *file) scope_.what_if.reset();
  if (file && selection_.strategy && selection_.strategy->file != *file) selection_ = {};
  ++revision_;
}

int Session::active_file() const {
  if (scope_.file) return *scope_.file;
  const auto first = std::ranges::find_if(files_, [](const auto& file) { return file->content() != nullptr; });
  return first == files_.end() ? 0 : static_cast<int>(first - files_.begin());
}

StrategyKey Session::settled(StrategyKey key) {
  if (key.file < 0 || static_cast<std::size_t>(key.file) >= files_.size()) return key;
  const OpenFile& file = *files_[static_cast<std::size_t>(key.file)];
  if (file.content() == nullptr) return key;
  std::string known;
  for (const Comparison& comparison : file.content()->comparisons)
    for (const StrategyResult& strategy : comparison.strategies) {
      if (strategy.id == key.id) return key;
      if (strategy.label == key.id) return {key.file, strategy.id};
      known += (known.empty() ? "" : ", ") + strategy.id;
    }
  notice(fmt::format("{} has no strategy \"{}\", but {}", file.name, key.id, known.empty() ? "none" : known), true);
  return {key.file, ""};
}

void Session::settle_names() {
  bool changed = false;
  const auto settle = [&](StrategyKey& key) {
    StrategyKey now = settled(key);
    if (now == key) return;
    key = std::move(now);
    changed = true;
  };
  for (StrategyKey& key : scope_.strategies) settle(key);
  std::erase_if(scope_.strategies, [](const StrategyKey& key) { return key.id.empty(); });
  if (scope_.what_if) settle(scope_.what_if->strategy);
  if (scope_.what_if && scope_.what_if->strategy.id.empty()) scope_.what_if.reset();
  if (selection_.strategy) settle(*selection_.strategy);
  if (selection_.strategy && selection_.strategy->id.empty()) selection_.strategy.reset();
  if (changed) ++revision_;
}

std::vector<Chosen> Session::all_strategies() const {
  std::vector<Chosen> all;
  for (std::size_t f = 0; f < files_.size(); ++f) {
    const FileContent* content = files_[f]->content();
    if (content == nullptr) continue;
    for (const Comparison& comparison : content->comparisons)
      for (const StrategyResult& strategy : comparison.strategies) {
        std::string label = strategy.label.empty() ? strategy.id : strategy.label;
        if (files_.size() > 1 && scope_.file != static_cast<int>(f)) label += " · " + files_[f]->name;
        all.push_back({{static_cast<int>(f), strategy.id}, files_[f].get(), &comparison, &strategy, std::move(label)});
      }
  }
  return all;
}

std::vector<Chosen> Session::chosen() const {
  std::vector<Chosen> all = all_strategies();
  std::erase_if(all, [&](const Chosen& c) {
    if (!c.strategy->legal() || !in_scope(c.key.file)) return true;
    return !scope_.strategies.empty() && std::ranges::find(scope_.strategies, c.key) == scope_.strategies.end();
  });
  return all;
}

std::optional<Chosen> Session::find(const StrategyKey& key) const {
  for (Chosen& c : all_strategies())
    if (c.key == key) return c;
  return std::nullopt;
}

std::vector<LayerPass> Session::passes() const {
  std::set<std::pair<int, int>> found;
  for (const Chosen& c : chosen())
    for (const LayerResult& layer : c.strategy->by_layer) found.insert({layer.denoise_step, layer.layer});
  std::vector<LayerPass> list;
  for (const auto& [step, layer] : found) list.push_back({layer, step});
  return list;
}

std::optional<LayerPass> Session::slowest_pass() const {
  std::vector<const StrategyResult*> strategies;
  for (const Chosen& c : chosen()) strategies.push_back(c.strategy);
  const auto slowest = spscope::slowest_pass(strategies);
  return slowest ? std::optional(LayerPass{slowest->layer, slowest->denoise_step}) : std::nullopt;
}

std::optional<LayerPass> Session::pass() const {
  const auto slowest = slowest_pass();
  if (!slowest) return std::nullopt;
  if (!scope_.layer && !scope_.step) return slowest;
  const std::vector<Chosen> list = chosen();
  // The first pass with these parts.
  const auto ran = [&](std::optional<int> layer, std::optional<int> step) -> std::optional<LayerPass> {
    for (const Chosen& c : list)
      for (const LayerResult& l : c.strategy->by_layer)
        if (layer.value_or(l.layer) == l.layer && step.value_or(l.denoise_step) == l.denoise_step)
          return LayerPass{l.layer, l.denoise_step};
    return std::nullopt;
  };
  // What no chosen strategy has run counts as not said.
  const auto layer = ran(scope_.layer, {}) ? scope_.layer : std::nullopt;
  const auto step = ran(layer, scope_.step) ? scope_.step : std::nullopt;
  const auto wanted = ran(layer.value_or(slowest->layer), step.value_or(slowest->step));
  // Where files differ the slowest pass may have the other part of another one.
  return wanted ? wanted : ran(layer, step);
}

std::vector<Chosen> Session::chosen_in_pass() const {
  std::vector<Chosen> list = chosen();
  const auto at = pass();
  std::erase_if(list, [&](const Chosen& c) { return !at || !has_run(*c.strategy, *at); });
  return list;
}

Session::PassSlot& Session::pass_data(const Chosen& chosen) { return pass_data(chosen, pass().value_or(LayerPass{})); }

Session::PassSlot& Session::pass_data(const Chosen& chosen, LayerPass pass) {
  const std::string key = pass_key(*chosen.file, chosen.key.id, pass, scope_.repeat);
  // More than what one frame asks for, else each frame would load them all again.
  if (!passes_.contains(key) && passes_.size() >= std::max(kKeptPasses, 2 * this->chosen().size())) {
    const auto oldest = std::ranges::min_element(passes_, {}, [](const auto& row) { return row.second->used; });
    passes_.erase(oldest);
  }
  std::unique_ptr<Kept>& kept = passes_[key];
  if (!kept) kept = std::make_unique<Kept>();
  kept->used = ++uses_;
  kept->slot.ask(workers_, key,
                 [key, path = chosen.file->path, generation = chosen.file->generation, id = chosen.key.id, pass,
                  repeat = scope_.repeat](Readers& readers, const Cancelled&, QueryProgress&) {
                   PassData data = load_pass(readers.of(path, generation), id, pass.layer, pass.step, repeat);
                   data.key = key;
                   return data;
                 });
  return kept->slot;
}

Session::ExplanationSlot* Session::explanation(const Chosen& chosen) {
  std::unique_ptr<ExplanationSlot>& slot = explained_[chosen.file->path];
  if (!slot) slot = std::make_unique<ExplanationSlot>();
  if (!chosen.file->slot->current()) {
    slot->forget();
    return nullptr;
  }
  const LayerPass at = pass().value_or(LayerPass{});
  slot->ask(workers_, pass_key(*chosen.file, "", at, scope_.repeat),
            [path = chosen.file->path, generation = chosen.file->generation, content = chosen.file->slot->share(), at,
             repeat = scope_.repeat](Readers& readers, const Cancelled& cancelled, QueryProgress&) {
              ExplainRequest request;
              request.layer = at.layer;
              request.denoise_step = at.step;
              request.repeat = repeat;
              request.cancelled = cancelled;
              return explain(readers.of(path, generation), content->comparisons, request);
            });
  return slot.get();
}

void Session::select(Selection selection) {
  if (selection == selection_) return;
  selection_ = std::move(selection);
  ++revision_;
}

Link Session::here() const {
  Link link;
  for (const auto& file : files_) link.files.push_back(file->path);
  link.view = view_;
  link.scope = scope_;
  link.selection = selection_;
  return link;
}

void Session::restore(const Link& link) {
  for (const std::string& path : link.files) open(path);
  std::vector<int> place;  // of each file of the link among the open ones
  for (const std::string& path : link.files) {
    const std::string whole = whole_path(path);
    place.push_back(
        static_cast<int>(std::ranges::find(files_, whole, [](const auto& f) { return f->path; }) - files_.begin()));
  }
  const auto placed = [&](StrategyKey key) {
    if (static_cast<std::size_t>(key.file) < place.size()) key.file = place[static_cast<std::size_t>(key.file)];
    return key;
  };
  if (!link.view.empty()) {
    view_ = link.view;
  } else if (view_ == "start" && !files_.empty()) {
    view_ = "overview";
  }
  scope_ = link.scope;
  if (scope_.file) {
    const auto file = static_cast<std::size_t>(*scope_.file);
    if (file < place.size()) scope_.file = place[file];
    if (static_cast<std::size_t>(*scope_.file) >= files_.size() || files_.size() < 2) scope_.file.reset();
  }
  for (StrategyKey& key : scope_.strategies) key = placed(key);
  if (scope_.what_if) scope_.what_if->strategy = placed(scope_.what_if->strategy);
  selection_ = link.selection;
  if (selection_.strategy) selection_.strategy = placed(*selection_.strategy);
  ++revision_;
}

void Session::remember() {
  back_.push_back(here());
  if (back_.size() > kKeptPlaces) back_.erase(back_.begin());
  forward_.clear();
}

void Session::go(const Link& link) {
  remember();
  restore(link);
}

void Session::go_to_file(const std::string& path, const std::string& view) {
  // One that could not be read has said why: it is in the way of the next one.
  for (int i = static_cast<int>(files_.size()) - 1; i >= 0; --i)
    if (files_[static_cast<std::size_t>(i)]->state() == FileState::kFailed) close(i);
  Link link = here();
  const std::string whole = whole_path(path);
  const auto known = std::ranges::find(link.files, whole);
  const int number = static_cast<int>(known - link.files.begin());
  if (known == link.files.end()) link.files.push_back(whole);
  link.view = view;
  link.scope = {};
  link.scope.file = number;
  link.selection = {};
  go(link);
}

void Session::show(const std::string& view) {
  if (view == view_) return;
  remember();
  view_ = view;
  ++revision_;
}

void Session::go_back() {
  if (back_.empty()) return;
  forward_.push_back(here());
  const Link link = std::move(back_.back());
  back_.pop_back();
  restore(link);
}

void Session::go_forward() {
  if (forward_.empty()) return;
  back_.push_back(here());
  const Link link = std::move(forward_.back());
  forward_.pop_back();
  restore(link);
}

void Session::notice(std::string text, bool bad) { notices_.push_back({std::move(text), bad, now_ns()}); }

}  // namespace spscope::gui
