// One archive of what checks have said, so that a machine that gives back a few small files gives back all.
#pragma once

#include <cstdint>
#include <string>

namespace spscope::gpu_check {

inline constexpr std::int64_t kArchiveRoom = 15'000'000;  // bytes, before they are packed

// Packs the texts below `folder` into `file` (.tar.gz), the smallest first until kArchiveRoom is used; not-archived.txt
// in it names the others. An archive of that name is replaced once the new one is whole. Throws Error.
void write_archive(const std::string& folder, const std::string& file);

}  // namespace spscope::gpu_check
