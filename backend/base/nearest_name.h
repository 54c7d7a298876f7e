// Spelling help: the known name closest to an unknown one.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace spscope {

// The candidate within an edit distance of at most a third of its length (at least 2), or "" when none is near.
// Capitals do not count; a candidate that begins with what was typed, or has all its parts (wan2.1-14b of
// wan2.1-t2v-14b), is at a distance of 1.
std::string nearest_name(std::string_view unknown, std::span<const std::string_view> candidates);

}  // namespace spscope
