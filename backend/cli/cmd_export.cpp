// `spscope export FILE --format FORMAT -o OUT`: a stored run for other programs.
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

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
    const nlohmann::ordered_json object = {{"schema_version", 1},
                                           {"format", format.name},
                                           {"output", flags.output},
                                           {"events", report.events},
                                           {"notes", report.notes}};
    context.out << object.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << '\n';
    return kExitDone;
  }
  for (const std::string& note : report.notes) fmt::print(context.err, "{}\n", note);
  std::error_code unknown;
  if (std::filesystem::is_directory(flags.output, unknown))
    fmt::print(context.err, "wrote the folder {}, one file a table: {} files, {} events\n", flags.output,
               std::distance(std::filesystem::directory_iterator(flags.output, unknown), {}), report.events);
  else
    fmt::print(context.err, "wrote {} with {} events\n", flags.output, report.events);
  return kExitDone;
}

}  // namespace

CommandAction declare_export(CLI::App& app) {
  auto flags = std::make_shared<ExportFlags>();
  app.add_option("file", flags->file, "stored run")->required();
  app.add_option("--format", flags->format, "plain-sqlite, csv or chrome; spscope list formats says what they are")
      ->required()
      ->type_name("NAME");
  app.add_option("-o,--output", flags->output, "file to write; for csv a folder, which is made")->required();
  app.add_flag("--force", flags->force, "replace an earlier export of the same format, and nothing else");
  return [flags](CommandContext& context) { return export_run(context, *flags); };
}

}  // namespace spscope
