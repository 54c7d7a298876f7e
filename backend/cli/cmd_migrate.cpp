// `spscope migrate IN -o OUT`: a stored run written again by this version, in full chunks and with pyramids.
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "backend/cli/build_facts.h"
#include "backend/cli/command.h"
#include "backend/cli/print_merge.h"
#include "backend/store/check_rows.h"
#include "backend/store/merge/merge_shards.h"
#include "backend/store/open_store.h"

namespace spscope {
namespace {

struct MigrateFlags {
  std::string input, output;
  bool force = false, small = false;
};

int migrate(CommandContext& context, const MigrateFlags& flags) {
  // Says what is wrong with a file that is none, or of a newer program. Chunks are checked when they are read.
  OpenedStore input = open_store(flags.input, EventTables::kNo);
  require_sound_rows(input.db, checked_tables());
  std::error_code none;
  if (std::filesystem::equivalent(flags.input, flags.output, none))
    throw Error(ErrorCode::kUsage, fmt::format("\"{}\" is both read and written", flags.input),
                "choose another path with -o");
  OutputFile out(flags.output, flags.force);
  const MergeOptions options{.small = flags.small, .tool_version = std::string(kVersion)};
  print_merge(context, flags.output, merge_shards(out, std::vector{flags.input}, options));
  return kExitDone;
}

}  // namespace

Command declare_migrate() {
  auto flags = std::make_shared<MigrateFlags>();
  Command command;
  command.flags = {
      {.names = "input", .help = "a stored run", .target = &flags->input, .required = true},
      {.names = "-o,--output", .help = "file to write", .target = &flags->output, .required = true},
      {.names = "--force", .help = "replace the output when it is a stored run", .target = &flags->force},
      {.names = "--small", .help = "compress events: fewer bytes, slower to write", .target = &flags->small},
  };
  command.action = [flags](CommandContext& context) { return migrate(context, *flags); };
  return command;
}

}  // namespace spscope
