"""Each rule finds its violation in a toy tree and leaves the same tree alone once it is mended."""
import tempfile
import unittest
from pathlib import Path

import check_format
import check_layers
import check_references
import check_schemas
import check_sizes
import check_tables
import check_text
from tree import Tree, apply_exceptions

LAYERS = """layer backend/base :
layer backend/base/deep : *
layer backend/plan : backend/base
fence <sqlite3.h> : backend/store
fence <fmt/*> : *.cpp
"""


class ToyTree(unittest.TestCase):
    def rules(self, module, files):
        """The rules that a tree of these files breaks, each as (rule, path, line)."""
        with tempfile.TemporaryDirectory() as folder:
            for path, text in files.items():
                (Path(folder) / path).parent.mkdir(parents=True, exist_ok=True)
                (Path(folder) / path).write_text(text, encoding="utf-8")
            return [finding[:3] for finding in module.check(Tree(folder))]


class Layers(ToyTree):
    def broken(self, include, path="backend/base/a.h"):
        return self.rules(check_layers, {"tests/lint/layers.txt": LAYERS, "backend/base/b.h": "", "backend/plan/p.h": "",
                                         path: f"#pragma once\n#include {include}\n"})

    def test_an_include_starts_at_the_root(self):
        self.assertEqual(self.broken('"b.h"'), [("R1", "backend/base/a.h", 2)])
        self.assertEqual(self.broken('"backend/base/../base/b.h"'), [("R1", "backend/base/a.h", 2)])
        self.assertEqual(self.broken('"backend/base/b.h"'), [])

    def test_a_lower_layer_includes_no_higher_one(self):
        self.assertEqual(self.broken('"backend/plan/p.h"'), [("R2", "backend/base/a.h", 2)])
        self.assertEqual(self.broken('"backend/base/b.h"', "backend/plan/a.h"), [])

    def test_the_longest_folder_is_the_layer(self):
        self.assertEqual(self.broken('"backend/plan/p.h"', "backend/base/deep/a.h"), [])

    def test_a_folder_outside_the_table_is_named(self):
        self.assertEqual(self.broken("<vector>", "backend/other/a.h"), [("R2", "backend/other/a.h", 1)])

    def test_a_library_stays_behind_its_fence(self):
        self.assertEqual(self.broken("<sqlite3.h>"), [("R3", "backend/base/a.h", 2)])
        self.assertEqual(self.broken("<fmt/core.h>"), [("R3", "backend/base/a.h", 2)])
        self.assertEqual(self.broken("<fmt/core.h>", "backend/base/a.cpp"), [])


class Sizes(ToyTree):
    def test_files_and_headers_have_a_limit(self):
        self.assertEqual(self.rules(check_sizes, {"a.cpp": "\n" * 601}), [("R5", "a.cpp", 601)])
        self.assertEqual(self.rules(check_sizes, {"a.cpp": "\n" * 600}), [])
        self.assertEqual(self.rules(check_sizes, {"a.h": "#pragma once\n" + "\n" * 200}), [("R5", "a.h", 201)])

    def test_functions_have_a_limit(self):
        def function(lines):
            body = "  if (a) { b('{'); }  // }\n" * (lines - 2)
            return 'namespace n {\nstruct S {\n  int f(int a = g("{")) const {\n' + body + "  }\n};\n}\n"

        self.assertEqual(self.rules(check_sizes, {"a.cpp": function(81)}), [("R5", "a.cpp", 3)])
        self.assertEqual(self.rules(check_sizes, {"a.cpp": function(80)}), [])

    def test_a_lambda_belongs_to_its_function(self):
        text = "void f() {\n" + "  g([](int a) {\n    return a;\n  });\n" * 27 + "}\n"
        self.assertEqual(self.rules(check_sizes, {"a.cpp": text}), [("R5", "a.cpp", 1)])

    def test_headers_start_with_pragma_once(self):
        self.assertEqual(self.rules(check_sizes, {"a.h": "#include <vector>\n"}), [("R7", "a.h", 1)])
        self.assertEqual(self.rules(check_sizes, {"a.h": "// What it is for.\n#pragma once\n"}), [])


