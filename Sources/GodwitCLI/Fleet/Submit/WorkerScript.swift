/// The part of a script that runs one shard under a scheduler, in the shell of POSIX.
///
/// A scheduler signals the script. The script passes the signal on, waits for the checkpoint, and then acts by the
/// status.
enum WorkerScript {
  /// Defines `run_shard SHARD`, which sets `ended` to the exit status. Needs the variables `godwit` and `fleet`.
  ///
  /// - Parameter options: Further options of `godwit fleet run`, each with a space before it.
  static func runShard(options: String = "") -> String {
    """
    # Runs one shard and sets `ended` to its status. The scheduler's SIGTERM becomes a stop at a checkpoint (75).
    child=
    signalled=
    stopping=
    trap 'signalled=1; stopping=1; [ -z "$child" ] || kill -TERM "$child" 2>/dev/null' TERM
    run_shard() {
      if [ -n "$stopping" ]; then
        ended=75
        return
      fi
      "$godwit" fleet run "$fleet" --shard "$1" --worker --progress plain\(options) &
      child=$!
      [ -z "$stopping" ] || kill -TERM "$child" 2>/dev/null
      wait "$child"
      ended=$?
      # A signal ends `wait` before the process ends. 127: the first `wait` had the status already.
      while [ -n "$signalled" ]; do
        signalled=
        wait "$child"
        again=$?
        [ "$again" -eq 127 ] || ended=$again
      done
      child=
      # 3: every store has ended, and some objects are in quarantine. The report says which.
      [ "$ended" -ne 3 ] || ended=0
    }
    """
  }

  /// Ends a script unless the plan is the one that it was made from. Needs `folder` and `plan`.
  static let checkPlan = """
    if ! grep -qF "$plan" "$folder/plan.json"; then
      echo "the plan in $folder is not the one that this script was made from: run 'godwit fleet submit' again" >&2
      exit 73
    fi
    """

  /// The arguments of `godwit fleet merge`. Needs `fleet` and `folder`.
  static let merge = """
    fleet merge "$fleet" -o "$folder/\(SubmittedFleet.report)" \\
      --results "$folder/\(SubmittedFleet.results)" --retry-list "$folder/\(SubmittedFleet.retryList)"
    """
}
