import Foundation
import GodwitModel
import GodwitStore
import TestSupport
import Testing

/// Names of files on their way through a file.
struct NameListTests {
  @Test func `a name list of many pieces is read back unchanged`() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("names")
    let names = (0..<20_000).map { "name \($0)" }
    try NameList.write(path) { add in for name in names { try add(name) } }
    var read: [String] = []
    try NameList.read(path) { read.append($0) }
    #expect(read == names)
  }

  @Test func `a missing name list is empty, and a symbolic link is not followed`() throws {
    let folder = try TemporaryFolder()
    try NameList.read(folder.file("nothing")) { Issue.record("found \($0)") }
    try NameList.write(folder.file("theirs")) { try $0("00000001-1111-2222-3333-444444444444") }
    try FileManager.default.createSymbolicLink(
      atPath: folder.file("names"), withDestinationPath: folder.file("theirs"))
    #expect(throws: GodwitError.self) {
      try NameList.read(folder.file("names")) { Issue.record("found \($0)") }
    }
  }
}