class Text(ToyTree):
    def broken(self, line, path="backend/plan/a.cpp"):
        return [rule for rule, _, _ in self.rules(check_text, {path: line + "\n"})]

    def test_sql_stays_in_the_store(self):
        self.assertEqual(self.broken('query("SELECT 1");'), ["R4"])
        self.assertEqual(self.broken('query("SELECT 1");', "backend/store/a.cpp"), [])
        self.assertEqual(self.broken("// SELECT what is needed"), [])

    def test_banned_words(self):
        for line in ("using namespace std;", 'printf("a");', 'std::sprintf(a, "b");', "out << std::endl;", "} catch (...) {",
                     "int a = rand();", "exit(1);", "std::_Exit(1);", 'getenv("HOME");', "auto* a = new Plan();",
                     "// TO" + "DO: later"):
            self.assertEqual(self.broken(line), ["R8"], line)

    def test_words_that_only_look_banned(self):
        for line in ("using namespace std::string_view_literals;", "int operand(int x);", "// a new plan, printf( and exit(",
                     'say("catch (");', "thread.exit(1);", "std::scoped_lock lock(new_mutex);", "// TO" + "DO #12: later"):
            self.assertEqual(self.broken(line), [], line)

    def test_names(self):
        self.assertEqual(self.broken("class PlanManager {"), ["R11"])
        self.assertEqual(self.broken("int64_t queue_time = 0;"), ["R11"])
        self.assertEqual(self.broken("int64_t queue_time_ns = 0;"), [])


class Tables(ToyTree):
    FILES = {"backend/mask/patterns.def": 'PATTERN(dense, "all")\n', "backend/mask/pattern_dense.cpp": "",
             "backend/execute/executors.def": "EXECUTOR(mpi)\n", "backend/execute/mpi/mpi_executor.cpp": "",
             "backend/execute/no_mpi/mpi_executor.cpp": "", "backend/execute/executors.cpp": "",
             "backend/strategies/strategies.def": 'STRATEGY(ring, "hops")\n',
             "backend/strategies/ring.cpp": "void plan_ring(PlanBuilder& b, const Decision&) {}\n", "backend/strategies/balance.cpp": "",
             "backend/base/error_codes.def": 'ERROR_CODE(7, kFile, "no file")\n',
             "docs/troubleshooting.md": "## SPS-007: no file\n",
             "docs/strategies.md": "## Notation\n## ring\n![ring](images/strategies/ring.svg)\n## cyclic\n"}

    def broken(self, **changed):
        paths = {"page": "docs/strategies.md", "def": "backend/mask/patterns.def", "file": "backend/mask/pattern_more.cpp",
                 "strategy": "backend/strategies/more.cpp", "doc": "docs/troubleshooting.md",
                 "executors": "backend/execute/executors.def", "executor": "backend/execute/cuda/cuda_executor.cpp"}
        return [path for _, path, _ in self.rules(check_tables, {**self.FILES, **{paths[k]: v for k, v in changed.items()}})]

    def test_rows_and_files_agree(self):
        self.assertEqual(self.broken(), [])

    def test_a_row_without_its_file(self):
        self.assertEqual(self.broken(**{"def": 'PATTERN(dense, "")\nPATTERN(window, "")\n'}), ["backend/mask/patterns.def"])

    def test_a_file_without_its_row(self):
        self.assertEqual(self.broken(file=""), ["backend/mask/pattern_more.cpp"])
        self.assertEqual(self.broken(strategy="void plan_more(PlanBuilder& b,\n   const Decision&) {}\n"),
                         ["backend/strategies/more.cpp"])
        self.assertEqual(self.broken(strategy="void plan_part(PlanBuilder& b) {}\n"), [])

    def test_executors_lie_in_folders_of_their_devices(self):
        self.assertEqual(self.broken(executor=""), ["backend/execute/cuda/cuda_executor.cpp"])
        self.assertEqual(self.broken(executors="EXECUTOR(mpi)\nEXECUTOR(cuda)\n"), ["backend/execute/executors.def"])
        self.assertEqual(self.broken(executors="EXECUTOR(mpi)\nEXECUTOR(cuda)\n", executor=""), [])

    def test_each_strategy_has_its_section_and_picture(self):
        self.assertEqual(self.broken(page="## ring\n"), ["docs/strategies.md"])
        self.assertEqual(self.broken(page="## cyclic\n![ring](images/strategies/ring.svg)\n"), ["docs/strategies.md"])

    def test_each_error_code_is_explained(self):
        self.assertEqual(self.broken(doc=""), ["docs/troubleshooting.md"])
        self.assertEqual(self.broken(doc="## SPS-007: no file\n## SPS-008: gone\n"), ["docs/troubleshooting.md"])


