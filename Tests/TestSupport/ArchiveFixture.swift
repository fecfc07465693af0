package import GodwitModel

/// A keyed archive made by hand, object by object.
package struct ArchiveFixture {
  package private(set) var objects: [PropertyListValue] = [.string("$null")]
  private var classes: [String: PropertyListValue] = [:]
  private var strings: [String: PropertyListValue] = [:]
  package static let null = PropertyListValue.uid(0)

  package init() {}

  package mutating func add(_ value: PropertyListValue) -> PropertyListValue {
    objects.append(value)
    return .uid(UInt64(objects.count - 1))
  }

  package mutating func string(_ text: String) -> PropertyListValue {
    if let known = strings[text] { return known }
    let reference = add(.string(text))
    strings[text] = reference
    return reference
  }

  /// A place for an object that others refer to before it is filled.
  package mutating func reserve() -> PropertyListValue { add(.string("reserved")) }

  package mutating func object(
    _ className: String, _ fields: [String: PropertyListValue], at place: PropertyListValue? = nil
  ) -> PropertyListValue {
    let classReference =
      classes[className]
      ?? add(.dictionary(["$classname": .string(className), "$classes": .array([.string(className)])]))
    classes[className] = classReference
    let value = PropertyListValue.dictionary(fields.merging(["$class": classReference]) { _, new in new })
    guard case .uid(let index)? = place else { return add(value) }
    objects[Int(index)] = value
    return .uid(index)
  }

  package mutating func array(_ members: [PropertyListValue], _ className: String = "NSArray") -> PropertyListValue {
    object(className, ["NS.objects": .array(members)])
  }

  package mutating func dictionary(_ entries: [(String, PropertyListValue)]) -> PropertyListValue {
    let keys = entries.map { string($0.0) }
    return object("NSMutableDictionary", ["NS.keys": .array(keys), "NS.objects": .array(entries.map(\.1))])
  }

  package mutating func attribute(
    _ name: String, _ type: AttributeType, _ more: [String: PropertyListValue] = [:]
  ) -> (String, PropertyListValue) {
    let fields: [String: PropertyListValue] = [
      "NSPropertyName": string(name), "NSAttributeType": .integer(Int64(type.rawValue)), "NSIsOptional": .boolean(true),
      "NSRenamingIdentifier": string(name), "NSFlagsKey": .integer(0),
    ]
    return (name, object("NSAttributeDescription", fields.merging(more) { _, new in new }))
  }

  package mutating func entity(
    _ name: String, _ properties: [(String, PropertyListValue)], _ more: [String: PropertyListValue] = [:],
    at place: PropertyListValue? = nil
  ) -> (String, PropertyListValue) {
    let fields: [String: PropertyListValue] = ["NSEntityName": string(name), "NSProperties": dictionary(properties)]
    return (name, object("NSEntityDescription", fields.merging(more) { _, new in new }, at: place))
  }

  /// The whole archive, with a model of these entities at its root.
  package mutating func model(
    _ entities: [(String, PropertyListValue)], _ more: [String: PropertyListValue] = [:]
  ) -> [UInt8] {
    let fields: [String: PropertyListValue] = ["NSEntities": dictionary(entities)]
    let root = object("NSManagedObjectModel", fields.merging(more) { _, new in new })
    return archive(root)
  }

  package func archive(_ root: PropertyListValue) -> [UInt8] {
    PropertyListValue.dictionary([
      "$archiver": .string("NSKeyedArchiver"), "$version": .integer(100_000), "$objects": .array(objects),
      "$top": .dictionary(["root": root]),
    ]).binaryPropertyList
  }
}

/// `SELF >= 1`, `length <= 5` and the like, as archives hold them.
extension ArchiveFixture {
  package mutating func keyPath(_ path: String, of operand: PropertyListValue? = nil) -> PropertyListValue {
    let base = operand ?? object("NSSelfExpression", ["NSExpressionType": .integer(1)])
    let specifier = object("NSKeyPathSpecifierExpression", ["NSKeyPath": string(path)])
    return object("NSKeyPathExpression", ["NSOperand": base, "NSArguments": array([specifier], "NSMutableArray")])
  }

  package mutating func constant(_ value: PropertyListValue) -> PropertyListValue {
    object("NSConstantValueExpression", ["NSConstantValue": value])
  }

  package mutating func comparison(
    _ left: PropertyListValue, _ type: Int64, _ right: PropertyListValue, options: Int64 = 0
  ) -> PropertyListValue {
    let kind = object(
      "NSComparisonPredicateOperator",
      ["NSOperatorType": .integer(type), "NSModifier": .integer(0), "NSOptions": .integer(options)])
    return object(
      "NSComparisonPredicate",
      ["NSLeftExpression": left, "NSRightExpression": right, "NSPredicateOperator": kind])
  }

  package mutating func compound(_ type: Int64, _ parts: [PropertyListValue]) -> PropertyListValue {
    let list = array(parts)
    return object("NSCompoundPredicate", ["NSCompoundPredicateType": .integer(type), "NSSubpredicates": list])
  }

  package mutating func function(_ selector: String, _ arguments: [PropertyListValue]) -> PropertyListValue {
    let operand = object(
      "NSConstantValueExpression", ["NSConstantValueClassName": string("_NSPredicateUtilities")])
    let list = array(arguments)
    return object(
      "NSFunctionExpression", ["NSOperand": operand, "NSSelectorName": string(selector), "NSArguments": list])
  }
}

extension [UInt8] {
  /// The bytes in stored blocks of DEFLATE, which any content can be.
  package var deflated: [UInt8] {
    var result: [UInt8] = []
    for start in stride(from: 0, to: count, by: 65_535) {
      let part = self[start..<Swift.min(start + 65_535, count)]
      let size = UInt16(part.count)
      result += [start + part.count == count ? 1 : 0]
      result += [UInt8(size & 0xFF), UInt8(size >> 8), UInt8(~size & 0xFF), UInt8(~size >> 8)] + part
    }
    return result
  }
}
