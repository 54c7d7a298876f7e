// `spscope report FILE...`: stored runs as one HTML page, Markdown, JSON, or CSV, a file a table.
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
  std::vector<std::string> files;
  std::string output, format, figures;
  bool force = false;
};

bool prints(const ReportFlags& flags) { return flags.output.empty() || flags.output == "-"; }

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
  if (prints(flags)) return "markdown";  // on a terminal, the form that can be read there
  throw Error(ErrorCode::kUsage, fmt::format("the form of \"{}\" is not known from its name", flags.output),
              "add --format html, markdown or json, or end the name in .html, .md or .json");
}

// Files of a folder by name, all or, where one must not be replaced, none.
void write_into(const std::string& folder, const std::map<std::string, std::string>& files, bool force) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  const auto path_of = [&](const std::string& name) { return (std::filesystem::path(folder) / name).string(); };
  for (const auto& [name, text] : files) require_replaceable(path_of(name), force);
  for (const auto& [name, text] : files) write_whole_file(path_of(name), text);
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
  write_into(folder, files, force);
  context.err << fmt::format("wrote {} figures into {}\n", files.size(), folder);
}

// Everything that is told of the files.
struct Told {
  std::vector<Comparison> comparisons;
  std::vector<std::optional<PassPicture>> pictures;  // of each comparison, where wanted
  std::vector<Observation> observed;
  std::vector<std::vector<HeadRow>> heads;  // of each comparison, for tables

  Report report() const { return make_report(comparisons, pictures, observed); }
};

// The data formats list strategies, of which an observed program has none.
Told read(const std::vector<std::string>& files, const std::string& format) {
  Told told;
  for (const std::string& file : files) {
    const StoreReader reader(file);
    if (format == "json" || format == "csv") require_strategies(reader, "list as " + format);
    for (Observation& observation : observations(reader)) told.observed.push_back(std::move(observation));
    for (Comparison& comparison : compare_store(reader)) {
      if (format == "html") told.pictures.push_back(slowest_pass_picture(reader, comparison));
      if (format == "csv") told.heads.push_back(head_rows(reader, comparison));
      told.comparisons.push_back(std::move(comparison));
    }
  }
  return told;
}

void write_tables(CommandContext& context, const Told& told, const std::string& folder, bool force) {
  const std::map<std::string, std::string> files = render_csv(told.comparisons, told.heads);
  write_into(folder, files, force);
  context.err << fmt::format("wrote {} tables into {}\n", files.size(), folder);
}

int report(CommandContext& context, const ReportFlags& flags) {
  const bool only_figures = !flags.figures.empty() && flags.output.empty() && flags.format.empty() && !context.json;
  const std::string format = only_figures ? "" : format_of(context, flags);
  if (format == "csv" && prints(flags))
    throw Error(ErrorCode::kUsage, "--format csv writes a file for each table, so it needs a folder", "add -o FOLDER");
  if (format == "csv")
    require_folder(flags.output, "-o");
  else if (!prints(flags))
    require_replaceable(flags.output, flags.force);
  if (!flags.figures.empty()) require_folder(flags.figures, "--figures");
  const Told told = read(flags.files, format);
  if (!flags.figures.empty()) write_figures(context, told.report(), flags.figures, flags.force);
  if (only_figures) return kExitDone;
  if (format == "csv") {
    write_tables(context, told, flags.output, flags.force);
    return kExitDone;
  }
  const std::string text = format == "json"       ? render_json(told.comparisons)
                           : format == "markdown" ? render_markdown(told.report())
                                                  : render_html(told.report());
  if (prints(flags)) {
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
      {.names = "files",
       .help = "stored runs; of several, what changed from the first to the last too",
       .target = &flags->files,
       .required = true},
      {.names = "-o,--output",
       .help = "write to this file, or for csv into this folder, instead of printing; - prints",
       .target = &flags->output},
      {.names = "--format",
       .help = "form of the report; else by the name of the output file",
       .target = &flags->format,
       .rule = OneOf{{"html", "markdown", "json", "csv"}}},
      {.names = "--figures", .help = "write each chart as an SVG file into this folder", .target = &flags->figures},
      {.names = "--force", .help = "replace output files; never a stored run", .target = &flags->force},
  };
  command.action = [flags](CommandContext& context) { return report(context, *flags); };
  return command;
}

}  // namespace spscope
