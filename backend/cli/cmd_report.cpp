// `spscope report FILE`: a stored run as one HTML page, Markdown or JSON.
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <ostream>

#include "backend/base/whole_file.h"
#include "backend/cli/command.h"
#include "backend/report/render.h"
#include "backend/store/output_file.h"

namespace spscope {
namespace {

struct ReportFlags {
  std::string file, output, format;
  bool force = false;
};

std::string format_of(const CommandContext& context, const ReportFlags& flags) {
  if (!flags.format.empty()) return flags.format;
  if (context.json) return "json";
  const std::string extension = std::filesystem::path(flags.output).extension();
  if (extension == ".md" || extension == ".markdown") return "markdown";
  if (extension == ".json") return "json";
  if (extension == ".html" || extension == ".htm") return "html";
  if (flags.output.empty()) return "markdown";  // on a terminal, the form that can be read there
  throw Error(ErrorCode::kUsage, fmt::format("the form of \"{}\" is not known from its name", flags.output),
              "add --format html, markdown or json, or end the name in .html, .md or .json");
}

// A stored run, a folder or a device is never replaced; another file only when asked.
void check_replaceable(const ReportFlags& flags) {
  const FileKind kind = file_kind(flags.output);
  if (kind == FileKind::kAbsent || (kind == FileKind::kForeign && flags.force)) return;
  if (kind == FileKind::kForeign)
    throw Error(ErrorCode::kStoreExists, fmt::format("the file exists: \"{}\"", flags.output),
                "name another file, or add --force");
  if (kind == FileKind::kStore)
    throw Error(ErrorCode::kStoreExists, fmt::format("a stored run is not replaced by a report: \"{}\"", flags.output),
                "name another file");
  throw Error(ErrorCode::kStoreWrite, fmt::format("not a file that can be replaced: \"{}\"", flags.output),
              "name another file");
}

int report(CommandContext& context, const ReportFlags& flags) {
  const std::string format = format_of(context, flags);
  if (!flags.output.empty()) check_replaceable(flags);
  const std::vector<Comparison> comparisons = compare_store(StoreReader(flags.file));
  const std::string text = format == "json"       ? render_json(comparisons)
                           : format == "markdown" ? render_markdown(make_report(comparisons))
                                                  : render_html(make_report(comparisons));
  if (flags.output.empty())
    context.out << text;
  else
    write_whole_file(flags.output, text);
  return kExitDone;
}

}  // namespace

CommandAction declare_report(CLI::App& app) {
  auto flags = std::make_shared<ReportFlags>();
  app.add_option("file", flags->file, "stored run")->required();
  app.add_option("-o,--output", flags->output, "write to this file instead of printing");
  app.add_option("--format", flags->format, "html, markdown or json; else by the name of the output file")
      ->check(CLI::IsMember({"html", "markdown", "json"}));
  app.add_flag("--force", flags->force, "replace the output file; never a stored run");
  return [flags](CommandContext& context) { return report(context, *flags); };
}

}  // namespace spscope
