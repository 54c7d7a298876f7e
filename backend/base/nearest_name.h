// Spelling help: the known name closest to an unknown one.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace spscope {

// The candidate within an edit distance of at most a third of its length (at least 2), or "" when none is near.
std::string nearest_name(std::string_view unknown, std::span<const std::string_view> candidates);

}  // namespace spscope
