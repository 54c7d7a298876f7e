#include "gui/launch/run_form.h"

#include <algorithm>
#include <filesystem>

#include "backend/base/result.h"
#include "backend/config/config_fields.h"
#include "backend/config/toml_text.h"
#include "backend/config/validate.h"

namespace spscope::gui {
namespace {

constexpr std::string_view kStrategies = "run.strategies";

std::string without_blanks(std::string_view text) {
  const std::size_t from = text.find_first_not_of(" \t\n"), to = text.find_last_not_of(" \t\n");
  return from == std::string_view::npos ? "" : std::string(text.substr(from, to - from + 1));
}

// As --set takes it. A text that begins like TOML is quoted, so that it stays the text that it is; an input is the same
// file wherever the command is run.
std::string assignment(std::string_view key, std::string text) {
  const FieldRow* row = find_field(key);
  if (row != nullptr && row->role == FieldRole::kInputPath && !text.empty())
    text = std::filesystem::absolute(text).lexically_normal().string();
  const std::string_view type = row != nullptr ? field_type(*row) : "parameter";
  const bool literal = type == "text" || type == "choice" || type == "parameter";
  const bool like_toml = !text.empty() && (text[0] == '[' || text[0] == '"');
  return std::string(key) + "=" + (literal && like_toml ? toml_quoted(text) : text);
}

// With what the model and the cluster say in place of keys that leave it to them; as it is where they cannot be
// resolved.
RunConfig filled(RunConfig config) {
  const Result<ResolvedConfig> resolved = capture([&] { return resolve(config); });
  if (!resolved) return config;
  const Model& model = resolved->model;
  ModelConfig& of = config.model;
  of.grid = model.grid;
  of.layers = model.layers;
  of.hidden = model.hidden;
  of.heads = model.heads;
  of.head_dim = model.head_dim;
  of.ffn = model.ffn;
  of.text_tokens = model.joint_text_tokens > 0 ? model.joint_text_tokens : model.cross_text_tokens;
  of.cfg = model.cfg;
  of.denoise_steps = model.denoise_steps;
  config.cluster.ranks = resolved->cluster.ranks;
  config.cluster.nodes = resolved->cluster.nodes;
  return config;
}

}  // namespace

std::string typed_text(std::string_view key, const RunConfig& config) {
  const FieldRow* row = find_field(key);
  if (row == nullptr) return "";
  RunConfig copy = config;  // rows hold accessors to mutable members
  const FieldRef ref = row->ref(copy);
  if (std::string* const* text = std::get_if<std::string*>(&ref)) return **text;
  std::string toml = field_toml(*row, config);
  const bool quoted = toml.size() > 1 && toml.front() == '"';  // of a choice: nothing is escaped in it
  return quoted ? toml.substr(1, toml.size() - 2) : toml;
}

RunForm::RunForm() { update(); }

std::string RunForm::text(std::string_view key) const {
  const auto found = texts_.find(key);
  return found != texts_.end() ? found->second : typed_text(key, RunConfig());
}

std::string RunForm::from_preset(std::string_view key) const {
  std::string said = typed_text(key, config_), filled = typed_text(key, filled_);
  return said == filled ? "" : filled;
}

void RunForm::set(std::string_view key, std::string_view text) {
  const std::string value = without_blanks(text);
  const bool is_default = find_field(key) != nullptr ? value == typed_text(key, RunConfig()) : value.empty();
  if (is_default) {
    texts_.erase(std::string(key));
  } else {
    texts_.insert_or_assign(std::string(key), value);
  }
  update();
}

void RunForm::reset(std::string_view key) {
  texts_.erase(std::string(key));
  update();
}

void RunForm::load(const RunConfig& config) {
  texts_.clear();
  for (const FieldRow& row : config_fields()) {
    std::string text = typed_text(row.name, config);
    if (row.role == FieldRole::kInputPath && !text.empty())
      text = std::filesystem::absolute(input_path(config, text)).lexically_normal().string();
    if (text != typed_text(row.name, RunConfig())) texts_.emplace(row.name, std::move(text));
  }
  for (const auto& [section, by_name] :
       {std::pair("mask", &config.pattern_parameters), std::pair("strategy", &config.strategy_parameters)})
    for (const auto& [name, values] : *by_name)
      for (const auto& [key, value] : values) texts_.emplace(std::string(section) + "." + name + "." + key, value);
  update();
}

std::vector<std::string> RunForm::changed_keys() const {
  std::vector<std::string> keys;
  for (const FieldRow& row : config_fields())
    if (texts_.contains(row.name)) keys.emplace_back(row.name);
  for (const auto& [key, value] : texts_)
    if (find_field(key) == nullptr) keys.push_back(key);
  return keys;
}

void RunForm::set_strategies(const std::vector<std::string>& strategies) {
  RunConfig config;
  config.run.strategies = strategies;
  set(kStrategies, typed_text(kStrategies, config));
}

bool RunForm::all_settings() const { return std::ranges::find(strategies(), "all") != strategies().end(); }

void RunForm::check_names(const Catalog& catalog) {
  strategy_names_.clear();
  pattern_names_.clear();
  for (const CatalogRow& row : catalog.strategies) strategy_names_.push_back(row.name);
  for (const CatalogRow& row : catalog.patterns) pattern_names_.push_back(row.name);
  update();
}

void RunForm::update() {
  ++revision_;
  ReadConfig read;
  for (const std::string& key : changed_keys()) apply_override(read, assignment(key, texts_.at(key)));
  config_ = std::move(read.config);
  problems_ = std::move(read.problems);
  NameLists names;
  names.strategies.assign(strategy_names_.begin(), strategy_names_.end());
  names.patterns.assign(pattern_names_.begin(), pattern_names_.end());
  for (Problem& problem : validate(config_, names, read.faulty)) problems_.push_back(std::move(problem));
  filled_ = filled(config_);
  if (config_.run.strategies.empty())
    problems_.push_back(
        {ErrorCode::kConfigRange, std::string(kStrategies), "no strategy is chosen", "choose at least one"});
}

std::vector<std::string> RunForm::arguments() const {
  std::vector<std::string> words;
  for (const std::string& key : changed_keys()) {
    const FieldRow* row = find_field(key);
    if (key == kStrategies || (row != nullptr && row->role == FieldRole::kOutputPath)) continue;
    words.insert(words.end(), {"--set", assignment(key, texts_.at(key))});
  }
  if (changed(kStrategies))
    for (const std::string& strategy : strategies()) words.insert(words.end(), {"-s", strategy});
  return words;
}

std::string RunForm::toml() const { return runnable_toml(config_); }

}  // namespace spscope::gui
