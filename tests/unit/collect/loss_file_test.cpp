#include "backend/collect/loss_file.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "tests/support/temporary_folder.h"

namespace spscope {
namespace {

TEST(LossFile, HasItsRoomAndKeepsWhatItHolds) {
  const TemporaryFolder folder;
  CollectingNote note;
  note.folder = folder.path();
  note.stem = "run";
  EXPECT_EQ(read_losses(note).events, 0);  // there is no file
  const LossFile file(note);
  const std::string path = folder / "run.lost";
  const auto bytes = std::filesystem::file_size(path);
  EXPECT_EQ(read_losses(note).events, 0);  // nothing was lost
  Losses losses{.events = 7'000};
  for (int rank = 0; rank < 1'000; ++rank) {
    IncidentRecord& incident = losses.incidents.emplace_back();
    incident.rank = rank;
    incident.kind = IncidentKind::kLost;
    incident.message = std::string(100, 'x') + "\n\"";
  }
  file.write(losses);
  EXPECT_EQ(std::filesystem::file_size(path), bytes);
  const Losses read = read_losses(note);
  EXPECT_EQ(read.events, 7'000);
  ASSERT_GT(read.incidents.size(), 100u);
  const std::size_t known = read.incidents.size() - 1;
  EXPECT_TRUE(std::equal(read.incidents.begin(), read.incidents.end() - 1, losses.incidents.begin()));
  EXPECT_THAT(read.incidents.back().message,
              ::testing::HasSubstr("the shards of " + std::to_string(1'000 - known) + " more processes"));
}

}  // namespace
}  // namespace spscope
