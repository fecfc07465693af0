import Foundation
import GodwitStore
import SystemPackage
import TestSupport
import Testing

struct SpillResumeTests {
  private let first = (0..<100).map { Pair($0 * 2, $0) }
  private let second = (0..<100).map { Pair($0 * 2 + 1, $0 * 9) }

  @Test func `a resumed writer truncates the file to its mark and ends with the same bytes`() throws {
    let folder = try TemporaryFolder()
    let straight = folder.file("straight.spill")
    let mark = try write([first], to: folder.file("a.spill"))
    let whole = try write([first, second], to: straight)
    for tail in [[], [UInt8](repeating: 0, count: 5), try readBytes(straight)] {
      let path = folder.file("resumed.spill")
      try writeBytes(try readBytes(folder.file("a.spill")) + tail, path)
      let writer = try SpillWriter(path: path, resumingAt: mark)
      #expect(try readBytes(path).count == Int(mark.length))
      for pair in second { try writer.append(source: pair.source, destination: pair.destination) }
      #expect(try writer.flushChunk() == whole)
      #expect(try readBytes(path) == readBytes(straight))
    }
  }

  @Test func `a writer without a mark starts an empty file`() throws {
    let folder = try TemporaryFolder()
    try write([first], to: folder.file("a.spill"))
    #expect(try SpillWriter(path: folder.file("a.spill"), resumingAt: .empty).mark == .empty)
    #expect(try readBytes(folder.file("a.spill")).isEmpty)
  }

  @Test func `a mark without its file is refused, and no file is made`() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.spill")
    let mark = try write([first], to: path)
    try FileManager.default.removeItem(atPath: path)
    let writing = #expect(throws: SpillError.self) { _ = try SpillWriter(path: path, resumingAt: mark) }
    #expect(writing?.kind == .missing)
    let reading = #expect(throws: SpillError.self) { _ = try SpillReader(path: path, mark: mark) }
    #expect(reading?.kind == .missing)
    #expect(!FileManager.default.fileExists(atPath: path))
  }

  @Test func `a mark of another file, or with another length, is refused`() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.spill")
    let mark = try write([first], to: path)
    for wrong in [
      SpillMark(length: mark.length, checksum: mark.checksum ^ 1), SpillMark(length: mark.length - 1, checksum: 0),
      SpillMark(length: mark.length + 1, checksum: mark.checksum), SpillMark(length: -1, checksum: 0),
      SpillMark(length: .max, checksum: 0),
    ] {
      let writing = #expect(throws: SpillError.self) { _ = try SpillWriter(path: path, resumingAt: wrong) }
      #expect(writing?.kind == .damaged)
      let reading = #expect(throws: SpillError.self) { _ = try SpillReader(path: path, mark: wrong) }
      #expect(reading?.kind == .damaged)
    }
    #expect(try readBytes(path).count == Int(mark.length))
  }

  @Test func `a reader sees the file up to its mark while the writer goes on`() throws {
    let folder = try TemporaryFolder()
    let writer = try SpillWriter(path: folder.file("a.spill"))
    for pair in first { try writer.append(source: pair.source, destination: pair.destination) }
    let mark = try writer.flushChunk()
    for pair in second { try writer.append(source: pair.source, destination: pair.destination) }
    _ = try writer.flushChunk()
    #expect(try all(SpillReader(path: folder.file("a.spill"), mark: mark)) == first)
  }

  @Test func `keys out of order within a chunk are refused, and the writer stays unusable`() throws {
    let folder = try TemporaryFolder()
    let writer = try SpillWriter(path: folder.file("a.spill"))
    try writer.append(source: 2, destination: 1)
    for _ in 0..<2 {
      let error = #expect(throws: SpillError.self) { try writer.append(source: 1, destination: 1) }
      #expect(error?.kind == .misuse)
    }
    #expect(throws: SpillError.self) { _ = try writer.flushChunk() }
  }

  @Test(.enabled(if: FileManager.default.fileExists(atPath: "/dev/full"), "this system has no /dev/full"))
  func `a full disk is reported with its errno`() throws {
    let writer = try SpillWriter(path: "/dev/full")
    try writer.append(source: 1, destination: 1)
    let error = #expect(throws: SpillError.self) { _ = try writer.flushChunk() }
    #expect(error?.kind == .io(.noSpace))
  }
}
