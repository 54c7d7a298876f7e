// Faults of the system, for a program that runs with this library preloaded.
//
//   INJECT_ERRNO=28 INJECT_PATH=part INJECT_AFTER=bytes   writes to files whose path holds `part` fail with this errno
//                                                         once so many bytes were written to them
//   INJECT_CLOCK_STEP_S=seconds INJECT_CLOCK_AFTER_MS=ms  the clock of the day steps so far, so long after the start;
//   INJECT_CLOCK_SEEN=file                                the file is made when the program is told a time after the
//                                                         step
//   INJECT_CLOCK_TICK_MS=ms                               the clock of recorded times stands still for so long, again
//                                                         and again
//   INJECT_NFS_LOCKS=1                                    flock locks all bytes of the file against other
//                                                         descriptors, as clients of NFS do (flock(2))
//   INJECT_FULL_WITH=file                                 no file system has room while this file is there
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <string>

namespace {

template <typename Function>
Function real(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

int64_t number(const char* name) {
  const char* text = getenv(name);
  return text == nullptr ? 0 : strtoll(text, nullptr, 10);
}

std::atomic<int64_t> written{0};

bool is_meant(int descriptor) {
  const char* part = getenv("INJECT_PATH");
  if (part == nullptr) return false;
  char path[4096];
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  const ssize_t length = readlink(link.c_str(), path, sizeof(path) - 1);
  if (length < 0) return false;
  path[length] = '\0';
  return strstr(path, part) != nullptr;
}

bool fails(int descriptor, size_t count) {
  if (!is_meant(descriptor)) return false;
  if ((written += static_cast<int64_t>(count)) <= number("INJECT_AFTER")) return false;
  errno = static_cast<int>(number("INJECT_ERRNO"));
  return true;
}

int real_clock(clockid_t clock, timespec* now) {
  static const auto next = real<int (*)(clockid_t, timespec*)>("clock_gettime");
  return next(clock, now);
}

int64_t monotonic_ms() {
  timespec time{};
  real_clock(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000 + time.tv_nsec / 1'000'000;
}

// When the library was loaded.
const int64_t start_ms = monotonic_ms();

// What the clock of the day is off by now.
int64_t step_now_s() {
  static const int64_t step_s = number("INJECT_CLOCK_STEP_S"), after_ms = number("INJECT_CLOCK_AFTER_MS");
  if (step_s == 0 || monotonic_ms() - start_ms < after_ms) return 0;
  static const bool is_told = [] {
    const char* path = getenv("INJECT_CLOCK_SEEN");
    const int file = path == nullptr ? -1 : open(path, O_CREAT | O_WRONLY, 0600);
    return file >= 0 && close(file) == 0;
  }();
  (void)is_told;
  return step_s;
}

}  // namespace

extern "C" {

ssize_t write(int descriptor, const void* bytes, size_t count) {
  if (fails(descriptor, count)) return -1;
  return real<ssize_t (*)(int, const void*, size_t)>("write")(descriptor, bytes, count);
}

ssize_t pwrite(int descriptor, const void* bytes, size_t count, off_t offset) {
  if (fails(descriptor, count)) return -1;
  return real<ssize_t (*)(int, const void*, size_t, off_t)>("pwrite")(descriptor, bytes, count, offset);
}

ssize_t pwrite64(int descriptor, const void* bytes, size_t count, off64_t offset) {
  if (fails(descriptor, count)) return -1;
  return real<ssize_t (*)(int, const void*, size_t, off64_t)>("pwrite64")(descriptor, bytes, count, offset);
}

int statvfs(const char* path, struct statvfs* room) {
  const int result = real<int (*)(const char*, struct statvfs*)>("statvfs")(path, room);
  const char* full = getenv("INJECT_FULL_WITH");
  if (result == 0 && full != nullptr && access(full, F_OK) == 0) room->f_bavail = 0;
  return result;
}

int flock(int descriptor, int operation) {
  if (number("INJECT_NFS_LOCKS") == 0) return real<int (*)(int, int)>("flock")(descriptor, operation);
  struct flock whole {};
  whole.l_type = (operation & LOCK_UN) != 0 ? F_UNLCK : (operation & LOCK_EX) != 0 ? F_WRLCK : F_RDLCK;
  whole.l_whence = SEEK_SET;
  const int result = fcntl(descriptor, (operation & LOCK_NB) != 0 ? F_OFD_SETLK : F_OFD_SETLKW, &whole);
  if (result != 0 && errno == EACCES) errno = EWOULDBLOCK;
  return result;
}

int clock_gettime(clockid_t clock, timespec* now) {
  const int result = real_clock(clock, now);
  static const int64_t tick_ms = number("INJECT_CLOCK_TICK_MS");
  if (result == 0 && tick_ms > 0 && clock == CLOCK_MONOTONIC_RAW) {
    const int64_t now_ms = now->tv_sec * 1000 + now->tv_nsec / 1'000'000;
    const int64_t ticked_ms = now_ms - now_ms % tick_ms;
    *now = {ticked_ms / 1000, ticked_ms % 1000 * 1'000'000};
  }
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += step_now_s();
  return result;
}

int gettimeofday(timeval* now, void*) {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  now->tv_sec = time.tv_sec;
  now->tv_usec = time.tv_nsec / 1000;
  return 0;
}

time_t time(time_t* now) {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  if (now != nullptr) *now = time.tv_sec;
  return time.tv_sec;
}

}  // extern "C"
