// The start of a program with the tests of many folders, each a test of ctest: `--folder=PATH` runs those whose source
// file lies there, without what a filter excludes. A filter that names tests goes before it, as in the child of a death
// test. Flags of GoogleTest hold as ever.
#include <gmock/gmock.h>

#include <filesystem>
#include <iostream>
#include <map>
#include <string>
#include <string_view>

namespace {

std::string folder_of(const testing::TestInfo& test) {
  return std::filesystem::path(test.file()).parent_path().lexically_normal();
}

// The suites of each folder, as a filter names their tests.
std::map<std::string, std::string> tests_by_folder() {
  std::map<std::string, std::string> names;
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (int s = 0; s < all.total_test_suite_count(); ++s) {
    const testing::TestSuite& suite = *all.GetTestSuite(s);
    names[folder_of(*suite.GetTestInfo(0))] += std::string(suite.name()) + ".*:";
  }
  return names;
}

// What is wrong with this program: a folder that no test of ctest runs (SPSCOPE_TEST_FOLDERS lists those of this
// program), or a suite of two folders, of whose fixtures GoogleTest takes the first.
std::string fault() {
  const std::string listed = std::string(":") + SPSCOPE_TEST_FOLDERS + ":";
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (int s = 0; s < all.total_test_suite_count(); ++s) {
    const testing::TestSuite& suite = *all.GetTestSuite(s);
    const std::string folder = folder_of(*suite.GetTestInfo(0));
    if (listed.find(":" + folder + ":") == std::string::npos) return "no test of ctest runs " + folder;
    for (int t = 1; t < suite.total_test_count(); ++t) {
      const std::string other = folder_of(*suite.GetTestInfo(t));
      if (other != folder) return std::string(suite.name()) + " is a suite of two folders: " + folder + ", " + other;
    }
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  constexpr std::string_view kFolder = "--folder=";
  const std::map<std::string, std::string> names = tests_by_folder();
  if (const std::string wrong = fault(); !wrong.empty()) {
    std::cerr << wrong << "\n";
    return 1;
  }
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (!argument.starts_with(kFolder) || !names.contains(std::string(argument.substr(kFolder.size())))) {
      std::cerr << "not a flag of GoogleTest, nor a folder with tests here: " << argument << "\n";
      return 1;
    }
    const std::string filter = GTEST_FLAG_GET(filter);
    const std::string named = filter.substr(0, filter.find('-'));
    if (named.empty() || named == "*")
      GTEST_FLAG_SET(filter, names.at(std::string(argument.substr(kFolder.size()))) + filter.substr(named.size()));
  }
  return RUN_ALL_TESTS();
}
