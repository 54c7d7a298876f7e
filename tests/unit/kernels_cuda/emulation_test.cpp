// The emulated device: that its twins compute what the PTX manual says, and that it reports what a device would not
// survive, or would do differently each time. Of barriers and of waits for copies attend_test.cpp shows it on the
// kernel.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "kernels/cuda/device.h"
#include "kernels/cuda/emulation/kernel.h"
#include "tests/unit/kernels_cuda/device_array.h"

namespace spscope::kernels::cuda {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

struct Numbers {
  float* out = nullptr;
  const float* in = nullptr;
};

constexpr std::size_t kSharedBytes = 4096;

// Runs `body(parameters)` as a kernel; "" or what went wrong.
template <void (*kBody)(const Numbers&)>
std::string run(int threads, float* out = nullptr, const float* in = nullptr) {
  const EmulatedKernel kernel{"test", 256, sizeof(Numbers),
                              [](void** arguments) { kBody(*static_cast<const Numbers*>(arguments[0])); }};
  try {
    launch(kernel, 1, threads, kSharedBytes, Numbers{out, in});
  } catch (const EmulationFault& fault) {
    return fault.what();
  }
  return "";
}

// -- order

void exchange_without_barrier(const Numbers&) {
  if (thread_index() >= 32) store_shared(4u * thread_index(), 1.0f);
  sync_warp();
  if (thread_index() < 32) load_shared<float>(4u * (63 - thread_index()));
}
void planted_race(const Numbers&) {
  if (thread_index() == 0) store_shared(0, 1.0f);
  sync_block();
  load_shared<float>(0);
  if (thread_index() == 40) store_shared(0, 2.0f);
}
void two_writers(const Numbers&) {
  if (thread_index() % 32 == 0) store_shared(8, static_cast<float>(thread_index()));
}
void halves_of_a_word(const Numbers&) { store_shared(2u * thread_index(), Bf16{1}); }
void read_what_nobody_wrote(const Numbers&) { load_shared<float>(128); }
void beyond_shared(const Numbers&) { store_shared(kSharedBytes - 2, 1.0f); }
void misaligned_shared(const Numbers&) { store_shared(2, 1.0f); }
void half_the_block_waits(const Numbers&) {
  if (thread_index() < 32) sync_block();
  if (thread_index() >= 32) sync_warp();
  if (thread_index() == 63) return;
  if (thread_index() >= 32) sync_warp();
}
void lanes_disagree(const Numbers&) {
  if (thread_index() < 16)
    sync_warp();
  else
    shuffle_xor(1, 1);
}
TEST(Emulation, ReportsWhatADeviceWouldNotSurviveOrDoTheSameTwice) {
  EXPECT_THAT(run<exchange_without_barrier>(64),
              AnyOf(HasSubstr("without a barrier"), HasSubstr("nothing was written")));
  EXPECT_THAT(run<planted_race>(64), HasSubstr("thread 40: byte 0 of shared memory is written, and thread"));
  EXPECT_THAT(run<two_writers>(64), HasSubstr("is written, and thread 0 wrote it without a barrier"));
  EXPECT_EQ(run<halves_of_a_word>(64), "") << "neighbours in a word are no race";
  EXPECT_THAT(run<read_what_nobody_wrote>(32), HasSubstr("nothing was written there"));
  EXPECT_THAT(run<beyond_shared>(32), HasSubstr("bytes 4094 to 4097 of shared memory, which has 4096"));
  EXPECT_THAT(run<misaligned_shared>(32), HasSubstr("at 2, which is not a multiple of 4"));
  EXPECT_THAT(run<half_the_block_waits>(64),
              AllOf(HasSubstr("deadlock"), HasSubstr("threads 0 to 31 wait in sync_block"),
                    HasSubstr("threads 32 to 62 wait for their warp in sync_warp")));
  EXPECT_THAT(run<lanes_disagree>(32), HasSubstr("while other lanes of its warp do"));
}

void beyond_global(const Numbers& numbers) { store_global(numbers.out + thread_index(), 1.0f); }
TEST(Emulation, ReportsDeviceMemoryThatIsNotAnnounced) {
  DeviceArray<float> out(32, 0.0f);
  EXPECT_EQ(run<beyond_global>(32, out.data()), "");
  EXPECT_THAT(run<beyond_global>(64, out.data()), HasSubstr("thread 32: 4 bytes at"));
}

// -- matrices, by the figures of the PTX manual

void load_two_ways(const Numbers& numbers) {
  // Matrix i has in row r, column c the number 64 i + 8 r + c, as a bf16's bits; rows are 16 bytes.
  for (int i = thread_index(); i < 256; i += 32) store_shared(2u * i, Bf16{static_cast<std::uint16_t>(i)});
  sync_warp();
  std::uint32_t plain[4], transposed[4];
  ldmatrix(plain, 16u * thread_index());
  ldmatrix_transposed(transposed, 16u * thread_index());
  for (int m = 0; m < 4; ++m) {
    float* const out = numbers.out + (thread_index() * 4 + m) * 4;
    for (int half = 0; half < 2; ++half) {
      out[half] = static_cast<float>(plain[m] >> (16 * half) & 0xffff);
      out[2 + half] = static_cast<float>(transposed[m] >> (16 * half) & 0xffff);
    }
  }
}
TEST(Emulation, LdmatrixGivesTheManualsFragments) {
  std::vector<float> out(32 * 16);
  ASSERT_EQ(run<load_two_ways>(32, out.data()), "");
  const auto of = [&](int lane, int matrix) {
    const auto* const from = out.data() + (lane * 4 + matrix) * 4;
    return std::vector<float>(from, from + 4);
  };
  // "T6: row 1, columns 4, 5", and transposed rows 4, 5 of column 1.
  EXPECT_THAT(of(6, 0), ::testing::ElementsAre(12, 13, 33, 41));
  EXPECT_THAT(of(31, 3), ::testing::ElementsAre(192 + 62, 192 + 63, 192 + 55, 192 + 63));
  EXPECT_THAT(of(0, 2), ::testing::ElementsAre(128, 129, 128, 136));
}

// A has 1 at (row, k) alone and B has 1 at (k, column) alone, written into the registers that the manual's table names;
// then C has 1 at (row, column) alone.
struct OneProduct {
  int row, k, column;
};
OneProduct one;
void multiply_one(const Numbers& numbers) {
  const std::uint32_t bf16_one = 0x3f80;
  std::uint32_t a[4] = {}, b[2] = {};
  float c[4] = {};
  // groupID = lane >> 2; for a_i: row = groupID for 0 <= i < 2 || 4 <= i < 6, else groupID + 8;
  // column = (lane % 4) * 2 + (i & 1) for i < 4, else + 8. b_i: row = (lane % 4) * 2 + (i & 1), + 8 for i >= 2; column
  // = groupID. c_i: row = groupID for i < 2, else groupID + 8; column = (lane % 4) * 2 + (i & 1).
  const int lane = thread_index(), group = lane >> 2;
  for (int i = 0; i < 8; ++i) {
    const int row = i < 2 || (4 <= i && i < 6) ? group : group + 8, column = lane % 4 * 2 + (i & 1) + (i < 4 ? 0 : 8);
    if (row == one.row && column == one.k) a[i / 2] |= bf16_one << (16 * (i & 1));
  }
  for (int i = 0; i < 4; ++i)
    if (lane % 4 * 2 + (i & 1) + (i >= 2 ? 8 : 0) == one.k && group == one.column)
      b[i / 2] |= bf16_one << (16 * (i & 1));
  mma(c, a, b[0], b[1]);
  for (int i = 0; i < 4; ++i) {
    const int row = i < 2 ? group : group + 8;
    numbers.out[row * 8 + lane % 4 * 2 + (i & 1)] = c[i];
  }
}
TEST(Emulation, MmaMultipliesTheManualsFragments) {
  const OneProduct products[] = {{0, 0, 0}, {3, 5, 6}, {11, 12, 1}, {15, 9, 7}, {8, 2, 4}, {7, 15, 0}};
  for (const OneProduct& product : products) {
    one = product;
    std::vector<float> out(16 * 8, -1), expected(16 * 8, 0);
    expected[static_cast<std::size_t>(product.row * 8 + product.column)] = 1;
    ASSERT_EQ(run<multiply_one>(32, out.data()), "");
    EXPECT_EQ(out, expected) << product.row << " " << product.k << " " << product.column;
  }
}

}  // namespace
}  // namespace spscope::kernels::cuda
