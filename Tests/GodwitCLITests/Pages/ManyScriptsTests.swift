import Foundation
import GodwitCLI
import GodwitModel
import GodwitStore
import TestSupport
import Testing

/// The scripts of `jobs/many`, as a scheduler runs them: every store is migrated or recorded, none twice, none in part.
@Suite(.enabled(if: BuiltCommand.path != nil, "the executable is not beside the tests"), .serialized)
struct ManyScriptsTests {
  private static let count = TestTier.choose(40, long: 2000)
  private static let broken = Set(stride(from: 7, to: count, by: 100))
  private static let scripts = Checkout.url("jobs/many").path

  private static func find(_ name: String) -> Bool {
    let isThere = ["/usr/bin/", "/usr/sbin/", "/usr/local/bin/"].contains {
      FileManager.default.isExecutableFile(atPath: $0 + name)
    }
    if !isThere { FileHandle.standardError.write(Data("skipped: '\(name)' is not installed\n".utf8)) }
    return isThere
  }

  /// Runs a script of bash in the fixture's folder, with the built command as `godwit`.
  private static func bash(_ script: String, in fixture: ShardFixture) throws -> Process {
    let bin = fixture.file("bin")
    try FileManager.default.createDirectory(atPath: bin, withIntermediateDirectories: true)
    if !FileManager.default.fileExists(atPath: bin + "/godwit") {
      try FileManager.default.createSymbolicLink(
        atPath: bin + "/godwit", withDestinationPath: try #require(BuiltCommand.path))
    }
    let process = Process()
    process.executableURL = URL(filePath: "/bin/bash")
    process.arguments = ["-c", script]
    process.currentDirectoryURL = URL(filePath: fixture.path)
    var environment = ProcessInfo.processInfo.environment
    environment["PATH"] = bin + ":" + (environment["PATH"] ?? "/usr/bin:/bin")
    environment["PARALLEL_HOME"] = fixture.file("parallel")
    process.environment = environment
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = FileHandle.nullDevice
    let log = fixture.file("log")
    #expect(FileManager.default.createFile(atPath: log, contents: nil))
    process.standardError = try FileHandle(forWritingTo: URL(filePath: log))
    try process.start()
    return process
  }

  private static func check(_ fixture: ShardFixture) throws {
    let results = try fixture.results()
    let ended = results.filter { $0["outcome"] != .string("stopped") }
    // A store that a kill interrupted after its delivery is found finished. No store is made twice.
    #expect(Set(ended.compactMap { $0["key"]?.string }).count == count && ended.count == count)
    let failed = ended.filter { $0["outcome"] == .string("failed") }.compactMap { $0["key"]?.string }
    #expect(Set(failed) == Set(broken.map { String(ShardFixture.name($0).dropFirst("stores/".count)) }))
    for number in 0..<count {
      let path = fixture.file(ShardFixture.destination(number))
      #expect(FileManager.default.fileExists(atPath: path) == !broken.contains(number), "\(number)")
      #expect(!FileManager.default.fileExists(atPath: path + ".godwit") || broken.contains(number), "\(number)")
    }
    // Each has its own rows: a sample of them, against a run of its own.
    for number in stride(from: 1, to: count, by: count / 5) where !broken.contains(number) {
      let alone = "alone/\(number).sqlite"
      let run = try fixture.godwit(
        "run", "job.yaml", "--source", ShardFixture.name(number), "--destination", alone, "--quiet")
      #expect(run.status == 0, "\(run.diagnostics)")
      let made = try StoreDump(fixture.file(ShardFixture.destination(number)))
      #expect(try made.firstDifference(from: StoreDump(fixture.file(alone))) == nil)
    }
    let status = try fixture.status()
    #expect(status["left"] == .integer(0) && status["failed"] == .integer(Int64(broken.count)))
  }

  /// Waits until so many stores have ended.
  private static func wait(for number: Int, of process: Process, in fixture: ShardFixture) {
    while process.isRunning, ((try? fixture.results().count) ?? 0) < number { usleep(20_000) }
  }

  @Test func `GNU parallel runs all shards, though one process is killed`() throws {
    guard Self.find("parallel") else { return }
    let fixture = try ShardFixture(stores: Self.count, invalid: Self.broken, limits: "max-failed: 50 %")
    let run = "mkdir -p parallel; touch parallel/will-cite; exec \(Self.scripts)/parallel.sh job.yaml 6"
    let first = try Self.bash(run, in: fixture)
    Self.wait(for: Self.count / 4, of: first, in: fixture)
    // The lock of a shard names the process that holds it.
    let names = try FileManager.default.contentsOfDirectory(atPath: fixture.file("results"))
    for name in names.sorted() where name.hasSuffix(".lock") {
      let path = fixture.file("results/" + name)
      guard case .held(let holder?)? = try? FileLock.state(ofFile: path) else { continue }
      kill(holder.pid, SIGKILL)
      break
    }
    first.wait()
    var status = first.terminationStatus
    for _ in 0..<3 where status == 75 {
      let again = try Self.bash(run, in: fixture)
      again.wait()
      status = again.terminationStatus
    }
    #expect(status == 65, "\((try? String(contentsOfFile: fixture.file("log"), encoding: .utf8)) ?? "")")
    try Self.check(fixture)
  }

  /// The status of `parallel.sh` with a program in place of GNU parallel, and no other program than it needs.
  ///
  /// - Parameter program: The text of a bash script; nil for none.
  private static func status(with program: String?, in fixture: ShardFixture) throws -> Int32 {
    try? FileManager.default.removeItem(atPath: fixture.file("bin/parallel"))
    if let program {
      try FileManager.default.createDirectory(atPath: fixture.file("bin"), withIntermediateDirectories: true)
      try fixture.write("bin/parallel", "#!/bin/bash\n" + program)
      try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: fixture.file("bin/parallel"))
    }
    let run = try bash(
      """
      for name in bash mktemp rm seq awk sleep cat; do [ -e "bin/$name" ] || ln -s "$(command -v "$name")" bin/; done
      PATH=$PWD/bin exec /bin/bash \(scripts)/parallel.sh job.yaml 2
      """, in: fixture)
    run.wait()
    return run.terminationStatus
  }

