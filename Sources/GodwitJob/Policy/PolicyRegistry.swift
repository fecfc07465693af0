package import GodwitModel

/// The policies that mappings can name.
///
/// ```swift
/// let policies: PolicyRegistry = ["SplitFullName": { SplitFullName() }]
/// ```
///
/// A class name from Xcode with its module, `App.SplitFullName`, finds `SplitFullName` if the full name is not
/// registered.
public struct PolicyRegistry: Sendable, ExpressibleByDictionaryLiteral {
  /// Makes the instance that serves one mapping in one run.
  public typealias Make = @Sendable () -> any EntityMigrationPolicy

  private var makers: [String: Make] = [:]

  /// A registry without policies.
  public init() {}

  /// Policies by name. If two elements have one name, the last one wins.
  public init(dictionaryLiteral elements: (String, Make)...) {
    for (name, make) in elements { makers[name] = make }
  }

  /// Policies whose instances serve every mapping that names them: for structs, which have no state.
  ///
  /// Register a policy with state as a closure that makes it, so that each mapping gets its own instance.
  package init(_ policies: [String: any EntityMigrationPolicy & Sendable]) {
    for (name, policy) in policies { makers[name] = { policy } }
  }

  /// Registers under a name; a later registration replaces an earlier one.
  public mutating func register(_ name: String, _ make: @autoclosure @escaping Make) { makers[name] = make }

  /// Adds the policies of another registry. They replace policies of the same name.
  package mutating func add(_ other: PolicyRegistry) { makers.merge(other.makers) { _, new in new } }

  /// The registered names, sorted.
  package var names: [String] { makers.keys.sorted() }

  /// The closure that makes the policy; nil if none is registered.
  package subscript(name: String) -> Make? {
    if let exact = makers[name] { return exact }
    guard let dot = name.lastIndex(of: ".") else { return nil }
    return makers[String(name[name.index(after: dot)...])]
  }
}

/// The treatment of a policy class that nobody registered.
public enum UnregisteredPolicies: String, Sendable, Hashable, CaseIterable {
  /// Error 78 where the mapping names it.
  case fail
  /// Core Data's default policy takes its place; the plan says so.
  case `default`
}

/// An entity mapping that a registered policy carries out.
package struct ResolvedPolicy: Sendable {
  package var mapping: EntityMapping
  /// The registered name as the mapping spells it.
  package var name: String
  /// Its index among the mappings that make objects of source objects; nil for a mapping of kind `add`.
  package var index: MappingID?
  /// How many of those stand before it in mapping order.
  package var position: Int
  package var make: PolicyRegistry.Make

  package init(
    mapping: EntityMapping, name: String, index: MappingID? = nil, position: Int, make: @escaping PolicyRegistry.Make
  ) {
    self.mapping = mapping
    self.name = name
    self.index = index
    self.position = position
    self.make = make
  }
}
