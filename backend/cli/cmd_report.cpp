// `spscope report FILE`: a stored run as one HTML page, Markdown or JSON.
#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <memory>
#include <ostream>

#include "backend/base/whole_file.h"
#include "backend/cli/command.h"
#include "backend/cli/replaceable.h"
#include "backend/report/render.h"
#include "backend/report/svg.h"

namespace spscope {
namespace {

struct ReportFlags {
  std::string file, output, format, figures;
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

// Each chart of the report as a file of its own.
void write_figures(CommandContext& context, const Report& report, const std::string& folder, bool force) {
  std::map<std::string, std::string> files;
  for (const Part& part : report.parts)
    for (const Section& section : part.sections)
      for (const Block& block : section.blocks) {
        const auto* chart = std::get_if<StackedBars>(&block);
        if (chart == nullptr) continue;
        std::string name = svg_file_name(section.id + " " + chart->caption);
        for (int i = 2; files.contains(name); ++i)
          name = svg_file_name(fmt::format("{} {} {}", section.id, chart->caption, i));
        files[name] = svg_of(*chart, part.title);
      }
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  const auto path_of = [&](const std::string& name) { return (std::filesystem::path(folder) / name).string(); };
  for (const auto& [name, svg] : files) require_replaceable(path_of(name), force);
  for (const auto& [name, svg] : files) write_whole_file(path_of(name), svg);
  context.err << fmt::format("wrote {} figures into {}\n", files.size(), folder);
}

int report(CommandContext& context, const ReportFlags& flags) {
  const bool only_figures = !flags.figures.empty() && flags.output.empty() && flags.format.empty() && !context.json;
  if (only_figures) {
    write_figures(context, make_report(compare_store(StoreReader(flags.file))), flags.figures, flags.force);
    return kExitDone;
  }
  const std::string format = format_of(context, flags);
  if (!flags.output.empty()) require_replaceable(flags.output, flags.force);
  const std::vector<Comparison> comparisons = compare_store(StoreReader(flags.file));
  if (!flags.figures.empty()) write_figures(context, make_report(comparisons), flags.figures, flags.force);
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
      {.names = "--figures", .help = "write each chart as an SVG file into this folder", .target = &flags->figures},
      {.names = "--force", .help = "replace output files; never a stored run", .target = &flags->force},
  };
  command.action = [flags](CommandContext& context) { return report(context, *flags); };
  return command;
}

}  // namespace spscope
