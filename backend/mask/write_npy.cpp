// Writes .npy: a preamble, then the bytes of the array.
#include "backend/base/check.h"
#include "backend/base/whole_file.h"
#include "backend/mask/array_file.h"
#include "backend/mask/npy_format.h"

namespace spscope {

void write_npy(const std::string& path, ElementType type, std::span<const std::int64_t> shape,
               std::span<const std::byte> bytes) {
  std::int64_t expected = element_bytes(type);
  for (std::int64_t extent : shape) expected *= extent;
  SPSCOPE_CHECK(expected == static_cast<std::int64_t>(bytes.size()));
  WholeFile file(path);
  file.write(npy_preamble(type, shape));
  file.write(bytes);
  file.commit();
}

}  // namespace spscope
