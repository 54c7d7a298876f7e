// `spscope export FILE --format FORMAT -o OUT`: a stored run for other programs.
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <ostream>

#include "backend/base/json.h"
#include "backend/base/time_range.h"
#include "backend/cli/command.h"
#include "backend/exchange/export.h"

namespace spscope {
namespace {

struct ExportFlags {
  std::string file, format, output, range;
  bool force = false;
};

std::optional<EventWindow> range_of(const std::string& text) {
  if (text.empty()) return std::nullopt;
  const std::optional<TimeRange> range = parse_time_range(text);
  if (!range)
    throw Error(ErrorCode::kUsage, fmt::format("--range \"{}\" is not a range of time", text),
                "give begin and end with a unit, as 1.2ms..1.9ms; units are ns, us, ms and s");
  return EventWindow{range->begin_ns, range->end_ns};
}

int export_run(CommandContext& context, const ExportFlags& flags) {
  const ExportFormat& format = find_export_format(flags.format);
  const ExportReport report = export_store(flags.file, format, flags.output, flags.force, range_of(flags.range));
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
       .help = "plain-sqlite, store or chrome; spscope list formats describes them",
       .target = &flags->format,
       .value_name = "NAME",
       .required = true},
      {.names = "-o,--output", .help = "file to write", .target = &flags->output, .required = true},
      {.names = "--range",
       .help = "of the format store: keep only events of this range of the file's time, as 1.2ms..1.9ms",
       .target = &flags->range,
       .value_name = "A..B"},
      {.names = "--force",
       .help = "replace an earlier export of the same format, and nothing else",
       .target = &flags->force},
  };
  command.action = [flags](CommandContext& context) { return export_run(context, *flags); };
  return command;
}

}  // namespace spscope
