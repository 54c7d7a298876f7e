// Combining the noise predictions of guidance passes that run at once (cluster.guidance): once a denoise step, after
// its last layer. A prediction is cut over the ranks of its pass, video token by video token, so that rank i of a pass
// has the same tokens as rank i of every other pass: its partners. Each sends what it has to its partners, and all
// compute
//   out = u + scale x (c - u),
// since each of them goes on with the next step. With P passes, G of them at once, all ranks of a replica send
//   P x (G - 1) x video tokens x prediction channels x batch x bytes of the dtype.
#pragma once

#include "backend/config/cluster.h"
#include "backend/config/model.h"
#include "backend/plan/plan.h"
#include "backend/plan/request.h"

namespace spscope {

// What the plan is for: the ranks of a replica, the video tokens with the predictions of all passes side by side as
// columns, and the kernel `guide.P` of P passes, which replaces each of them by the guided one.
Request combine_request(const Model& model, const Cluster& cluster, Dtype dtype);

// REQUIRES: at_once divides the passes of the model and request.ranks.
Plan combine_plan(const Request& request, int at_once);

}  // namespace spscope
