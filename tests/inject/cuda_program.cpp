// A program that uses CUDA and NCCL, as far as attach sees: the driver and NCCL load the injection library, and it does
// what its arguments say, one after the other:
//
//   init        starts the driver
//   open PATH   loads a library
//   mapped NAME prints whether a library whose path has this in it is mapped
//   gpu N       the GPU of what follows; at first 0
//   work N      N rounds on it (tests/fake_cuda/program)
//   on, off     waits until the fake CUPTI that it opened records kernels, or does not
//   steady      works until that has been on and is off
//   profile X   calls cuProfilerX of the driver, which are Start and Stop
//   nccl V      a communicator of an NCCL that knows profilers up to interface V (nccl_work.h)
//   join HASH RANKS RANK  one of as many ranks, with this hash
//   reduce N    N all-reduces
//   send N      N sends
//   leave       ends the communicator
//   range NAME  a range of NVTX (nvtx_work.h)
//   range-of PATH NAME  one of a library, which it loads and unloads (cuda_runtime.cpp)
//   set NAME VALUE  a variable of its environment
//   meet FOLDER N   waits until N processes have come to the folder
//   print TEXT  a line on stdout
//   sleep MS
//   fork        goes on as the child of a fork, and ends as the child ended
//   exec        becomes this program again, with the arguments that follow
//   close-all   closes all descriptors from 3 on, as daemons do
//   scribble    sends a line to whatever listens at descriptors from 3 on, as programs do that mistake one for theirs
//   pairs N     makes N pairs of sockets
//   talk        sends a byte through each in both ways, or ends with 8
//   signals     waits for a signal and prints which came
//   raise N     sends itself a signal
//   alarms      from now on a signal interrupts it every millisecond
//   exit N      by exit(); at the end of the arguments it ends with 0
//   quit N      by _exit(), as forked workers of Python do
#include <dlfcn.h>
#include <link.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/fake_cuda/program/device_work.h"
#include "tests/inject/nccl_work.h"
#include "tests/inject/nvtx_work.h"

