#include "gui/views/timeline/band.h"

#include <algorithm>
#include <array>
#include <map>

#include "backend/store/timeline_events.h"

namespace spscope::gui {
namespace {

constexpr std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

// What one op does in a part of time, as a candidate for the moments of its rank.
struct Claim {
  std::int64_t begin_ns, end_ns;
  OpId op;
  TimePart part;
  // Compute before data that moves before waiting; of equal ones the first that began, then the lower op.
  bool precedes(const Claim& other) const {
    constexpr std::array<int, 4> kOrder = {0, 2, 1, 3};
    const int mine = kOrder[static_cast<std::size_t>(part)], others = kOrder[static_cast<std::size_t>(other.part)];
    if (mine != others) return mine < others;
    return begin_ns != other.begin_ns ? begin_ns < other.begin_ns : op < other.op;
  }
};

// Each moment goes to the first of the claims that hold it.
std::vector<TimeSpan> settled(std::vector<Claim> claims) {
  std::erase_if(claims, [](const Claim& c) { return c.begin_ns >= c.end_ns; });
  std::ranges::sort(claims, {}, [](const Claim& c) { return std::pair(c.begin_ns, c.op); });
  std::vector<std::int64_t> borders;
  for (const Claim& c : claims) borders.insert(borders.end(), {c.begin_ns, c.end_ns});
  std::ranges::sort(borders);
  borders.erase(std::unique(borders.begin(), borders.end()), borders.end());
  std::vector<TimeSpan> spans;
  std::vector<const Claim*> open;
  std::size_t next = 0;
  for (std::size_t b = 0; b + 1 < borders.size(); ++b) {
    const std::int64_t begin = borders[b], end = borders[b + 1];
    std::erase_if(open, [&](const Claim* c) { return c->end_ns <= begin; });
    for (; next < claims.size() && claims[next].begin_ns <= begin; ++next) open.push_back(&claims[next]);
    const Claim* first = nullptr;
    for (const Claim* c : open)
      if (first == nullptr || c->precedes(*first)) first = c;
    if (first == nullptr) continue;
    if (!spans.empty() && spans.back().op == first->op && spans.back().part == first->part &&
        spans.back().end_ns == begin) {
      spans.back().end_ns = end;
    } else {
      spans.push_back({begin, end, first->op, first->part});
    }
  }
  return spans;
}

}  // namespace

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
  std::vector<std::vector<std::vector<Claim>>> claims(at(plan.ranks), std::vector<std::vector<Claim>>(at(plan.lanes)));
  std::map<std::string, int> known;
  band.name_of.resize(plan.ops.size());
  std::vector<std::string> names(plan.ops.size());
  for (OpId id = 0; id < static_cast<OpId>(plan.ops.size()); ++id) {
    const Op& op = plan.ops[at(id)];
    const OpTimes& t = timeline.ops[at(id)];
    names[at(id)] = op_name(plan, op);
    known.emplace(names[at(id)], 0);
    std::vector<Claim>& lane = claims[at(op.rank)][at(plan.post_of(op).lane)];
    if (communicates(plan.kind_of(op))) {
      lane.push_back({t.post_ns, t.begin_ns, id, TimePart::kLatePeer});
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
    std::vector<Claim> all;
    std::vector<BandRow> lanes;
    for (int lane = 0; lane < plan.lanes; ++lane) {
      std::vector<Claim>& of_lane = claims[at(rank)][at(lane)];
      if (of_lane.empty()) continue;
      all.insert(all.end(), of_lane.begin(), of_lane.end());
      lanes.push_back({rank, lane, settled(std::move(of_lane))});
    }
    band.ranks.push_back({rank, -1, settled(std::move(all))});
    band.lanes.push_back(std::move(lanes));
  }
  band.path = critical_path(plan, timeline);
  band.slack_ns = op_slack(plan, timeline);
  band.partners = std::make_shared<const Partners>(plan);
  band.ops_of_post.resize(plan.posts.size());
  for (OpId id = 0; id < static_cast<OpId>(plan.ops.size()); ++id)
    band.ops_of_post[at(plan.ops[at(id)].post)].push_back(id);
  for (std::vector<OpId>& ops : band.ops_of_post)
    std::ranges::sort(ops, {}, [&](OpId id) { return plan.ops[at(id)].rank; });
  return band;
}

std::vector<PixelCell> fold_row(const std::vector<TimeSpan>& spans, double begin_ns, double end_ns, int columns) {
  std::vector<PixelCell> cells(static_cast<std::size_t>(columns));
  std::vector<std::array<double, 4>> sums(static_cast<std::size_t>(columns), {0, 0, 0, 0});
  const double width = (end_ns - begin_ns) / columns;
  auto first =
      std::ranges::lower_bound(spans, begin_ns, {}, [](const TimeSpan& s) { return static_cast<double>(s.end_ns); });
  for (; first != spans.end() && static_cast<double>(first->begin_ns) < end_ns; ++first) {
    const double from = std::max(begin_ns, static_cast<double>(first->begin_ns));
    const double to = std::min(end_ns, static_cast<double>(first->end_ns));
    const int last = std::min(columns - 1, static_cast<int>((to - begin_ns) / width));
    for (int c = std::min(columns - 1, static_cast<int>((from - begin_ns) / width)); c <= last; ++c) {
      const double low = begin_ns + c * width;
      const double inside = std::min(to, low + width) - std::max(from, low);
      if (inside > 0) sums[static_cast<std::size_t>(c)][static_cast<std::size_t>(first->part)] += inside;
    }
  }
  for (std::size_t c = 0; c < cells.size(); ++c) {
    double busy = 0, most = 0;
    for (std::size_t p = 0; p < 4; ++p) {
      busy += sums[c][p];
      if (sums[c][p] <= most) continue;
      most = sums[c][p];
      cells[c].part = static_cast<TimePart>(p);
    }
    cells[c].busy = static_cast<float>(std::min(1.0, busy / width));
  }
  return cells;
}

}  // namespace spscope::gui
