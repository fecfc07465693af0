import Foundation
import TestSupport
import Testing

#if os(Linux)

  /// A small file system of its own, which only root can make; unmounted when it goes out of use.
  private final class SmallDisk {
    let path: String
    private let folder: TemporaryFolder

    init?(mebibytes: Int) throws {
      folder = try TemporaryFolder("godwit-disk")
      path = folder.file("disk")
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
      guard geteuid() == 0, mount("godwit", path, "tmpfs", 0, "size=\(mebibytes)m") == 0 else {
        FileHandle.standardError.write(Data("skipped: a file system can only be mounted by root\n".utf8))
        return nil
      }
    }

    func file(_ name: String) -> String { path + "/" + name }

    deinit { umount2(path, Int32(MNT_DETACH)) }
  }

  @Suite(.enabled(if: BuiltCommand.path != nil, "the executable is not beside the tests")) struct FullDiskTests {
    private func job(on disk: SmallDisk, people: Int64, rows: Int, copying other: CrashJob? = nil) throws -> CrashJob {
      let job = try CrashJob(people: people, rows: rows, copying: other)
      let text = try String(contentsOfFile: job.manifest, encoding: .utf8)
      try text.replacing("destination: out/people.sqlite", with: "destination: \(disk.file("out/people.sqlite"))")
        .write(toFile: job.manifest, atomically: true, encoding: .utf8)
      return job
    }

    @Test func `a disk that is too small refuses the run before the first write`() throws {
      guard let disk = try SmallDisk(mebibytes: 1) else { return }
      let job = try job(on: disk, people: 8000, rows: 1000)
      let room = "of free space in '\(disk.file("out"))', found "
      let plan = try BuiltCommand.run("plan", job.manifest)
      #expect(plan.status == 74 && plan.output.contains("  verdict      STOPS (74): cannot start '"), "\(plan)")
      #expect(plan.diagnostics.contains(room), "\(plan.diagnostics)")
      let result = try BuiltCommand.run("run", job.manifest, "--progress", "plain")
      #expect(result.status == 74)
      #expect(result.diagnostics.contains(room), "\(result.diagnostics)")
      #expect(try FileManager.default.contentsOfDirectory(atPath: disk.path) == [])
    }

    @Test func `a disk that fills up stops the run, which resumes when there is room`() throws {
      guard let disk = try SmallDisk(mebibytes: 40) else { return }
      let whole = try CrashJob(people: 3000, rows: 100)
      let expected = try whole.finish()
      let job = try job(on: disk, people: 3000, rows: 100, copying: whole)
      #expect(try !BuiltCommand.runAndKill(job.manifest, afterLines: 8))
      var result = try BuiltCommand.run("status", job.manifest)
      #expect(result.output.contains("unfinished"), "\(result.output)")
      // The ballast leaves room for a little more each time.
      let ballast = disk.file("ballast")
      var fulls = 0
      for kib in [0, 64, 200, 500, 900] {
        try? FileManager.default.removeItem(atPath: ballast)
        try fill(ballast, leaving: kib << 10, on: disk.path)
        result = try BuiltCommand.run("run", job.manifest, "--progress", "plain")
        if result.status == 74 { fulls += 1 } else { #expect(result.status == 0, "\(result.diagnostics)") }
        if result.status == 0 { break }
        #expect(result.diagnostics.contains("space"), "\(result.diagnostics)")
      }
      #expect(fulls > 0)
      try FileManager.default.removeItem(atPath: ballast)
      result = try BuiltCommand.run("run", job.manifest, "--progress", "plain")
      #expect(result.status == 0, "\(result.diagnostics)")
      #expect(
        try FileManager.default.contentsOfDirectory(atPath: disk.file("out")).sorted()
          == [".people_SUPPORT", "people.sqlite", "people.sqlite.receipt.json"])
      let found = try StoreDump(disk.file("out/people.sqlite"))
      #expect(found.lines == expected.lines.filter { !$0.hasPrefix("file ") })
    }

    @Test func `too little room ends a shard with 74, and counts as no store's failure`() throws {
      guard let disk = try SmallDisk(mebibytes: 4) else { return }
      let fixture = try ShardFixture(stores: 6, limits: "max-failed: 0")
      let job = try String(contentsOfFile: fixture.file("job.yaml"), encoding: .utf8)
      try fixture.write("job.yaml", job.replacing("\"out/", with: "\"\(disk.path)/out/"))
      try fill(disk.file("ballast"), leaving: 100 << 10, on: disk.path)
      let full = try fixture.run(status: 74)
      #expect(full.diagnostics.contains("too little room for some stores"), "\(full.diagnostics)")
      #expect(try fixture.results().allSatisfy { $0["outcome"] == .string("finished") })
      try FileManager.default.removeItem(atPath: disk.file("ballast"))
      try fixture.run()
      #expect(try fixture.results().count == 6)
    }

    private func fill(_ path: String, leaving bytes: Int, on folder: String) throws {
      var system = statvfs()
      guard statvfs(folder, &system) == 0 else { throw CocoaError(.fileReadUnknown) }
      let free = Int(system.f_bavail) * Int(system.f_frsize)
      try Data(count: max(0, free - bytes)).write(to: URL(filePath: path))
    }
  }

#endif
