"""Each rule finds its violation in a toy tree. A rule that finds too much shows in the tree of spscope itself; one that
finds nothing shows only here, and so does a pattern that misses a form of what it bans."""
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
from tree import Finding, Tree, apply_exceptions

TREE = {
    "tests/lint/layers.txt": "layer backend/base :\nlayer backend/plan : backend/base\nlayer backend/mask : backend/base\n"
                             "fence <sqlite3.h> : backend/store\nfence <fmt/*> : *.cpp\n",
    "backend/base/b.h": "#pragma once\n", "backend/plan/p.h": "#pragma once\n",
    "backend/mask/patterns.def": 'PATTERN(dense, "all")\n', "backend/mask/pattern_dense.cpp": "",
    "backend/execute/executors.def": "EXECUTOR(mpi)\n", "backend/execute/mpi/mpi_executor.cpp": "",
    "backend/strategies/strategies.def": 'STRATEGY(ring, "hops")\n',
    "backend/strategies/ring.cpp": "void plan_ring(PlanBuilder& b, const Decision&) {}\n",
    "backend/base/error_codes.def": 'ERROR_CODE(7, kFile, "no file")\n', "docs/troubleshooting.md": "## SPS-007: no file\n",
    "docs/strategies.md": "## ring\n![ring](images/strategies/ring.svg)\n", "docs/images/strategies/ring.svg": "",
    "schemas/store.sql": "-- Runs.\nCREATE TABLE run (\n  run_id INTEGER,  -- key\n  -- from the config\n  name TEXT\n);\n",
}


class EachRule(unittest.TestCase):
    def found(self, module, files):
        """(rule, path, line) of each violation in TREE with these files changed."""
        with tempfile.TemporaryDirectory() as folder:
            for path, text in {**TREE, **files}.items():
                (Path(folder) / path).parent.mkdir(parents=True, exist_ok=True)
                (Path(folder) / path).write_text(text, encoding="utf-8")
            return [finding[:3] for finding in module.check(Tree(folder))]

    def expect(self, module, *violations):
        """Each violation: rule, path, line, text of the path."""
        self.assertEqual([rule for rule, path, _ in self.found(module, {}) if path in TREE and rule != "R2"], [])
        for rule, path, line, text in violations:
            self.assertIn((rule, path, line), self.found(module, {path: text}), text)

    def test_layers(self):
        path, start = "backend/base/a.h", "#pragma once\n#include "
        self.expect(check_layers, ("R1", path, 2, start + '"b.h"\n'), ("R1", path, 2, start + '"backend/base/../base/b.h"\n'),
                    ("R2", path, 2, start + '"backend/plan/p.h"\n'), ("R2", "backend/other/a.h", 1, ""),
                    ("R3", path, 2, start + "<sqlite3.h>\n"), ("R3", path, 2, start + "<fmt/core.h>\n"))

    def test_sizes(self):
        body = "  if (a) { b('{'); }  // }\n" * 79
        member = 'namespace n {\nstruct S {\n  int f(int a = g("{")) const {\n' + body + "  }\n};\n}\n"
        lambdas = "void f() {\n" + "  g([](int a) {\n    return a;\n  });\n" * 27 + "}\n"
        self.expect(check_sizes, ("R5", "a.cpp", 601, "\n" * 601), ("R5", "a.h", 201, "#pragma once\n" + "\n" * 200),
                    ("R5", "a.cpp", 3, member), ("R5", "a.cpp", 1, lambdas), ("R7", "a.h", 1, "#include <vector>\n"),
                    ("R5", "README.md", 121, "\n" * 121), ("R5", "docs/a.md", 4000, "\n" * 4000))

    def test_text(self):
        banned = ("using namespace std;", 'printf("a");', 'std::sprintf(a, "b");', "out << std::endl;", "} catch (...) {",
                  "int a = rand();", "exit(1);", "std::_Exit(1);", 'getenv("HOME");', "auto* a = new Plan();", "// TO" + "DO: later")
        path = "backend/plan/a.cpp"
        self.expect(check_text, *(("R8", path, 1, line + "\n") for line in banned), ("R4", path, 1, 'query("SELECT 1");\n'),
                    ("R11", path, 1, "class PlanManager {\n"), ("R11", path, 1, "int64_t queue_time = 0;\n"))

    def test_tables(self):
        patterns, page, codes = "backend/mask/patterns.def", "docs/strategies.md", "docs/troubleshooting.md"
        self.expect(check_tables, ("R6", patterns, 2, 'PATTERN(dense, "")\nPATTERN(window, "")\n'),
                    ("R6", "backend/mask/pattern_more.cpp", 1, ""),
                    ("R6", "backend/strategies/more.cpp", 1, "void plan_more(PlanBuilder& b,\n   const Decision&) {}\n"),
                    ("R6", "backend/execute/cuda/cuda_executor.cpp", 1, ""),
                    ("R6", "backend/execute/executors.def", 2, "EXECUTOR(mpi)\nEXECUTOR(cuda)\n"), ("R6", page, 1, "## ring\n"),
                    ("R6", "bench/faults/faults.tsv", 2, "\n1\tplan\tbackend/base/b.h\t\t\t\tgone\n"),
                    ("R6", codes, 1, ""), ("R6", codes, 1, "## SPS-007: no file\n## SPS-008: gone\n"))

    def test_schemas(self):
        good = TREE["schemas/store.sql"]
        for line, change in ((1, ("-- Runs.\n", "")), (3, ("  -- key", "")), (4, ("  -- from the config\n", ""))):
            self.expect(check_schemas, ("R9", "schemas/store.sql", line, good.replace(*change)))

    def test_references(self):
        texts = ("[c](c.md)", "[s](strategies.md#three)", "see docs/c.md.", "see job/jobs.cpp", "see `jobs.cpp`",
                 "run build/bin/plan_bench")
        self.expect(check_references, *(("links", "docs/a.md", 1, text + "\n") for text in texts),
                    ("links", "a.cpp", 1, "// see docs/c.md\n"), ("links", "a.cpp", 1, "// at plan.cpp:12\n"),
                    ("versions", "docs/a.md", 1, "**Elsewhere.** It waits.\n\n**Sources.** arXiv 2405.07719.\n"),
                    ("versions", "docs/a.md", 1, "* **Elsewhere.** It waits.\n* **Sources.** arXiv 2405.07719.\n"),
                    ("versions", "docs/a.md", 1, "| xDiT | xdit-project/xDiT | `175e0bf` |\n"),
                    ("paths", "docs/a.md", 1, "cd /" + "root/project\n"))

    @unittest.skipIf(check_format.unavailable(), "clang-format 14 is missing")
    def test_format(self):
        style = {".clang-format": "BasedOnStyle: Google\n"}
        self.assertEqual(self.found(check_format, {**style, "a.cpp": "int a  = 1;\n"}), [("R12", "a.cpp", 1)])

    def test_exceptions_need_a_reason_and_a_finding(self):
        found = [Finding("R8", "a.cpp", 1, "std::endl")]
        for table, left in (("", "a.cpp"), ("R8 a.cpp\n", "tests/lint/exceptions.txt"),
                            ("R8 a.cpp it flushes\nR8 b.cpp gone\n", "tests/lint/exceptions.txt")):
            self.assertEqual([finding.path for finding in apply_exceptions(found, table, check_text.RULES)], [left])


if __name__ == "__main__":
    unittest.main()
