// Reads .npz: a zip archive of .npy files, as numpy.savez and numpy.savez_compressed write it.
#include <fmt/format.h>
#include <zip.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backend/base/error.h"
#include "backend/mask/array_parts.h"

namespace spscope {

namespace {

struct CloseArchive {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};
struct CloseEntry {
  void operator()(zip_file_t* entry) const { zip_fclose(entry); }
};
using Archive = std::unique_ptr<zip_t, CloseArchive>;
using Entry = std::unique_ptr<zip_file_t, CloseEntry>;

Archive open_archive(const std::string& path) {
  InputFile present(path);  // throws the error of the path itself
  int code = 0;
  if (zip_t* archive = zip_open(path.c_str(), ZIP_RDONLY, &code)) return Archive(archive);
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  const std::string reason = zip_error_strerror(&error);
  zip_error_fini(&error);
  throw Error(ErrorCode::kMaskFormat, fmt::format("{} is not a zip archive: {}", place_of(path), reason),
              "write it with numpy.savez; if it was, copy it again");
}

// "q" for the entry "q.npy".
std::string array_name(const std::string& path, const std::string& entry) {
  const bool nested = entry.find_first_of("/\\") != std::string::npos;
  if (nested || !entry.ends_with(".npy") || entry.size() == 4) {
    throw Error(ErrorCode::kMaskFormat,
                fmt::format("{} holds \"{}\", {}", place_of(path), entry,
                            nested ? "a path with folders" : "which is not a .npy file"),
                "write it with numpy.savez and plain names");
  }
  return entry.substr(0, entry.size() - 4);
}

Array read_entry(zip_t* archive, zip_uint64_t index, const std::string& path, const std::string& name,
                 std::int64_t max_bytes) {
  const std::string place = place_of(path, name);
  zip_stat_t status;
  zip_stat_init(&status);
  if (zip_stat_index(archive, index, 0, &status) != 0 || (status.valid & ZIP_STAT_SIZE) == 0 ||
      status.size > static_cast<zip_uint64_t>(INT64_MAX)) {
    throw Error(ErrorCode::kMaskFormat, fmt::format("the size of {} is not known", place), "write it with numpy.savez");
  }
  constexpr zip_uint64_t kMostUnfolding = 1032;  // deflate makes at most 258 bytes of 2 bits
  if ((status.valid & ZIP_STAT_COMP_SIZE) == 0 || status.size / kMostUnfolding > status.comp_size) {
    throw Error(ErrorCode::kMaskFormat,
                fmt::format("{} claims to expand from {} to {} bytes, more than deflate can", place, status.comp_size,
                            status.size),
                "write it with numpy.savez or numpy.savez_compressed");
  }
  const Entry entry(zip_fopen_index(archive, index, 0));
  if (!entry) {
    throw Error(ErrorCode::kMaskFormat, fmt::format("cannot unpack {}: {}", place, zip_strerror(archive)),
                "write it with numpy.savez, without a password");
  }
  auto fail = [&] {
    const std::string reason = zip_file_strerror(entry.get());
    throw Error(ErrorCode::kMaskTruncated, fmt::format("cannot unpack {}: {}", place, reason),
                "copy or save the file again");
  };
  auto read = [&](std::span<std::byte> out) {
    while (!out.empty()) {
      const zip_int64_t got = zip_fread(entry.get(), out.data(), out.size());
      if (got <= 0) fail();
      out = out.subspan(static_cast<std::size_t>(got));
    }
  };
  Array array = read_npy(place, static_cast<std::int64_t>(status.size), read, max_bytes);
  char beyond = 0;  // libzip compares the checksum when it meets the end
  if (zip_fread(entry.get(), &beyond, 1) != 0) fail();
  array.name = name;
  return array;
}

}  // namespace

std::vector<Array> import_npz(const std::string& path, const ReadOptions& options) {
  const Archive archive = open_archive(path);
  const zip_int64_t num_entries = zip_get_num_entries(archive.get(), 0);
  std::vector<std::string> names;
  std::vector<Array> arrays;
  std::int64_t left = options.max_bytes;
  for (zip_int64_t i = 0; i < num_entries; ++i) {
    const char* entry = zip_get_name(archive.get(), i, 0);
    if (entry == nullptr) {
      throw Error(ErrorCode::kMaskFormat, fmt::format("{} holds an entry without a name", place_of(path)),
                  "write it with numpy.savez");
    }
    const std::string name = array_name(path, entry);
    if (std::find(names.begin(), names.end(), name) != names.end()) {
      throw Error(ErrorCode::kMaskFormat, fmt::format("{} holds \"{}\" twice", place_of(path), name),
                  "write it with numpy.savez");
    }
    names.push_back(name);
    if (options.names_alone) arrays.push_back({name, ElementType::kU8, {}, {}});
    if (options.names_alone || !is_wanted(options, name)) continue;
    arrays.push_back(read_entry(archive.get(), i, path, name, left));
    left -= static_cast<std::int64_t>(arrays.back().bytes.size());
  }
  require_wanted(path, options, names);
  return arrays;
}

}  // namespace spscope
