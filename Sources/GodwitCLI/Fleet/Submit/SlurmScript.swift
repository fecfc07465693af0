import GodwitModel

/// A script of bash that submits a fleet to Slurm: the canary, an array with the other shards, and the report.
struct SlurmScript {
  let fleet: SubmittedFleet

  /// - Throws: `.usage` for a limit that leaves no time to work, and for a folder in which Slurm cannot write logs.
  init(_ fleet: SubmittedFleet) throws {
    self.fleet = fleet
    if let seconds = fleet.options.seconds, seconds < Self.shortestSeconds {
      throw GodwitError(
        .usage, "--time \(seconds)s is too short for Slurm: expected at least \(Self.shortestSeconds / 60)m",
        cause: "Slurm signals a task \(Self.warning) seconds before its limit, or up to a minute earlier")
    }
    guard !fleet.folder.contains("\\") else {
      throw GodwitError(
        .usage, "cannot keep logs in '\(fleet.folder)': Slurm takes no path with a backslash",
        remedy: "rename the folder")
    }
  }

  /// Seconds before the limit at which Slurm signals a task.
  static let warning = 120
  /// The shortest limit: Slurm may signal a minute too early, and a shard has to get somewhere.
  static let shortestSeconds = 300
  private static let defaultThrottle = 32

  /// The limit of a task: as asked for, or three times as long as the largest shard is planned, from half an hour to a
  /// day, in whole minutes.
  var limit: Int {
    let seconds = fleet.options.seconds ?? min(max(fleet.plannedSeconds * 3 + 600, 1800), 86_400)
    return (min(seconds, 31_536_000) + 59) / 60 * 60
  }

  var text: String {
    [head, Self.prepare, task, report, submission].joined(separator: "\n\n") + "\n"
  }

  private var head: String {
    """
    #!/usr/bin/env bash
    # Migrates the fleet '\(fleet.name)' with Slurm: \(fleet.size). `godwit fleet submit` made this script.
    #
    #   bash FILE
    #
    # submits \(fleet.order), then the report, and prints the numbers of the jobs.
    # Each waits for the one before. After a failure call it again: stores that have ended are passed by.
    #
    # sbatch reads SBATCH_ACCOUNT, SBATCH_PARTITION and SBATCH_QOS. GODWIT names another command than `godwit`.
    # FLEET_TASKS sets the most tasks of the array; otherwise the cluster's MaxArraySize does. When there are more
    # shards than tasks, a task runs several.
    set -euo pipefail

    fleet=\(ScriptText.shell(fleet.manifest))
    folder=\(ScriptText.shell(fleet.folder))
    plan=\(fleet.identity)
    throttle=\(fleet.options.throttle ?? Self.defaultThrottle) # tasks at the same time
    turns=\(fleet.turns(ofSeconds: limit - Self.warning)) # how often a shard may be stopped at a checkpoint
    """
  }

  private static let prepare =
    WorkerScript.checkPlan + """


      godwit=$(command -v "${GODWIT:-godwit}") || {
        echo "there is no command ${GODWIT:-godwit}: set GODWIT to the path of godwit" >&2
        exit 66
      }
      case $godwit in
      /*) ;;
      *) godwit=$PWD/$godwit ;;
      esac
      mkdir -p "$folder/logs"
      # In the name of a log, Slurm replaces what follows a percent sign.
      logs=${folder//%/%%}/logs
      """

  private var task: String {
    """
    # Prints the script of a task: shard FIRST for its first task, FIRST + 1 for its second, and from there each STEP-th
    # up to LAST.
    task() { # FIRST LAST STEP TURNS
      cat <<'TASK'
    #!/bin/bash
    \(directives(name: fleet.name))
    #SBATCH --cpus-per-task=\(fleet.jobs)
    #SBATCH --mem=\(fleet.memoryMiB)M
    #SBATCH --time=\(Self.duration(limit))
    #SBATCH --requeue
    #SBATCH --open-mode=append
    #SBATCH --signal=B:TERM@\(Self.warning)
    TASK
      printf 'godwit=%q\\nfleet=%q\\nfirst=%d\\nlast=%d\\nstep=%d\\nturns=%d\\n' "$godwit" "$fleet" "$@"
      cat <<'TASK'

    \(WorkerScript.runShard())

    \(Self.requeue)

    \(Self.loop)
    TASK
    }
    """
  }

