/// The values of `$entityMapping` and `$propertyMapping` in the expressions of a mapping.
///
/// Both are known before the run; key paths on them read plain facts, never objects.
package struct MappingBindings: Sendable, Hashable {
  /// `name`, `sourceEntityName`, `destinationEntityName`, `mappingType`, `entityMigrationPolicyClassName`.
  package var entityMapping: [String: AttributeValue] = [:]
  /// The user info of the entity mapping.
  package var userInfo: [String: String] = [:]
  /// The attribute or relationship that is set; nil in filters.
  package var propertyName: String?

  /// The properties of `$entityMapping`.
  static let properties: [String: AttributeType] = [
    "name": .string, "sourceEntityName": .string, "destinationEntityName": .string, "mappingType": .integer16,
    "entityMigrationPolicyClassName": .string,
  ]

  /// No mapping: the variables have no value.
  package init() {}

  /// - Parameter property: the attribute or relationship that is set.
  package init(_ mapping: EntityMapping, property: String?) {
    func text(_ name: String?) -> AttributeValue { name.map { AttributeValue($0) } ?? .null }
    // The raw values of NSEntityMappingType.
    let kinds: [EntityMapping.Kind: Int64] = [.custom: 1, .add: 2, .remove: 3, .copy: 4, .transform: 5]
    entityMapping = [
      "name": text(mapping.name), "sourceEntityName": text(mapping.declaredSource),
      "destinationEntityName": text(mapping.destinationEntityName),
      "mappingType": .integer(kinds[mapping.kind] ?? 0), "entityMigrationPolicyClassName": text(mapping.policyName),
    ]
    userInfo = mapping.userInfo
    propertyName = property
  }

  /// The plain value that a key path on one of the two variables reads; nil when it reads none.
  package func constant(_ variable: String, _ segments: [String]) -> AttributeValue? {
    switch (variable, segments.count) {
    case ("entityMapping", 1): entityMapping[segments[0]]
    case ("entityMapping", 2) where segments[0] == "userInfo" && !entityMapping.isEmpty:
      userInfo[segments[1]].map { AttributeValue($0) } ?? .null
    case ("propertyMapping", 1) where segments[0] == "name": propertyName.map { AttributeValue($0) }
    default: nil
    }
  }
}
