#include "backend/report/observed_part.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "backend/record/collector_texts.h"
#include "backend/report/format.h"
#include "backend/report/headline.h"
#include "backend/report/section.h"

namespace spscope {

namespace {

std::string ranks_text(const Observation& o) {
  std::string text = o.ranks == 0 ? "no ranks" : fmt::format("{} rank{}", o.ranks, o.ranks == 1 ? "" : "s");
  if (o.run.nodes > 1) text += fmt::format(" on {} nodes", o.run.nodes);
  return text;
}

Cell mean_cell(std::int64_t total_ns, std::int64_t count) {
  return cell(Hint::kDuration,
              count > 0 ? std::optional(static_cast<double>(total_ns) / static_cast<double>(count)) : std::nullopt);
}

// "rank 0", also in a narrow window, where a row is a card and this its title.
Cell rank_cell(std::optional<int> rank) {
  Cell cell = text_cell(rank ? fmt::format("rank {}", *rank) : "no rank");
  cell.number = rank;  // to sort by
  return cell;
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
    table.rows.push_back({{rank_cell(w.rank), text_cell(w.track_kind), text_cell(w.category),
                           cell(Hint::kCount, static_cast<double>(w.count)), duration_cell(w.total_ns),
                           mean_cell(w.total_ns, w.count)}});
  section.blocks.push_back(std::move(table));
  return section;
}

Section kernels_section(const Observation& o) {
  Section section{"kernels", "Kernels", {}};
  if (o.kernels.empty()) return section;
  Table table;
  table.caption = std::ssize(o.kernels) < Observation::kMostKernels
                      ? "Kernels of all ranks, the longest total first"
                      : fmt::format("The {} kernels with the longest totals, of all ranks", o.kernels.size());
  table.columns = {text_column("kernel"), {"launches"}, {"total"}, {"mean"}};
  for (const ObservedName& k : o.kernels)
    table.rows.push_back({{text_cell(k.name), cell(Hint::kCount, static_cast<double>(k.count)),
                           duration_cell(k.total_ns), mean_cell(k.total_ns, k.count)}});
  section.blocks.push_back(std::move(table));
  return section;
}

Section nccl_section(const Observation& o) {
  Section section{"nccl", "NCCL", {}};
  if (o.operations.empty()) return section;
  Table table;
  table.caption = std::ssize(o.operations) < Observation::kMostOperations
                      ? "Operations of all ranks, the longest total first"
                      : fmt::format("The {} operations with the longest totals, of all ranks", o.operations.size());
  table.columns = {
      text_column("operation"), {"count"}, {"not ended"}, {"bytes"}, {"total"}, {"queued"}, {"on device"}, {"mean"}};
  std::int64_t count = 0, begun = 0;
  for (const ObservedOperation& op : o.operations) {
    const auto known = [&](std::int64_t ns) { return duration_cell(op.begun > 0 ? std::optional(ns) : std::nullopt); };
    count += op.count, begun += op.begun;
    table.rows.push_back(
        {{text_cell(op.name), cell(Hint::kCount, static_cast<double>(op.count)),
          cell(Hint::kCount, static_cast<double>(op.unfinished)), cell(Hint::kBytes, static_cast<double>(op.bytes)),
          duration_cell(op.total_ns), known(op.queued_ns), known(op.device_ns), mean_cell(op.total_ns, op.count)}});
  }
  drop_empty_columns(table);
  if (begun > 0) {
    std::string note =
        "Queued: from the call of NCCL until the device began. On device: from then to the end, which includes the "
        "wait "
        "for ranks that came later and the transfer; question 13 of schemas/questions.md tells them apart.";
    if (begun < count)
      note += fmt::format(" For {} of the {} that ended, nobody knows when the device began: they count in neither.",
                          count_text(static_cast<double>(count - begun)), count_text(static_cast<double>(count)));
    table.notes.push_back({std::move(note), {"queued", "on device"}});
  }
  section.blocks.push_back(std::move(table));
  return section;
}

Cell quantity_cell(double value, const std::string& unit) {
  const bool whole = value == std::floor(value) || std::abs(value) >= 100;
  Cell cell = text_cell(whole ? count_text(value) : fmt::format("{:.{}f}", value, std::abs(value) >= 10 ? 1 : 2));
  if (!unit.empty()) cell.text += " " + (unit == "C" ? "°C" : unit);
  cell.number = value;  // to sort by
  return cell;
}

Section gpus_section(const Observation& o) {
  Section section{"gpus", "GPUs", {}};
  if (o.counters.empty()) return section;
  Table table;
  table.caption =
      fmt::format("Samples of the GPUs of the host, whoever used them, {}",
                  o.run.windows.empty() ? "from when a first process used CUDA" : "while events were collected");
  table.columns = {text_column("counter"), {"min"}, {"mean"}, {"max"}};
  for (const ObservedCounter& c : o.counters) {
    if (c.unit == "J")  // counts up from the first sample
      table.rows.push_back(
          {{text_cell(c.name + ", in all"), text_cell("–"), text_cell("–"), quantity_cell(c.max, c.unit)}});
    else
      table.rows.push_back({{text_cell(c.name), quantity_cell(c.min, c.unit), quantity_cell(c.mean, c.unit),
                             quantity_cell(c.max, c.unit)}});
  }
  section.blocks.push_back(std::move(table));
  return section;
}

// What is known of a count, sorted by its number.
Cell count_cell(std::string text, std::int64_t number) {
  Cell cell = text_cell(std::move(text));
  cell.number = static_cast<double>(number);
  return cell;
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

std::string waits_unknown_text(const Observation& o) {
  const std::string unknown = "Who waits for whom is not known";
  if (o.operations.empty()) {
    std::set<std::string> why;
    for (const CollectorRecord& c : o.collectors)
      if (c.name == "nccl" && c.outcome == CollectorOutcome::kNotStarted)
        for (std::string& note : notes_of(c)) why.insert(std::move(note));
    return why.empty() ? unknown + ": no operation of NCCL was recorded."
                       : fmt::format("{}, because NCCL was not watched: {}.", unknown, fmt::join(why, "; "));
  }
  if (std::ranges::all_of(o.operations, [](const ObservedOperation& op) { return op.begun == 0; }))
    return unknown + ": NCCL did not tell when its operations began on the device, which it does from 2.27 on.";
  if (o.skew.nameless_communicators > 1)
    return fmt::format(
        "{}: processes have no ranks of their own, and NCCL numbers them anew in each of its {} "
        "communicators.",
        unknown, o.skew.nameless_communicators);
  return unknown +
         ": in no collective of NCCL are the times of two ranks on their devices known. Collectives with a root, as "
         "broadcast, do not count.";
}

// "Its kernels take 11 % longer than those of the other ranks: it has more to compute, or is slower."
std::string kernels_text(double kernels) {
  constexpr double kEqual = 0.02;  // clocks of equal GPUs differ by as much
  const double more = kernels - 1;
  if (more > kEqual)
    return fmt::format(
        " Its kernels take {} longer than those of the other ranks: it has more to compute, or is slower.",
        percent_text(more));
  const std::string than = more < -kEqual ? fmt::format("{} less time than", percent_text(-more)) : "as long as";
  return fmt::format(
      " Its kernels take {} those of the other ranks, so something else makes it late, such as copies or its host.",
      than);
}

}  // namespace

std::string who_waits_text(const Observation& o) {
  const ArrivalSkew& skew = o.skew;
  if (!o.knows_waits()) return waits_unknown_text(o);
  constexpr double kFew = 0.01, kMost = 0.5;  // of the time of all who can wait, of all waits
  const auto all_ns = static_cast<double>(std::max<std::int64_t>(skew.wait_ns(), 1));
  const LastRank& most = skew.last.front();
  const double of_all = static_cast<double>(most.others_wait_ns) / all_ns;
  const std::string collectives = count_text(static_cast<double>(skew.collectives));
  std::string text;
  if (o.share_of_time(skew.wait_ns()) < kFew) {
    text = fmt::format("No rank holds up the others: in {} collectives of NCCL they wait {} of the time.", collectives,
                       percent_text(o.share_of_time(skew.wait_ns())));
  } else if (of_all < kMost) {
    text = fmt::format(
        "Ranks wait for each other in NCCL's collectives, {} of the time. No rank causes half of it; rank {} causes "
        "most, {}.",
        percent_text(o.share_of_time(skew.wait_ns())), most.rank, percent_text(of_all));
  } else {
    text = fmt::format("{} for rank {} in NCCL's collectives, {} of the time: it came last to {} of {}.",
                       skew.ranks == 2 ? "The other rank waits" : "The other ranks wait", most.rank,
                       percent_text(o.share_of_time(most.others_wait_ns)),
                       count_text(static_cast<double>(most.last_in)), collectives);
    if (most.kernels) text += kernels_text(*most.kernels);
  }
  if (skew.largest_communicator > skew.ranks)
    text += fmt::format(" The file has {} of {} ranks: what these wait for the others is not known.", skew.ranks,
                        skew.largest_communicator);
  return text;
}

Section collectors_section(const Observation& o) {
  Section section{"collectors", "Collectors", {}};
  if (o.collectors.empty()) return section;
  Table table;
  table.columns = {
      text_column("process"), text_column("collector"), {"records"}, {"lost"}, {"own threads"}, {"memory"}};
  TextsOfProcesses notes;
  for (const CollectorRecord& c : o.collectors) {
    Row row{{text_cell(c.process.empty() ? "all of the host" : c.process), text_cell(c.name)}};
    const CollectorSum sum = sum_of({&c, 1});
    if (c.outcome == CollectorOutcome::kNotStarted)
      row.cells.push_back(text_cell("did not collect"));
    else
      for (Cell figure :
           {count_cell(records_text(sum), c.cost.records), count_cell(lost_text(sum), c.cost.dropped),
            duration_cell(c.cost.thread_ns), cell(Hint::kMemory, static_cast<double>(c.cost.memory_bytes))})
        row.cells.push_back(std::move(figure));
    table.rows.push_back(std::move(row));
    for (const std::string& note : notes_of(c)) notes.add(note, process_text(c));
  }
  section.blocks.push_back(std::move(table));
  for (const std::string& line : notes.lines()) section.blocks.push_back(Paragraph{line, Tone::kNote});
  return section;
}

Part observed_part(const Observation& o) {
  Part part;
  part.title = o.run.short_command();
  part.subtitle = "observed, all times measured; " + ranks_text(o);
  if (o.run.finished)
    part.subtitle +=
        fmt::format("; the program ran {}", duration_text(static_cast<double>(o.run.end_ns - o.run.begin_ns)));
  if (o.last_event_ns > o.first_event_ns)
    part.subtitle += fmt::format("; {} from its first to its last event",
                                 duration_text(static_cast<double>(o.last_event_ns - o.first_event_ns)));
  if (!o.run.windows.empty()) part.subtitle += "; collected " + windows_text(o.run.windows);
  if (!o.run.finished)
    part.warnings.push_back({"nobody saw the program end: events of its last moments may be missing"});
  if (std::string missing = missing_events_text(o.recording); !missing.empty())
    part.warnings.push_back({std::move(missing)});
  for (const Sentence& incident : o.recording.incidents) part.warnings.push_back(incident);
  const Section waits{"waits", "Who waits for whom", {Paragraph{who_waits_text(o), Tone::kConclusion}}};
  for (Section section : {waits, work_section(o), kernels_section(o), nccl_section(o), gpus_section(o),
                          collectors_section(o), provenance_section(o)})
    if (!section.blocks.empty()) part.sections.push_back(std::move(section));
  return part;
}

}  // namespace spscope