  @Test func `the script ends with 0 or 3 only when all stores are migrated`() throws {
    let fixture = try ShardFixture(stores: 3)
    let log = """
      while [ "$1" != --joblog ] && [ $# -gt 1 ]; do shift; done
      printf 'Seq\\tHost\\tStarttime\\tJobRuntime\\tSend\\tReceive\\tExitval\\tSignal\\tCommand\\n' >"$2"

      """
    func ended(_ status: String) -> String {
      log
        + "while read -r n; do printf '%s\\t:\\t1\\t0.1\\t0\\t0\\t\(status)\\tshard job.yaml %s/2\\n' \"$n\" \"$n\" >>\"$2\"; done"
    }
    #expect(try Self.status(with: nil, in: fixture) == 127)
    // That of moreutils knows no such option.
    #expect(try Self.status(with: "cat >/dev/null; exit 1", in: fixture) == 127)
    #expect(try Self.status(with: log + "cat >/dev/null; kill -9 $$", in: fixture) == 75)
    #expect(try Self.status(with: ended("0\\t15"), in: fixture) == 75)
    for (exit, status) in [(74, 74), (78, 78), (70, 70), (75, 75), (137, 75)] as [(Int, Int32)] {
      #expect(try Self.status(with: ended("\(exit)\\t0"), in: fixture) == status, "\(exit)")
    }
    // The log says that all is well, and no store has a result.
    #expect(try Self.status(with: ended("0\\t0"), in: fixture) == 75)
    // All stores are migrated, and the log ends early.
    for number in 1...2 { try fixture.run("\(number)/2") }
    #expect(try Self.status(with: log + "cat >/dev/null; kill -9 $$", in: fixture) == 0)
    // No store has objects in quarantine, whatever the log says.
    #expect(try Self.status(with: ended("3\\t0"), in: fixture) == 0)
    try fixture.add(0, isInvalid: true)
    for number in 1...2 { _ = try fixture.godwit("run", "job.yaml", "--shard", "\(number)/2", "--quiet") }
    #expect(try Self.status(with: ended("65\\t0"), in: fixture) == 65)
  }

  @Test func `Slurm runs all shards, though one of two nodes dies`() throws {
    guard geteuid() == 0, Self.find("slurmd"), Self.find("slurmctld"), Self.find("sbatch") else { return }
    let fixture = try ShardFixture(stores: Self.count, invalid: Self.broken, limits: "max-failed: 50 %")
    let root = Checkout.folder.path
    let process = try Self.bash(
      """
      source \(root)/Benchmarks/many/slurm
      trap stop_cluster EXIT
      start_cluster || exit 1
      sbatch --array=1-6 \(Self.scripts)/slurm.sh job.yaml || exit 1
      for _ in $(seq 1200); do
        [ "$(cat results/*.jsonl 2>/dev/null | wc -l)" -ge \(Self.count / 4) ] && break
        sleep 0.1
      done
      kill -KILL "$n2_pid"
      for process in /proc/[0-9]*; do
        tr '\\0' '\\n' <"$process/environ" 2>/dev/null | grep -qx SLURMD_NODENAME=n2 &&
          tr '\\0' '\\n' <"$process/environ" | grep -qx "SLURM_CLUSTER_NAME=$cluster" && kill -KILL "${process#/proc/}"
      done
      for _ in $(seq 600); do
        [ -z "$(squeue --noheader)" ] && exit 0
        sleep 0.5
      done
      exit 1
      """, in: fixture)
    process.wait()
    #expect(process.terminationStatus == 0)
    try Self.check(fixture)
  }
}
