// The end of standard output.
#pragma once

#include <iosfwd>

namespace spscope {

// Flushes it. Throws Error(kStoreWrite): not all of it could be written. A reader that has gone is no fault.
void finish_output(std::ostream& out);

}  // namespace spscope
