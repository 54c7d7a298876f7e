// Where a run in progress lies, who finds it, and that nobody removes what a crash left.
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>

#include "backend/base/file_system.h"
#include "backend/collect/collection.h"
#include "tests/unit/store/sample_store.h"

namespace spscope {
namespace {

using testing::error_of;
using testing::read_file;
using testing::TemporaryFolder;
using testing::write_file;
using Names = std::vector<std::string>;

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

class Collecting : public ::testing::Test {
 protected:
  Collecting() {
    std::filesystem::create_directory(scratch_);
    std::filesystem::create_directory(folder_ / "here");
  }
  Names scratch_names() const {
    Names names;
    for (const auto& entry : std::filesystem::directory_iterator(scratch_)) names.push_back(entry.path().filename());
    return names;
  }
  // A collection whose process is killed.
  CollectingNote crash(const std::string& out) {
    const int child = ::fork();
    if (child == 0) {
      const Collection collection(out, scratch_, 4, 0);
      write_file(collection.note().rank_db(0), "shard");
      ::raise(SIGKILL);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return read_collecting(collecting_path(out));
  }
  TemporaryFolder folder_;
  const std::string scratch_ = folder_ / "scratch", out_ = folder_ / "here/my run.db";
};

TEST_F(Collecting, IsFoundByAnyOfItsNames) {
  const Collection collection(out_, scratch_, 4, 1);
  const CollectingNote& note = collection.note();
  EXPECT_EQ(note.stem, "my run");
  EXPECT_EQ(note.out, out_);
  EXPECT_EQ(note.ranks, 4);
  EXPECT_TRUE(note.folder.starts_with(scratch_ + "/spscope-my run-")) << note.folder;
  EXPECT_EQ(collection_text(note.id()), note.collection);
  write_file(note.head_db(), "");
  write_file(note.rank_db(2), "");
  write_file(note.rank_now(2), "");
  EXPECT_EQ(note.shards(), (Names{note.head_db(), note.rank_db(2)}));
  EXPECT_EQ(note.now_pages(), Names{note.rank_now(2)});
  for (const std::string& name : {out_, collecting_path(out_), note.folder, note.rank_db(2)}) {
    const auto found = find_collection(name);
    ASSERT_TRUE(found) << name;
    EXPECT_EQ(found->collection, note.collection);
    EXPECT_EQ(found->folder, note.folder);
    EXPECT_EQ(collector_state(*found), CollectorState::kRuns);
  }
  EXPECT_FALSE(find_collection(folder_ / "here/other.db"));
  EXPECT_TRUE(dead_collections(scratch_).empty());
}

TEST_F(Collecting, TwoOfOneNameDoNotMeet) {
  const Collection one(out_, scratch_, 1, 0), other(folder_ / "my run.db", scratch_, 1, 0);
  EXPECT_NE(one.note().folder, other.note().folder);
  EXPECT_NE(one.note().collection, other.note().collection);
}

TEST_F(Collecting, WhatACrashLeftIsNamedAndNeverRemoved) {
  const CollectingNote dead = crash(out_);
  EXPECT_EQ(collector_state(dead), CollectorState::kEnded);
  ASSERT_EQ(dead_collections(scratch_).size(), 1u);
  EXPECT_EQ(dead_collections(scratch_)[0].folder, dead.folder);
  { const Collection next(out_, scratch_, 4, 0); }  // the next run to the same file
  ASSERT_EQ(dead_collections(scratch_).size(), 1u);
  EXPECT_EQ(read_file(dead.rank_db(0)), "shard");
  EXPECT_EQ(find_collection(dead.folder)->collection, dead.collection);
  EXPECT_EQ(collections_in(scratch_)[0].bytes,
            static_cast<std::int64_t>(std::filesystem::file_size(dead.folder + "/collecting.json")) + 5);
  // What was recovered is no longer named while the file is there that was made of it.
  testing::write_file(folder_ / "made.db", "made");
  mark_recovered(dead, folder_ / "made.db");
  EXPECT_TRUE(dead_collections(scratch_).empty());
  EXPECT_EQ(collections_in(scratch_)[0].recovered_to, folder_ / "made.db");
  std::filesystem::remove(folder_ / "made.db");
  EXPECT_EQ(dead_collections(scratch_).size(), 1u);
}

TEST_F(Collecting, ANoteOfAnotherHostOrBootIsToldApart) {
  const Collection collection(out_, scratch_, 1, 0);
  EXPECT_TRUE(is_here(collection.note()));
  struct Row {
    void (*change)(CollectingNote&);
    CollectorState state;
    bool here;
  };
  for (const Row& row : {
           Row{[](CollectingNote& n) { n.host += "-other"; }, CollectorState::kElsewhere, false},
           Row{[](CollectingNote& n) { n.boot_id = "another"; }, CollectorState::kEnded, false},
           Row{[](CollectingNote& n) { n.boot_id = "another", n.host += "-other"; }, CollectorState::kElsewhere, false},
           // The number of the process was given to another one.
           Row{[](CollectingNote& n) { ++n.start_ticks; }, CollectorState::kEnded, true},
           // Another run's folder of that name, and another folder.
           Row{[](CollectingNote& n) { n.collection[0] ^= 1; }, CollectorState::kRuns, false},
           Row{[](CollectingNote& n) { n.folder += "x"; }, CollectorState::kRuns, false},
       }) {
    CollectingNote note = collection.note();
    row.change(note);
    EXPECT_EQ(collector_state(note), row.state) << text_of(note);
    EXPECT_EQ(is_here(note), row.here) << text_of(note);
  }
}

TEST_F(Collecting, ANoteIsNotTrusted) {
  const Collection collection(out_, scratch_, 1, 0);
  const std::string path = collecting_path(out_), good = read_file(path);
  const auto with = [&](const std::string& from, const std::string& to) { return replaced(good, from, to); };
  for (const std::string& bad :
       {std::string(), std::string("[]"), std::string("{"), std::string(100'000, '['), std::string(1 << 20, ' '),
        with("\"schema_version\": 1", "\"schema_version\": 2"), with("\"ranks\": 1", "\"ranks\": -1"),
        with("\"ranks\": 1", "\"ranks\": 1e9"), with("\"ranks\": 1", "\"ranks\": 18446744073709551615"),
        with("\"ranks\": 1", "\"ranks\": \"1\""), with("\"folder\": \"/", "\"folder\": \""),
        with("\"stem\": \"", "\"stem\": \"../"), with("\"collection\": \"", "\"collection\": \"x"),
        with("\"pid\"", "\"pib\"")}) {
    write_file(path, bad);
    EXPECT_EQ(error_of([&] { read_collecting(path); }).code(), ErrorCode::kStoreForeign) << bad.substr(0, 300);
  }
  EXPECT_EQ(error_of([&] { read_collecting(folder_ / "absent"); }).code(), ErrorCode::kStoreOpen);
  EXPECT_EQ(error_of([&] { read_collecting(scratch_); }).code(), ErrorCode::kStoreOpen);
}

// Anybody can put a note into a folder that is open to all.
TEST_F(Collecting, ANoteOfSomebodyElseIsFollowedOnlyToAFolderOfThisUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  constexpr uid_t kNobody = 65534;
  const Collection collection(out_, scratch_, 1, 0);
  const std::string beside = collecting_path(out_);
  const auto give_away = [&](const std::string& path) { ASSERT_EQ(::chown(path.c_str(), kNobody, kNobody), 0); };
  give_away(beside);  // as file systems of a network show it
  ASSERT_TRUE(find_collection(out_));
  CollectingNote lure = collection.note();
  lure.out = folder_ / "other.db";
  const auto leads_to = [&](const std::string& folder) {
    lure.folder = folder;
    write_file(beside, text_of(lure));
    give_away(beside);
  };
  leads_to(collection.note().folder);
  ASSERT_TRUE(find_collection(out_));
  EXPECT_EQ(find_collection(out_)->out, out_);  // what the folder's own note says
  leads_to(folder_.path());
  EXPECT_FALSE(find_collection(out_));
  EXPECT_TRUE(find_collection(beside));  // it was named
  std::filesystem::remove(beside);
  ASSERT_EQ(::mkfifo(beside.c_str(), 0600), 0);
  EXPECT_FALSE(find_collection(out_));
  std::filesystem::remove(beside);
  write_file(folder_ / "file.db", "");
  write_file(folder_ / kCollectingNoteName, text_of(lure));
  EXPECT_TRUE(find_collection(folder_ / "file.db"));
  give_away(folder_ / kCollectingNoteName);
  EXPECT_FALSE(find_collection(folder_ / "file.db"));
  EXPECT_FALSE(find_collection(folder_.path()));
}

// A run over several hosts: here the second folder stands for that of another one.
TEST_F(Collecting, APartIsAFolderAlone) {
  const Collection home(out_, scratch_, 4, 0);
  std::string folder;
  {
    Collection part(home.note(), scratch_, 0);
    const CollectingNote& note = part.note();
    folder = note.folder;
    EXPECT_TRUE(note.is_part() && !home.note().is_part());
    EXPECT_EQ(std::tie(note.home_host, note.collection, note.out, note.stem),
              std::tie(home.note().host, home.note().collection, out_, home.note().stem));
    EXPECT_NE(note.folder, home.note().folder);
    const auto found = find_collection(note.folder);
    ASSERT_TRUE(found && found->is_part());
    EXPECT_EQ(collector_state(*found), CollectorState::kRuns);
    EXPECT_EQ(find_collection(out_)->folder, home.note().folder);
    part.keep();
    part.let_go();
  }
  EXPECT_FALSE(std::filesystem::exists(folder));
  EXPECT_TRUE(std::filesystem::exists(collecting_path(out_)));  // is not the part's to remove
}

TEST_F(Collecting, TheNoteSaysWhereOtherPartsAre) {
  const Collection home(out_, scratch_, 4, 0);
  CollectingNote note = home.note();
  note.elsewhere = {{"b", "/tmp/spscope-x", {2, 3}}, {"c", "/tmp/spscope-y", {1}}};
  rewrite_collecting(note);
  for (const std::string& name : {out_, note.folder}) {
    const std::vector<CollectingElsewhere> places = find_collection(name)->elsewhere;
    ASSERT_EQ(places.size(), 2u);
    EXPECT_EQ(places[0].host + places[0].folder, "b/tmp/spscope-x");
    EXPECT_EQ(places[0].ranks, (std::vector<int>{2, 3}));
    EXPECT_EQ(describe(places),
              "those of ranks 2 and 3 in \"/tmp/spscope-x\" on host b; those of rank 1 in "
              "\"/tmp/spscope-y\" on host c");
  }
  const std::string good = text_of(note);
  EXPECT_EQ(text_of(parse_collecting(good, "")), good);
  for (const std::string& bad :
       {replaced(good, "\"host\": \"b\"", "\"host\": 1"), replaced(good, "3\n", "4\n"), replaced(good, "3\n", "-1\n"),
        replaced(good, "\"elsewhere\": [", "\"elsewhere\": [1,")})
    EXPECT_EQ(error_of([&] { parse_collecting(bad, "note"); }).code(), ErrorCode::kStoreForeign) << bad;
}

// A name of 34 characters of three bytes, cut in the middle of one, and one that is not UTF-8.
TEST_F(Collecting, IsFoundWhateverBytesItsNameHas) {
  std::string wide;
  for (int i = 0; i < 34; ++i) wide += "\xe4\xb8\xad";
  for (const std::string& name : {wide, std::string("caf\xe9"), std::string("caf\xe9\xff/../caf\xe9 2")}) {
    const std::string out = std::filesystem::path(out_).parent_path() / (name + ".db");
    std::filesystem::create_directories(std::filesystem::path(out).parent_path());
    const Collection collection(out, scratch_, 1, 0);
    const CollectingNote& note = collection.note();
    std::ofstream(note.rank_db(0)) << "x";
    const std::optional<CollectingNote> found = find_collection(out);
    ASSERT_TRUE(found) << name;
    EXPECT_EQ(found->out, note.out);
    EXPECT_EQ(found->shards(), std::vector<std::string>{note.rank_db(0)});
    EXPECT_TRUE(is_here(*found));
  }
}

TEST_F(Collecting, ACopiedFolderIsTheCollectionsFolder) {
  const CollectingNote dead = crash(out_);
  const std::string copy = folder_ / "copy";
  std::filesystem::rename(dead.folder, copy);
  for (const std::string& name : {copy, copy + "/", copy + "/my run.rank-0.db"}) {
    const auto found = find_collection(name);
    ASSERT_TRUE(found) << name;
    EXPECT_EQ(found->folder, copy);
    EXPECT_EQ(found->shards(), Names{copy + "/my run.rank-0.db"});
  }
}

TEST_F(Collecting, AScratchFolderWithoutRoomIsNamed) {
  const Error full = error_of([&] { Collection(out_, scratch_, 1, std::int64_t{1} << 60); });
  EXPECT_EQ(full.code(), ErrorCode::kStoreWrite);
  EXPECT_NE(std::string(full.what()).find("1152921504606846976"), std::string::npos) << full.what();
  EXPECT_NE(full.hint().find("run.scratch"), std::string::npos);
  // The note cannot be written: nothing is left in the scratch folder either.
  EXPECT_EQ(error_of([&] { Collection(folder_ / "absent/out.db", scratch_, 1, 0); }).code(), ErrorCode::kOutputPlace);
  EXPECT_TRUE(scratch_names().empty());
}

// The numbers of statfs(2).
TEST(FileSystem, SharedOnesAreKnownByTheirNumbers) {
  // The second number of CIFS is the first as a 32-bit f_type is sign-extended; those without a name are ext4, XFS,
  // Btrfs, tmpfs and overlay.
  for (const auto& [number, name] :
       std::initializer_list<std::pair<std::uint64_t, std::string_view>>{{0x6969, "NFS"},
                                                                         {0x0bd00bd0, "Lustre"},
                                                                         {0x47504653, "GPFS"},
                                                                         {0xff534d42, "CIFS"},
                                                                         {0xffffffffff534d42, "CIFS"},
                                                                         {0x65735546, "FUSE"},
                                                                         {0x01021997, "9p"},
                                                                         {0xef53, ""},
                                                                         {0x58465342, ""},
                                                                         {0x9123683e, ""},
                                                                         {0x01021994, ""},
                                                                         {0x794c7630, ""}})
    EXPECT_EQ(shared_file_system(number), name) << number;
}

TEST(FolderRoom, IsUnknownWhereTheSystemDoesNotSay) {
  EXPECT_FALSE(room_in("/proc").free_bytes) << "it has no blocks";
  EXPECT_FALSE(room_in("/no/such/folder").free_bytes);
  const TemporaryFolder folder;
  ASSERT_TRUE(room_in(folder.path().string()).free_bytes);
  EXPECT_GT(*room_in(folder.path().string()).free_bytes, 0);
  EXPECT_NE(room_in(folder.path().string()).device, room_in("/proc").device);
}

TEST(BytesOfFiles, AreThoseOfRegularFilesAlone) {
  const TemporaryFolder folder;
  std::ofstream(folder / "a") << "12345";
  std::ofstream(folder / "b") << "67";
  std::filesystem::create_directory(folder / "inner");
  std::ofstream(folder / "inner/c") << "not counted";
  std::filesystem::create_symlink("/no/such/file", folder / "dangling");
  EXPECT_EQ(bytes_of_files_in(folder.path().string()), 7);
  EXPECT_EQ(bytes_of_files_in(folder / "missing"), 0);
}

}  // namespace
}  // namespace spscope
