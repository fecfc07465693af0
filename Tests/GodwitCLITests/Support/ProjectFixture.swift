import Foundation
import GodwitCLI
import GodwitModel
import GodwitStore
import GodwitXcode
import TestSupport

/// A folder with model versions as Xcode writes them, stores, and the files beside them.
struct ProjectFixture {
  let folder = Result { try TemporaryFolder() }

  func path(_ name: String) throws -> String { try folder.get().file(name) }

  func write(_ name: String, _ text: String) throws {
    let path = try path(name)
    try FileManager.default.createDirectory(
      at: URL(filePath: path).deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(text.utf8).write(to: URL(filePath: path))
  }

  func bundle(_ name: String, _ versions: [ManagedObjectModel]) throws {
    for model in versions { try write("\(name)/\(model.name).xcdatamodel/contents", model.xcodeContents) }
    let marker = try PropertyListSerialization.data(
      fromPropertyList: ["_XCCurrentVersionName": (versions.last?.name ?? "") + ".xcdatamodel"], format: .xml,
      options: 0)
    try marker.write(to: URL(filePath: path("\(name)/.xccurrentversion")))
  }

  func store(_ name: String, _ model: ManagedObjectModel, _ body: (StoreBuilder) throws -> Void) throws {
    let builder = try StoreBuilder(path: path(name), model: model)
    try body(builder)
    try builder.finish()
  }

  func godwit(_ arguments: String...) -> (status: Int32, output: String, diagnostics: String) { godwit(arguments) }

  func godwit(_ arguments: [String]) -> (status: Int32, output: String, diagnostics: String) {
    let session = CommandSession(output: .memory(), diagnostics: .memory())
    let status = GodwitCommand.run(arguments: arguments, in: session)
    return (status, session.output.text, session.diagnostics.text)
  }
}

extension EntityDescription {
  static func made(_ name: String, _ attributes: [AttributeDescription]) -> EntityDescription {
    EntityDescription(name: name, attributes: attributes)
  }
}
