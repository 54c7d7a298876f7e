// `spscope doctor [FILE]`: what this machine and this build can do, whether a stored run is sound, or what the runs in
// a scratch folder left.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <ostream>

#include "backend/base/json.h"
#include "backend/base/listed.h"
#include "backend/base/printable.h"
#include "backend/cli/build_facts.h"
#include "backend/cli/command.h"
#include "backend/collect/collection.h"
#include "backend/config/environment.h"
#include "backend/execute/cuda_rows.h"
#include "backend/execute/execute.h"
#include "backend/job/check_file.h"
#include "backend/job/machine.h"
#include "collectors/collector.h"
#include "kernels/calibrate.h"

namespace spscope {
namespace {

std::vector<Finding> machine_findings() {
  std::vector<Finding> list;
  for (const MachineFact& fact : machine_facts()) list.push_back({fact.name, fact.value});
  list.push_back({"fp32 peak", fmt::format("{:.0f} GFLOP/s a core, measured", kernels::measure_fma_gflop_per_s())});
  list.push_back({"memory copy", fmt::format("{:.1f} GB/s, measured", kernels::measure_copy_gbps())});
  list.push_back({"spscope", std::string(kVersion)});
  for (const BuildFact& fact : build_facts())
    list.push_back({std::string(fact.name), fact.value.empty() ? "none" : std::string(fact.value)});
  const std::string scratch = default_scratch_folder();
  list.push_back({"scratch files", scratch, access(scratch.c_str(), W_OK | X_OK) == 0});
  for (MachineFact& fact : executor_facts()) list.push_back({std::move(fact.name), std::move(fact.value)});
  for (DeviceFact& fact : cuda_facts()) list.push_back({std::move(fact.name), std::move(fact.value)});
  for (const CollectorRow& row : collectors()) {
    const std::optional<std::string> why = row.cannot_collect();
    list.push_back({fmt::format("collector {}", row.name), why ? fmt::format("cannot collect, because {}", *why)
                                                               : fmt::format("can collect {}", row.summary)});
  }
  return list;
}

// What became of a folder that a run made for its shards.
Finding folder_finding(const CollectionFolder& folder) {
  const CollectingNote& note = folder.note;
  const std::string text = fmt::format("\"{}\" holds {} bytes of the run to \"{}\", which began at {}.", note.folder,
                                       folder.bytes, note.out, note.started_utc);
  if (folder.state == CollectorState::kRuns)
    return {"run going on", fmt::format("{} Process {} is writing it.", text, note.pid)};
  if (!folder.recovered_to.empty())
    return {"recovered", fmt::format("{} \"{}\" was made of it, so you can remove it.", text, folder.recovered_to)};
  if (folder.state == CollectorState::kElsewhere)
    return {"of another host", fmt::format("{} Host {} wrote it.", text, note.host)};
  const std::string users = folder.processes.empty()
                                ? ""
                                : fmt::format(" Process{} {} still {} it.", folder.processes.size() == 1 ? "" : "es",
                                              listed(folder.processes), folder.processes.size() == 1 ? "uses" : "use");
  return {"ended early",
          fmt::format("{}{} spscope recover \"{}\" -o FILE.db makes a file of it.", text, users, note.folder), false};
}

// The folders of runs in a scratch folder.
std::vector<Finding> folder_findings(const std::string& scratch) {
  std::vector<Finding> findings;
  for (const CollectionFolder& folder : collections_in(scratch)) findings.push_back(folder_finding(folder));
  if (findings.empty()) findings.push_back({"folders of runs", fmt::format("none in \"{}\"", scratch)});
  return findings;
}

// Of a path: of this machine when it is "", of the runs in a scratch folder, or of a stored run.
FileFindings findings_of(const std::string& path) {
  std::error_code absent;
  if (path.empty()) {
    std::vector<Finding> findings = machine_findings();
    for (Finding& finding : folder_findings(default_scratch_folder())) findings.push_back(std::move(finding));
    return {std::move(findings)};
  }
  if (std::filesystem::is_directory(path, absent) && !find_collection(path)) return {folder_findings(path)};
  FileFindings found = check_file(path);
  found.of_file = true;
  return found;
}

void print_findings(CommandContext& context, const std::vector<Finding>& findings) {
  if (context.json) {
    Json list = Json::array();
    for (const Finding& f : findings) list.push_back({{"name", f.name}, {"value", f.value}, {"ok", f.ok}});
    context.out << fmt::format("{}\n", Json{{"schema_version", 1}, {"findings", list}}.dump(2));
    return;
  }
  for (const Finding& f : findings)
    context.out << fmt::format("{} {:<22} {}\n", f.ok ? " " : "!", printable_line(f.name), printable_line(f.value));
}

// What of a stored run is damaged.
std::vector<std::string> damage_of(const FileFindings& found) {
  std::vector<std::string> damage;
  const auto add = [&](std::int64_t count, const char* what) {
    if (count > 0) damage.push_back(fmt::format("{} {}", count, what));
  };
  if (found.bad_page_checksums) damage.emplace_back("damaged checksums of its pages");
  add(found.bad_pages, "damaged pages");
  add(found.bad_chunks, "chunks that cannot be read");
  add(found.bad_rows, "damaged layer passes or masks");
  return damage;
}

// Of a stored run.
std::string verdict(const FileFindings& found) {
  if (const std::vector<std::string> damage = damage_of(found); !damage.empty())
    return "Damaged: the file has " + listed(damage) + ".";
  const bool is_marked = std::ranges::any_of(found.list, [](const Finding& f) { return !f.ok && f.name != "pages"; });
  return (found.unchecked.empty()
              ? "No damage found."
              : fmt::format("No damage found in what was checked. Its pages were not: {}.", found.unchecked)) +
         (is_marked ? " Lines with ! say what is missing." : "");
}

int doctor(CommandContext& context, const std::string& path) {
  const FileFindings found = findings_of(path);
  const std::vector<std::string> damage = damage_of(found);
  if (found.of_file && !context.json) context.out << verdict(found) << '\n';
  print_findings(context, found.list);
  if (!damage.empty())
    throw Error(ErrorCode::kStoreCorrupt, fmt::format("\"{}\" has {}", path, listed(damage)),
                fmt::format("spscope recover \"{}\" -o FILE.db keeps what can be read", path));
  return kExitDone;
}

}  // namespace

Command declare_doctor() {
  auto path = std::make_shared<std::string>();
  Command command;
  command.flags = {
      {.names = "file",
       .help = "a stored run to check, or a scratch folder; without one, this machine and build",
       .target = path.get()},
  };
  command.action = [path](CommandContext& context) { return doctor(context, *path); };
  return command;
}

}  // namespace spscope
