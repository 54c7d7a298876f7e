// What the C++ library asks of others, so that the injection library needs libc.so.6 alone, and an old one.
//
// _dl_find_object(), which the unwinder of GCC 12 and later calls when an exception is thrown, and which glibc has from
// 2.35 on: with one of its own, which asks what older unwinders ask, the library also loads into programs of RHEL 9.
#include <dlfcn.h>
#include <link.h>

#include <cstddef>
#include <cstdint>

// libm has it. fmt calls it when it formats numbers.
extern "C" double ceil(double value) noexcept {
  if (!(value > -0x1p52 && value < 0x1p52)) return value;  // a whole number, or none
  const auto whole = static_cast<double>(static_cast<std::int64_t>(value));
  return whole < value ? whole + 1 : whole;
}

// Likewise, of offsets between clocks.
extern "C" long long llround(double value) noexcept {
  const auto whole = static_cast<long long>(value);
  const double rest = value - static_cast<double>(whole);
  return rest >= 0.5 ? whole + 1 : rest <= -0.5 ? whole - 1 : whole;
}

#ifdef DLFO_EH_SEGMENT_TYPE

namespace {

struct Search {
  std::uintptr_t address;
  dl_find_object* found;
};

int look_at(dl_phdr_info* info, std::size_t, void* to) {
  Search& search = *static_cast<Search*>(to);
  void* frames = nullptr;
  std::uintptr_t begin = 0, end = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info->dlpi_phdr[i];
    const std::uintptr_t at = info->dlpi_addr + part.p_vaddr;
    if (part.p_type == DLFO_EH_SEGMENT_TYPE) frames = reinterpret_cast<void*>(at);
    if (part.p_type != PT_LOAD || search.address - at >= part.p_memsz) continue;
    begin = at;
    end = at + part.p_memsz;
  }
  if (begin == end) return 0;
  if (frames == nullptr) return -1;
  *search.found = {};
  search.found->dlfo_map_start = reinterpret_cast<void*>(begin);
  search.found->dlfo_map_end = reinterpret_cast<void*>(end);
  search.found->dlfo_eh_frame = frames;
  return 1;
}

}  // namespace

// 0 when the address is in a part of the program that has a table for unwinding, else -1.
extern "C" int _dl_find_object(void* address, dl_find_object* found) noexcept {
  Search search = {reinterpret_cast<std::uintptr_t>(address), found};
  return dl_iterate_phdr(look_at, &search) == 1 ? 0 : -1;
}

#endif
