#include "bench/gpu/cupti_here.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <sstream>

#include "backend/execute/cuda/driver.h"
#include "bench/gpu/command.h"
#include "collectors/cupti/collector.h"

namespace spscope::gpu_check {
namespace {

constexpr int kOldestCuda = 11;

// Of the toolkit, where it is installed by itself; packages of distributions are known to the loader.
constexpr const char* kToolkitFolders[] = {"/usr/local/cuda/extras/CUPTI/lib64", "/usr/local/cuda/lib64",
                                           "/usr/local/cuda/targets/x86_64-linux/lib"};

// NVIDIA's packages of PyPI, which PyTorch brings: nvidia/cuda_cupti/lib of CUDA 11 and 12, nvidia/cu13/lib.
std::vector<std::string> package_folders(const CheckContext& context) {
  constexpr const char* kProgram =
      "import glob, sys\n"
      "for path in sys.path:\n"
      "    for folder in sorted(glob.glob(path + '/nvidia/*/lib')): print(folder)\n";
  const std::string said = context.out + "/python-packages.txt";
  run_command({context.python, "-c", kProgram}, {.output = said, .error = "/dev/null", .timeout_s = 60});
  std::vector<std::string> folders;
  std::istringstream lines(text_of(said));
  for (std::string line; std::getline(lines, line);) folders.push_back(line);
  return folders;
}

// What to try, best first, for a driver that knows CUDA up to this version (12): for each CUDA the names that the
// loader knows (LD_LIBRARY_PATH), then the folders.
std::vector<std::string> candidates_for(int newest_cuda, const std::vector<std::string>& folders) {
  std::vector<std::string> candidates;
  for (int cuda = newest_cuda; cuda >= kOldestCuda; --cuda) {
    // Those of CUDA 11 have the whole version in their names.
    const std::vector<std::string> names = cuda > kOldestCuda
                                               ? std::vector{fmt::format("libcupti.so.{}", cuda)}
                                               : std::vector<std::string>{"libcupti.so.11.8", "libcupti.so.11.7"};
    candidates.insert(candidates.end(), names.begin(), names.end());
    for (const std::string& folder : folders)
      for (const std::string& name : names)
        if (const std::string path = folder + "/" + name; std::filesystem::exists(path)) candidates.push_back(path);
  }
  return candidates;
}

}  // namespace

CuptiHere::CuptiHere(const CheckContext& context, CheckResult& result) {
  std::vector<std::string> folders(std::begin(kToolkitFolders), std::end(kToolkitFolders));
  std::ranges::copy(package_folders(context), std::back_inserter(folders));
  cupti::LibrarySearch search(candidates_for(cuda::driver().version / 1000, folders));
  const std::optional<cupti::Library> library = search.next();
  if (!library) {
    result.skipped = fmt::format(
        "no libcupti of CUDA {} or older is on this machine: install CUPTI of a toolkit (package cuda-cupti), or a "
        "PyTorch for CUDA, which brings one, and name its interpreter by --python",
        cuda::driver_version_text());
    return;
  }
  path_ = library->path;
  Dl_info file = {};  // of a name, the file that the loader took
  if (dladdr(reinterpret_cast<const void*>(library->calls.cuptiGetVersion), &file) != 0 && file.dli_fname != nullptr)
    result.facts["libcupti"] = std::filesystem::weakly_canonical(file.dli_fname).string();
}

std::unique_ptr<Collector> CuptiHere::start(TraceSink& sink) const {
  return cupti::start(sink, {.rank = 0, .devices = {0}}, {.library = path_});
}

void add_notes(const Collector& collector, CheckResult& result) {
  std::string text;
  for (const std::string& note : collector.notes()) text += (text.empty() ? "" : "; ") + note;
  if (!text.empty()) result.facts["not collected"] = text;
}

}  // namespace spscope::gpu_check
