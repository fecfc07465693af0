#!/usr/bin/env bash
# sarif-tools counts a result whose suppression is accepted, and fails a check for it.
#
# Guess: a result with `suppressions: [{kind: external, status: accepted}]` is left out of counts, as SARIF 2.1.0
# (section 3.27.23) means it.
# Seen: sarif-tools 3.0.5 (PyPI): `sarif --check error summary` counts it and ends with 1.
# A linter that writes accepted findings into SARIF makes a pull request fail for them.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install -q sarif-tools==3.0.5
cat >lint.sarif <<'JSON'
{"version": "2.1.0", "$schema": "https://json.schemastore.org/sarif-2.1.0.json", "runs": [{
  "tool": {"driver": {"name": "linter", "rules": [{"id": "A1"}]}},
  "results": [{
    "ruleId": "A1", "level": "error", "message": {"text": "an accepted finding"},
    "suppressions": [{"kind": "external", "status": "accepted"}],
    "locations": [{"physicalLocation": {"artifactLocation": {"uri": "a.txt"}, "region": {"startLine": 1}}}]
  }]
}]}
JSON
status=0
venv/bin/sarif --check error summary lint.sarif >said 2>/dev/null || status=$?
{
  grep '^error' said
  echo "status $status"
} | tee seen
diff seen - <<'SEEN' || { echo 'changed'; exit 1; }
error: 1
status 1
SEEN
