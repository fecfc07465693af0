#!/usr/bin/env bash
# Runs the shards of a job with GNU parallel, as many at a time as there are processors.
#
#   parallel.sh JOB.yaml [SHARDS]
#
# Run it again after any end: a store that is recorded is passed by. Ends with 75 when that is worth while, with 0 when
# all stores are migrated, else with 65.
set -euo pipefail
job=$1
shards=${2:-16}

shard() {
  local status
  for attempt in 1 2 3 4 5; do
    status=0
    godwit run "$1" --shard "$2" --quiet --worker || status=$?
    # 75: stopped at a checkpoint, or another process has the shard. 137: killed.
    case $status in 75 | 137) sleep "$attempt" ;; *) break ;; esac
  done
  return "$status"
}
export -f shard

log=$(mktemp)
trap 'rm -f "$log"' EXIT
# 74: something is wrong with this machine, and would be for each other shard.
seq "$shards" | parallel --joblog "$log" --halt now,fail=100% shard "$job" "{}/$shards" || true
awk 'NR > 1 { if ($8 || $7 == 75 || $7 == 137) again = 1; else if ($7 == 74) broken = 1; else if ($7) failed = 1 }
  END { exit broken ? 74 : again ? 75 : failed ? 65 : 0 }' "$log"
