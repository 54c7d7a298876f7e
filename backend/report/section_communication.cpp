// Communication: what each strategy sends, within a node and between nodes, and which tensors it is.
#include <algorithm>
#include <numeric>
#include <string_view>

#include "backend/report/section.h"

namespace spscope {
namespace {

Cell largest(const std::vector<std::int64_t>& by_rank) {
  if (by_rank.empty()) return cell(Hint::kBytes, {});
  return cell(Hint::kBytes, static_cast<double>(*std::ranges::max_element(by_rank)));
}

Cell total(const std::vector<std::int64_t>& by_rank) {
  if (by_rank.empty()) return cell(Hint::kBytes, {});
  return cell(Hint::kBytes, std::accumulate(by_rank.begin(), by_rank.end(), 0.0));
}

Table volume_table(const ModeGroup& group) {
  Table table;
  table.columns = {text_column("strategy"),        {"sent/rank", "bytes_sent"},     {"most of a rank", "bytes_sent"},
                   {"within nodes", "bytes_sent"}, {"between nodes", "bytes_sent"}, {"all ranks", "bytes_sent"},
                   {"messages", "messages"}};
  for (const StrategyResult* s : group.strategies) {
    if (!s->legal()) continue;
    table.rows.push_back({{text_cell(s->label), cell(Hint::kBytes, mean(s->bytes_sent)), largest(s->bytes_sent),
                           total(s->bytes_sent_intra_node), total(s->bytes_sent_inter_node), total(s->bytes_sent),
                           cell(Hint::kCount, s->messages)}});
  }
  drop_if_same(table, "most of a rank", "sent/rank");
  drop_if_same(table, "within nodes", "all ranks");  // nothing goes between nodes
  drop_empty_columns(table);
  return table;
}

// Only tensors that some strategy sends have a column.
Table tensor_table(const ModeGroup& group) {
  constexpr const char* kOrder[] = {"q", "k", "v", "o", "hidden", "exchange", "text", "norm", "metadata", "boundary"};
  const auto sent = [](const StrategyResult& s, const char* tensor) {
    const auto found = s.bytes_by_tensor.find(tensor);
    return found == s.bytes_by_tensor.end() ? 0 : found->second;
  };
  Table table;
  table.caption = "By tensor, all ranks";
  table.columns = {text_column("strategy")};
  std::vector<const char*> tensors;
  for (const char* tensor : kOrder)
    if (std::ranges::any_of(group.strategies, [&](const StrategyResult* s) { return sent(*s, tensor) > 0; })) {
      tensors.push_back(tensor);
      table.columns.push_back({tensor});
    }
  if (tensors.empty()) return table;
  if (std::ranges::find(tensors, std::string_view("exchange")) != tensors.end())
    table.caption += "; exchange is what moves only to spread load";
  for (const StrategyResult* s : group.strategies) {
    if (s->bytes_sent.empty()) continue;
    Row row{{text_cell(s->label)}};
    for (const char* tensor : tensors) row.cells.push_back(cell(Hint::kBytes, static_cast<double>(sent(*s, tensor))));
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace

void fill_communication(const SectionInput& input, Section& section) {
  const Comparison& comparison = input.comparison;
  const std::vector<ModeGroup> groups = by_mode(comparison);
  for (const ModeGroup& group : groups) {
    if (groups.size() > 1) section.blocks.push_back(Paragraph{std::string(mode_word(group.mode)), Tone::kNote});
    if (Table table = volume_table(group); !table.rows.empty()) section.blocks.push_back(std::move(table));
    if (Table table = tensor_table(group); !table.rows.empty()) section.blocks.push_back(std::move(table));
  }
}

}  // namespace spscope
