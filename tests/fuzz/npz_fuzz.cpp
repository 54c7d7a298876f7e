// An input that begins with "PK" is a zip archive as it is. Any other is a list of entries that is zipped with the
// right lengths and checksums, so that what is inside is reached: a byte of flags, a byte with the length of the name,
// the name, two bytes with the length of the content, the content.
#include "tests/fuzz/array_seeds.h"
#include "tests/fuzz/fuzz_target.h"

namespace spscope::fuzz {
namespace {

std::string entry_bytes(const testing_files::ZipEntry& entry) {
  return std::string(1, entry.deflated ? '\3' : '\2') + testing_files::little_endian(entry.name.size(), 1) +
         entry.name + testing_files::little_endian(entry.content.size(), 2) + entry.content;
}

// Cut short where the input is.
std::string take(std::string_view& input, std::size_t count) {
  const std::string taken(input.substr(0, count));
  input.remove_prefix(taken.size());
  return taken;
}

std::size_t take_length(std::string_view& input, std::size_t bytes) {
  std::size_t length = 0;
  const std::string text = take(input, bytes);
  for (std::size_t i = 0; i < text.size(); ++i)
    length |= static_cast<std::size_t>(static_cast<unsigned char>(text[i])) << (8 * i);
  return length;
}

std::string zipped(std::string_view input) {
  std::vector<testing_files::ZipEntry> entries;
  while (!input.empty()) {
    testing_files::ZipEntry entry;
    entry.deflated = (take_length(input, 1) & 1) != 0;
    entry.name = take(input, take_length(input, 1));
    entry.content = take(input, take_length(input, 2));
    entries.push_back(std::move(entry));
  }
  return testing_files::zip(entries);
}

}  // namespace

std::vector<std::string> seeds() {
  const testing_files::ZipEntry mask = {"mask.npy", mask_npy()}, packed = {"mask.npy", mask_npy(), true};
  const testing_files::ZipEntry starts = {"block_starts.npy", starts_npy()};
  return {testing_files::zip({mask, starts}), testing_files::zip({packed}), testing_files::zip({}),
          entry_bytes(mask) + entry_bytes(starts), entry_bytes(packed)};
}

void read(std::string_view input) {
  read_both_ways(as_file(input.starts_with("PK") ? std::string(input) : zipped(input), "mask.npz"));
}

}  // namespace spscope::fuzz
