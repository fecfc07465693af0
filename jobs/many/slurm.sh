#!/usr/bin/env bash
# An array of Slurm, one task a shard. Change the limits, and submit it from the folder of the job:
#
#   sbatch --array=1-100 slurm.sh JOB.yaml
#   scancel --batch --signal=USR2 ID_1    task 1 stops at a checkpoint and is put back into the queue
#   scancel ID                            all tasks stop at their checkpoints and are cancelled
#
# All nodes need the folder at the same path, on a file system whose locks hold between machines.
#SBATCH --job-name=godwit
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=godwit-%a.log
#SBATCH --cpus-per-task=1
#SBATCH --mem=256M
#SBATCH --time=01:00:00
#SBATCH --signal=B:USR2@120
set -uo pipefail

# Two minutes before the limit Slurm sends SIGUSR2 to this script (B:), which stops the shard at a checkpoint.
# SIGTERM comes to all processes of the task. The script does not pass it on: a second one would end the run at once.
run=
cancelled=
trap '[ -z "$run" ] || kill -TERM "$run" 2>/dev/null' USR2
trap 'cancelled=1' TERM
godwit run "$1" --shard "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT" --quiet --worker &
run=$!
wait "$run"
# A trap ends a wait.
while kill -0 "$run" 2>/dev/null; do wait "$run"; done
wait "$run"
status=$?
trap - USR2

# 75: the same command goes on. A node that dies needs no word: --requeue has Slurm run its tasks elsewhere.
# Slurm waits two minutes before it starts the task again. With `RequeueExit=75` in slurm.conf Slurm itself starts again
# what ends with 75, without an end and in spite of --no-requeue. So the last status is another one.
if [ "$status" = 75 ] && [ -z "$cancelled" ]; then
  if [ "${SLURM_RESTART_COUNT:-0}" -ge 20 ]; then
    echo "shard $SLURM_ARRAY_TASK_ID: unfinished after 20 restarts" >&2
    exit 1
  fi
  scontrol requeue "${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID"
fi
# 3: all stores are migrated, and some have objects in quarantine. For Slurm that is no failure.
if [ "$status" = 3 ]; then
  echo "shard $SLURM_ARRAY_TASK_ID: objects are in quarantine, see godwit status"
  exit 0
fi
exit "$status"
