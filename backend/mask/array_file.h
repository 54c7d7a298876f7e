// Arrays in files: reading .npy, .npz and .safetensors, writing .npy. Files are untrusted, so every number in them is
// checked before it is used: sizes before memory is allocated, types and element order before values.
//
// Every fault throws an Error that names the file, the array, the fault and a fix: kMaskFile (cannot be read),
// kMaskTruncated, kMaskDtype (object, structured or big-endian types), kMaskShape (also column-major order),
// kMaskTooLarge, kMaskFormat.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/base/memory_limit.h"

namespace spscope {

enum class ElementType : std::uint8_t { kBool, kU8, kI8, kU16, kI16, kU32, kI32, kU64, kI64, kF16, kBf16, kF32, kF64 };
int element_bytes(ElementType type);
// "uint8", "float32", "bool": the names of numpy.
std::string_view element_name(ElementType type);

struct Array {
  std::string name;  // the key in .npz and .safetensors, the file's stem for .npy
  ElementType type = ElementType::kU8;
  std::vector<std::int64_t> shape;  // slowest dimension first; empty for a scalar
  std::vector<std::byte> bytes;     // row-major, little-endian

  std::int64_t num_elements() const { return static_cast<std::int64_t>(bytes.size()) / element_bytes(type); }
};

struct ReadOptions {
  std::int64_t max_bytes = kDefaultMaxMemoryBytes;  // of all arrays read from one file
  std::vector<std::string> only = {};               // names to read, all when empty; others may hold anything
  bool names_alone = false;                         // no shape, no values; not of .npy
};

// The arrays of a file, in the order of the file; the format follows from the file's ending. With `only`, an absent
// name is an Error. A .npy file has one array without a name: `only` does not apply.
std::vector<Array> read_arrays(const std::string& path, const ReadOptions& options = {});

// Values as float. Throws Error kMaskDtype unless the type is a floating one, kMaskValue at NaN or infinity; `path` is
// for the message. The second form takes `count` elements from `first` on, in row-major order.
std::vector<float> to_floats(const Array& array, const std::string& path);
std::vector<float> to_floats(const Array& array, const std::string& path, std::int64_t first, std::int64_t count);
// One value, which may be NaN or infinity. Throws Error kMaskDtype. REQUIRES: 0 <= index < num_elements().
double float_of(const Array& array, std::int64_t index, const std::string& path);
// One value. Throws Error kMaskDtype as to_integers does. REQUIRES: 0 <= index < num_elements().
std::int64_t integer_of(const Array& array, std::int64_t index, const std::string& path);
// Values as integers. Throws Error kMaskDtype unless the type is bool or an integer of up to 64 bits.
std::vector<std::int64_t> to_integers(const Array& array, const std::string& path);

// Writes a .npy file atomically (WholeFile, whose errors it throws).
// REQUIRES: bytes.size() is the product of the shape times the element size; type is not kBf16, which .npy lacks.
void write_npy(const std::string& path, ElementType type, std::span<const std::int64_t> shape,
               std::span<const std::byte> bytes);

// One row of mask_importers.def: a file format that read_arrays knows.
struct MaskImporter {
  std::string_view name, summary;  // the name is the ending of the file's name, without the dot
  std::vector<Array> (*read)(const std::string& path, const ReadOptions& options);
};
std::span<const MaskImporter> mask_importers();

}  // namespace spscope
