/// A script of bash that runs a fleet with GNU parallel: the canary, the other shards, the report.
struct ParallelScript {
  let fleet: SubmittedFleet

  var text: String {
    var parts = [head, WorkerScript.checkPlan, Self.checkCommand, slots, Self.runShard, Self.start]
    if fleet.hasCanary { parts.append(Self.canary) }
    if !fleet.laterShards.isEmpty { parts.append(later) }
    parts.append(end)
    return parts.joined(separator: "\n\n") + "\n"
  }

  private var head: String {
    let seconds = fleet.options.seconds
    return """
      #!/usr/bin/env bash
      # Migrates the fleet '\(fleet.name)' with GNU parallel: \(fleet.size). `godwit fleet submit` made this script.
      #
      #   bash FILE
      #
      # runs \(fleet.order), then the report. The same command resumes.
      # SIGINT and SIGTERM stop all shards at a checkpoint (75). Exit status: that of `godwit fleet merge`, or that of a
      # shard that could not run.
      #
      # GODWIT names another command than `godwit`. Several machines that share the folder, with bash as login shell:
      #
      #   FLEET_SSHLOGIN=n1,n2 bash FILE
      set -uo pipefail

      fleet=\(ScriptText.shell(fleet.manifest))
      folder=\(ScriptText.shell(fleet.folder))
      plan=\(fleet.identity)
      # When the shards stop at a checkpoint, in seconds since 1970. Empty: when they are done.
      end=\(seconds.map { "$(($(date +%s) + \($0)))" } ?? "")
      """
  }

  private static let checkCommand = """
    godwit=$(command -v "${GODWIT:-godwit}") || {
      echo "there is no command ${GODWIT:-godwit}: set GODWIT to the path of godwit" >&2
      exit 66
    }
    case $(parallel --version 2>/dev/null) in
    'GNU parallel'*) ;;
    *)
      echo "GNU parallel is missing: apt-get install parallel" >&2
      exit 66
      ;;
    esac
    """

  private var slots: String {
    if let throttle = fleet.options.throttle { return "slots=\(throttle) # processes at the same time" }
    return """
      # Processes at the same time: \(fleet.jobs) at work in each, and memory for all of them.
      slots=$(($(nproc) / \(fleet.jobs)))
      available=$(awk '/^MemAvailable:/ { print int($2 / 1024) }' /proc/meminfo)
      [ "$((available / \(fleet.memoryMiB)))" -ge "$slots" ] || slots=$((available / \(fleet.memoryMiB)))
      [ "$slots" -ge 1 ] || slots=1
      """
  }

  private static let runShard = """
    # Runs one shard. Status 0 means to GNU parallel that it is done; any other is tried again by the next call.
    run_shard() {
      local ended limit=()
      if [ -n "$end" ]; then
        local left=$((end - $(date +%s)))
        [ "$left" -gt 0 ] || return 75
        limit=(--max-duration "${left}s")
      fi
      "$godwit" fleet run "$fleet" --shard "$1" --worker --progress plain "${limit[@]}"
      ended=$?
      case $ended in
      # 3: every store has ended, and some objects are in quarantine. The report says which.
      0 | 3) return 0 ;;
      # 4: a proof found something. 75: stopped. The other shards go on.
      4 | 75) return "$ended" ;;
      esac
      # A process that was killed (137) concerns its shard only. Any other status concerns all shards: SIGHUP lets GNU
      # parallel begin no more of them.
      if [ "$ended" -le 128 ] && [ "${PARALLEL_SSHLOGIN:-}" = : ]; then kill -HUP "$PARALLEL_PID"; fi
      return "$ended"
    }
    """

  private static let start = """
    export -f run_shard
    export godwit fleet end PARALLEL_SHELL=$BASH

    # Runs GNU parallel and sets `ended` to its status. Its second SIGTERM stops the shards; they get two minutes.
    child=
    signalled=
    stopping=
    stop() {
      signalled=1
      stopping=1
      [ -n "$child" ] || return 0
      kill -TERM "$child" 2>/dev/null && sleep 1 && kill -TERM "$child" 2>/dev/null
      return 0
    }
    trap stop INT TERM
    run_parallel() {
      parallel --line-buffer --tagstring 'shard {}' --termseq TERM,120000,KILL,25 "$@" run_shard '{}' &
      child=$!
      wait "$child"
      ended=$?
      while [ -n "$signalled" ]; do
        signalled=
        wait "$child"
        ended=$?
      done
      child=
    }
    merge() {
      "$godwit" \(WorkerScript.merge.replacing("\n", with: "\n  "))
    }
    """

  private static let canary = """
    run_parallel --jobs 1 --halt soon,fail=1 --arg-file <(echo 0)
    [ -z "$stopping" ] || ended=75
    if [ "$ended" -ne 0 ]; then
      merge
      exit "$ended"
    fi
    """

  private var later: String {
    let shards = fleet.laterShards
    return """
      # GNU parallel notes here which shards are done. Another plan has another log.
      log=$folder/parallel-${plan:0:12}.log
      machines=()
      [ -z "${FLEET_SSHLOGIN:-}" ] ||
        machines=(--sshlogin "$FLEET_SSHLOGIN" --env run_shard --env godwit --env fleet --env end)
      if [ -z "$stopping" ]; then
        run_parallel --jobs "$slots" --joblog "$log" --resume-failed "${machines[@]}" \\
          --arg-file <(seq \(shards.lowerBound) \(shards.upperBound - 1))
      fi
      """
  }

  private var end: String {
    guard !fleet.laterShards.isEmpty else { return "merge\nexit $?" }
    return """
      merge
      merged=$?
      if [ "$merged" -eq 75 ] && [ -e "$log" ]; then
        # Stores are left. The status of a shard that could not run says more: calling again would not help.
        failed=$(awk -F '\\t' 'NR > 1 { last[$1] = $7 }
          END {
            for (shard in last) if (last[shard] != 75 && last[shard] > worst) worst = last[shard]
            print worst + 0
          }' "$log")
        [ "$failed" -eq 0 ] || exit "$failed"
      fi
      exit "$merged"
      """
  }
}
