// Errors and problems. `Error` is thrown when an operation cannot continue; a `Problem` is one fault of user input, and
// checks return all of them in a list. Both carry a stable code (SPS-012) and, where there is one, a hint on how to fix
// the fault.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace spscope {

enum class ErrorCode : int {
#define ERROR_CODE(number, name, summary) name = number,
#include "backend/base/error_codes.def"
#undef ERROR_CODE
};

struct ErrorCodeRow {
  ErrorCode code;
  std::string_view name, summary;
};
// All codes in ascending order.
const std::vector<ErrorCodeRow>& error_codes();
// "SPS-012"
std::string error_id(ErrorCode code);

// A position in a text file; line and column start at 1, line 0 means that the position is unknown.
struct SourcePlace {
  std::string file;
  int line = 0, column = 0;
};

// One fault of user input. `field` is the dotted name of the setting, file or strategy at fault.
struct Problem {
  ErrorCode code = ErrorCode::kInternal;
  std::string field, message, hint;
  SourcePlace place = {};
};

// An operation cannot continue. `what()` is the message: lower case, cause first, no full stop.
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, std::string message, std::string hint = {})
      : std::runtime_error(std::move(message)), code_(code), hint_(std::move(hint)) {}
  // Several problems as one error: the message is their rendering.
  explicit Error(std::vector<Problem> problems);

  ErrorCode code() const noexcept { return code_; }
  const std::string& hint() const noexcept { return hint_; }
  const std::vector<Problem>& problems() const noexcept { return problems_; }

 private:
  ErrorCode code_;
  std::string hint_;
  std::vector<Problem> problems_;
};

// "error SPS-014: message\n  --> file:18:11\n  hint\n"
// What is not printable (printable.h) in the text, which may come from a file, is replaced, and its lines are indented.
std::string render(const Problem& problem);
std::string render(const Error& error);
// "message; hint", and the message alone where there is no hint: for notes.
std::string line_of(const Error& error);

}  // namespace spscope
