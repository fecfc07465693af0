import Foundation
import GodwitModel
import TestSupport
import Testing

@testable import GodwitCLI

/// A fleet's folder under a name that no script may take apart, with commands that note how they are called.
///
/// - `godwit` notes its arguments in `calls` and ends with the status in the file `status.SHARD`. If there is a file
///   `slow`, it waits for SIGTERM and ends with 75.
/// - `sbatch` keeps its arguments as `args.N` and the script as `job.N`, and prints N.
/// - `scontrol` tells the `MaxArraySize` in the file `size`, and notes in `asked` what it should put into the queue.
/// - `squeue` prints the file `state`.
struct SubmitFixture {
  let scratch: TemporaryFolder
  var fleet: SubmittedFleet

  /// Everything that a shell, YAML, Slurm's file names or Kubernetes could take for something else.
  static let folderName = "it's \"a\" $(touch harm) $HOME `x` %a fleet; ü #1"
  private static let identity = Digest.hex("a plan")

  init(
    shards: Int, hasCanary: Bool, options: SubmitOptions = SubmitOptions(), folderName: String = folderName
  ) throws {
    scratch = try TemporaryFolder("godwit-submit")
    let root = scratch.file(folderName)
    fleet = SubmittedFleet(
      name: "users", manifest: root + "/users' fleet.yaml", folder: root + "/users.fleet",
      jobManifest: root + "/job.yaml", identity: Self.identity, stores: 1000, shards: shards,
      hasCanary: hasCanary, jobs: 2, memoryBytes: 128 << 20, largestShardSeconds: 300, options: options)
    for folder in [fleet.folder, scratch.file("bin")] {
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }
    try Self.write("{\n  \"identity\" : \"\(Self.identity)\",\n}", to: fleet.folder + "/plan.json")
    try command(
      "godwit",
      """
      shard=merge
      while [ $# -gt 0 ]; do
        printf '<%s>' "$1"
        if [ "$1" = --shard ]; then shard=$2; fi
        shift
      done >>"$NOTES/calls.$$"
      echo >>"$NOTES/calls.$$"
      cat "$NOTES/calls.$$" >>"$NOTES/calls"
      rm "$NOTES/calls.$$"
      if [ -e "$NOTES/slow" ]; then
        trap 'exit 75' TERM
        touch "$NOTES/started"
        while :; do sleep 0.05; done
      fi
      exit "$(cat "$NOTES/status.$shard" 2>/dev/null || echo 0)"
      """)
    try command(
      "sbatch",
      """
      n=1
      while [ -e "$NOTES/job.$n" ]; do n=$((n + 1)); done
      printf '%s\\n' "$@" >"$NOTES/args.$n"
      cat >"$NOTES/job.$n"
      echo "$n;cluster"
      """)
    try command(
      "scontrol",
      """
      if [ "$1" = show ]; then echo "MaxArraySize            = $(cat "$NOTES/size")"; else echo "$@" >>"$NOTES/asked"; fi
      """)
    try command("squeue", "cat \"$NOTES/state\"")
    try write("1001", to: "size")
    try write("RUNNING", to: "state")
  }

  private func command(_ name: String, _ body: String) throws {
    let path = scratch.file("bin/" + name)
    try Self.write("#!/bin/bash\n" + body + "\n", to: path)
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
  }

  private static func write(_ text: String, to path: String) throws {
    try text.write(toFile: path, atomically: true, encoding: .utf8)
  }

  func write(_ text: String, to name: String) throws { try Self.write(text + "\n", to: scratch.file(name)) }

  /// The lines of a file; none if there is none.
  func lines(_ name: String) -> [String] {
    let text = try? String(contentsOfFile: scratch.file(name), encoding: .utf8)
    return text?.split(separator: "\n").map(String.init) ?? []
  }

  func remove(_ names: String...) {
    for name in names { try? FileManager.default.removeItem(atPath: scratch.file(name)) }
  }

  /// Runs a command of a shell with the commands of this folder, in this folder.
  func run(_ script: String) throws -> BuiltCommand.Result {
    try write(
      "export NOTES=\"$PWD\" PATH=\"$PWD/bin:$PATH\"; unset GODWIT FLEET_TASKS FLEET_SSHLOGIN\n" + script, to: "script")
    // The threads of a test may block signals, and a shell leaves that to its children.
    return try ShellCommand.run(
      "exec perl -MPOSIX -e 'sigprocmask(SIG_SETMASK, POSIX::SigSet->new); exec @ARGV' /bin/sh script", in: scratch.path
    )
  }

  /// The shards of the calls of `fleet run`, in their order. Each call has the manifest's path as one argument.
  func shardsRun() throws -> [Int] {
    try lines("calls").filter { !$0.contains("<merge>") }.map { line in
      let start = "<fleet><run><\(fleet.manifest)><--shard><"
      try #require(line.hasPrefix(start), "\(line)")
      let rest = line.dropFirst(start.count)
      #expect(rest.hasSuffix("><--worker><--progress><plain>") || rest.contains("><--max-duration><"), "\(line)")
      return try #require(Int(rest.prefix { $0.isNumber }))
    }
  }

  private static let linter = "/usr/bin/shellcheck"

  /// Checks scripts with the shell, and with shellcheck where it is installed.
  func lint(_ names: String..., shell: String = "bash") throws {
    for name in names {
      let parsed = try run("\(shell) -n '\(name)'")
      #expect(parsed.status == 0, "\(name): \(parsed.diagnostics)")
      guard FileManager.default.isExecutableFile(atPath: Self.linter) else { continue }
      // Left out: a name with a dollar sign or a quote that is meant so, twice.
      let linted = try run(
        "\(Self.linter) --shell=\(shell) --severity=warning --exclude=SC2089,SC2090 --format=gcc '\(name)'")
      #expect(linted.status == 0, "\(linted.output)")
    }
  }

  /// No script has carried out the name of its folder.
  func expectNoHarm() {
    #expect(!FileManager.default.fileExists(atPath: scratch.file("harm")))
    #expect(!FileManager.default.fileExists(atPath: fleet.folder + "/harm"))
    #expect(!FileManager.default.fileExists(atPath: fleet.folder + "/logs/harm"))
  }
}
