#!/usr/bin/env bash
# Runs the shards of a job with GNU parallel, as many at a time as there are processors.
#
#   parallel.sh JOB.yaml [SHARDS]
#
# Run it again after any end: a store that is recorded is passed by. Ends with
#   0    all stores are migrated
#   3    all stores are migrated, and some have objects in quarantine
#   65   stores have failed
#   75   stores are left, and the same command goes on
#   127  GNU parallel is missing
# or with the status of `godwit` that every shard would end with: 74 for a fault of this machine, 78 for the manifest.
set -uo pipefail
job=$1
shards=${2:-16}
command -v parallel >/dev/null || { echo "parallel.sh: GNU parallel is not installed" >&2; exit 127; }

work=$(mktemp -d) || exit 74
trap 'rm -rf "$work"' EXIT
export halted=$work/halted

# GNU parallel does not tell a failed store from a fault of the machine: so each shard looks for a file.
# A SIGTERM of GNU parallel comes to all processes of a shard. The trap must not pass it on, because a second SIGTERM
# would end the run at once.
# shellcheck disable=SC2317 # GNU parallel calls it.
shard() {
  local status=75 attempt run stopped=
  trap 'stopped=1' TERM
  for attempt in 1 2 3 4 5; do
    if [ -e "$halted" ] || [ -n "$stopped" ]; then return 75; fi
    godwit run "$1" --shard "$2" --quiet --worker &
    run=$!
    wait "$run"
    # The trap ends a wait.
    while kill -0 "$run" 2>/dev/null; do wait "$run"; done
    wait "$run"
    status=$?
    case $status in
      # Stopped at a checkpoint, or another process has the shard; or killed.
      75 | 137) sleep "$attempt" ;;
      64 | 70 | 73 | 74 | 77 | 78 | 127)
        : >"$halted"
        break
        ;;
      *) break ;;
    esac
  done
  return "$status"
}
export -f shard

# One SIGTERM or SIGINT to this script, or one SIGTERM to GNU parallel, stops all shards at their checkpoints. They have
# two minutes. In a process group of its own GNU parallel gets no SIGINT of the terminal beside the SIGTERM of the trap.
set -m
seq "$shards" |
  parallel --joblog "$work/log" --termseq TERM,120000,KILL,25 shard "$job" "{}/$shards" &
parallel=$!
set +m
trap ': >"$halted"; kill -TERM "$parallel" 2>/dev/null; trap : TERM INT' TERM INT
wait "$parallel"
while kill -0 "$parallel" 2>/dev/null; do wait "$parallel"; done
trap - TERM INT
if [ ! -s "$work/log" ] && [ ! -e "$halted" ]; then
  echo "parallel.sh: expected GNU parallel, found another 'parallel'" >&2
  exit 127
fi

# Stopped before GNU parallel began its log.
[ -e "$work/log" ] || exit 75

# The log has a line for each shard that has ended, and none for one that was at work when GNU parallel was killed.
log=$(awk -v shards="$shards" -v order="127 70 78 77 74 73 64 75 65 3" '
  NR > 1 { ended[$NF] = $8 || $7 == 137 || $7 == 143 ? 75 : $7 == 4 || $7 == 66 || $7 == 69 ? 65 : $7 }
  END {
    for (shard in ended) { count++; if (ended[shard]) seen[ended[shard]] = 1 }
    if (count < shards) seen[75] = 1
    for (code in seen) if (!index(" " order " ", " " code " ")) seen[65] = 1
    for (i = split(order, codes, " "); i > 0; i--) if (codes[i] in seen) status = codes[i]
    print status + 0
  }' "$work/log")
case $log in 0 | 3 | 65 | 75) ;; *) exit "$log" ;; esac

# What is recorded counts, whatever the log says.
record=$(godwit status "$job" --format json)
status=$?
case $status in 0) ;; 127) exit "$log" ;; *) exit "$status" ;; esac
counts=$(awk '/^  "(left|failed|quarantined)" *: *[0-9]/ { gsub(/[",:]/, " "); of[$1] = $2 }
    END { if ("left" in of) print of["left"], of["failed"], of["quarantined"] }' <<<"$record")
[ -n "$counts" ] || exit "$log"
read -r left failed quarantined <<<"$counts"
if [ "$left" -gt 0 ]; then
  # More than `max-failed`: the same command does not go on.
  [ "$log" = 65 ] && exit 65
  exit 75
fi
[ "$failed" -gt 0 ] && exit 65
[ "$quarantined" -gt 0 ] && exit 3
exit 0
