#include "collectors/cupti/library.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "backend/base/result.h"
#include "tests/support/temporary_folder.h"

namespace spscope::cupti {
namespace {

using testing::HasSubstr;

// An empty file with its folders.
std::string file(const TemporaryFolder& folder, const std::string& path) {
  std::filesystem::create_directories(std::filesystem::path(folder / path).parent_path());
  return folder.write(path, "");
}

TEST(CuptiLibrary, TheOneThatIsMappedComesFirst) {
  const std::vector<std::string> mapped = {"/lib/libc.so.6", "/cuda/lib64/libcudart.so.12", "/app/libcupti.so.12"};
  const std::vector<std::string> candidates = library_candidates(mapped, 13000);
  EXPECT_EQ(candidates.front(), "/app/libcupti.so.12");
  EXPECT_EQ(candidates.back(), "libcupti.so") << "whatever the loader finds comes last";
}

TEST(CuptiLibrary, TheOneBesideTheRuntimeComesBeforeThoseOfTheLoader) {
  const TemporaryFolder folder;
  // NVIDIA's Python packages of CUDA 12, a toolkit, packages of a distribution, and a wheel that renames both.
  const std::pair<const char*, const char*> beside[] = {
      {"nvidia/cuda_runtime/lib/libcudart.so.12", "nvidia/cuda_cupti/lib/libcupti.so.12"},
      {"cuda/lib64/libcudart.so.11.0", "cuda/extras/CUPTI/lib64/libcupti.so.11.8"},
      {"dist/libcudart.so.13", "dist/libcupti.so.13"},
      {"torch.libs/libcudart-9335f6a2.so.12.4.127", "torch.libs/libcupti-1a2b3c4d.so.12"}};
  file(folder, "torch.libs/libcuptihelper.so");
  for (const auto& [runtime, cupti] : beside) {
    const std::string expected = file(folder, cupti);
    EXPECT_EQ(library_candidates(std::vector{file(folder, runtime)}, 13000).front(), expected);
    EXPECT_EQ(library_candidates(std::vector{expected}, 13000).front(), expected);
  }
  EXPECT_EQ(library_candidates(std::vector{folder / "torch.libs/libcuptihelper.so"}, 13000).front(), "libcupti.so.13");
}

TEST(CuptiLibrary, OfThoseOfTheLoaderTheOnesThatTheDriverIsTooOldForComeLast) {
  using Names = std::vector<std::string>;
  const Names newest_first = {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8", "libcupti.so.11.7",
                              "libcupti.so"};
  EXPECT_EQ(library_candidates({}, 0), newest_first);
  EXPECT_EQ(library_candidates({}, 13020), newest_first);
  EXPECT_EQ(library_candidates({}, 12080),
            (Names{"libcupti.so.12", "libcupti.so.11.8", "libcupti.so.11.7", "libcupti.so.13", "libcupti.so"}));
}

TEST(CuptiLibrary, WithoutOneTheErrorSaysWhatWasTriedAndWhatToInstall) {
  const TemporaryFolder folder;
  const std::string not_a_library = folder.write("libcupti.so.13", "no ELF file");
  const std::vector<std::string> candidates = {"/nowhere/libcupti.so.12", not_a_library, "libc.so.6"};
  LibrarySearch search(candidates);
  EXPECT_FALSE(search.next());
  const Error error = search.none();
  EXPECT_EQ(error.code(), ErrorCode::kCannotCollect);
  EXPECT_THAT(error.what(), HasSubstr("/nowhere/libcupti.so.12"));
  EXPECT_THAT(error.what(), HasSubstr(not_a_library));
  EXPECT_THAT(error.what(), HasSubstr("libc.so.6: it has no cuptiGetVersion, so it is older than CUDA 11.7"));
  EXPECT_THAT(error.hint(), HasSubstr("nvidia-cuda-cupti"));
}

}  // namespace
}  // namespace spscope::cupti
