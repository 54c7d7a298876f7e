// The JSON schema of a config file, made from the table of keys; editors with TOML support complete and check with it.
#pragma once

#include <string>

namespace spscope {

// JSON Schema 2020-12, indented, with a newline at the end: the text of schemas/run_config.schema.json.
std::string config_json_schema();

}  // namespace spscope
