// `spscope recover IN... -o OUT`: a finished file from what a run left that did not end, or from a damaged file.
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <ostream>

#include "backend/cli/build_facts.h"
#include "backend/cli/command.h"
#include "backend/cli/print_merge.h"
#include "backend/store/collection.h"
#include "backend/store/merge_shards.h"

namespace spscope {
namespace {

struct RecoverFlags {
  std::vector<std::string> inputs;
  std::string output;
  bool force = false, small = false;
};

// Every store in a folder, when the folder does not say itself what it is.
std::vector<std::string> stores_in(const std::string& folder) {
  std::vector<std::string> stores;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.is_regular_file() && entry.path().extension() == ".db") stores.push_back(entry.path().string());
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

std::vector<std::string> shards_of(const std::string& input) {
  if (const std::optional<CollectingNote> note = find_collection(input)) {
    require_ended(*note);
    return note->shards();
  }
  return std::filesystem::is_directory(input) ? stores_in(input) : std::vector{input};
}

int recover(CommandContext& context, const RecoverFlags& flags) {
  std::vector<std::string> shards;
  for (const std::string& input : flags.inputs)
    for (const std::string& shard : shards_of(input)) shards.push_back(shard);
  std::sort(shards.begin(), shards.end());
  shards.erase(std::unique(shards.begin(), shards.end()), shards.end());
  std::error_code none;
  for (const std::string& shard : shards)
    if (std::filesystem::equivalent(shard, flags.output, none))
      throw Error(ErrorCode::kUsage, fmt::format("\"{}\" is both read and written", shard),
                  "choose another path with -o");
  OutputFile out(flags.output, flags.force);
  MergeOptions options{.tolerant = true, .small = flags.small, .tool_version = std::string(kVersion)};
  print_merge(context, flags.output, merge_shards(out, shards, options));
  return kExitDone;
}

}  // namespace

CommandAction declare_recover(CLI::App& app) {
  auto flags = std::make_shared<RecoverFlags>();
  app.add_option("input", flags->inputs,
                 "the path given to the run, its .collecting file, its folder, its shards, or a damaged file")
      ->required();
  app.add_option("-o,--output", flags->output, "file to write")->required();
  app.add_flag("--force", flags->force, "replace the output when it is a stored run");
  app.add_flag("--small", flags->small, "compress events: about half the bytes");
  return [flags](CommandContext& context) { return recover(context, *flags); };
}

}  // namespace spscope
