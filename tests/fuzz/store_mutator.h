// Damage to a database that a parser gets to see: rows, values and blobs change by SQL, so that the file stays sound
// for SQLite and what is wrong is what our code reads. Checksums of blobs are mended. A
// target that links this has libFuzzer make three of four inputs that way.
#pragma once

#include <cstdint>
#include <string>

namespace spscope::fuzz {

// The same database with one change by this seed; unchanged when SQLite cannot read it or the change does not apply.
std::string damaged_store(const std::string& file, std::uint64_t seed);

}  // namespace spscope::fuzz
