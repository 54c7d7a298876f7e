// HeadWriter: rows are written where the head is, and an Error of writing them ends all processes of the run.
#include "backend/job/head_writer.h"

#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"
#include "tests/unit/launch/partial_world.h"

namespace spscope {
namespace {

const Error kDiskFull(ErrorCode::kStoreWrite, "the disk is full");

// Two ranks that agree on the Error of either.
struct AgreeingWorld : testing::PartialWorld {
  AgreeingWorld(int rank, std::optional<Error> of_other) : PartialWorld(rank), other(std::move(of_other)) {}
  std::optional<Error> agree(const std::optional<Error>& mine) override { return mine ? mine : other; }
  std::optional<Error> other;
};

std::optional<ErrorCode> code_of_write(StoreWriter* head, RankWorld* world,
                                       const std::function<void(StoreWriter&)>& rows) {
  const std::optional<Error> failure = failure_of([&] { HeadWriter(head, world).write(rows); });
  return failure ? std::optional(failure->code()) : std::nullopt;
}

TEST(HeadWriter, WritesWhereTheHeadIs) {
  const TemporaryFolder folder;
  StoreWriter head(folder / "run.db");
  StoreWriter* written = nullptr;
  const auto rows = [&](StoreWriter& to) { written = &to; };
  AgreeingWorld first(0, {}), second(1, {});
  HeadWriter(nullptr, &second).write(rows);
  EXPECT_EQ(written, nullptr);
  EXPECT_FALSE(HeadWriter(nullptr, &second).is_here());
  for (RankWorld* world : {static_cast<RankWorld*>(&first), static_cast<RankWorld*>(nullptr)}) {
    written = nullptr;
    HeadWriter(&head, world).write(rows);
    EXPECT_EQ(written, &head);
    EXPECT_TRUE(HeadWriter(&head, world).is_here());
  }
}

TEST(HeadWriter, AnErrorOfWritingEndsEveryProcess) {
  const TemporaryFolder folder;
  StoreWriter head(folder / "run.db");
  AgreeingWorld first(0, {}), second(1, kDiskFull);
  EXPECT_EQ(code_of_write(&head, &first, [](StoreWriter&) { throw kDiskFull; }), ErrorCode::kStoreWrite);
  EXPECT_EQ(code_of_write(&head, nullptr, [](StoreWriter&) { throw kDiskFull; }), ErrorCode::kStoreWrite);
  EXPECT_EQ(code_of_write(nullptr, &second, [](StoreWriter&) {}), ErrorCode::kStoreWrite);
}

}  // namespace
}  // namespace spscope
