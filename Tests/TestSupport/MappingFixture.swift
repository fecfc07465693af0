import Foundation
package import GodwitModel

/// An `xcmapping.xml` made by hand, object by object.
package struct MappingFixture {
  private var objects: [String] = []
  private var nextID = 102
  private var mappings: [String] = []

  package init() {}

  private mutating func newID() -> String {
    nextID += 1
    return "z\(nextID)"
  }

  /// An object with text attributes and, by name, the objects it leads to.
  @discardableResult
  package mutating func object(
    _ type: String, _ attributes: [String: String], _ links: [String: [String]] = [:], id: String? = nil
  ) -> String {
    let id = id ?? newID()
    var lines = ["<object type=\"\(type)\" id=\"\(id)\">"]
    for (name, value) in attributes.sorted(by: { $0.key < $1.key }) {
      let escaped = value.replacing("\\", with: "\\\\").replacing("&", with: "\\u2600").replacing("<", with: "\\u3c00")
      lines.append("<attribute name=\"\(name)\" type=\"string\">\(escaped)</attribute>")
    }
    for (name, ids) in links.sorted(by: { $0.key < $1.key }) {
      let list = ids.isEmpty ? "" : " idrefs=\"\(ids.joined(separator: " "))\""
      lines.append("<relationship name=\"\(name)\" type=\"0/0\" destination=\"X\"\(list)></relationship>")
    }
    objects.append(lines.joined(separator: "\n") + "\n</object>")
    return id
  }

  /// An entity mapping with rows; an orphan is not linked from the mapping model.
  package mutating func mapping(
    _ source: String?, _ destination: String?, number: Int, attributes: [[String: String]] = [],
    relationships: [[String: String]] = [], more: [String: String] = [:], isOrphan: Bool = false
  ) {
    var fields = more
    fields["sourcename"] = source
    fields["destinationname"] = destination
    fields["mappingnumber"] = "\(number)"
    fields["mappingtypename"] = "Undefined"
    fields["autogenerateexpression"] = "1"
    let rows = attributes.map { object("XDDEVATTRIBUTEMAPPING", $0) }
    let links = relationships.map { object("XDDEVRELATIONSHIPMAPPING", $0) }
    let id = object("XDDEVENTITYMAPPING", fields, ["attributemappings": rows, "relationshipmappings": links])
    if !isOrphan { mappings.append(id) }
  }

  /// The whole file.
  package func document(source: String = "1", destination: String = "2", more: [String: String] = [:]) -> [UInt8] {
    var whole = self
    var fields = more
    fields["sourcemodelpath"] = "App/M.xcdatamodeld/\(source).xcdatamodel"
    fields["destinationmodelpath"] = "App/M.xcdatamodeld/\(destination).xcdatamodel"
    whole.object("XDDEVMAPPINGMODEL", fields, ["entitymappings": whole.mappings.reversed()])
    let text = """
      <?xml version="1.0" standalone="yes"?>
      <!DOCTYPE database SYSTEM "file:///System/Library/DTDs/CoreData.dtd">
      <database><databaseInfo><version>134481920</version></databaseInfo>
      \(whole.objects.joined(separator: "\n"))
      </database>
      """
    return Array(text.utf8)
  }

  /// An archived expression, as the file has it.
  package static func archived(_ make: (inout ArchiveFixture) -> PropertyListValue) -> String {
    var archive = ArchiveFixture()
    let root = make(&archive)
    return Data(archive.archive(root)).base64EncodedString()
  }
}

extension ArchiveFixture {
  package mutating func variable(_ name: String) -> PropertyListValue {
    object("NSVariableExpression", ["NSVariable": string(name)])
  }

  /// `FUNCTION(operand, "selector:", …)`.
  package mutating func call(
    _ operand: PropertyListValue, _ selector: String, _ arguments: [PropertyListValue]
  ) -> PropertyListValue {
    let list = array(arguments)
    return object(
      "NSFunctionExpression", ["NSOperand": operand, "NSSelectorName": string(selector), "NSArguments": list])
  }
}
