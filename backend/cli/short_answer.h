// Answers of few lines: parts that stand in an order, of which the least important go until the rest fits.
#pragma once

#include <string>
#include <vector>

namespace spscope {

struct AnswerPart {
  std::string text;    // whole lines
  int drop = 0;        // the highest go first, of several the last; 0: never
  bool apart = false;  // an empty line stands before it
};

// The parts one below the other. Where they have over `most_lines` lines, parts are left out and `hint`, one line, ends
// the text. Parts that never go may be longer together. most_lines = 0: all of them.
std::string answer_text(std::vector<AnswerPart> parts, int most_lines, const std::string& hint);

}  // namespace spscope
