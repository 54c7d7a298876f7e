// A program that uses CUDA, as far as attach sees: it starts the driver, which loads the injection library, and then
// does what its arguments say, one after the other:
//
//   init        starts the driver
//   print TEXT  a line on stdout
//   sleep MS
//   fork        goes on as the child of a fork, and ends as the child ended
//   exec        becomes this program again, with the arguments that follow
//   signals     waits for a signal and prints which came
//   raise N     sends itself a signal
//   exit N      by exit(); at the end of the arguments it ends with 0
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

// libcuda.so.1, which tests have a fake of.
void start_driver() {
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
  auto* const init = driver == nullptr ? nullptr : reinterpret_cast<int (*)(unsigned)>(dlsym(driver, "cuInit"));
  if (init != nullptr && init(0) == 0) return;
  std::fprintf(stderr, "no driver: %s\n", dlerror());
  std::exit(9);
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

int end_of(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string what = argv[i];
    const auto number = [&] { return ++i < argc ? std::atoi(argv[i]) : 0; };
    if (what == "init") start_driver();
    if (what == "print" && ++i < argc) std::puts(argv[i]);
    if (what == "sleep") usleep(static_cast<useconds_t>(number()) * 1000);
    if (what == "signals") wait_for_signal();
    if (what == "raise") raise(number());
    if (what == "exit") std::exit(number());
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
