// A RunConfig as text: reading TOML with the place of every problem, overriding single keys, writing the canonical form
// and the hash that identifies a config.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/base/error.h"
#include "backend/base/result.h"
#include "backend/config/run_config.h"
#include "backend/config/validate.h"

namespace spscope {

// The place of each key that was given, by its name ("run.dtype", "strategy.usp.ulysses").
using ConfigPlaces = std::map<std::string, SourcePlace, std::less<>>;

// A config as far as it could be read, with everything wrong with it.
struct ReadConfig {
  RunConfig config;  // keys at fault keep their defaults
  ConfigPlaces places;
  std::vector<Problem> problems;
  std::set<std::string, std::less<>> faulty;  // names of the keys at fault
};

// `file` names the text in places.
ReadConfig parse_config(std::string_view text, std::string_view file);
ReadConfig read_config(const std::string& path);
// "run.dtype=fp32", "model.grid=4,14,14", "run.strategies=ring;usp:ulysses=2,ring=2", "strategy.usp.ulysses=2": the
// same checks as in a file. Values may also be TOML ([...] and "..."). A relative input path starts at the current
// folder, not at the config file's.
void apply_override(ReadConfig& read, std::string_view assignment);

// Sets the place of each problem without one: that of its field, or of a key of the section that it names.
void locate(std::vector<Problem>& problems, const ConfigPlaces& places);

struct LoadedConfig {
  RunConfig config;
  ConfigPlaces places;
};
// Reads the file ("" for all defaults), applies the overrides and validates; the error holds all problems with places.
Result<LoadedConfig> load_config(const std::string& path, std::span<const std::string> overrides,
                                 const NameLists& names);

// Every key with its value, in the order of config_fields(), for a config file in any folder: input paths are absolute,
// and beside a mask file the keys of the pattern are left out. It reads back as a config of the same run. kChanged:
// without keys at their default.
enum class KeysToWrite { kAll, kChanged };
std::string runnable_toml(RunConfig config, KeysToWrite keys = KeysToWrite::kAll);
// Those keys: "mask.density", ...
std::span<const std::string_view> keys_unused_beside_mask_file();
// 16 hex digits. Equal for configs that ask for the same run: independent of key order, of where results go and of the
// folders of inputs, which count by their file names. How it runs counts too (run.repeats, run.backend), so runs of one
// workload may differ in it. Keys at their default do not enter, so a new key leaves all old hashes as they are; a
// default never changes: that of run.strategies is now "all", which enters, and the one before it does not. Hashes
// written before inputs counted by their file names are others where an input was named with its folder.
std::string config_hash(const RunConfig& config);

}  // namespace spscope
