// The checksums of pages: what is written, what is noticed, and what an edit by another program means.
#include "backend/store/sqlite/page_checksums.h"

#include <gmock/gmock.h>

#include "backend/store/check_pages.h"
#include "backend/store/merge/merge_shards.h"
#include "backend/store/sqlite/sqlite.h"
#include "tests/unit/store/sample_store.h"

namespace spscope {
namespace {

using testing::error_of;
using testing::read_file;
using testing::tamper;
using testing::TemporaryFolder;
using testing::write_file;
using testing::write_sample;

std::uint32_t plain_crc32c(std::string_view bytes) {
  return testing::plain_crc32c({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
}

std::uint32_t little_endian(std::string_view bytes, std::size_t at) {
  std::uint32_t x = 0;
  for (std::size_t i = 4; i-- > 0;) x = x << 8 | static_cast<unsigned char>(bytes[at + i]);
  return x;
}

std::string flipped(std::string bytes, std::size_t bit) {
  bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
  return bytes;
}

class StoredPages : public ::testing::Test {
 protected:
  StoredPages() {
    write_sample(path_);
    whole_ = read_file(path_);
    Database db = Database::open_read_only(path_);
    Statement row(db, "SELECT page_count, page_size FROM pragma_page_count, pragma_page_size");
    row.step();
    pages_ = static_cast<std::size_t>(row.integer(0));
    page_bytes_ = static_cast<std::size_t>(row.integer(1));
  }
  // The rows of every table, or the code of the error.
  std::string content() const {
    try {
      const StoreReader reader(path_);
      std::string text;
      for (const char* table : {"run", "rank_usage", "traffic", "repeat", "meta", "strategy", "workload", "chunk"})
        for (const auto& row : reader.query(std::string("SELECT * FROM ") + table).rows)
          for (const auto& value : row) text += value.value_or("NULL") + "|";
      return text;
    } catch (const Error& error) {
      return error_id(error.code());
    }
  }
  std::size_t root_of(const std::string& name) const {
    Database db = Database::open_read_only(path_);
    Statement row(db, "SELECT rootpage FROM sqlite_master WHERE name = ?");
    return row.bind_all(name).step() ? static_cast<std::size_t>(row.integer(0)) : 0;
  }
  std::size_t begin_of_trailer() const { return pages_ * page_bytes_; }

  TemporaryFolder folder_;
  const std::string path_ = folder_ / "out.db";
  std::string whole_;
  std::size_t pages_ = 0, page_bytes_ = 0;
};

TEST_F(StoredPages, OnlyASmallFileHasSmallPages) {
  EXPECT_LT(whole_.size(), 110'000u);
  EXPECT_EQ(page_bytes_, 512u);
  StoreWriter large(folder_ / "large.db");
  IncidentRecord incident;
  incident.message.assign(3 << 20, 'x');
  large.add_incident(incident);
  large.finish();
  EXPECT_EQ(read_file(folder_ / "large.db").substr(16, 2), std::string("\x10\0", 2));
}

TEST_F(StoredPages, TheTrailerIsAsTheFormatSays) {
  const std::string trailer = whole_.substr(begin_of_trailer());
  ASSERT_EQ(trailer.size(), 32 + 4 * pages_);
  const std::size_t end = trailer.size() - 32;
  EXPECT_EQ(trailer.substr(end, 16), "SPSC page sums 2");
  EXPECT_EQ(little_endian(trailer, end + 16), page_bytes_);
  EXPECT_EQ(little_endian(trailer, end + 20), pages_);
  std::uint32_t changes = 0;
  for (std::size_t i = 24; i < 28; ++i) changes = changes << 8 | static_cast<unsigned char>(whole_[i]);
  EXPECT_EQ(little_endian(trailer, end + 24), changes);
  for (std::size_t page = 0; page < pages_; ++page)
    EXPECT_EQ(little_endian(trailer, 4 * page), plain_crc32c(whole_.substr(page * page_bytes_, page_bytes_)));
  EXPECT_EQ(little_endian(trailer, trailer.size() - 4), plain_crc32c(trailer.substr(0, trailer.size() - 4)));
}

TEST_F(StoredPages, AFlippedBitOfATableIsRefusedAndNamed) {
  for (const std::string name : {"rank_usage", "run", "chunk_by_run"}) {
    const std::size_t page = root_of(name);
    write_file(path_, flipped(whole_, 8 * (page * page_bytes_ - 3)));
    const Error error = error_of([&] {
      StoreReader(path_).query(name == "chunk_by_run"
                                   ? "SELECT run_id, track_id, seq FROM chunk INDEXED BY chunk_by_run WHERE run_id = 1"
                                   : "SELECT * FROM " + name);
    });
    EXPECT_EQ(error.code(), ErrorCode::kStoreCorrupt);
    const std::string wanted = "page " + std::to_string(page) + " ";
    EXPECT_NE(std::string(error.what()).find(wanted), std::string::npos) << error.what();
    EXPECT_NE(error.hint().find("spscope recover"), std::string::npos);
    EXPECT_EQ(check_pages(path_).bad, std::vector{static_cast<std::uint32_t>(page)});
    write_file(path_, whole_);
  }
}

TEST_F(StoredPages, EveryBitOfHeaderAndTrailerIsRefusedOrHarmless) {
  const std::string sound = content();
  int refused = 0;
  const auto look = [&](std::size_t bit) {
    write_file(path_, flipped(whole_, bit));
    const std::string now = content();
    if (now == sound) return;
    EXPECT_TRUE(now.starts_with("SPS-")) << bit;
    ++refused;
  };
  for (std::size_t bit = 0; bit < 800; ++bit) look(bit);
  EXPECT_GT(refused, 700);
  refused = 0;
  const std::size_t trailer = 8 * begin_of_trailer();
  for (std::size_t bit = trailer; bit < 8 * whole_.size(); bit += 31) look(bit);
  EXPECT_EQ(refused, static_cast<int>((8 * whole_.size() - trailer + 30) / 31));
  // The trailer is damaged then; another program did not write the file.
  for (std::size_t bit = trailer; bit < trailer + 8 * 16; ++bit) {
    write_file(path_, flipped(whole_, bit));
    EXPECT_EQ(check_pages(path_).state, PageChecksums::State::kDamaged) << bit;
  }
}

// As SQLite from 3.45 on reads the ends of long values.
TEST_F(StoredPages, PartsOfPagesAreChecked) {
  const std::size_t page = root_of("run") - 1;
  write_file(path_, flipped(whole_, 8 * (page * page_bytes_ + 200)));
  const Database db = Database::open_read_only(path_);
  sqlite3_file* file = nullptr;
  ASSERT_EQ(sqlite3_file_control(db.handle(), "main", SQLITE_FCNTL_FILE_POINTER, &file), SQLITE_OK);
  char out[16];
  const auto read = [&](std::size_t at) {
    return file->pMethods->xRead(file, out, 16, static_cast<sqlite3_int64>(at));
  };
  EXPECT_EQ(read(24), SQLITE_OK);
  EXPECT_EQ(read(page * page_bytes_ + 8), SQLITE_CORRUPT);
  EXPECT_EQ(read((page - 1) * page_bytes_ + 8), SQLITE_OK);
  EXPECT_EQ(std::string_view(out, 16), std::string_view(whole_).substr((page - 1) * page_bytes_ + 8, 16));
}

TEST_F(StoredPages, AnEditByAnotherProgramEndsTheChecksums) {
  const std::string sound = content();
  using enum PageChecksums::State;
  for (const auto& [edit, state] : {std::pair("UPDATE machine_fact SET value = 'another'", kEdited),
                                    {"CREATE TABLE later (x); INSERT INTO later VALUES (zeroblob(100000))", kNone},
                                    {"DROP TABLE later; VACUUM", kNone}}) {
    tamper(path_, edit);
    EXPECT_EQ(check_pages(path_).state, state) << edit;
    EXPECT_EQ(content(), sound) << edit;
  }
}

TEST_F(StoredPages, RecoverLeavesOutWhatADamagedPageHeld) {
  const std::string saved = folder_ / "saved.db";
  const auto recovered = [&](const std::string& bytes) {
    write_file(path_, bytes);
    OutputFile out(saved, true);
    return merge_shards(out, std::vector{path_}, {.tolerant = true});
  };
  EXPECT_GT(recovered(whole_).finished_runs, 0);
  const MergeReport report = recovered(flipped(whole_, 8 * (root_of("rank_usage") * page_bytes_ - 3)));
  EXPECT_EQ(report.finished_runs, 0);
  EXPECT_THAT(report.notes, ::testing::Contains(::testing::HasSubstr("a part of the figures is lost")));
  EXPECT_EQ(StoreReader(saved).query("SELECT count(*) FROM rank_usage").rows[0][0], "0");
}

}  // namespace
}  // namespace spscope
