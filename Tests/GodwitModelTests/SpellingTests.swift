import GodwitModel
import Testing

/// The proposals for an unknown name.
struct SpellingTests {
  private static let entities = ["OldBookmarkEntity", "BookmarkEntity", "FolderEntity", "Tag"]

  @Test(arguments: [("App2", "App 2"), ("app", "App"), ("App  3", "App 3")])
  func `blanks and case are no distance`(name: String, expected: String) {
    #expect(Spelling.nearest(to: name, among: ["App", "App 2", "App 3"]) == expected)
  }

  @Test(
    arguments: [
      ("Bookmark", "BookmarkEntity"), ("folder", "FolderEntity"), ("Tga", "Tag"), ("BookmarkEntiy", "BookmarkEntity"),
      ("Bo", nil), ("Nothing", nil),
    ] as [(String, String?)])
  func `a part of a name proposes the shortest name that contains it, and a slip the nearest`(
    name: String, expected: String?
  ) {
    let found = Spelling.suggestion(forPartOf: name, among: Self.entities)
    #expect(found == (expected.map { " (did you mean '\($0)'?)" } ?? ""))
  }
}
