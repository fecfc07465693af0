import GodwitModel
import GodwitStore
import TestSupport
import Testing

/// Numbers of XML stores.
struct XMLNumberTests {
  /// Reads a store with one object that has the value.
  private func read(_ text: String, _ type: AttributeType) throws {
    let folder = try TemporaryFolder()
    let model = try ManagedObjectModel(
      name: "M", entities: [EntityDescription(name: "N", attributes: [AttributeDescription(name: "v", type: type)])])
    try HandwrittenXMLStore(model: model, objects: [.init(entity: "N", values: ["v": text])])
      .write(to: folder.file("s.xml"))
    try StoreConnection.openStore(readingAt: folder.file("s.xml"), model: model).close()
  }

  @Test(arguments: [AttributeType.date, .double, .float, .decimal], ["0x10", "-0X1p3", "1e400", "nan", "", "1,5"])
  func `a text that is no decimal number is refused`(type: AttributeType, text: String) {
    let error = #expect(throws: GodwitError.self) { try read(text, type) }
    #expect(error?.code == .dataWrong)
  }

  @Test(arguments: [AttributeType.date, .double, .float], ["1.5", "-2e10", "0.00000000000000000000", "inf", "-inf"])
  func `a decimal number is read, and infinity as such`(type: AttributeType, text: String) throws {
    try read(text, type)
  }
}
