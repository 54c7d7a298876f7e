#include "collectors/nvml/gpus.h"

#include <gmock/gmock.h>

#include "backend/base/result.h"
#include "tests/unit/collectors/nvml/fake_nvml.h"

namespace spscope::nvml {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class NvmlGpus : public testing::Test {
 protected:
  // The place of a GPU in the order of NVML, by its temperature.
  std::uint32_t index_of(const Gpu& gpu) {
    std::uint32_t celsius = 0;
    EXPECT_EQ(library_.calls().nvmlDeviceGetTemperature(gpu.handle, kTemperatureOfGpu, &celsius), kSuccess);
    return celsius;
  }
  FoundGpus find(const char* settings, const CudaDevices& cuda, std::vector<int> ordinals) {
    fake_.reset(
        (std::string("gpus=4 set=temperature@0:0 set=temperature@1:1 set=temperature@2:2 set=temperature@3:3 ") +
         settings)
            .c_str());
    return find_gpus(library_, cuda, ordinals);
  }
  std::vector<std::uint32_t> indices(const FoundGpus& found) {
    std::vector<std::uint32_t> indices;
    for (const Gpu& gpu : found.gpus) indices.push_back(index_of(gpu));
    return indices;
  }
  FakeNvml fake_;
  const Library library_{fake_.path()};
  // As with CUDA_VISIBLE_DEVICES=2,0: CUDA's GPU 0 is the third on the bus.
  const CudaDevices chosen_ = {.pci_ids = {"0000:03:00.0", "0000:01:00.0"}};
  const CudaDevices silent_ = {.failure = "no libcuda"};
};

TEST_F(NvmlGpus, AreFoundByTheirPlaceOnTheBus) {
  const FoundGpus all = find("", chosen_, {});
  EXPECT_THAT(indices(all), ElementsAre(2, 0));
  EXPECT_EQ(all.gpus[0].ordinal, 0);
  EXPECT_EQ(all.gpus[1].ordinal, 1);
  EXPECT_EQ(all.gpus[0].bus_id, "0000:03:00.0");
  EXPECT_THAT(all.notes, IsEmpty());
  EXPECT_THAT(indices(find("", chosen_, {1})), ElementsAre(0));
}

TEST_F(NvmlGpus, AreNumberedAsNvidiaSmiDoesWhereCudaIsSilent) {
  const FoundGpus found = find("", silent_, {3, 1});
  EXPECT_THAT(indices(found), ElementsAre(1, 3));
  EXPECT_THAT(found.notes, ElementsAre("GPUs are numbered as by nvidia-smi, since CUDA does not answer: no libcuda"));
  EXPECT_THAT(indices(find("", silent_, {})), ElementsAre(0, 1, 2, 3));
}

TEST_F(NvmlGpus, OneThatIsForbiddenIsLeftOutWithANote) {
  const FoundGpus found = find("fail=nvmlDeviceGetHandleByPciBusId_v2@2:4", chosen_, {});
  EXPECT_THAT(indices(found), ElementsAre(0));
  EXPECT_THAT(found.notes, ElementsAre(HasSubstr("GPU 0: nvmlDeviceGetHandleByPciBusId_v2 failed with 4, Insufficient "
                                                 "Permissions; this user may not use the GPU")));
}

TEST_F(NvmlGpus, RanksShareThemInTurn) {
  EXPECT_THAT(indices(find("", chosen_, {3})), ElementsAre(0));
  EXPECT_THAT(indices(find("", chosen_, {4, 5, 6})), ElementsAre(2, 0));
}

TEST_F(NvmlGpus, WithoutAnyTheFirstCauseIsTheError) {
  const struct {
    const char* settings;
    CudaDevices cuda;
    const char *what, *hint;
  } cases[] = {{"fail=nvmlDeviceGetHandleByPciBusId_v2:15", chosen_,
                "GPU 0: nvmlDeviceGetHandleByPciBusId_v2 failed with 15, GPU is lost", "Xid"},
               {"", {}, "CUDA sees no GPU", "CUDA_VISIBLE_DEVICES"},
               {"fail=nvmlDeviceGetCount_v2:999", silent_, "nvmlDeviceGetCount_v2 failed with 999", ""}};
  for (const auto& [settings, cuda, what, hint] : cases) {
    const std::optional<Error> error =
        failure_of([this, &settings = settings, &cuda = cuda] { find(settings, cuda, {}); });
    ASSERT_TRUE(error) << what;
    EXPECT_THAT(error->what(), HasSubstr(what));
    EXPECT_THAT(error->hint(), HasSubstr(hint));
  }
}

TEST_F(NvmlGpus, ADividedOneIsToldOf) {
  const FoundGpus found = find("mig=2", chosen_, {});
  EXPECT_EQ(found.gpus.size(), 2u);
  EXPECT_THAT(found.notes, ElementsAre(HasSubstr("GPU 0: it is divided into MIG instances")));
}

#ifdef SPSCOPE_FAKE_CUDA
TEST_F(NvmlGpus, CudaSaysWhereItsDevicesAre) {
  const CudaDevices cuda = ask_cuda();
  EXPECT_EQ(cuda.failure, "");
  EXPECT_THAT(cuda.pci_ids, ElementsAre("0000:01:00.0"));
}
#endif

}  // namespace
}  // namespace spscope::nvml
