#include "gui/views/timeline/band.h"

#include <algorithm>
#include <map>

#include "backend/base/ids.h"
#include "backend/store/timeline_events.h"

namespace spscope::gui {
std::int64_t Band::path_ns(PathShare share) const {
  std::int64_t sum = 0;
  for (const PathStep& step : path.steps)
    if (step.share == share) sum += std::max<std::int64_t>(0, step.end_ns) - std::max<std::int64_t>(0, step.begin_ns);
  return sum;
}

OpId Band::late_partner(OpId op) const {
  OpId late = kNone;
  partners->for_each(op, [&](OpId partner) {
    if (times(partner).post_ns > times(op).post_ns && (late == kNone || times(partner).post_ns > times(late).post_ns))
      late = partner;
  });
  return late;
}

OpId Band::op_of(PostId post, int rank) const {
  const std::vector<OpId>& ops = ops_of_post[at(post)];
  const auto rank_of = [&](OpId id) { return pass->plan->ops[at(id)].rank; };
  const auto found = std::ranges::lower_bound(ops, rank, {}, rank_of);
  return found != ops.end() && rank_of(*found) == rank ? *found : kNone;
}

Band make_band(std::shared_ptr<const PassData> pass) {
  Band band;
  band.pass = std::move(pass);
  const Plan& plan = *band.pass->plan;
  const Timeline& timeline = *band.pass->timeline;
  band.makespan_ns = band.pass->repeat.makespan_ns;
  band.end_ns = band.makespan_ns;
  for (const OpTimes& t : timeline.ops) {
    band.begin_ns = std::min(band.begin_ns, t.post_ns);
    band.end_ns = std::max(band.end_ns, t.end_ns);
  }
  std::vector<std::vector<std::vector<TimeClaim>>> claims(at(plan.ranks),
                                                          std::vector<std::vector<TimeClaim>>(at(plan.lanes)));
  std::map<std::string, int> known;
  band.name_of.resize(plan.ops.size());
  std::vector<std::string> names(plan.ops.size());
  for (OpId id = 0; id < static_cast<OpId>(plan.ops.size()); ++id) {
    const Op& op = plan.ops[at(id)];
    const OpTimes& t = timeline.ops[at(id)];
    names[at(id)] = op_name(plan, op);
    known.emplace(names[at(id)], 0);
    std::vector<TimeClaim>& lane = claims[at(op.rank)][at(plan.post_of(op).lane)];
    if (communicates(plan.kind_of(op))) {
      lane.push_back({t.post_ns, t.begin_ns, id, wait_part(RowOf::kLanes)});
      lane.push_back({t.begin_ns, t.end_ns, id, TimePart::kWire});
    } else {
      lane.push_back({t.begin_ns, t.end_ns, id, TimePart::kCompute});
    }
  }
  for (auto& [name, number] : known) {
    number = static_cast<int>(band.names.size());
    band.names.push_back(name);
  }
  for (std::size_t i = 0; i < names.size(); ++i) band.name_of[i] = known[names[i]];
  for (int rank = 0; rank < plan.ranks; ++rank) {
    std::vector<TimeClaim> all;
    std::vector<BandRow> lanes;
    for (int lane = 0; lane < plan.lanes; ++lane) {
      std::vector<TimeClaim>& of_lane = claims[at(rank)][at(lane)];
      if (of_lane.empty()) continue;
      all.insert(all.end(), of_lane.begin(), of_lane.end());
      lanes.push_back({rank, lane, settled(std::move(of_lane))});
    }
    band.ranks.push_back({rank, -1, settled(std::move(all))});
    band.lanes.push_back(std::move(lanes));
  }
  // A schedule begins at the zero of its stored timeline, also where a host issues the first operation later.
  const bool scheduled = band.pass->run.provenance.network == Source::kModelled;
  band.path = critical_path(plan, timeline, scheduled ? -band.pass->zero_ns : INT64_MAX);
  band.slack_ns = op_slack(plan, timeline);
  band.partners = std::make_shared<const Partners>(plan);
  band.ops_of_post.resize(plan.posts.size());
  for (OpId id = 0; id < static_cast<OpId>(plan.ops.size()); ++id)
    band.ops_of_post[at(plan.ops[at(id)].post)].push_back(id);
  for (std::vector<OpId>& ops : band.ops_of_post)
    std::ranges::sort(ops, {}, [&](OpId id) { return plan.ops[at(id)].rank; });
  return band;
}

}  // namespace spscope::gui
