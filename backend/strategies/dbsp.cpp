// dbsp (db-SP, arXiv 2511.23113): Ulysses inside rings, balanced at two levels from the mask that is known. Heads go to
// the ranks of a Ulysses group by capped greedy; then blocks of queries, and independently blocks of keys, go to the
// ranks of a ring by a greedy that rewards staying. Q, K and V are exchanged inside the ring before it and O after it.
// Each level can be left out, and of the exchange that of the keys.
// The degrees are given, or chosen for each layer: by the schedule of each legal pair (dbsp_degrees.h), or by the
// paper's formula (dbsp_predictor.h). Of a ring rank's blocks, f_q and f_k move: 2 (f_q + f_k) M more bytes than usp
// over all ranks.
//
// Rows are cut at block borders among all ranks, for any degrees, so that layers of different degrees hold the
// same rows. Beyond db-SP's code (docs/strategies.md names the version), degrees need not divide heads or blocks, and
// no mask is sent.
#include <algorithm>
#include <utility>

#include "backend/base/ids.h"
#include "backend/strategies/balance_blocks.h"
#include "backend/strategies/balance_heads.h"
#include "backend/strategies/dbsp_degrees.h"
#include "backend/strategies/dbsp_predictor.h"
#include "backend/strategies/mesh_plan.h"

