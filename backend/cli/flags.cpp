#include "backend/cli/flags.h"

namespace spscope {

std::string long_name(const Flag& flag) {
  const std::size_t begin = flag.names.find("--");
  return begin == std::string::npos ? flag.names : flag.names.substr(begin, flag.names.find(',', begin) - begin);
}

bool is_positional(const Flag& flag) { return !flag.names.starts_with('-'); }

}  // namespace spscope
