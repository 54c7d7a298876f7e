// The table of config keys (config_fields.def) as rows, and the one function that sets a key after checking type and
// range. File reader, --set, canonical writer, `spscope list` and the docs all go through these rows.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "backend/base/error.h"
#include "backend/config/run_config.h"
#include "backend/config/toml_text.h"

namespace spscope {

// Where a key's value lives in a RunConfig.
using FieldRef = std::variant<int*, std::uint64_t*, double*, std::string*, TokenGrid*, std::vector<std::string>*,
                              LayerChoice*, RunMode*, RunScope*, TextLayout*, VerifyExtent*, PassChoice*, MeasureLoad*,
                              WeightLayout*, WeightDtype*, TextEncoderPlace*, MaskForm*, ListCoding*, Dtype*>;

enum class FieldRole { kSetting, kInputPath, kOutputPath };

struct FieldRow {
  std::string_view section, key;
  std::string_view name;  // "run.dtype"
  FieldRef (*ref)(RunConfig&);
  FieldRole role;
  double min, max;  // of numbers; min > max: none
  std::string_view unit, help;
  bool excludes_min = false;                           // the range begins above it
  std::vector<std::string_view> (*names)() = nullptr;  // that a text may have; null: any
};

// In the order of config_fields.def, sections together.
std::span<const FieldRow> config_fields();
// nullptr when there is no such key.
const FieldRow* find_field(std::string_view name);
// "integer", "real", "text", "three integers", "list of texts", "layers" or "choice".
std::string_view field_type(const FieldRow& row);
// The texts a value may have: enumerators, model presets, cluster presets; empty when any text may.
std::vector<std::string_view> field_choices(const FieldRow& row);
// "[1, 384]", "(0, 1]"; "" when there is no range.
std::string field_range(const FieldRow& row);
// The value as TOML: 3, 0.4, "fp32", [4, 14, 14], ["ring"].
std::string field_toml(const FieldRow& row, const RunConfig& config);

// Sets one key. Adds a problem and returns false when the value has the wrong type, is outside its range or is not one
// of the enumerators; names of presets are left to validate().
bool set_field(const FieldRow& row, RunConfig& config, const TomlValue& value, const SourcePlace& place,
               std::vector<Problem>& problems);

}  // namespace spscope