class Schemas(ToyTree):
    GOOD = "-- Runs.\nCREATE TABLE run (\n  run_id INTEGER,  -- key\n  -- from the config\n  name TEXT\n);\n"

    def test_comments(self):
        self.assertEqual(self.rules(check_schemas, {"schemas/store.sql": self.GOOD}), [])
        for line, change in ((1, ("-- Runs.\n", "")), (3, ("  -- key", "")), (4, ("  -- from the config\n", ""))):
            self.assertEqual(self.rules(check_schemas, {"schemas/store.sql": self.GOOD.replace(*change)}),
                             [("R9", "schemas/store.sql", line)])


class References(ToyTree):
    def broken(self, text, path="docs/a.md"):
        files = {"docs/b.md": "# Two words\n", "backend/job/job.cpp": "", path: text + "\n"}
        return [rule for rule, _, _ in self.rules(check_references, files)]

    def test_links(self):
        self.assertEqual(self.broken("[b](b.md) [b](b.md#two-words) [web](https://example.org/x)"), [])
        self.assertEqual(self.broken("[c](c.md)"), ["links"])
        self.assertEqual(self.broken("[b](b.md#three)"), ["links"])

    def test_cited_paths(self):
        self.assertEqual(self.broken("see `docs/b.md` and backend/cli/cmd_<name>.cpp"), [])
        self.assertEqual(self.broken("see docs/c.md."), ["links"])
        self.assertEqual(self.broken("// see docs/c.md", "a.cpp"), ["links"])
        self.assertEqual(self.broken('open("docs/c.md");', "a.cpp"), [])

    def test_short_names_in_docs(self):
        self.assertEqual(self.broken("`job/job.cpp`, `job.cpp` and cmd_<name>.cpp"), [])
        for text in ("see job/jobs.cpp", "see `jobs.cpp`", "see ob.cpp"):
            self.assertEqual(self.broken(text), ["links"], text)

    def test_cited_lines(self):
        self.assertEqual(self.broken("// at plan.cpp:12", "a.cpp"), ["links"])

    def test_benches(self):
        self.assertEqual(self.broken("run build/bin/plan_bench"), ["links"])
        files = {"bench/plan_bench.cpp": "", "docs/a.md": "run `build/bin/plan_bench`\n"}
        self.assertEqual(self.rules(check_references, files), [])

    def test_versions_of_other_programs(self):
        for source in ("their paper, arXiv 2405.07719", "[it](https://example.org/x)"):
            self.assertEqual(self.broken(f"**Elsewhere.** It waits\n({source}).\n\n**Sources.** None."), [], source)
        for text in ("**Elsewhere.** It waits.\n\n**Sources.** arXiv 2405.07719.", "**Elsewhere.** It waits."):
            self.assertEqual(self.broken(text), ["versions"], text)
        self.assertEqual(self.broken("| xDiT | xdit-project/xDiT | `175e0bf`, 2026-07-14 |"), [])
        self.assertEqual(self.broken("| xDiT | xdit-project/xDiT | `175e0bf` |"), ["versions"])

    def test_machine_paths(self):
        self.assertEqual(self.broken("cd /" + "root/project"), ["paths"])
        self.assertEqual(self.broken("a/" + "root/b"), [])


@unittest.skipIf(check_format.unavailable(), "clang-format 14 is missing")
class Format(ToyTree):
    def test_an_unformatted_file(self):
        style = {".clang-format": "BasedOnStyle: Google\n"}
        self.assertEqual(self.rules(check_format, {**style, "a.cpp": "int a  = 1;\n"}), [("R12", "a.cpp", 1)])
        self.assertEqual(self.rules(check_format, {**style, "a.cpp": "int a = 1;\n"}), [])


class Exceptions(ToyTree):
    def left(self, table):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "a.cpp").write_text("out << std::endl;\n", encoding="utf-8")
            return [finding.path for finding in apply_exceptions(check_text.check(Tree(folder)), table, check_text.RULES)]

    def test_a_row_excuses_its_file(self):
        self.assertEqual(self.left(""), ["a.cpp"])
        self.assertEqual(self.left("R8 a.cpp it flushes\n"), [])

    def test_a_row_needs_a_reason_and_a_finding(self):
        self.assertEqual(self.left("R8 a.cpp\n"), ["tests/lint/exceptions.txt"])
        self.assertEqual(self.left("R8 a.cpp it flushes\nR8 b.cpp gone\n"), ["tests/lint/exceptions.txt"])


if __name__ == "__main__":
    unittest.main()
