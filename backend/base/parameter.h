// Declared parameters of strategies and patterns: rows with name, type, default, range, unit and help, from which the
// command line, `spscope list --json` and the forms of the desktop app are generated.
//
//   Parameter::integer("ulysses", 0, 0, 65536, "ranks", "Ulysses degree; 0: ranks / ring degree")
//   Parameter::flag("refine", false, "whether pairs of heads are exchanged after the greedy")
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "backend/base/error.h"

namespace spscope {

using ParameterValue = std::variant<bool, std::int64_t, double, std::string>;

struct Parameter {
  std::string name;
  ParameterValue default_value;           // its type is the parameter's type
  double min = 1, max = 0;                // inclusive range of integers and reals; min > max: no range
  std::vector<std::string> choices = {};  // of strings; empty: any string
  std::string unit = {}, help = {};       // unit "": none

  static Parameter flag(std::string name, bool default_value, std::string help);
  static Parameter integer(std::string name, std::int64_t default_value, std::int64_t min, std::int64_t max,
                           std::string unit, std::string help);
  static Parameter real(std::string name, double default_value, double min, double max, std::string help);
  // A string that is one of `choices`, of which the first is the default.
  static Parameter choice(std::string name, std::vector<std::string> choices, std::string help);
};

// Values by name. REQUIRES of every getter: the name was declared, with that type.
class Parameters {
 public:
  Parameters() = default;
  // Defaults of these rows.
  explicit Parameters(const std::vector<Parameter>& rows);

  template <typename T>
  const T& get(std::string_view name) const {
    return std::get<T>(at(name));
  }
  int integer(std::string_view name) const { return static_cast<int>(get<std::int64_t>(name)); }
  double real(std::string_view name) const { return get<double>(name); }
  bool flag(std::string_view name) const { return get<bool>(name); }
  const std::string& text(std::string_view name) const { return get<std::string>(name); }
  bool has(std::string_view name) const { return values_.find(name) != values_.end(); }
  void set(std::string_view name, ParameterValue value) {
    values_.insert_or_assign(std::string(name), std::move(value));
  }

  const std::map<std::string, ParameterValue, std::less<>>& values() const { return values_; }
  // "ulysses=4,ring=2" in declared (alphabetical) order, "" when there are none.
  std::string str() const;
  friend bool operator==(const Parameters&, const Parameters&) = default;

 private:
  const ParameterValue& at(std::string_view name) const;
  std::map<std::string, ParameterValue, std::less<>> values_;
};

// Sets one parameter from text ("4", "true", "0.5", "strided") after checking type, range and choices against `rows`.
// Adds a problem for an unknown name (with the nearest known one) or a wrong value; `owner` names it in the message.
void set_parameter(Parameters& values, const std::vector<Parameter>& rows, std::string_view name, std::string_view text,
                   std::string_view owner, std::vector<Problem>& problems);
// "4", "0.5", "true" or the text itself.
std::string to_text(const ParameterValue& value);

}  // namespace spscope
