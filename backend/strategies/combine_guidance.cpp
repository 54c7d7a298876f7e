#include "backend/strategies/combine_guidance.h"

#include <fmt/format.h>

#include "backend/plan/plan_builder.h"
#include "backend/plan/terms.h"

namespace spscope {
namespace {

constexpr std::int64_t kFlopsOfGuide = 3;  // a difference, a product, a sum

Plan planned(const Request& request, int at_once) {
  const int of_pass = request.ranks / at_once;
  PlanBuilder b(request);
  const std::vector<SetId> slices = b.sets().even(request.all_inner(), of_pass);
  const std::vector<SetId> predictions = b.sets().even(request.all_columns(Axis::kHidden), at_once);
  const auto at = [](int i) { return static_cast<std::size_t>(i); };
  const Placement computed = b.place([&](int rank) -> BoxList {
    return {{predictions[at(rank / of_pass)], request.all_outer(), slices[at(rank % of_pass)]}};
  });
  const Placement combined = b.place([&](int rank) -> BoxList {
    return {{request.all_columns(Axis::kHidden), request.all_outer(), slices[at(rank % of_pass)]}};
  });
  Groups partners(at(of_pass));
  for (int rank = 0; rank < request.ranks; ++rank) partners[at(rank % of_pass)].push_back(rank);
  const ValueId own = b.input(kHiddenState, computed, Axis::kHidden);
  const ValueId all[] = {b.reshard(own, combined, partners)};
  b.output(b.local(request.kernels.front().name, all), combined);
  return b.take();
}

}  // namespace

Request combine_request(const Model& model, const Cluster& cluster, Dtype dtype) {
  Request request;
  request.ranks = cluster.replica_ranks();
  request.ranks_per_node = cluster.gpus_per_node;
  request.hidden = model.cfg * model.prediction_channels;
  request.outer_tokens = 1;
  request.inner_tokens = static_cast<std::int32_t>(model.video_tokens());
  request.batch = model.batch;
  request.dtype = dtype;
  request.sets = std::make_shared<SetTable>();
  Kernel guide;
  guide.name = fmt::format("guide.{}", model.cfg);
  guide.flops_per_cell = kFlopsOfGuide;
  guide.whole_rows = true;  // of a token, the predictions of all passes
  request.kernels.push_back(guide);
  Request alone = request;  // all passes on one rank define what the outputs are
  alone.ranks = 1;
  request.outputs = outputs_of(planned(alone, 1));
  return request;
}

Plan combine_plan(const Request& request, int at_once) { return planned(request, at_once); }

}  // namespace spscope
