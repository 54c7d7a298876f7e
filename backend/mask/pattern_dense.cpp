// Pattern `dense`: full attention. The requested density is ignored.
#include "backend/mask/pattern_parts.h"

namespace spscope {

std::vector<Parameter> parameters_dense() { return {}; }

std::vector<Problem> check_dense(const PatternRequest& request) { return check_request(request); }

BlockMask generate_dense(const PatternRequest& request) { return all_active(request); }

}  // namespace spscope
