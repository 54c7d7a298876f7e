#include "tests/conformance/settings.h"

#include <algorithm>
#include <cstdlib>

#include "tests/conformance/workloads.h"

namespace spscope {

bool wide_set() { return std::getenv("SPSCOPE_WIDE") != nullptr; }

std::vector<ConformanceCase> all_cases() {
  std::vector<ConformanceCase> cases;
  for (std::size_t w = 0; w < workloads().size(); ++w)
    for (std::size_t p = 0; p < patterns().size(); ++p)
      if (runs_on(workloads()[w], patterns()[p])) cases.push_back({w, p});
  return cases;
}

std::vector<ConformanceCase> cases_of(std::initializer_list<std::string_view> names) {
  std::vector<ConformanceCase> cases = all_cases();
  std::erase_if(cases, [&](const auto& c) { return std::ranges::count(names, patterns()[c.pattern].name) == 0; });
  return cases;
}

std::string case_name(const ConformanceCase& c) {
  std::string name(workloads()[c.workload].name);
  name.append("_").append(patterns()[c.pattern].name);
  std::ranges::replace(name, '-', '_');
  return name;
}

void SettingList::add(const Parameters& setting) {
  if (std::ranges::find(settings_, setting) == settings_.end() && strategy_.legal(request_, setting).empty())
    settings_.push_back(setting);
}

void SettingList::add_all_degrees() {
  Parameters setting(strategy_.parameters());
  if (!setting.has("ring")) return;
  for (int ring = 1; ring <= request_.ranks; ++ring) {
    if (request_.ranks % ring != 0) continue;
    setting.set("ulysses", std::int64_t{request_.ranks / ring});
    setting.set("ring", std::int64_t{ring});
    add(setting);
    if (!setting.has("reward")) continue;
    Parameters forced = setting;
    forced.set("reward", 0.0);
    add(forced);
  }
}

namespace {

// Of candidates that differ in where ranks lie, and in how evenly heads are dealt under the same degrees, one runs: the
// choices below have every placement, the automatic degrees of dbsp the finer deal.
bool repeats_others(const Parameters& setting) {
  if (setting.has("ranks") && setting.text("ranks") == "strided") return true;
  return setting.has("refine") && setting.flag("refine") && setting.integer("ulysses") > 0 &&
         setting.real("reward") > 0;
}

}  // namespace

std::vector<Parameters> settings_to_run(const Strategy& strategy, const Request& request, bool all_degrees) {
  std::vector<Parameters> candidates = strategy.candidates(request);
  std::erase_if(candidates, repeats_others);
  SettingList settings(strategy, request, std::move(candidates));
  const Parameters defaults(strategy.parameters());
  settings.add(defaults);
  Parameters mesh = defaults;  // of two axes where ranks allow one
  const char* degree = mesh.has("ring") ? "ring" : "ulysses";
  if (request.ranks % 2 == 0 && mesh.has(degree)) mesh.set(degree, std::int64_t{2});
  const auto add = [&](const std::string& name, ParameterValue value) {
    Parameters setting = mesh;
    setting.set(name, std::move(value));
    settings.add(setting);
  };
  for (const Parameter& row : strategy.parameters()) {
    for (const std::string& choice : row.choices) add(row.name, choice);
    if (row.unit == "pieces") add(row.name, std::int64_t{2});
  }
  if (all_degrees) settings.add_all_degrees();
  return settings.take();
}

}  // namespace spscope
