// allgather_kv (docs/strategies.md says who else has it): rows stay where they are, and every rank gathers all
// of k and v before it attends. It sends the bytes of a ring, 2 (N-1) M over all ranks, in one collective; but nothing
// overlaps with compute, and every rank holds all keys and values at once. With a Ulysses degree U > 1 all-to-alls give
// each rank a share of heads first, as in usp, and the N / U ranks with the same heads gather k and v of these heads:
// the bytes of usp, (4 (U-1)/U + 2 (N/U - 1)) M with equal shares. Replicated text is attended by every rank that has
// its heads, and its keys never move.
#include <fmt/format.h>

#include "backend/strategies/collectives.h"
#include "backend/strategies/mesh_plan.h"

namespace spscope {
namespace {

// Ranks that do not divide are refused before it is used.
Mesh gathering_mesh(const Request& request, const Parameters& parameters) {
  const int ulysses = parameters.integer("ulysses");
  return {ulysses, std::max(1, request.ranks / ulysses), parameters.text("ranks") == "contiguous"};
}

// Of `tokens` at each rank, the heads that it has; text that all ranks hold is apart.
class GatheredHeads {
 public:
  GatheredHeads(PlanBuilder& b, const Mesh& mesh, std::vector<SetId> heads, const std::vector<SetId>& chunks)
      : b_(b), request_(b.request()), axis_(spread_axis(request_)), mesh_(mesh), heads_(std::move(heads)) {
    words_ = replicates_text(request_) ? request_.words() : kEmptySet;
    for (const SetId chunk : chunks) chunks_.push_back(b.sets().minus(chunk, words_));
  }

  Placement rows() const {
    std::vector<std::vector<SetId>> parts;
    for (const SetId chunk : chunks_) parts.push_back(b_.sets().even(chunk, mesh_.ulysses));
    return b_.place([&](int rank) {
      return row_boxes(request_, parts[of(mesh_.ring_index(rank))][of(mesh_.ulysses_index(rank))]);
    });
  }
  // Rows of q of a rank while it attends.
  Placement queries() const {
    return b_.place([&](int rank) { return BoxList{box(rank, chunk(rank)), box(rank, words_)}; });
  }
  // All keys of the heads of each rank, from those of `own`.
  ValueId keys(ValueId own, CollectiveAlgorithm algorithm) const {
    if (mesh_.ring == 1) return own;
    const SetId video = b_.sets().minus(all_tokens(request_, axis_), words_);
    const auto placed = [&](auto&& tokens_at) {
      return b_.place([&](int rank) { return BoxList{box(rank, tokens_at(rank))}; });
    };
    const ValueId gathered = all_gather(b_, b_.narrow(own, placed([&](int rank) { return chunk(rank); })),
                                        placed([&](int) { return video; }), mesh_.ring_groups(), algorithm);
    if (words_ == kEmptySet) return gathered;
    const ValueId both[] = {gathered, b_.narrow(own, placed([&](int) { return words_; }))};
    return b_.narrow(b_.view(both), placed([&](int) { return all_tokens(request_, axis_); }));
  }

 private:
  static std::size_t of(int index) { return static_cast<std::size_t>(index); }
  SetId chunk(int rank) const { return chunks_[of(mesh_.ring_index(rank))]; }
  Box box(int rank, SetId tokens) const {
    return token_box(request_, axis_, heads_[of(mesh_.ulysses_index(rank))], tokens);
  }

