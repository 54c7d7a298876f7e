#include "gui/views/kept_table.h"

#include <fmt/format.h>
#include <imgui.h>

#include <numeric>
#include <utility>

namespace spscope::gui {

KeptTable::KeptTable(std::shared_ptr<const Table> given, Workers& workers)
    : table(std::move(given)), workers_(workers), few_(table->rows.size()) {
  std::iota(few_.begin(), few_.end(), 0);
}

TableHit KeptTable::draw(Ui& ui, std::string_view name, TableState& state, TableOptions options) {
  if (const auto text = take_copied()) ImGui::SetClipboardText(text->c_str());
  if (table->rows.size() > kManyRows)
    options.copy = [this](const std::vector<int>& rows, const std::vector<int>& columns, CopyFormat format) {
      copy(rows, columns, format);
    };
  return show_rows(ui, name, *table, rows(state.sort, state.descending, state.filter), state, options);
}

const std::vector<int>& KeptTable::rows(int sort, bool descending, const std::string& filter) {
  if (std::string key = fmt::format("{} {} {}", sort, descending, filter); key != key_) {
    key_ = std::move(key);
    const auto ordered = [of = table, sort, descending, filter](const CancelToken& cancelled) {
      return sorted_rows(*of, filtered_rows(*of, filter, cancelled), sort, descending);
    };
    if (table->rows.size() <= kManyRows) {
      few_ = ordered({});
    } else if (sort < 0 && filter.empty()) {
      many_.forget();
    } else {
      many_.ask(workers_, key_,
                [ordered](Readers&, const Cancelled& cancelled, QueryProgress&) { return ordered(cancelled); });
    }
  }
  const std::vector<int>* many = many_.value();
  return many != nullptr ? *many : few_;
}

void KeptTable::copy(std::vector<int> rows, std::vector<int> columns, CopyFormat format) {
  text_.ask(workers_, fmt::format("{}", ++copies_),
            [of = table, rows = std::move(rows), columns = std::move(columns), format](
                Readers&, const Cancelled&, QueryProgress&) { return copied_text(*of, rows, columns, format); });
}

std::optional<std::string> KeptTable::take_copied() {
  if (copied_ == copies_ || !text_.current()) return std::nullopt;
  copied_ = copies_;
  return *text_.value();
}

}  // namespace spscope::gui
