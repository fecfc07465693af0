import GodwitCLI
import GodwitModel
import TestSupport
import Testing

/// The objects that `export` writes.
struct ObjectSelectionTests {
  @Test func `an entity of which only a part was written is named`() throws {
    let model = try ManagedObjectModel(
      name: "Bookmarks", entities: [EntityDescription(name: "BookmarkEntity"), EntityDescription(name: "Folder")])
    let error = #expect(throws: GodwitError.self) {
      _ = try ObjectSelection(["Bookmark"], subentities: false, of: model, where: nil)
    }
    #expect(error?.code == .usage && error?.message.hasSuffix("(did you mean 'BookmarkEntity'?)") == true)
  }
}
