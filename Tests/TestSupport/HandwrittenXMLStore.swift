import Foundation
package import GodwitModel

/// An XML store without relationships, written without the project's own writer.
package struct HandwrittenXMLStore {
  package struct Object {
    package var entity: String
    /// By attribute, as it stands in the file.
    package var values: [String: String]

    package init(entity: String, values: [String: String]) { (self.entity, self.values) = (entity, values) }
  }

  private let model: ManagedObjectModel
  private let objects: [Object]

  package init(model: ManagedObjectModel, objects: [Object]) { (self.model, self.objects) = (model, objects) }

  private static let types: [AttributeType: String] = [
    .integer16: "int16", .integer32: "int32", .integer64: "int64", .decimal: "decimal", .double: "double",
    .float: "float", .string: "string", .boolean: "bool", .date: "date", .uuid: "uuid", .uri: "uri",
    .binary: "binary",
  ]

  package func write(to path: String) throws {
    let hashes = model.versionHashes.map { "<key>\($0.key)</key><data>\($0.value.base64)</data>" }
    var text = """
      <?xml version="1.0" standalone="yes"?>
      <!DOCTYPE database SYSTEM "file:///System/Library/DTDs/CoreData.dtd">

      <database>
        <databaseInfo>
          <version>134481920</version>
          <UUID>02D6D8DF-58ED-4778-BC69-9D0D3C146F26</UUID>
          <nextObjectID>\(objects.count + 102)</nextObjectID>
          <metadata><plist version="1.0"><dict>
            <key>NSStoreModelVersionHashes</key><dict>\(hashes.sorted().joined())</dict>
            <key>NSStoreModelVersionHashesVersion</key><integer>3</integer>
          </dict></plist></metadata>
        </databaseInfo>

      """
    for (number, object) in objects.enumerated() {
      text += "<object type=\"\(object.entity.uppercased())\" id=\"z\(number + 102)\">"
      for (name, value) in object.values.sorted(by: { $0.key < $1.key }) {
        let type = model.attribute(name, of: object.entity).flatMap { Self.types[$0.type] } ?? ""
        text += "<attribute name=\"\(name.lowercased())\" type=\"\(type)\">\(value)</attribute>"
      }
      text += "</object>\n"
    }
    text += "</database>\n"
    try text.write(toFile: path, atomically: false, encoding: .utf8)
  }
}
