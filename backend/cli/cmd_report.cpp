// `spscope report FILE`: a stored run as one HTML page, Markdown or JSON.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <ostream>

#include "backend/base/whole_file.h"
#include "backend/cli/command.h"
#include "backend/cli/replaceable.h"
#include "backend/report/render.h"

namespace spscope {
namespace {

struct ReportFlags {
  std::string file, output, format;
  bool force = false;
};

// The format that the extension of a file name implies; "" when it implies none.
std::string format_of_name(const std::string& path) {
  const std::string extension = std::filesystem::path(path).extension();
  if (extension == ".md" || extension == ".markdown") return "markdown";
  if (extension == ".json") return "json";
  if (extension == ".html" || extension == ".htm") return "html";
  return {};
}

std::string format_of(const CommandContext& context, const ReportFlags& flags) {
  if (context.json && !flags.format.empty() && flags.format != "json")
    throw Error(ErrorCode::kUsage, fmt::format("--json and --format {} contradict each other", flags.format),
                "give one of them");
  if (!flags.format.empty()) return flags.format;
  const std::string named = format_of_name(flags.output);
  if (context.json && !named.empty() && named != "json")
    throw Error(ErrorCode::kUsage, fmt::format("--json and the name of \"{}\" contradict each other", flags.output),
                "leave --json out, or end the name in .json");
  if (context.json) return "json";
  if (!named.empty()) return named;
  if (flags.output.empty()) return "markdown";  // on a terminal, the form that can be read there
  throw Error(ErrorCode::kUsage, fmt::format("the form of \"{}\" is not known from its name", flags.output),
              "add --format html, markdown or json, or end the name in .html, .md or .json");
}

int report(CommandContext& context, const ReportFlags& flags) {
  const std::string format = format_of(context, flags);
  if (!flags.output.empty()) require_replaceable(flags.output, flags.force);
  const std::vector<Comparison> comparisons = compare_store(StoreReader(flags.file));
  const std::string text = format == "json"       ? render_json(comparisons)
                           : format == "markdown" ? render_markdown(make_report(comparisons))
                                                  : render_html(make_report(comparisons));
  if (flags.output.empty()) {
    context.out << text;
    return kExitDone;
  }
  write_whole_file(flags.output, text);
  context.err << fmt::format("wrote {}\n", flags.output);
  return kExitDone;
}

}  // namespace

Command declare_report() {
  auto flags = std::make_shared<ReportFlags>();
  Command command;
  command.flags = {
      {.names = "file", .help = "stored run", .target = &flags->file, .required = true},
      {.names = "-o,--output", .help = "write to this file instead of printing", .target = &flags->output},
      {.names = "--format",
       .help = "form of the report; else by the name of the output file",
       .target = &flags->format,
       .rule = OneOf{{"html", "markdown", "json"}}},
      {.names = "--force", .help = "replace the output file; never a stored run", .target = &flags->force},
  };
  command.action = [flags](CommandContext& context) { return report(context, *flags); };
  return command;
}

}  // namespace spscope
