#include "bench/fit/contradictions.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace spscope {
namespace {

// Pairs of the same two strategies on one kind of machine with as many GPUs.
struct Order {
  std::vector<StrategyPair> first_faster, second_faster;
};
using OrderKey = std::tuple<std::string, int, std::string, std::string>;  // kind, GPUs, strategies

std::map<OrderKey, Order> orders_of(const Evaluation& e) {
  std::map<OrderKey, Order> orders;
  for (const StrategyPair& pair : pairs_apart(e)) {
    const TimingRow& row = e.rows[pair.one].row();
    std::string one = strategy_text(e.rows[pair.one]), other = strategy_text(e.rows[pair.other]);
    const bool swapped = other < one, one_faster = pair.measured < 1;
    if (swapped) std::swap(one, other);
    Order& order = orders[{kind_of(row), row.gpus, one, other}];
    (one_faster != swapped ? order.first_faster : order.second_faster).push_back(pair);
  }
  return orders;
}

// "L40 FLUX.1-dev x 3 (from E259)", of pairs in the order of the table.
std::string machines_text(const Evaluation& e, const std::vector<StrategyPair>& pairs) {
  std::vector<std::tuple<std::string, std::string, int>> machines;  // name, first row, pairs
  for (const StrategyPair& pair : pairs) {
    const TimingRow& row = e.rows[pair.one].row();
    const std::string name = fmt::format("{} {}", row.gpu, row.model);
    if (machines.empty() || std::get<0>(machines.back()) != name) machines.emplace_back(name, row.id, 0);
    ++std::get<2>(machines.back());
  }
  std::string text;
  for (const auto& [name, id, count] : machines)
    text += fmt::format("{}{} x {} (from {})", text.empty() ? "" : ", ", name, count, id);
  return text;
}

double value_of(const Evaluation& e, std::span<const double> values, const std::string& name) {
  for (std::size_t p = 0; p < e.parameters.size(); ++p)
    if (e.parameters[p].fitted.name == name) return values[p];
  return 0;
}

// GB/s of the links of each PCIe host with more than two GPUs that the fit to all rows finds beside what is common.
std::string hosts_text(const Evaluation& e, std::span<const double> values) {
  constexpr const char *kHop = "network.point_to_point.gbps", *kOf4 = "network.all_to_all.of_4_gbps";
  std::map<std::string, std::vector<const RowModel*>> hosts;
  for (const RowModel& row : e.rows)
    if (!row.row().nvlink() && row.row().gpus > 2) hosts[host_of(row)].push_back(&row);
  std::string text;
  for (const auto& [host, rows] : hosts) {
    int most = 0;
    for (const RowModel* row : rows) most = std::max(most, row->row().gpus);
    text += fmt::format("| {} to {} | {} x {} | {:.3g} | {:.3g} |\n", rows.front()->row().id, rows.back()->row().id,
                        most, rows.front()->row().gpu,
                        value_of(e, values, kHop) * value_of(e, values, fmt::format("{} {}", host, kHop)),
                        value_of(e, values, kOf4) * value_of(e, values, fmt::format("{} {}", host, kOf4)));
  }
  return text;
}

}  // namespace

std::string contradictions_text(const Evaluation& e, const std::vector<double>& unseen,
                                std::span<const double> values) {
  int wrong = 0, wrong_spread = 0, in_one_order = 0, in_order = 0;
  const std::vector<StrategyPair> pairs = pairs_apart(e);
  for (const auto& [i, j, measured] : pairs) {
    const bool right = (measured > 1) == (unseen[i] / unseen[j] > 1);
    wrong += !right;
    wrong_spread += !right && !e.rows[i].row().nvlink() && e.rows[i].row().gpus > 2;
    in_order += (measured > 1) == (e.problem.predict(i, values) / e.problem.predict(j, values) > 1);
  }
  std::string table;
  for (const auto& [key, order] : orders_of(e)) {
    in_one_order += static_cast<int>(std::max(order.first_faster.size(), order.second_faster.size()));
    if (order.first_faster.empty() || order.second_faster.empty()) continue;
    const auto& [kind, gpus, one, other] = key;
    table += fmt::format("| {} {} | {} and {} | {} | {} |\n", gpus, kind, one, other,
                         machines_text(e, order.first_faster), machines_text(e, order.second_faster));
  }
  return fmt::format(
      "{} of the {} pairs in the wrong order are of more than two GPUs over PCIe. There hosts differ in how their GPUs "
      "are\nwired, which sources do not say, and one rate for all of them cannot order strategies on each. With the "
      "two "
      "rates below\nfitted to each host's own times, {} of {} pairs are in order; but a host that has not been timed "
      "has "
      "no such rates.\n\n| rows | host | hops, GB/s | all-to-all of 4 GPUs, GB/s |\n| --- | --- | --- | --- |\n{}\n"
      "The same two strategies on as many GPUs, in opposite order. With one order for each two strategies, kind of "
      "machine\nand number of GPUs, at most {} of {} pairs can be in order.\n\n"
      "| GPUs | strategies | the first is faster | the second is faster |\n| --- | --- | --- | --- |\n{}",
      wrong_spread, wrong, in_order, pairs.size(), hosts_text(e, values), in_one_order, pairs.size(), table);
}

}  // namespace spscope
