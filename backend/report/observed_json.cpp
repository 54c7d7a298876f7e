// JSON of `spscope explain` about programs that were observed (schemas/observation.schema.json). Keys are only ever
// added.
#include "backend/base/json.h"
#include "backend/report/observed_part.h"

namespace spscope {
namespace {

constexpr int kSchemaVersionOfObservations = 1;

Json last_ranks_json(const Observation& o) {
  Json list = Json::array();
  for (const LastRank& last : o.skew.last)
    list.push_back({{"rank", last.rank},
                    {"last_in", last.last_in},
                    {"others_wait_ns", last.others_wait_ns},
                    {"share_of_time", o.share_of_time(last.others_wait_ns)},
                    {"kernel_time_ratio", last.kernels ? Json(*last.kernels) : Json()}});
  return list;
}

Json arrival_skew_json(const Observation& o) {
  if (!o.knows_waits()) return nullptr;
  return {{"collectives", o.skew.collectives},
          {"ranks", o.skew.ranks},
          {"largest_communicator", o.skew.largest_communicator},
          {"watched_ns", o.watched_ns()},
          {"wait_ns", o.skew.wait_ns()},
          {"share_of_time", o.share_of_time(o.skew.wait_ns())},
          {"last_ranks", last_ranks_json(o)}};
}

}  // namespace

std::string render_json(const std::string& file, std::span<const Observation> observations) {
  Json programs = Json::array();
  for (const Observation& o : observations)
    programs.push_back({{"command", o.run.command},
                        {"ranks", o.ranks},
                        {"nodes", o.run.nodes},
                        {"finished", o.run.finished},
                        {"text", who_waits_text(o)},
                        {"arrival_skew", arrival_skew_json(o)}});
  const Json object = {{"schema_version", kSchemaVersionOfObservations}, {"file", file}, {"programs", programs}};
  return object.dump(2) + "\n";
}

}  // namespace spscope
