// Files for the tests of readers, written byte by byte so that they do not depend on the writers under test.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "backend/mask/array_file.h"
#include "tests/support/temporary_folder.h"

namespace spscope::testing_files {

using spscope::TemporaryFolder;

inline std::string little_endian(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += i < 8 ? static_cast<char>(value >> (8 * i) & 0xff) : '\0';
  return text;
}

// A .npy file, version 1.0, with this dictionary text.
inline std::string npy(std::string_view dictionary, std::string_view data) {
  std::string header(dictionary);
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  return std::string("\x93NUMPY\x01\x00", 8) + little_endian(header.size(), 2) + header + std::string(data);
}

inline std::string npy_of(std::string_view descr, std::string_view shape, std::string_view data) {
  return npy("{'descr': '" + std::string(descr) + "', 'fortran_order': False, 'shape': " + std::string(shape) + ", }",
             data);
}

inline std::string safetensors(std::string_view json, std::string_view data) {
  return little_endian(json.size(), 8) + std::string(json) + std::string(data);
}

struct ZipEntry {
  std::string name, content;
  bool deflated = false;  // as one uncompressed deflate block (RFC 1951, 3.2.4)
};

// A zip archive (PKZIP APPNOTE 4.3): local headers and data, central directory, end record.
inline std::string zip(const std::vector<ZipEntry>& entries) {
  auto crc32 = [](std::string_view data) {
    std::uint32_t crc = 0xffffffffu;
    for (unsigned char byte : data) {
      crc ^= byte;
      for (int i = 0; i < 8; ++i) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0u);
    }
    return ~crc;
  };
  std::string body, directory;
  for (const ZipEntry& entry : entries) {
    const std::size_t length = entry.content.size();
    const std::string packed =
        entry.deflated ? "\x01" + little_endian(length, 2) + little_endian(~length, 2) + entry.content : entry.content;
    const std::string common = little_endian(20, 2) + little_endian(0, 2) + little_endian(entry.deflated ? 8 : 0, 2) +
                               little_endian(0, 4) + little_endian(crc32(entry.content), 4) +
                               little_endian(packed.size(), 4) + little_endian(entry.content.size(), 4) +
                               little_endian(entry.name.size(), 2) + little_endian(0, 2);
    directory += "PK\x01\x02" + little_endian(20, 2) + common + little_endian(0, 10) + little_endian(body.size(), 4) +
                 entry.name;
    body += "PK\x03\x04" + common + entry.name + packed;
  }
  return body + directory + "PK\x05\x06" + little_endian(0, 4) + little_endian(entries.size(), 2) +
         little_endian(entries.size(), 2) + little_endian(directory.size(), 4) + little_endian(body.size(), 4) +
         little_endian(0, 2);
}

}  // namespace spscope::testing_files
