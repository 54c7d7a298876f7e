#include "backend/job/run_output.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "backend/base/file_system.h"
#include "backend/base/own_files.h"
#include "backend/base/result.h"
#include "backend/config/environment.h"

namespace spscope {
namespace {

std::string scratch_of(const RunOutputOptions& options) {
  return options.scratch.empty() ? default_scratch_folder() : options.scratch;
}

// Whether no run has counted this folder: the first one marks it.
bool is_new(const std::string& folder) {
  const std::filesystem::path mark = std::filesystem::path(folder) / "counted";
  std::error_code unknown;
  if (std::filesystem::exists(mark, unknown)) return false;
  std::ofstream(mark).put('\n');  // where that fails, it is counted again
  return true;
}

// What runs left that ended early: each one to this file, and how many others.
void name_leftovers(const RunOutputOptions& options, const std::string& out) {
  if (!options.on_note) return;
  std::int64_t others = 0;
  for (const CollectingNote& dead : dead_collections(scratch_of(options))) {
    if (dead.out != out) {
      others += options.names_others && is_new(dead.folder);
      continue;
    }
    options.on_note(
        fmt::format("a run to this file that began at {} ended early and left \"{}\"", dead.started_utc, dead.folder));
    options.on_note(fmt::format(
        "  spscope recover \"{}\" -o FILE.db makes a file of it; remove it when it is not needed", dead.folder));
  }
  if (others > 0)
    options.on_note(fmt::format("{} other run{} that ended early left folders: spscope doctor \"{}\" lists them",
                                others, others == 1 ? "" : "s", scratch_of(options)));
}

}  // namespace

RunOutput::ScratchFolder::ScratchFolder(const std::string& scratch) {
  if (const std::optional<std::string> made = make_own_folder(scratch + "/spscope-")) {
    path = *made;
    return;
  }
  throw Error(ErrorCode::kOutputPlace,
              fmt::format("cannot make a scratch folder: {}: {}", std::strerror(errno), scratch),
              "set run.scratch (attach: --scratch) to a folder that can be written");
}

RunOutput::ScratchFolder::~ScratchFolder() { remove_own_folder(path); }

RunOutput::RunOutput(const std::string& wanted, const RunOutputOptions& options)
    : unwanted_(wanted.empty() ? std::make_optional<ScratchFolder>(scratch_of(options)) : std::nullopt),
      out_(unwanted_ ? unwanted_->path + "/run.db" : wanted, options.force),
      collection_(out_.path(), scratch_of(options), options.ranks, kLeastBytes),
      is_wanted_(!wanted.empty()) {
  name_leftovers(options, note().out);
  collection_.keep();
}

RunOutput::~RunOutput() {
  if (!must_stay_ && !(is_wanted_ && (holds_events(note()) || !places_elsewhere().empty()))) collection_.let_go();
}

void RunOutput::leave_to_recover(const Error& error) {
  must_stay_ = true;
  const std::vector<CollectingElsewhere> elsewhere = places_elsewhere();
  const FolderRoom room = room_in(note().folder);
  std::string message = fmt::format("{}{}; what was collected, {} bytes, is kept in \"{}\", where {} bytes are free",
                                    unwanted_ ? "" : fmt::format("\"{}\" was not made: ", path()), error.what(),
                                    bytes_of_files_in(note().folder), note().folder,
                                    room.free_bytes ? std::to_string(*room.free_bytes) : "an unknown number of");
  if (elsewhere.empty())
    throw Error(ErrorCode::kStoreWrite, message,
                fmt::format("once the cause is removed: spscope recover \"{}\" -o FILE.db", note().folder));
  throw Error(ErrorCode::kStoreWrite, message + "; of other hosts: " + describe(elsewhere),
              fmt::format("copy the folders of other hosts to {}, then: spscope recover \"{}\" COPY... -o FILE.db",
                          note().host, note().folder));
}

std::vector<CollectingElsewhere> RunOutput::places_elsewhere() const {
  const auto now = capture([&] { return find_collection(note().folder); });
  return now && *now ? (*now)->elsewhere : std::vector<CollectingElsewhere>();
}

MergeReport RunOutput::merge(const MergeOptions& options) {
  if (!places_elsewhere().empty())
    leave_to_recover(Error(ErrorCode::kRankFailed, "the shards of other hosts were not brought together"));
  const std::vector<std::string> shards = note().shards();
  Result<MergeReport> report = capture([&] { return merge_shards(out_, shards, options); });
  if (!report) leave_to_recover(report.error());
  discard();  // it is in OUT
  return *report;
}

}  // namespace spscope
