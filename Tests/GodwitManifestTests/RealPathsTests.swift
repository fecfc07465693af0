import Foundation
import GodwitJob
import GodwitModel
import TestSupport
import Testing

@testable import GodwitManifest

/// The places of a million stores: real paths, and which of them two stores may have.
struct RealPathsTests {
  @Test func `a link in the way leads to the real folder, whether the file is there or not`() throws {
    let folder = try TemporaryFolder()
    try FileManager.default.createDirectory(atPath: folder.file("a/b"), withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(atPath: folder.file("link"), withDestinationPath: "a/b")
    try FileManager.default.createSymbolicLink(atPath: folder.file("lost"), withDestinationPath: "nowhere")
    var paths = RealPaths()
    let real = paths.folder(folder.path)
    #expect(paths.file(folder.file("link/x.sqlite")) == real + "/a/b/x.sqlite")
    #expect(paths.file(folder.file("link/../x.sqlite")) == real + "/a/x.sqlite")
    #expect(paths.file(folder.file("a/./b//x.sqlite")) == real + "/a/b/x.sqlite")
    #expect(paths.file(folder.file("missing/more/x.sqlite")) == real + "/missing/more/x.sqlite")
    #expect(paths.file(folder.file("lost/x.sqlite")) == real + "/lost/x.sqlite")
    #expect(paths.folder("/") == "/" && paths.file("/x") == "/x" && paths.folder("/..") == "/")
    #expect(paths.folder("") == paths.folder(FileManager.default.currentDirectoryPath))
  }

  @Test func `a file that is a link has two places, and another file has one`() throws {
    let folder = try TemporaryFolder()
    try Data().write(to: URL(filePath: folder.file("x.sqlite")))
    try FileManager.default.createSymbolicLink(atPath: folder.file("y.sqlite"), withDestinationPath: "x.sqlite")
    var paths = RealPaths()
    let real = paths.folder(folder.path)
    #expect(paths.places(of: folder.file("x.sqlite")) == [real + "/x.sqlite"])
    #expect(paths.places(of: folder.file("y.sqlite")) == [real + "/y.sqlite", real + "/x.sqlite"])
    #expect(paths.places(of: folder.file("none.sqlite")) == [real + "/none.sqlite"])
  }

  @Test func `all files of a job have one hash, and only a place of two jobs is suspect`() {
    let files = ["/o/a.sqlite", "/o/a.sqlite.receipt.json", "/o/a~.sqlite", "/o/a~.sqlite.receipt.json"]
    #expect(Set(files.map(PlaceClaims.hash)).count == 1)
    #expect(PlaceClaims.hash("/o/a.sqlite") != PlaceClaims.hash("/o/b.sqlite"))
    func suspects(_ jobs: [[String]], _ noted: [String] = []) -> Set<Int> {
      var claims = PlaceClaims()
      for places in jobs { claims.claim(places) }
      for place in noted { claims.note(place) }
      return claims.takeSuspects()
    }
    #expect(suspects([files, ["/o/b.sqlite"]], ["/s/a.sqlite", "/o/c.sqlite"]).isEmpty)
    // A store may be called as the receipt of another one.
    #expect(suspects([files, ["/o/a.sqlite.receipt.json"]]) == [PlaceClaims.hash("/o/a.sqlite")])
    #expect(suspects([files, ["/o/b.sqlite"]], ["/o/b.sqlite"]) == [PlaceClaims.hash("/o/b.sqlite")])
  }
}
