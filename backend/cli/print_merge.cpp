#include "backend/cli/print_merge.h"

#include <fmt/format.h>

#include <ostream>

#include "backend/base/json.h"

namespace spscope {

void print_merge(CommandContext& context, const std::string& path, const MergeReport& report,
                 const std::vector<std::string>& removable) {
  if (context.json) {
    const Json object = {{"schema_version", 1},
                         {"output", path},
                         {"files_read", report.shards},
                         {"events", report.events},
                         {"finished_runs", report.finished_runs},
                         {"unfinished", report.unfinished},
                         {"dropped", report.dropped},
                         {"unreadable", report.unreadable},
                         {"lost", report.lost},
                         {"notes", report.notes},
                         {"removable", removable}};
    context.out << object.dump(2) << '\n';
    return;
  }
  context.out << fmt::format("wrote {} with {} events from {} file{}\n", path, report.events, report.shards,
                             report.shards == 1 ? "" : "s");
  const auto line = [&](std::int64_t count, const char* what) {
    if (count > 0) context.out << fmt::format("  {} {}\n", count, what);
  };
  line(report.unfinished, "were unfinished when recording stopped");
  line(report.dropped, "more were dropped because a buffer was full");
  line(report.unreadable, "more were written and are unreadable");
  line(report.lost, "more were lost before they were written");
  if (!removable.empty())
    context.out << fmt::format("the files of the run remain, and can be removed once you have checked {}:\n", path);
  for (const std::string& left : removable) context.out << fmt::format("  {}\n", left);
  for (const std::string& note : report.notes) context.err << fmt::format("note: {}\n", note);
}

}  // namespace spscope
