#include "backend/cli/short_answer.h"

#include <algorithm>

namespace spscope {
namespace {

std::string joined(const std::vector<AnswerPart>& parts) {
  std::string text;
  bool apart = false;  // of parts that were left out since the last one too
  for (const AnswerPart& part : parts) {
    apart = apart || part.apart;
    if (part.text.empty()) continue;
    if (apart && !text.empty()) text += '\n';
    text += part.text;
    apart = false;
  }
  return text;
}

}  // namespace

std::string answer_text(std::vector<AnswerPart> parts, int most_lines, const std::string& hint) {
  const auto lines = [](const std::string& text) { return std::ranges::count(text, '\n'); };
  std::string text = joined(parts);
  bool complete = true;
  while (most_lines > 0 && lines(text) + (complete ? 0 : 1) > most_lines) {
    // Of several the last one.
    const auto next = std::ranges::max_element(parts.rbegin(), parts.rend(), {},
                                               [](const AnswerPart& p) { return p.text.empty() ? 0 : p.drop; });
    if (next == parts.rend() || next->text.empty() || next->drop == 0) break;
    next->text.clear();
    complete = false;
    text = joined(parts);
  }
  return complete ? text : text + hint + '\n';
}

}  // namespace spscope
