// Guidance passes that run at once (cluster.guidance): the plan of one pass, side by side for each of them.
//
// Pass p of P runs on ranks [p R, (p + 1) R), where R is the ranks of one plan, and its values have Value::layer from
// p x attentions of a layer on, which makes its inputs and outputs others than those of any other pass. Passes share
// shapes, masks and weights, and no op of one depends on an op of another.
#pragma once

#include <vector>

#include "backend/plan/plan.h"
#include "backend/plan/request.h"

namespace spscope {

// Ops, posts, values and messages of pass 0, then those of pass 1, ... `attentions` is num_attentions() of the request.
Plan passes_at_once(const Plan& pass, int passes, int attentions);

// What strategies see of a request for several passes at once: the ranks and outputs of pass 0.
Request request_of_pass(const Request& at_once);

// Ranks of every pass in groups of one.
std::vector<std::vector<int>> groups_at_once(const std::vector<std::vector<int>>& of_pass, int passes, int pass_ranks);

}  // namespace spscope
