#include "backend/base/error.h"

#include <fmt/format.h>

#include "backend/base/printable.h"

namespace spscope {

const std::vector<ErrorCodeRow>& error_codes() {
  static const std::vector<ErrorCodeRow> rows = {
#define ERROR_CODE(number, name, summary) {ErrorCode::name, #name, summary},
#include "backend/base/error_codes.def"
#undef ERROR_CODE
  };
  return rows;
}

std::string error_id(ErrorCode code) { return fmt::format("SPS-{:03d}", static_cast<int>(code)); }

std::string render(const Problem& problem) {
  std::string text = fmt::format("error {}: ", error_id(problem.code));
  if (!problem.field.empty()) text += problem.field + ": ";
  text += problem.message;
  if (problem.place.line > 0)
    text += fmt::format("\n--> {}:{}:{}", problem.place.file, problem.place.line, problem.place.column);
  else if (!problem.place.file.empty())
    text += fmt::format("\n--> {}", problem.place.file);
  if (!problem.hint.empty()) text += "\n" + problem.hint;
  // Only what begins a line of its own is said by the program: what a file brings is behind blanks.
  std::string lines;
  for (const char c : printable(text)) lines += c == '\n' ? "\n  " : std::string(1, c);
  return lines + '\n';
}

std::string render(const Error& error) {
  if (error.problems().empty()) return render(Problem{error.code(), {}, error.what(), error.hint()});
  std::string text;
  for (const Problem& problem : error.problems()) text += render(problem);
  return text;
}

std::string line_of(const Error& error) {
  return error.hint().empty() ? std::string(error.what()) : fmt::format("{}; {}", error.what(), error.hint());
}

namespace {

std::string summary(const std::vector<Problem>& problems) {
  std::string text;
  for (const Problem& problem : problems) {
    if (!text.empty()) text += "; ";
    text += problem.field.empty() ? problem.message : problem.field + ": " + problem.message;
  }
  return text;
}

}  // namespace

Error::Error(std::vector<Problem> problems)
    : std::runtime_error(summary(problems)),
      code_(problems.empty() ? ErrorCode::kInternal : problems.front().code),
      hint_(problems.empty() ? std::string() : problems.front().hint),
      problems_(std::move(problems)) {}

}  // namespace spscope
