// Shared by strategies on a U x R mesh: their degrees, when these are legal, and the plan of Ulysses inside rings with
// any division of heads and tokens (ulysses, usp, cyclic, snake).
#pragma once

#include <string>
#include <vector>

#include "backend/strategies/index_groups.h"
#include "backend/strategies/sharding.h"

namespace spscope {

// `ulysses`, `ring` and `ranks`: the degrees and which ranks form a group.
std::vector<Parameter> mesh_parameters();
// A degree that is 0 follows from the other; both 0: the largest Ulysses degree that divides the ranks and does not
// exceed the heads.
Mesh mesh_of(const Request& request, const Parameters& parameters);
// Why the degrees cannot serve this request.
void check_mesh(const Request& request, std::string_view strategy, const Mesh& mesh, std::vector<Problem>& problems);
// Nodes that hold ranks of the request, the last perhaps fewer than the others.
int num_nodes(const Request& request);
// The settings of a mesh that are legal and worth comparing, other parameters at their defaults: degrees above 1, and
// where `edges` those of one axis; over several nodes, groups of neighbouring ranks and of strided ones.
std::vector<Parameters> mesh_candidates(const Request& request, const std::vector<Parameter>& rows, bool edges = false);
// Whether every key is active for every query as far as is known, so that no division of blocks is more even than
// another.
bool known_dense(const Request& request);
// Orders of tokens: one where blocks are all alike.
std::vector<std::string> orders_worth_comparing(const Request& request);

// -- divisions of a decision, as sets
// Slices a block needs so that every rank gets some; block lists of a decision number blocks cut that often.
int block_slices(const Request& request);
// Number of such blocks of the spread axis.
int num_cut_blocks(const Request& request);
// Tokens of each group of such blocks.
std::vector<SetId> tokens_of(const Request& request, const IndexGroups& blocks);
std::vector<SetId> heads_of(const Request& request, const IndexGroups& heads);
// Heads by Ulysses index: balanced on the known mask by capped greedy and pair swaps; an even cut where nothing is
// known.
IndexGroups balanced_heads(const Request& request, int ulysses);

// Each chunk of tokens (by ring index) is cut to the token among its Ulysses group; all-to-alls give each rank its
// share of heads (by Ulysses index) of its chunk; k and v travel round the rings. `slices`: of accumulate().
void plan_mesh(PlanBuilder& builder, const Mesh& mesh, const std::vector<SetId>& heads,
               const std::vector<SetId>& chunks, int slices);

}  // namespace spscope
