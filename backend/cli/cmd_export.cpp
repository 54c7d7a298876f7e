// `spscope export FILE --format FORMAT -o OUT`: a stored run for other programs.
#include <fmt/format.h>

#include <filesystem>
#include <iterator>
#include <memory>
#include <ostream>

#include "backend/base/json.h"
#include "backend/cli/command.h"
#include "backend/exchange/export.h"

namespace spscope {
namespace {

struct ExportFlags {
  std::string file, format, output;
  bool force = false;
};

int export_run(CommandContext& context, const ExportFlags& flags) {
  const ExportFormat& format = find_export_format(flags.format);
  const ExportReport report = export_store(flags.file, format, flags.output, flags.force);
  if (context.json) {
    const Json object = {{"schema_version", 1},
                         {"format", format.name},
                         {"output", flags.output},
                         {"events", report.events},
                         {"notes", report.notes}};
    context.out << object.dump(2) << '\n';
    return kExitDone;
  }
  for (const std::string& note : report.notes) context.err << fmt::format("{}\n", note);
  std::error_code unknown;
  if (std::filesystem::is_directory(flags.output, unknown))
    context.err << fmt::format("wrote the folder {}, one file a table: {} files, {} events\n", flags.output,
                               std::distance(std::filesystem::directory_iterator(flags.output, unknown), {}),
                               report.events);
  else
    context.err << fmt::format("wrote {} with {} events\n", flags.output, report.events);
  return kExitDone;
}

}  // namespace

Command declare_export() {
  auto flags = std::make_shared<ExportFlags>();
  Command command;
  command.flags = {
      {.names = "file", .help = "stored run", .target = &flags->file, .required = true},
      {.names = "--format",
       .help = "plain-sqlite, csv or chrome; spscope list formats describes them",
       .target = &flags->format,
       .value_name = "NAME",
       .required = true},
      {.names = "-o,--output",
       .help = "file to write; for csv a folder, which is made",
       .target = &flags->output,
       .required = true},
      {.names = "--force",
       .help = "replace an earlier export of the same format, and nothing else",
       .target = &flags->force},
  };
  command.action = [flags](CommandContext& context) { return export_run(context, *flags); };
  return command;
}

}  // namespace spscope