namespace spscope {
namespace {

// Active area of each block, cut as the decision cuts them, from the tokens that meet each token of a coarse block. The
// known mask has the blocks of the executed one: masks of a layer differ in bits only.
std::vector<std::int64_t> block_weights(const Request& request, const std::vector<std::int64_t>& per_token) {
  const BlockMask& mask = request.executed_mask(spread_axis(request)).refined(block_slices(request)).mask();
  std::vector<std::int64_t> weights;
  for (std::int32_t b = 0; b < mask.blocks(); ++b)
    weights.push_back(mask.block(b).size() * per_token[at(mask.coarse_block(b))]);
  return weights;
}

Decision balance(const Request& request, const Mesh& mesh, const Parameters& parameters) {
  Decision decision = decide_mesh(mesh);
  decision.keep_below = parameters.real("threshold");
  decision.heads = even_groups(request.heads, mesh.ulysses);
  decision.query_blocks = decision.key_blocks = even_groups(num_cut_blocks(request), mesh.ring);
  MaskCounter* known = request.known_mask(spread_axis(request));
  if (known == nullptr) return decision;
  const AreaSums& sums = known->area_sums();
  if (parameters.text("heads") == "balanced") {
    if (mesh.ulysses > 1) decision.heads = balance_heads(sums.heads, mesh.ulysses);
    if (parameters.flag("refine")) decision.heads = refine_by_swaps(std::move(decision.heads), sums.heads);
  }
  const std::string& exchange = parameters.text("exchange");
  if (mesh.ring == 1 || exchange == "none") return decision;
  const double reward = parameters.real("reward");
  decision.query_blocks = balance_blocks(block_weights(request, sums.row_keys), mesh.ring, reward);
  if (exchange == "both")
    decision.key_blocks = balance_blocks(block_weights(request, sums.column_queries), mesh.ring, reward);
  return decision;
}

// Of all legal degrees those that take least time, by the schedule or by the paper's formula; ties: the larger Ulysses
// degree.
Decision choose(const Request& request, const Parameters& parameters) {
  const bool contiguous = parameters.text("ranks") == "contiguous";
  std::vector<Decision> decisions;
  for (int ulysses = std::min(request.ranks, request.heads); ulysses >= 1; --ulysses) {
    const Mesh mesh{ulysses, request.ranks / ulysses, contiguous};
    if (ulysses * mesh.ring != request.ranks || (mesh.ring > 1 && replicates_text(request))) continue;
    decisions.push_back(balance(request, mesh, parameters));
  }
  if (parameters.text("degrees") == "scheduled") {
    const auto plan = [&](const Request& known, const Decision& decision) {
      return make_plan(*find_strategy("dbsp"), known, parameters, decision);
    };
    return std::move(decisions[fastest_by_schedule(request, decisions, plan)]);
  }
  return std::move(*std::ranges::min_element(decisions, {}, [&](const Decision& decision) {
    return predicted_latency_ns(latency_terms(request, decision), parameters.flag("exchange_cost"));
  }));
}

// Tokens that each rank holds outside the attention, without replicated text. Blocks where text is sharded; to the
// token where it is replicated, since there are no rings then.
std::vector<SetId> rows_of_ranks(const Request& request, const Mesh& mesh) {
  if (replicates_text(request)) return request.sets->even(request.video(), request.ranks);
  const std::vector<SetId> parts = tokens_of(request, even_groups(num_cut_blocks(request), request.ranks));
  std::vector<SetId> rows;
  for (int rank = 0; rank < request.ranks; ++rank)
    rows.push_back(parts[at(mesh.ring_index(rank) * mesh.ulysses + mesh.ulysses_index(rank))]);
  return rows;
}

}  // namespace

std::vector<Parameter> parameters_dbsp() {
  std::vector<Parameter> rows = mesh_parameters();
  rows[0].help = "Ulysses degree; 0: ranks / ring degree, and both 0: chosen for each layer";
  rows[1].help = "ring degree; 0: ranks / Ulysses degree, and both 0: chosen for each layer";
  rows.insert(
      rows.end(),
      {Parameter::choice("degrees", {"scheduled", "predicted"},
                         "how degrees are chosen where both are 0: by the schedule of each legal pair on the known "
                         "mask, or by db-SP's formula"),
       Parameter::real("reward", 2, 0, 1e6, "bias of blocks towards their home rank, in units of their own weight"),
       Parameter::choice("exchange", {"both", "queries", "none"},
                         "whose blocks are exchanged inside each ring: of queries and keys, of queries alone, or of "
                         "neither"),
       Parameter::choice("heads", {"balanced", "even"}, "whether heads are dealt by weight or in order"),
       Parameter::flag("refine", false, "whether pairs of heads are exchanged after the greedy"),
       Parameter::flag("exchange_cost", false,
                       "with degrees = predicted, whether the formula counts the exchange of blocks"),
       Parameter::real("threshold", 1.10, 0, 1e6,
                       "keep the division in later denoise steps while its imbalance is at most this; 0: divide "
                       "anew each step")});
  return rows;
}

std::vector<Problem> legal_dbsp(const Request& request, const Parameters& parameters) {
  std::vector<Problem> problems;
  check_mesh(request, "dbsp", mesh_of(request, parameters), problems);
  return problems;
}

std::vector<Parameters> candidates_dbsp(const Request& request) {
  Parameters chosen(parameters_dbsp());
  if (!legal_dbsp(request, chosen).empty()) return {};
  chosen.set("refine", true);
  std::vector<Parameters> settings = {chosen};
  for (Parameters& setting : mesh_candidates(request, parameters_dbsp(), true)) {
    setting.set("refine", true);
    settings.push_back(setting);
    if (known_dense(request) || setting.integer("ring") == 1) continue;
    setting.set("reward", 0.0);
    settings.push_back(std::move(setting));
  }
  return settings;
}

Decision decide_dbsp(const Request& request, const Parameters& parameters) {
  const bool given = parameters.integer("ulysses") > 0 || parameters.integer("ring") > 0;
  return given ? balance(request, mesh_of(request, parameters), parameters) : choose(request, parameters);
}

void plan_dbsp(PlanBuilder& b, const Request& request, const Parameters& parameters, const Decision& decision) {
  const AttendedAxis axis = spread_axis(request);
  const Mesh mesh{decision.ulysses, decision.ring, parameters.text("ranks") == "contiguous"};
  const Groups &all_to_all = decision.ulysses_groups, &rings = decision.ring_groups;
  const std::vector<SetId> my_rows = rows_of_ranks(request, mesh), heads = heads_of(request, decision.heads);
  const Placement rows = b.place([&](int rank) { return row_boxes(request, my_rows[at(rank)]); });
  const auto columns = [&](const IndexGroups& blocks) {
    const std::vector<SetId> tokens = tokens_of(request, blocks);
    return b.place([&](int rank) {
      return BoxList{token_box(request, axis, heads[at(mesh.ulysses_index(rank))], tokens[at(mesh.ring_index(rank))])};
    });
  };
  const IndexGroups home_blocks = even_groups(num_cut_blocks(request), mesh.ring);
  const Placement home = columns(home_blocks);
  const LayerEntry entry = enter_layer(b, rows);
  ValueId q = b.reshard(entry.q, home, all_to_all), kv = b.reshard(entry.kv, home, all_to_all);
  if (decision.query_blocks != home_blocks) q = b.rebalance(q, columns(decision.query_blocks), rings);
  if (decision.key_blocks != home_blocks) kv = b.rebalance(kv, columns(decision.key_blocks), rings);
  ValueId o = ring_attention(b, q, kv, rings, axis, block_slices(request));
  if (decision.query_blocks != home_blocks) o = b.rebalance(o, home, rings);
  leave_layer(b, entry, b.reshard(o, rows, all_to_all));
}

}  // namespace spscope