  private func directives(name: String) -> String {
    """
    #SBATCH --job-name=\(name)
    #SBATCH --nodes=1
    #SBATCH --ntasks=1
    """
  }

  private static let requeue = """
    # Puts this task back into the queue, where Slurm keeps it for about two minutes. The administrator's RequeueExit
    # may do the same with status 75; it counts once.
    requeue() {
      if [ "${SLURM_RESTART_COUNT:-0}" -ge "$turns" ]; then
        echo "stopped at a checkpoint $turns times: submit the fleet again, with a longer --time" >&2
        exit 1
      fi
      id=${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID
      # A task that is being cancelled is not RUNNING. Slurm would bring it back.
      [ "$(squeue --noheader --jobs="$id" --format=%T)" != RUNNING ] || scontrol requeue "$id"
      exit 75
    }
    """

  private static let loop = """
    worst=0
    shard=$((first + SLURM_ARRAY_TASK_ID - 1))
    while [ "$shard" -le "$last" ]; do
      run_shard "$shard"
      case $ended in
      0) ;;
      4) worst=4 ;; # A proof found something: the report says in which store.
      75) requeue ;;
      *) exit "$ended" ;;
      esac
      shard=$((shard + step))
    done
    exit "$worst"
    """

  private var report: String {
    """
    # Prints the script of the report. Its status is that of the fleet.
    report() {
      cat <<'REPORT'
    #!/bin/bash
    \(directives(name: fleet.name + "-report"))
    #SBATCH --mem=\(fleet.memoryMiB)M
    #SBATCH --time=01:00:00
    REPORT
      printf 'godwit=%q\\nfleet=%q\\nfolder=%q\\n' "$godwit" "$fleet" "$folder"
      cat <<'REPORT'
    exec "$godwit" \(WorkerScript.merge)
    REPORT
    }
    """
  }

  private var submission: String {
    let shards = fleet.laterShards
    var parts = [
      """
      submit() { sbatch --parsable --chdir="$folder" "$@"; }
      after=()
      """
    ]
    if fleet.hasCanary {
      parts.append(
        """
        job=$(task 0 0 1 "$turns" | submit --array=1 --output="$logs/%A_canary.log")
        job=${job%%;*}
        echo "canary $job"
        after=(--dependency="afterok:$job" --kill-on-invalid-dep=yes)
        """)
    }
    if !shards.isEmpty {
      parts.append(
        """
        shards=\(shards.count)
        most=$(scontrol show config | sed -n 's/^MaxArraySize *= *//p')
        tasks=${FLEET_TASKS:-$((${most:-1001} - 1))}
        [ "$tasks" -le "$shards" ] || tasks=$shards
        if [ "$tasks" -lt 1 ]; then
          echo "this cluster takes no arrays: expected a MaxArraySize of at least 2, or FLEET_TASKS of at least 1" >&2
          exit 69
        fi
        # The turns of a task are those of all its shards.
        turns=$((turns * ((shards + tasks - 1) / tasks)))
        job=$(task \(shards.lowerBound) \(shards.upperBound - 1) "$tasks" "$turns" |
          submit --array="1-$tasks%$throttle" --output="$logs/%A_%a.log" "${after[@]}")
        job=${job%%;*}
        echo "array $job, $tasks tasks"
        """)
    }
    parts.append(
      """
      job=$(report | submit --dependency="afterany:$job" --output="$logs/%j_report.log")
      echo "report ${job%%;*}"
      echo "logs in $folder/logs"
      """)
    return parts.joined(separator: "\n\n")
  }

  /// A time as Slurm writes it.
  static func duration(_ seconds: Int) -> String {
    func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
    let (days, rest) = seconds.quotientAndRemainder(dividingBy: 86_400)
    let time = "\(two(rest / 3600)):\(two(rest / 60 % 60)):\(two(rest % 60))"
    return days > 0 ? "\(days)-\(time)" : time
  }
}
