#include "gui/session/session.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <set>

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
  return {compare_store(reader, on_run), reader.file()};
}

std::string pass_key(const OpenFile& file, const std::string& id, LayerPass pass, std::optional<int> repeat) {
  return fmt::format("{}\n{}\n{}\n{} {} {}", file.path, file.generation, id, pass.layer, pass.step,
                     repeat.value_or(-1));
}

}  // namespace

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
  file->name = std::filesystem::path(whole).filename().string();
  for (const auto& other : files_)
    if (other->name == file->name)
      file->name = (std::filesystem::path(whole).parent_path().filename() / file->name).string();
  file->slot = std::make_unique<QuerySlot<FileContent>>();
  file->makespans = std::make_unique<QuerySlot<std::vector<StrategyMakespan>>>();
  files_.push_back(std::move(file));
  reload(static_cast<int>(files_.size()) - 1);
}

void Session::reload(int index) {
  OpenFile& file = *files_[static_cast<std::size_t>(index)];
  ++file.generation;
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
  files_.erase(files_.begin() + index);
  const auto keep = [&](StrategyKey& key) {
    if (key.file == index) return false;
    if (key.file > index) --key.file;
    return true;
  };
  std::erase_if(scope_.strategies, [&](StrategyKey& key) { return !keep(key); });
  if (selection_.strategy && !keep(*selection_.strategy)) selection_ = {};
  back_.clear();
  forward_.clear();
  ++revision_;
  if (files_.empty()) view_ = "start";
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

std::vector<Chosen> Session::all_strategies() const {
  std::vector<Chosen> all;
  for (std::size_t f = 0; f < files_.size(); ++f) {
    const FileContent* content = files_[f]->content();
    if (content == nullptr) continue;
    for (const Comparison& comparison : content->comparisons)
      for (const StrategyResult& strategy : comparison.strategies) {
        std::string label = strategy.label.empty() ? strategy.id : strategy.label;
        if (files_.size() > 1) label += " · " + files_[f]->name;
        all.push_back({{static_cast<int>(f), strategy.id}, files_[f].get(), &comparison, &strategy, std::move(label)});
      }
  }
  return all;
}

std::vector<Chosen> Session::chosen() const {
  std::vector<Chosen> all = all_strategies();
  std::erase_if(all, [&](const Chosen& c) {
    if (!c.strategy->legal()) return true;
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
  std::optional<LayerPass> slowest;
  std::int64_t longest = -1;
  for (const Chosen& c : chosen())
    for (const LayerResult& layer : c.strategy->by_layer) {
      const std::int64_t ns = layer.makespan_ns.value_or(0);
      if (ns <= longest) continue;
      longest = ns;
      slowest = {layer.layer, layer.denoise_step};
    }
  return slowest;
}

std::optional<LayerPass> Session::pass() const {
  const auto slowest = slowest_pass();
  if (!slowest) return std::nullopt;
  return LayerPass{scope_.layer.value_or(slowest->layer), scope_.step.value_or(slowest->step)};
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
                 [path = chosen.file->path, generation = chosen.file->generation, id = chosen.key.id, pass,
                  repeat = scope_.repeat](Readers& readers, const Cancelled&, QueryProgress&) {
                   return load_pass(readers.of(path, generation), id, pass.layer, pass.step, repeat);
                 });
  return kept->slot;
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
  std::vector<int> place;  // of each file of the link among the open ones
  for (const std::string& path : link.files) {
    open(path);
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
  for (StrategyKey& key : scope_.strategies) key = placed(key);
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
