import Foundation
package import GodwitModel

/// Writes the `xcmapping.xml` of an `.xcmappingmodel`, with the objects, attributes and metadata that Xcode's files have.
///
/// The models of both versions, which Xcode embeds as archives of its editor, are left out. No file of this writer has
/// been opened in Xcode.
package struct SourceMappingWriter {
  private var objects: [String] = []
  private var nextID = 101

  /// The file of a mapping model.
  ///
  /// - Parameters:
  ///   - paths: The paths of both model versions, as `App.xcdatamodeld/App 2.xcdatamodel`.
  ///   - source: Needed for mappings of the type `copy`; nil without.
  ///   - destination: As `source`.
  /// - Throws: code `.configuration` when Core Data cannot say what the mapping model says, with all such parts, and when
  ///   the file would read back otherwise.
  package static func bytes(
    of model: MappingModel, paths: (source: String, destination: String), from source: ManagedObjectModel?,
    to destination: ManagedObjectModel?
  ) throws -> [UInt8] {
    let form = XcodeMappingForm(model, from: source, to: destination)
    guard form.problems.isEmpty else { throw refusal(form.problems, of: model) }
    var writer = SourceMappingWriter()
    let bytes = Array(try writer.text(form.entityMappings, paths: paths).utf8)
    let problems = try differences(bytes, form.entityMappings, paths)
    guard problems.isEmpty else { throw refusal(problems, of: model) }
    return bytes
  }

  private static let listed = 20

  private static func refusal(_ problems: [String], of model: MappingModel) -> GodwitError {
    let more = problems.count - listed
    return GodwitError(
      .configuration,
      "cannot write \(model.file.map { "'\($0)'" } ?? "the mapping model") as an .xcmappingmodel: it has "
        + "\(problems.count.counted("part", "parts")) without a form there",
      cause: problems.prefix(listed).asLines + (more > 0 ? "\nand \(more) more" : ""),
      remedy: "keep the mapping file, or let a policy do what these parts say", safe: "nothing was written")
  }

  /// The differences between the file and the mappings, one line each.
  private static func differences(
    _ bytes: [UInt8], _ mappings: [EntityMapping], _ paths: (source: String, destination: String)
  ) throws -> [String] {
    let read: MappingModel
    do {
      read = try XcodeMappingModel(source: bytes, path: "M.xcmappingmodel", file: XcodeMappingModel.sourceFileName)
        .mappingModel()
    } catch let error as GodwitError {
      guard mappings.count > 1 else { return ["mapping '\(mappings.first?.name ?? "")': \(error.message)"] }
      // The file of one mapping says which of them cannot be read back.
      let alone = try mappings.flatMap { mapping in
        var writer = SourceMappingWriter()
        return try differences(Array(try writer.text([mapping], paths: paths).utf8), [mapping], paths)
      }
      return alone.isEmpty ? ["mappings together: \(error.message)"] : alone
    }
    let again = XcodeMappingForm(read, from: nil, to: nil).entityMappings
    let places = Dictionary(again.map { (Text($0.name), $0) }, uniquingKeysWith: { first, _ in first })
    return mappings.filter { places[Text($0.name)] != $0 }.map {
      "mapping '\($0.name)': it would \(places[Text($0.name)] == nil ? "not be read back" : "read back otherwise")"
    }
  }

  // MARK: Objects

  private mutating func newID() -> String {
    nextID += 1
    return "z\(nextID)"
  }

  /// A line of an object.
  private static func attribute(_ name: String, _ type: String, _ text: String) -> String {
    let content = AttributeText.encoded(Array(text.utf8)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    return "        <attribute name=\"\(name)\" type=\"\(type)\">\(content)</attribute>\n"
  }

  private static func attribute(_ name: String, _ bytes: [UInt8]) -> String {
    attribute(name, "binary", Data(bytes).base64EncodedString() + "\n")
  }

  private static func links(_ name: String, _ type: String, _ destination: String, _ ids: [String]) -> String {
    let list = ids.isEmpty ? "" : " idrefs=\"\(ids.joined(separator: " "))\""
    return
      "        <relationship name=\"\(name)\" type=\"\(type)\" destination=\"\(destination)\"\(list)></relationship>\n"
  }

  private mutating func add(_ type: String, _ id: String, _ content: String) {
    objects.append("    <object type=\"\(type)\" id=\"\(id)\">\n\(content)    </object>\n")
  }

  private mutating func text(
    _ mappings: [EntityMapping], paths: (source: String, destination: String)
  ) throws -> String {
    let root = newID()
    var ids: [String] = []
    for (place, mapping) in mappings.enumerated() { ids.append(try add(mapping, number: place + 1, root: root)) }
    add(
      "XDDEVMAPPINGMODEL", root,
      Self.attribute("sourcemodelpath", "string", paths.source)
        + Self.attribute("destinationmodelpath", "string", paths.destination)
        + Self.links("entitymappings", "0/0", "XDDEVENTITYMAPPING", ids))
    let body = objects.joined()
    // The same mapping model gives the same file.
    return Self.head(uuid: Digest.uuid(of: body).uuidString, nextID: nextID) + body + "</database>\n"
  }

  private mutating func add(_ mapping: EntityMapping, number: Int, root: String) throws -> String {
    let id = newID()
    var content = Self.attribute("name", "string", mapping.name)
    if let source = mapping.sourceEntityName { content += Self.attribute("sourcename", "string", source) }
    content += Self.attribute("mappingtypename", "string", "Undefined")
    content += Self.attribute("mappingnumber", "int16", "\(number)")
    if let made = mapping.destinationEntityName { content += Self.attribute("destinationname", "string", made) }
    content += Self.attribute("autogenerateexpression", "bool", "1")
    if let policy = mapping.policyName { content += Self.attribute("migrationpolicyclassname", "string", policy) }
    if let filter = mapping.filter {
      content += Self.attribute("sourcefilterpredicatestring", "string", filter.description)
    }
    if !mapping.userInfo.isEmpty {
      content += Self.attribute("userinfodata", ExpressionArchive.bytes(ofUserInfo: mapping.userInfo))
    }
    content += Self.links("mappingmodel", "1/1", "XDDEVMAPPINGMODEL", [root])
    var rows: [String] = []
    for attribute in mapping.attributeMappings {
      let value = Self.attribute("valueexpressiondata", try ExpressionArchive.bytes(of: attribute.value))
      rows.append(add("XDDEVATTRIBUTEMAPPING", attribute.name, value, of: mapping, id: id))
    }
    content += Self.links("attributemappings", "0/0", "XDDEVATTRIBUTEMAPPING", rows)
    rows = []
    for relationship in mapping.relationshipMappings {
      let value =
        Self.attribute("autogenerateexpression", "bool", "1") + (try Self.value(of: relationship.value))
      rows.append(add("XDDEVRELATIONSHIPMAPPING", relationship.name, value, of: mapping, id: id))
    }
    content += Self.links("relationshipmappings", "0/0", "XDDEVRELATIONSHIPMAPPING", rows)
    add("XDDEVENTITYMAPPING", id, content)
    return id
  }

  private mutating func add(
    _ type: String, _ name: String, _ value: String, of mapping: EntityMapping, id: String
  ) -> String {
    let row = newID()
    var content = Self.attribute("name", "string", name) + value
    if let info = mapping.propertyUserInfo[name] {
      content += Self.attribute("userinfodata", ExpressionArchive.bytes(ofUserInfo: info))
    }
    add(type, row, content + Self.links("entitymapping", "1/1", "XDDEVENTITYMAPPING", [id]))
    return row
  }

  /// Xcode's fields "Key Path" and "Mapping Name" where they say it, else an expression.
  private static func value(of value: RelationshipMapping.Value) throws -> String {
    switch value {
    case .mapping(let name, let path) where !path.isEmpty && path.allSatisfy(ArchivedExpression.isName):
      return attribute("sourcekeypath", "string", "$source." + path.joined(separator: "."))
        + attribute("sourcemappingname", "string", name)
    case .mapping(let name, let path):
      return try lookUp("destinationInstancesForEntityMappingNamed:sourceInstances:", name, path)
    case .sourceRelationship(let name):
      return try lookUp("destinationInstancesForSourceRelationshipNamed:sourceInstances:", name, [name])
    case .expression(let expression):
      return attribute("valueexpressiondata", try ExpressionArchive.bytes(of: expression))
    }
  }

  private static func lookUp(_ selector: String, _ name: String, _ path: [String]) throws -> String {
    let source = ValueExpression(.variable("source"))
    let objects = path.isEmpty ? source : ValueExpression(.keyPath(base: source, segments: path))
    let call = ValueExpression(
      .call(
        operand: ValueExpression(.variable("manager")), selector: selector,
        arguments: [ValueExpression(.constant(AttributeValue(name))), objects]))
    return attribute("valueexpressiondata", try ExpressionArchive.bytes(of: call))
  }
}

// MARK: Metadata

extension SourceMappingWriter {
  /// The version hashes of Xcode's own model, equal in all files.
  private static let hashes = [
    ("XDDevAttributeMapping", "0plcXXRN7XHKl5CcF+fwriFmUpON3ZtcI/AfK748aWc="),
    ("XDDevEntityMapping", "qeN1Ym3TkWN1G6dU9RfX6Kd2ccEvcDVWHpd3LpLgboI="),
    ("XDDevMappingModel", "EqtMzvRnVZWkXwBHu4VeVGy8UyoOe+bi67KC79kphlQ="),
    ("XDDevPropertyMapping", "XN33V44TTGY4JETlMoOB5yyTKxB+u4slvDIinv0rtGA="),
    ("XDDevRelationshipMapping", "akYY9LhehVA/mCb4ATLWuI9XGLcjpm14wWL1oEBtIcs="),
  ]

  private static func head(uuid: String, nextID: Int) -> String {
    let indent = String(repeating: " ", count: 24)
    let entries = hashes.map {
      "\(indent)<key>\($0)</key>\n\(indent)<data>\n\t\t\($1)\n\t\t</data>\n"
    }.joined()
    return """
      <?xml version="1.0"?>
      <!DOCTYPE database SYSTEM "file:///System/Library/DTDs/CoreData.dtd">

      <database>
          <databaseInfo>
              <version>134481920</version>
              <UUID>\(uuid)</UUID>
              <nextObjectID>\(nextID)</nextObjectID>
              <metadata>
                  <plist version="1.0">
                      <dict>
                          <key>NSPersistenceFrameworkVersion</key>
                          <integer>754</integer>
                          <key>NSStoreModelVersionHashes</key>
                          <dict>
      \(entries)                    </dict>
                          <key>NSStoreModelVersionHashesVersion</key>
                          <integer>3</integer>
                          <key>NSStoreModelVersionIdentifiers</key>
                          <array>
                              <string></string>
                          </array>
                      </dict>
                  </plist>
              </metadata>
          </databaseInfo>

      """
  }
}
