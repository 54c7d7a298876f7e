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

struct HostRates {
  std::string rows, gpu;
  int gpus = 0;
  double hop = 0, of_4 = 0;  // GB/s
};

// GB/s of the links of each PCIe host with more than two GPUs that the fit to all rows finds beside what is common.
std::vector<HostRates> host_rates(const Evaluation& e, std::span<const double> values) {
  constexpr const char *kHop = "network.point_to_point.gbps", *kOf4 = "network.all_to_all.of_4_gbps";
  std::map<std::string, std::vector<const TimingRow*>> rows;
  for (const RowModel& row : e.rows)
    if (!row.row().nvlink() && row.row().gpus > 2) rows[host_of(row)].push_back(&row.row());
  std::vector<HostRates> rates;
  for (const auto& [host, list] : rows) {
    HostRates& r = rates.emplace_back();
    r.rows = fmt::format("{} to {}", list.front()->id, list.back()->id);
    r.gpu = list.front()->gpu;
    for (const TimingRow* row : list) r.gpus = std::max(r.gpus, row->gpus);
    r.hop = value_of(e, values, kHop) * value_of(e, values, fmt::format("{} {}", host, kHop));
    r.of_4 = value_of(e, values, kOf4) * value_of(e, values, fmt::format("{} {}", host, kOf4));
  }
  return rates;
}

std::string rates_table(const std::vector<HostRates>& rates) {
  std::string text = "| rows | host | hops, GB/s | all-to-all of 4 GPUs, GB/s |\n| --- | --- | --- | --- |\n";
  for (const HostRates& r : rates)
    text += fmt::format("| {} | {} x {} | {:.3g} | {:.3g} |\n", r.rows, r.gpus, r.gpu, r.hop, r.of_4);
  return text;
}

// Of hosts with one GPU, the two whose all-to-alls are furthest apart.
std::string furthest_apart(const std::vector<HostRates>& rates) {
  const HostRates *low = &rates.front(), *high = low;
  for (const HostRates& a : rates)
    for (const HostRates& b : rates)
      if (a.gpu == b.gpu && b.of_4 / a.of_4 > high->of_4 / low->of_4) low = &a, high = &b;
  return fmt::format("two hosts with {} take {:.3g} and {:.3g} GB/s", low->gpu, low->of_4, high->of_4);
}

}  // namespace

std::string contradictions_text(const Evaluation& e, const std::vector<double>& unseen,
                                std::span<const double> values) {
  int wrong = 0, wrong_spread = 0, in_one_order = 0, in_order = 0;
  const std::vector<StrategyPair> pairs = pairs_apart(e);
  for (const auto& [i, j, measured, same_guidance] : pairs) {
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
  const std::vector<HostRates> rates = host_rates(e, values);
  const PairsInOrder called = summarize(e, unseen).called;
  return fmt::format(
      "Of the {} pairs in the wrong order, {} are within the error of ratios, where verdicts name no winner. {} are of "
      "more than two GPUs\nover PCIe. Hosts differ there in how their GPUs are wired, and sources do not say how: by "
      "the fit, all-to-alls on {}.\nNo one rate can order strategies on every host. With both rates below fitted to "
      "the times of each host, {} of {} pairs are in order.\nFor your own host, give `of_4_gbps` and `of_8_gbps` "
      "as nccl-tests measures them ([how](clusters.md#the-numbers-of-a-cluster)).\n\n{}\n"
      "The same two strategies on as many GPUs are in opposite order on different hosts. With one order for each two "
      "strategies,\nkind of machine and number of GPUs, at most {} of {} pairs can be in order.\n\n"
      "| GPUs | strategies | the first is faster | the second is faster |\n| --- | --- | --- | --- |\n{}",
      wrong, wrong - (called.all - called.in_order), wrong_spread, furthest_apart(rates), in_order, pairs.size(),
      rates_table(rates), in_one_order, pairs.size(), table);
}

}  // namespace spscope
