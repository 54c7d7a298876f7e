// The JSON schema of a config file, generated from the table of keys. Editors with TOML support use it for completion
// and checks.
#pragma once

#include <string>

namespace spscope {

// JSON Schema 2020-12, indented, with a newline at the end: the text of schemas/run_config.schema.json.
std::string config_json_schema();

}  // namespace spscope
