import GodwitModel
import Testing

struct ParentPathTests {
  @Test(arguments: [
    ("", ""), ("a", ""), ("o", ""), ("/", "/"), ("/a", "/"), ("a/", ""), ("a/b", "a"), ("o/x", "o"), ("a/b/", "a"),
    ("/a/b", "/a"), ("//a", "/"), ("a//b", "a"), ("../x", ".."), (".", ""), ("é/b", "é"), ("a/\u{301}b", "a"),
  ])
  func `the folder of a path is what stands before its last name`(path: String, folder: String) {
    #expect(path.parentPath == folder)
  }
}