namespace {

// libcuda.so.1, which tests have a fake of.
#ifdef __clang__
[[clang::no_sanitize("function")]]  // results are an enum of CUDA's
#endif
void start_driver() {
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
  auto* const init = driver == nullptr ? nullptr : reinterpret_cast<int (*)(unsigned)>(dlsym(driver, "cuInit"));
  if (init != nullptr && init(0) == 0) return;
  std::fprintf(stderr, "no driver: %s\n", dlerror());
  std::exit(9);
}

void* newest_library = nullptr;

bool records_kernels() {
  constexpr int kKernels = 10;  // CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL
  auto* const enabled = reinterpret_cast<unsigned long long (*)()>(dlsym(newest_library, "spscope_fake_cupti_enabled"));
  return (enabled() >> kKernels & 1) != 0;
}

template <typename Condition>
void wait_for(const Condition& condition) {
  while (!condition()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void work_until_it_was_recorded() {
  bool was_on = false;
  spscope::fake_cuda::work_on_device_while([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const bool is_on = records_kernels();
    const bool is_over = was_on && !is_on;
    was_on |= is_on;
    return !is_over;
  });
}

#ifdef __clang__
[[clang::no_sanitize("function")]]
#endif
void call_profiler(const char* what) {
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
  auto* const call = reinterpret_cast<int (*)()>(dlsym(driver, (std::string("cuProfiler") + what).c_str()));
  if (call() != 0) std::exit(9);
}

void open_library(const char* path) {
  newest_library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (newest_library != nullptr) return;
  std::fprintf(stderr, "no library: %s\n", dlerror());
  std::exit(9);
}

void print_whether_mapped(const char* name) {
  const auto has_name = [](dl_phdr_info* library, std::size_t, void* text) {
    return std::strstr(library->dlpi_name, static_cast<const char*>(text)) == nullptr ? 0 : 1;
  };
  const bool is_mapped = dl_iterate_phdr(has_name, const_cast<char*>(name)) != 0;
  std::printf("%s is %smapped\n", name, is_mapped ? "" : "not ");
}

void mark_range_of(const char* path, const char* name) {
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  auto* const mark = library == nullptr ? nullptr : dlsym(library, "mark_range_of_library");
  if (mark == nullptr) std::exit(9);
  reinterpret_cast<void (*)(const char*)>(mark)(name);
  dlclose(library);
}

void wait_for_signal() {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, nullptr);
  std::puts("ready");
  std::fflush(stdout);
  int signal = 0;
  sigwait(&all, &signal);
  std::printf("signal %d\n", signal);
}

void meet(const std::filesystem::path& folder, int number) {
  using Iterator = std::filesystem::directory_iterator;
  std::ofstream(folder / std::to_string(getpid()));
  while (std::distance(Iterator(folder), Iterator()) < number)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

using Pair = std::array<int, 2>;

void talk(const std::vector<Pair>& pairs) {
  const auto pass = [&](auto call, int flags) {
    for (const Pair& pair : pairs)
      for (const int fd : pair) {
        char byte = 'x';
        if (call(fd, &byte, 1, flags) == 1) continue;
        std::perror("socket");
        std::exit(8);
      }
  };
  pass(send, MSG_NOSIGNAL);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // for whoever else looks at them
  pass(recv, MSG_DONTWAIT);
}

void interrupt_often() {
  struct sigaction action = {};
  action.sa_handler = [](int) {};  // without SA_RESTART
  sigaction(SIGALRM, &action, nullptr);
  const itimerval every = {.it_interval = {0, 1000}, .it_value = {0, 1000}};
  setitimer(ITIMER_REAL, &every, nullptr);
}

int end_of(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

int main(int argc, char** argv) {
  std::unique_ptr<spscope::NcclWork> nccl;
  std::vector<Pair> pairs;
  int gpu = 0;
  for (int i = 1; i < argc; ++i) {
    const std::string what = argv[i];
    const auto number = [&] { return ++i < argc ? std::atoi(argv[i]) : 0; };
    if (what == "init") start_driver();
    if (what == "open" && ++i < argc) open_library(argv[i]);
    if (what == "mapped" && ++i < argc) print_whether_mapped(argv[i]);
    if (what == "gpu") gpu = number();
    if (what == "work") spscope::fake_cuda::work_on_device(number(), gpu);
    if (what == "on" || what == "off") wait_for([&] { return records_kernels() == (what == "on"); });
    if (what == "steady") work_until_it_was_recorded();
    if (what == "profile" && ++i < argc) call_profiler(argv[i]);
    if (what == "join") {
      const auto hash = static_cast<std::uint64_t>(number());
      const int num_ranks = number();
      nccl = std::make_unique<spscope::NcclWork>(6, hash, num_ranks, number());
    }
    if (what == "set" && (i += 2) < argc) setenv(argv[i - 1], argv[i], 1);
    if (what == "meet" && (i += 2) < argc) meet(argv[i - 1], std::atoi(argv[i]));
    if (what == "nccl") nccl = std::make_unique<spscope::NcclWork>(number());
    if (what == "reduce") nccl->reduce(number());
    if (what == "send") nccl->send(number());
    if (what == "leave") nccl.reset();
    if (what == "range" && ++i < argc) spscope::mark_range(argv[i]);
    if (what == "range-of" && (i += 2) < argc) mark_range_of(argv[i - 1], argv[i]);
    if (what == "print" && ++i < argc) {
      std::puts(argv[i]);
      std::fflush(stdout);
    }
    if (what == "sleep") std::this_thread::sleep_for(std::chrono::milliseconds(number()));
    for (int fd = 3; what == "close-all" && fd < 1024; ++fd) close(fd);
    for (int fd = 3; what == "scribble" && fd < 1024; ++fd) send(fd, "its line\n", 9, MSG_NOSIGNAL | MSG_DONTWAIT);
    for (int more = what == "pairs" ? number() : 0; more > 0; --more)
      if (socketpair(AF_UNIX, SOCK_STREAM, 0, pairs.emplace_back().data()) != 0) std::exit(9);
    if (what == "talk") talk(pairs);
    if (what == "signals") wait_for_signal();
    if (what == "raise") raise(number());
    if (what == "alarms") interrupt_often();
    if (what == "exit") std::exit(number());
    if (what == "quit") _exit(number());
    if (what == "exec") {
      argv[i] = argv[0];
      execv("/proc/self/exe", argv + i);
    }
    if (what != "fork") continue;
    std::fflush(stdout);
    if (const pid_t child = fork(); child != 0) std::exit(end_of(child));
  }
  return 0;
}
