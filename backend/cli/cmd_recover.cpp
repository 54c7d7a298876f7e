// `spscope recover IN... -o OUT`: a finished file from the shards of a run that was killed, or from a damaged file.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>
#include <ostream>

#include "backend/attach/missed_processes.h"
#include "backend/base/json.h"
#include "backend/base/printable.h"
#include "backend/base/result.h"
#include "backend/cli/build_facts.h"
#include "backend/cli/command.h"
#include "backend/collect/collection.h"
#include "backend/collect/loss_file.h"
#include "backend/config/environment.h"
#include "backend/store/merge/merge_shards.h"
#include "backend/store/store_reader.h"

namespace spscope {
namespace {

struct RecoverFlags {
  std::vector<std::string> inputs;
  std::string output;
  bool force = false;
};

// Every store in a folder that has no collecting.json.
std::vector<std::string> stores_in(const std::string& folder) {
  std::vector<std::string> stores;
  std::error_code error, gone;
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (it->is_regular_file(gone) && it->path().extension() == ".db") stores.push_back(it->path().string());
  if (error)
    throw Error(ErrorCode::kStoreOpen, fmt::format("cannot read the folder \"{}\": {}", folder, error.message()),
                "give a folder that you may read, or the shards in it");
  if (stores.empty())
    throw Error(ErrorCode::kStoreOpen, fmt::format("folder \"{}\" holds no shards", folder),
                "give the shards of a run, or the path that was given to it with -o");
  return stores;
}

void require_ended(const CollectingNote& note) {
  switch (collector_state(note)) {
    case CollectorState::kRuns:
      throw Error(ErrorCode::kStoreBusy, fmt::format("process {} is still writing \"{}\"", note.pid, note.out),
                  "wait for it, or stop it with kill and try again");
    case CollectorState::kElsewhere:
      if (!std::filesystem::exists(note.folder))
        throw Error(ErrorCode::kStoreOpen,
                    fmt::format("the shards of \"{}\" are in \"{}\" on host {}", note.out, note.folder, note.host),
                    "recover it on that host, or copy the folder here and give it by name");
      return;
    case CollectorState::kEnded:
      return;
  }
}

// What an input refers to: shards to read, and files of their run that can be removed once they were read.
struct Found {
  std::vector<std::string> shards, removable;
  std::vector<CollectingNote> notes;
};

// The folder of a collection, with OUT.collecting and what a killed merge left, unless a later run to OUT has its own.
std::vector<std::string> leftovers_of(const CollectingNote& note) {
  std::vector<std::string> left = {note.folder};
  const std::string beside_out = collecting_path(note.out);
  Result<CollectingNote> named = capture([&] { return read_collecting(beside_out); });
  if (!named || named->collection != note.collection) return left;
  left.push_back(beside_out);
  std::error_code none;
  if (const std::string unmerged = note.out + ".tmp"; std::filesystem::exists(unmerged, none)) left.push_back(unmerged);
  return left;
}

// Whether the run of this note wrote its file whole and ended before it removed the rest: the note beside the file is
// still its own, the file was written after it, and no recover made the file.
bool wrote_its_file(const CollectingNote& note) {
  if (note.is_part() || !recovered_to(note).empty()) return false;
  const std::string beside = collecting_path(note.out);
  std::error_code absent;
  const auto noted = std::filesystem::last_write_time(beside, absent);
  if (absent) return false;
  const auto written = std::filesystem::last_write_time(note.out, absent);
  if (absent || written <= noted) return false;
  const Result<bool> whole = capture([&] {
    const StoreReader file(note.out);
    return read_collecting(beside).collection == note.collection;
  });
  return whole && *whole;
}

// What can be removed of what was found.
std::vector<std::string> remaining(std::vector<std::string> removable) {
  std::error_code gone;
  std::erase_if(removable, [&](const std::string& path) { return !std::filesystem::exists(path, gone); });
  return removable;
}

Found find_shards(const std::string& input) {
  if (const std::optional<CollectingNote> note = find_collection(input)) {
    require_ended(*note);
    if (wrote_its_file(*note)) return {{note->out}, leftovers_of(*note), {}};
    return {note->shards(), leftovers_of(*note), {*note}};
  }
  if (!std::filesystem::is_directory(input)) return {{input}, {}, {}};
  const std::vector<std::string> stores = stores_in(input);
  return {stores, stores, {}};
}

// Of a run over several hosts: which folders were not given.
std::vector<std::string> missing_parts(const Found& found) {
  const auto is_given = [&](const std::string& path) {
    return std::ranges::any_of(found.shards, [name = std::filesystem::path(path).filename()](const std::string& shard) {
      return std::filesystem::path(shard).filename() == name;
    });
  };
  std::vector<std::string> missing;
  for (const CollectingNote& note : found.notes) {
    if (note.is_part() && !is_given(note.head_db()))
      missing.push_back(
          fmt::format("\"{}\" holds the events of the ranks of host {}; config, plans and results are in the folder of "
                      "this run on host {}, which was not given",
                      note.folder, note.host, note.home_host));
    std::vector<CollectingElsewhere> absent = note.elsewhere;
    std::erase_if(absent, [&](const CollectingElsewhere& place) {
      return std::ranges::all_of(place.ranks, [&](int rank) { return is_given(note.rank_db(rank)); });
    });
    if (!absent.empty())
      missing.push_back(
          fmt::format("shards of other hosts were not given: {}; copy these folders here and give them "
                      "too",
                      describe(absent)));
  }
  return missing;
}

// One incident for each recovered run: the process that should have merged its shards ended before it did.
std::vector<IncidentRecord> early_ends(const Found& found) {
  std::vector<IncidentRecord> ends;
  for (const CollectingNote& note : found.notes) {
    if (note.is_part()) continue;
    IncidentRecord& end = ends.emplace_back();
    end.kind = IncidentKind::kLost;
    end.message =
        fmt::format("process {} of host {} ended before it wrote the file, which was recovered from its shards",
                    note.pid, note.host);
  }
  return ends;
}

// Notes for an input that is already a finished run, and the command for a killed run with the same output path.
void add_notes_on_finished_runs(const RecoverFlags& flags, std::vector<std::string>& notes) {
  for (const std::string& input : flags.inputs) {
    notes.push_back(fmt::format("\"{}\" is a finished, undamaged run: \"{}\" is a copy of it", input, flags.output));
    const std::string absolute = std::filesystem::absolute(input).lexically_normal();
    for (const CollectingNote& dead : dead_collections(default_scratch_folder()))
      if (std::filesystem::path(dead.out).lexically_normal() == absolute)
        notes.push_back(fmt::format(
            "another run to it, which began at {}, ended early and left \"{}\": spscope recover \"{}\" -o FILE.db",
            dead.started_utc, dead.folder, dead.folder));
  }
}

// The summary of the written file, where one was. `removable`: files and folders whose content is now in it; recover
// never removes them.
void print_merge(CommandContext& context, const std::string& path, const MergeReport& report,
                 const std::vector<std::string>& removable) {
  if (context.json) {
    const Json object = {{"schema_version", 1},
                         {"output", path},
                         {"files_read", report.shards},
                         {"events", report.events},
                         {"finished_runs", report.finished_runs},
                         {"unfinished", report.unfinished},
                         {"dropped", report.dropped},
                         {"unreadable", report.unreadable},
                         {"lost", report.lost},
                         {"notes", report.notes},
                         {"removable", removable}};
    context.out << object.dump(2) << '\n';
    return;
  }
  if (report.shards > 0)
    context.out << fmt::format("wrote {} with {} events from {} file{}\n", path, report.events, report.shards,
                               report.shards == 1 ? "" : "s");
  const auto line = [&](std::int64_t count, const char* what) {
    if (count > 0) context.out << fmt::format("  {} {}\n", count, what);
  };
  line(report.unfinished, "were unfinished when recording stopped");
  line(report.dropped, "more were dropped because a buffer was full");
  line(report.unreadable, "more were written and are unreadable");
  line(report.lost, "more were lost before they were written");
  if (!report.ranks.text.empty()) context.out << fmt::format("  {}\n", report.ranks.text);
  if (!removable.empty())
    context.out << fmt::format("the files of the run remain, and can be removed once you have checked {}:\n", path);
  for (const std::string& left : removable) context.out << fmt::format("  {}\n", left);
  for (const std::string& note : report.notes) context.err << fmt::format("note: {}\n", printable_line(note));
}

int recover(CommandContext& context, const RecoverFlags& flags) {
  Found found;
  for (const std::string& input : flags.inputs) {
    const Found of_input = find_shards(input);
    found.shards.insert(found.shards.end(), of_input.shards.begin(), of_input.shards.end());
    found.removable.insert(found.removable.end(), of_input.removable.begin(), of_input.removable.end());
    found.notes.insert(found.notes.end(), of_input.notes.begin(), of_input.notes.end());
  }
  for (std::vector<std::string>* const list : {&found.shards, &found.removable}) {
    std::ranges::sort(*list);
    list->erase(std::unique(list->begin(), list->end()), list->end());  // clang 14 cannot read ranges::unique
  }
  const std::vector<std::string>& shards = found.shards;
  std::error_code none;
  for (const std::string& shard : shards) {
    if (!std::filesystem::equivalent(shard, flags.output, none)) continue;
    if (shards.size() > 1 || found.removable.empty())
      throw Error(ErrorCode::kUsage, fmt::format("\"{}\" is both read and written", shard),
                  "choose another path with -o");
    MergeReport whole;
    whole.notes = {fmt::format("\"{}\" is whole: its run wrote it, and there is nothing to recover", shard)};
    print_merge(context, flags.output, whole, remaining(found.removable));
    return kExitDone;
  }
  OutputFile out(flags.output, flags.force);
  MergeOptions options{.tolerant = true, .tool_version = std::string(kVersion)};
  options.incidents = early_ends(found);
  std::int64_t lost = 0;
  for (const CollectingNote& note : found.notes) {
    const Losses losses = read_losses(note);
    lost += losses.events;
    std::ranges::copy(losses.incidents, std::back_inserter(options.incidents));
    std::ranges::copy(incidents_of_missed(note), std::back_inserter(options.incidents));
  }
  MergeReport report = merge_shards(out, shards, options);
  report.lost += lost;
  const bool was_whole = found.notes.empty() && report.notes.empty();
  const bool is_empty = report.events + report.finished_runs == 0;
  const std::vector<std::string> missing = missing_parts(found);
  report.notes.insert(report.notes.end(), missing.begin(), missing.end());
  if (!missing.empty()) found.removable.clear();  // it is still needed, together with the rest
  if (missing.empty() && !is_empty)
    for (const CollectingNote& note : found.notes) mark_recovered(note, flags.output);
  if (was_whole) add_notes_on_finished_runs(flags, report.notes);
  // OUT.tmp of the killed merge may be what this one was written in.
  print_merge(context, flags.output, report, remaining(std::move(found.removable)));
  if (was_whole || !is_empty) return kExitDone;
  context.err << fmt::format(
      "note: nothing that was measured could be recovered: {} holds the config, and no event and no finished layer "
      "pass\n",
      flags.output);
  return kExitFailed;
}

}  // namespace

Command declare_recover() {
  auto flags = std::make_shared<RecoverFlags>();
  Command command;
  command.flags = {
      {.names = "input",
       .help = "the path given to the run, its .collecting file, its folder, its shards, or a damaged file",
       .target = &flags->inputs,
       .required = true},
      {.names = "-o,--output", .help = "file to write", .target = &flags->output, .required = true},
      {.names = "--force", .help = "replace the output when it is a stored run", .target = &flags->force},
  };
  command.action = [flags](CommandContext& context) { return recover(context, *flags); };
  return command;
}

}  // namespace spscope
