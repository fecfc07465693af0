import Foundation
import GodwitStore
import Testing

/// The path of a support folder without a URL is the one that a URL gives.
@Test func `a plain path leads to the same support folder as its URL`() {
  let names = [
    "a.sqlite", "a", ".a.sqlite", "a.", "a.b.c", "a b.sqlite", "ä 😀.store", "a.b c", "a.sql-ite", ".sqlite", "..a",
    "a..b",
    "%41.sqlite", "a?b#c.sqlite", "~.x", "a.SQLITE", "a.ä",
  ]
  let folders = [
    "", "/", "o/", "/tmp/", "/tmp/a.b/", "./", "../", "a/../", "/tmp/./", "/tmp//", "//", "a/.b/", "/.hidden/", "ä/ö/",
    "/tmp/..a/", "/tmp/%20/",
  ]
  var plain = 0
  for folder in folders {
    for name in names {
      let store = folder + name
      guard let path = SupportFolder.path(ofPlainPath: store) else { continue }
      plain += 1
      let url = URL(filePath: store)
      let wanted = url.deletingLastPathComponent()
        .appending(path: ".\(url.deletingPathExtension().lastPathComponent)_SUPPORT").path
      #expect(path == wanted, "\(store)")
    }
  }
  #expect(plain > 50)
  // A URL takes this one for the home folder, SQLite does not.
  #expect(SupportFolder.path(ofPlainPath: "~/a.sqlite")?.hasSuffix("/~/.a_SUPPORT") == true)
}
