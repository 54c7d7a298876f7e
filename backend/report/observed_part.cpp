#include "backend/report/observed_part.h"

#include <fmt/format.h>

#include "backend/record/collector_texts.h"
#include "backend/report/format.h"
#include "backend/report/headline.h"

namespace spscope {

namespace {

std::string ranks_text(const ObservedRun& run) {
  std::string text = fmt::format("{} rank{}", run.ranks, run.ranks == 1 ? "" : "s");
  if (run.nodes > 1) text += fmt::format(" on {} nodes", run.nodes);
  return text;
}

Cell mean_cell(std::int64_t total_ns, std::int64_t count) {
  return cell(Hint::kDuration,
              count > 0 ? std::optional(static_cast<double>(total_ns) / static_cast<double>(count)) : std::nullopt);
}

// Sums over what was seen, one row a rank, kind of track and category.
Section work_section(const Observation& o) {
  Section section{"work", "Work", {}};
  if (o.work.empty()) {
    section.blocks.push_back(
        Paragraph{"No event was recorded: spscope doctor says which collectors can run here, and why others cannot.",
                  Tone::kWarning});
    return section;
  }
  Table table;
  table.columns = {text_column("rank"), text_column("on"), text_column("what"), {"events"}, {"total"}, {"mean"}};
  for (const ObservedWork& w : o.work)
    table.rows.push_back({{text_cell(w.rank ? std::to_string(*w.rank) : "–"), text_cell(w.track_kind),
                           text_cell(w.category), cell(Hint::kCount, static_cast<double>(w.count)),
                           duration_cell(w.total_ns), mean_cell(w.total_ns, w.count)}});
  section.blocks.push_back(std::move(table));
  return section;
}

Section kernels_section(const Observation& o) {
  Section section{"kernels", "Kernels", {}};
  if (o.kernels.empty()) return section;
  Table table;
  table.caption = std::ssize(o.kernels) < Observation::kMostKernels
                      ? "Over all ranks, those that took longest in all first"
                      : fmt::format("The {} that took longest in all, over all ranks", o.kernels.size());
  table.columns = {text_column("kernel"), {"launches"}, {"total"}, {"mean"}};
  for (const ObservedName& k : o.kernels)
    table.rows.push_back({{text_cell(k.name), cell(Hint::kCount, static_cast<double>(k.count)),
                           duration_cell(k.total_ns), mean_cell(k.total_ns, k.count)}});
  section.blocks.push_back(std::move(table));
  return section;
}

// What collecting itself took, one row a process and collector, and what is missing.
Section collectors_section(const Observation& o) {
  Section section{"collectors", "Collectors", {}};
  if (o.collectors.empty()) return section;
  Table table;
  table.columns = {
      text_column("process"), text_column("collector"), {"records"}, {"lost"}, {"own threads"}, {"memory"}};
  TextsOfProcesses notes;
  for (const CollectorRecord& c : o.collectors) {
    Row row{{text_cell(c.process.empty() ? "all of the host" : c.process), text_cell(c.name)}};
    const bool was_cut_off = c.outcome == CollectorOutcome::kCutOff;
    const auto count = [&](std::int64_t n, const std::string& at_least) {
      return was_cut_off ? text_cell(at_least) : cell(Hint::kCount, static_cast<double>(n));
    };
    if (c.outcome == CollectorOutcome::kNotStarted)
      row.cells.push_back(text_cell("did not collect"));
    else
      for (Cell figure : {count(c.cost.records, "at least " + count_text(static_cast<double>(c.cost.records))),
                          count(c.cost.dropped, "unknown"), duration_cell(c.cost.thread_ns),
                          cell(Hint::kMemory, static_cast<double>(c.cost.memory_bytes))})
        row.cells.push_back(std::move(figure));
    table.rows.push_back(std::move(row));
    for (const std::string& note : notes_of(c)) notes.add(note, process_text(c));
  }
  section.blocks.push_back(std::move(table));
  for (const std::string& line : notes.lines()) section.blocks.push_back(Paragraph{line, Tone::kNote});
  return section;
}

Section provenance_section(const Observation& o) {
  Section section{"provenance", "Provenance", {}};
  Facts made{"Made with", {}};
  made.rows = {{"spscope", o.tool_version}, {"at", o.created_utc}, {"command line", o.run.command}};
  section.blocks.push_back(std::move(made));
  Facts machine{"Machine", {}};
  for (const MachineLine& line : o.machine) machine.rows.emplace_back(line.name, line.value);
  if (!machine.rows.empty()) section.blocks.push_back(std::move(machine));
  return section;
}

}  // namespace

Part observed_part(const Observation& o) {
  Part part;
  part.title = o.run.command;
  part.subtitle = "observed, all times measured; " + ranks_text(o.run);
  if (o.run.finished)
    part.subtitle += fmt::format("; {}", duration_text(static_cast<double>(o.run.end_ns - o.run.begin_ns)));
  else
    part.warnings.push_back({"nobody saw the program end: events of its last moments may be missing"});
  if (std::string missing = missing_events_text(o.recording); !missing.empty())
    part.warnings.push_back({std::move(missing)});
  for (const Sentence& incident : o.recording.incidents) part.warnings.push_back(incident);
  for (Section section : {work_section(o), kernels_section(o), collectors_section(o), provenance_section(o)})
    if (!section.blocks.empty()) part.sections.push_back(std::move(section));
  return part;
}

}  // namespace spscope
