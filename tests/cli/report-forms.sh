#!/usr/bin/env bash
# A report is one HTML page without outside parts, Markdown or JSON, by the name of its file or by --format.
# shellcheck source-path=SCRIPTDIR source=common.inc
. "$(dirname -- "${BASH_SOURCE[0]}")/common.inc"

expect_exit 0 run "$samples/photo-project.toml" --set run.repeats=1 -o kept.db
expect_exit 0 report kept.db -o page.html
grep -qi '^<!doctype html>' page.html || fail "no HTML page"
! grep -iE '<link|src=|https?://' page.html | grep -qvE 'src="data:image/png;base64,' || fail "the page needs outside parts"
# Its one script is that whose hash the policy of the page allows.
python3 - page.html <<'END' || fail "the policy does not fit the script"
import base64, hashlib, re, sys
page = open(sys.argv[1], newline="", encoding="utf-8").read()
scripts = re.findall(r"<script([^>]*)>(.*?)</script>", page, re.DOTALL)
assert len(scripts) == 1 and scripts[0][0] == "" and len(scripts[0][1].encode()) < 40_000
wanted = "sha256-" + base64.b64encode(hashlib.sha256(scripts[0][1].encode()).digest()).decode()
policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page).group(1)
assert policy.startswith(f"default-src 'none'; script-src '{wanted}';"), policy
END
grep -q 'usp u4 r2' page.html || fail "a strategy is missing"
expect_exit 0 report kept.db --format markdown
expect_out 'usp u4 r2' '|'
expect_exit 0 report kept.db -o page.md
[ -s page.md ] || fail "no Markdown file"
expect_exit 0 report kept.db --format json
cp "$out" said
expect_exit 0 compare kept.db --json
cmp "$out" said || fail "the JSON of report and compare differ"
expect_files kept.db page.html page.md said