  PlanBuilder& b_;
  const Request& request_;
  AttendedAxis axis_;
  Mesh mesh_;
  std::vector<SetId> heads_, chunks_;  // by Ulysses index, by ring index
  SetId words_ = kEmptySet;
};

// Whether some gather crosses nodes that have several of its ranks, so that algorithms differ.
bool gathers_between_nodes(const Request& request, const Mesh& mesh) {
  const int per_node = request.ranks_per_node;
  if (per_node == 0) return false;
  const std::vector<int> group = mesh.ring_groups().front();
  const bool crosses = group.front() / per_node != group.back() / per_node;
  return crosses && group.size() > 1 && group[0] / per_node == group[1] / per_node;
}

}  // namespace

std::vector<Parameter> parameters_allgather_kv() {
  return {
      Parameter::integer("ulysses", 1, 1, 65536, "ranks", "Ulysses degree; k and v are gathered by ranks / degree"),
      Parameter::choice("ranks", {"contiguous", "strided"},
                        "whether Ulysses groups consist of neighbouring ranks (contiguous) or gathers do (strided)"),
      token_order_parameter(),
      Parameter::choice("heads", {"even", "balanced"},
                        "whether Ulysses ranks get heads in order, or by their weight on the known mask"),
      collective_parameter(),
  };
}

std::vector<Problem> legal_allgather_kv(const Request& request, const Parameters& parameters) {
  std::vector<Problem> problems;
  const int ulysses = parameters.integer("ulysses");
  if (request.ranks % ulysses != 0)
    problems.push_back({ErrorCode::kStrategyIllegal, "strategy.allgather_kv",
                        fmt::format("ulysses degree {} does not divide the {} ranks", ulysses, request.ranks),
                        fmt::format("use a divisor of {}", request.ranks)});
  check_ulysses_degree(request, "allgather_kv", ulysses, problems);
  return problems;
}

// Every Ulysses degree but the largest, with which it is ulysses. Where masks are sparse, blocks dealt in turn and
// heads by weight are as even as can be, so groups of several ranks are not tried without.
std::vector<Parameters> candidates_allgather_kv(const Request& request) {
  const std::vector<Parameter> rows = parameters_allgather_kv();
  const bool several_nodes = request.ranks_per_node > 0 && request.ranks_per_node < request.ranks;
  std::vector<Parameters> settings;
  for (int ulysses = 1; ulysses == 1 || ulysses < request.ranks; ++ulysses)
    for (const char* ranks : {"contiguous", "strided"}) {
      Parameters setting(rows);
      setting.set("ulysses", std::int64_t{ulysses});
      setting.set("ranks", std::string(ranks));
      if (!legal_allgather_kv(request, setting).empty()) continue;
      if (setting.text("ranks") == "strided" && (ulysses == 1 || !several_nodes)) continue;
      if (ulysses > 1 && !known_dense(request)) setting.set("heads", std::string("balanced"));
      std::vector<std::string> orders = orders_worth_comparing(request);
      if (ulysses > 1) orders.erase(orders.begin(), orders.end() - 1);
      for (const std::string& order : orders) {
        setting.set("order", order);
        settings.push_back(setting);
        if (!gathers_between_nodes(request, gathering_mesh(request, setting))) continue;
        settings.push_back(setting);
        settings.back().set("collective", std::string("hierarchical"));
      }
    }
  return settings;
}

Decision decide_allgather_kv(const Request& request, const Parameters& parameters) {
  const Mesh mesh = gathering_mesh(request, parameters);
  Decision decision = decide_mesh(mesh);
  if (parameters.text("heads") == "balanced") decision.heads = balanced_heads(request, mesh.ulysses);
  return decision;
}

void plan_allgather_kv(PlanBuilder& b, const Request& request, const Parameters& parameters, const Decision& decision) {
  const AttendedAxis axis = spread_axis(request);
  const Mesh mesh = gathering_mesh(request, parameters);
  const GatheredHeads parts(
      b, mesh,
      decision.heads.empty() ? b.sets().even(request.all_heads(), mesh.ulysses) : heads_of(request, decision.heads),
      cut_blocks(request, axis, mesh.ring, token_order(parameters)));
  const Placement rows = parts.rows(), queries = parts.queries();
  const Groups all_to_all = mesh.ulysses_groups();
  const LayerEntry entry = enter_layer(b, rows);
  const bool spread = mesh.ulysses > 1;
  const ValueId q = spread ? b.reshard(entry.q, queries, all_to_all) : entry.q;
  const ValueId kv = spread ? b.reshard(entry.kv, queries, all_to_all) : entry.kv;
  const AccId acc = b.accumulate(q, axis, slices_for(request, axis, mesh.ring));
  b.attend(acc, parts.keys(kv, collective_algorithm(parameters)));
  const ValueId o = b.finish(acc);
  leave_layer(b, entry, spread ? b.reshard(o, rows, all_to_all) : o);
}

}  // namespace spscope
