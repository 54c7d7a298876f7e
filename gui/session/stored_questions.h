// Questions in SQL to start from: those of schemas/questions.md, built into the program.
#pragma once

#include <span>
#include <string_view>

namespace spscope::gui {

struct StoredQuestion {
  std::string_view title, sql;
};
std::span<const StoredQuestion> stored_questions();

}  // namespace spscope::gui
