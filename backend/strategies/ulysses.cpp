// ulysses (DeepSpeed-Ulysses): one all-to-all of q and one of k and v turn a split of tokens into a split of heads;
// each rank attends over all tokens of its heads; one all-to-all brings the output back. Tokens and heads may divide
// unevenly. Sent by all ranks: 4 M (1 - sum_r t_r h_r / (L H)) bytes, with M the bytes of one tensor
// (docs/strategies.md). With `chunks` each rank attends its heads in pieces, and all-to-alls of one piece run beside
// the attention of another: the same bytes.
#include <fmt/format.h>

#include "backend/strategies/mesh_plan.h"

namespace spscope {
namespace {

// Callers may leave the only parameter out.
int num_chunks(const Parameters& parameters) { return parameters.has("chunks") ? parameters.integer("chunks") : 1; }

// q, k and v of the next piece are posted before the attention of one; outputs return on a lane of their own, so that
// they do not queue behind what arrives.
void plan_in_pieces(PlanBuilder& b, int chunks) {
  constexpr int kWayBack = 2;
  const Request& request = b.request();
  const AttendedAxis axis = spread_axis(request);
  const auto of = [](int index) { return static_cast<std::size_t>(index); };
  const SetId rows_of_all = replicates_text(request) ? request.video() : all_tokens(request, axis);
  const std::vector<SetId> tokens = b.sets().even(rows_of_all, request.ranks);
  std::vector<std::vector<SetId>> pieces;  // of the heads of each rank
  for (const SetId heads : b.sets().even(request.all_heads(), request.ranks))
    pieces.push_back(b.sets().even(heads, chunks));
  const Placement rows = b.place([&](int rank) { return row_boxes(request, tokens[of(rank)]); });
  const LayerEntry entry = enter_layer(b, rows);

  struct Piece {
    Move q, kv;
  };
  const auto fetch = [&](int piece) {
    const Placement columns = b.place([&](int rank) {
      return BoxList{token_box(request, axis, pieces[of(rank)][of(piece)], all_tokens(request, axis))};
    });
    return Piece{b.exchange(entry.q, columns), b.exchange(entry.kv, columns)};
  };
  const auto home = [&](int piece) {
    std::vector<SetId> heads;
    for (const auto& of_rank : pieces) heads.push_back(of_rank[of(piece)]);
    const SetId all = b.sets().unite(heads);
    return b.place([&](int rank) {
      BoxList boxes(rows.at(rank).begin(), rows.at(rank).end());
      for (Box& box : boxes) box.columns = all;
      return boxes;
    });
  };
  std::vector<Move> returning;
  Piece next = fetch(0);
  for (int piece = 0; piece < chunks; ++piece) {
    const ValueId q = b.wait(next.q), kv = b.wait(next.kv);
    if (piece + 1 < chunks) next = fetch(piece + 1);
    returning.push_back(b.exchange(b.attend_all(q, kv, axis), home(piece), {}, kWayBack));
  }
  std::vector<ValueId> outputs;
  for (const Move& move : returning) outputs.push_back(b.wait(move));
  leave_layer(b, entry, b.narrow(b.view(outputs), rows));
}

}  // namespace

std::vector<Parameter> parameters_ulysses() {
  return {Parameter::integer("chunks", 1, 1, 1024, "pieces",
                             "pieces of the heads of a rank; all-to-alls of one run beside the attention of another")};
}

std::vector<Problem> legal_ulysses(const Request& request, const Parameters& parameters) {
  std::vector<Problem> problems;
  check_ulysses_degree(request, "ulysses", request.ranks, problems);
  const int chunks = num_chunks(parameters), most = (request.heads + request.ranks - 1) / request.ranks;
  if (chunks > most)
    problems.push_back({ErrorCode::kStrategyIllegal, "strategy.ulysses",
                        fmt::format("{} pieces of the heads of a rank, which has {}", chunks, most),
                        fmt::format("use chunks = {} at most", most)});
  return problems;
}

// Pieces where GPUs of a node share host bridges. Published runs over NVLink get slower by them, which no number of a
// cluster says for sure.
std::vector<Parameters> candidates_ulysses(const Request& request) {
  const bool shares_bridges = request.cluster != nullptr && request.cluster->network.all_to_all.of_4_gbps > 0;
  std::vector<Parameters> settings;
  for (const std::int64_t chunks : {1, 2, 4}) {
    Parameters setting(parameters_ulysses());
    setting.set("chunks", chunks);
    if ((chunks == 1 || (shares_bridges && request.ranks > 1)) && legal_ulysses(request, setting).empty())
      settings.push_back(std::move(setting));
  }
  return settings;
}

Decision decide_ulysses(const Request& request, const Parameters&) { return decide_mesh(Mesh{request.ranks, 1}); }

void plan_ulysses(PlanBuilder& b, const Request& request, const Parameters& parameters, const Decision&) {
  if (num_chunks(parameters) > 1) return plan_in_pieces(b, num_chunks(parameters));
  plan_mesh(b, Mesh{request.ranks, 1}, b.sets().even(request.all_heads(), request.ranks),
            {all_tokens(request, spread_axis(request))}, 1);
}

}  // namespace spscope
