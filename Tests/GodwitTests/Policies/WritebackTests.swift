import Foundation
import GodwitStore
import TestSupport
import Testing

#if os(Linux)
  struct WritebackTests {
    /// How many descriptors of this process lead to a file.
    private func descriptors(of path: String) throws -> Int {
      let names = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
      return names.count { (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")) == path }
    }

    @Test func `a file that grows stays as it is written, and nothing keeps it open at the end`() throws {
      let folder = try TemporaryFolder()
      let path = URL(filePath: folder.file("store.sqlite")).resolvingSymlinksInPath().path
      try Data(repeating: 1, count: 4096).write(to: URL(filePath: path))
      let writeback = try #require(Writeback(of: path))
      #expect(try descriptors(of: path) == 1)
      let file = try FileHandle(forWritingTo: URL(filePath: path))
      try file.seekToEnd()
      for part in 2..<10 {
        try file.write(contentsOf: Data(repeating: UInt8(part), count: 1 << 20))
        // Longer than the time between two hints.
        usleep(20_000)
      }
      try file.close()
      writeback.end()
      #expect(try descriptors(of: path) == 0)
      let found = try Data(contentsOf: URL(filePath: path))
      #expect(found.count == 4096 + 8 << 20 && found.last == 9)
    }

    @Test func `a file that is not there has none`() throws {
      #expect(try Writeback(of: TemporaryFolder().file("none.sqlite")) == nil)
    }
  }
#endif
