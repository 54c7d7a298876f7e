// Everything that a reader of a store can be asked for.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "backend/store/store_reader.h"

namespace spscope::fuzz {

// Opens the file and reads one part of it: `choice` says which, and of those that are questions in SQL, to which view.
// Throws what the constructor throws, and Error kInternal.
void read_store(const std::string& path, std::uint32_t choice);

// A number that an input itself settles, so that it is read the same way each time.
std::uint32_t choice_of(std::string_view input);

}  // namespace spscope::fuzz
