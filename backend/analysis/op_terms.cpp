#include "backend/analysis/op_terms.h"

#include <algorithm>
#include <cmath>

#include "backend/base/ids.h"
#include "backend/schedule/cost.h"
#include "backend/schedule/schedule.h"

namespace spscope {

void add_compute_terms(const Plan& plan, const Op& op, std::int64_t ns, const TimeModels& models, TimeTerms& terms) {
  const PostKind kind = plan.kind_of(op);
  if (models.cost) {
    const auto cost_ns = static_cast<std::int64_t>(std::ceil(op_cost_ns(plan, op, *models.cost)));
    const std::int64_t slower_ns = std::max<std::int64_t>(0, ns - cost_ns);
    terms[TimeTerm::kSlowdown] += slower_ns;
    ns -= slower_ns;
    if (kind == PostKind::kAttend) {
      const AttendParts parts = attend_parts(plan, op, *models.cost);
      const std::int64_t launch_ns = std::min(ns, parts.launch_ns), rows_ns = std::min(ns - launch_ns, parts.rows_ns),
                         merge_ns = std::min(ns - launch_ns - rows_ns, parts.merge_ns);
      terms[TimeTerm::kLaunch] += launch_ns;
      terms[TimeTerm::kRows] += rows_ns;
      terms[TimeTerm::kMerge] += merge_ns;
      ns -= launch_ns + rows_ns + merge_ns;
    }
  }
  switch (kind) {
    case PostKind::kAttend:
      terms[TimeTerm::kTiles] += ns;
      break;
    case PostKind::kMerge:
    case PostKind::kFinish:
      terms[TimeTerm::kMerge] += ns;
      break;
    case PostKind::kCopy:
      terms[TimeTerm::kCopy] += ns;
      break;
    default:
      terms[TimeTerm::kKernel] += ns;
  }
}

TransferPhases transfer_phases(const Plan& plan, const Op& op, const OpTimes& t, const TimeModels& models) {
  const Post& post = plan.post_of(op);
  std::int64_t latency_ns = 0;
  TransferPhases phases{t.begin_ns, t.end_ns, t.end_ns};
  for (const MessageId id : plan.messages_of(op)) {
    const Message& m = plan.messages[at(id)];
    if (m.src == m.dst) continue;
    if (!models.nodes.empty() && models.nodes[at(m.src)] != models.nodes[at(m.dst)])
      phases.wire = TimeTerm::kWireBetween;
    if (models.network)
      latency_ns = std::max({latency_ns, models.network->floor_ns(post.collective, post.collective_steps),
                             models.network->t0_ns(post.collective, post.collective_steps, m.src, m.dst)});
  }
  if (models.network) {
    phases.packed_ns =
        std::clamp(t.post_ns + exchange_copy_ns(plan, op, *models.network, &Message::src), t.begin_ns, t.end_ns);
    phases.unpacking_ns =
        std::max(phases.packed_ns, t.end_ns - exchange_copy_ns(plan, op, *models.network, &Message::dst));
  }
  // A barrier moves nothing: all that it takes is latency.
  const bool barrier = post.kind == PostKind::kBarrier;
  phases.flowing_ns = barrier ? t.end_ns : std::min(phases.unpacking_ns, phases.packed_ns + latency_ns);
  return phases;
}

}  // namespace spscope
