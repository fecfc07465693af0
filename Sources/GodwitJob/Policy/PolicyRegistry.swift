package import GodwitModel

/// The policies that mappings can name.
///
/// ```swift
/// let policies: PolicyRegistry = ["SplitFullName": { SplitFullName() }]
/// ```
///
/// A name of Xcode's with a module before it, `App.SplitFullName`, finds `SplitFullName` when the whole is not registered.
public struct PolicyRegistry: Sendable, ExpressibleByDictionaryLiteral {
  /// Makes the instance that serves one mapping in one run.
  public typealias Make = @Sendable () -> any EntityMigrationPolicy

  private var makers: [String: Make] = [:]

  /// A registry without policies.
  public init() {}

  /// Policies by name. Of two elements with one name the last wins.
  public init(dictionaryLiteral elements: (String, Make)...) {
    for (name, make) in elements { makers[name] = make }
  }

  /// Policies whose instances serve every mapping that names them: for structs, which have no state.
  ///
  /// A policy with state is registered with what makes it, so that each mapping has an instance of its own.
  public init(_ policies: [String: any EntityMigrationPolicy & Sendable]) {
    for (name, policy) in policies { makers[name] = { policy } }
  }

  /// Registers under a name; a later registration replaces an earlier one.
  public mutating func register(_ name: String, _ make: @autoclosure @escaping Make) { makers[name] = make }

  /// Takes over what another registry has; of two with one name the other's wins.
  public mutating func add(_ other: PolicyRegistry) { makers.merge(other.makers) { _, new in new } }

  /// The registered names, sorted.
  public var names: [String] { makers.keys.sorted() }

  /// nil when nobody registered it.
  public subscript(name: String) -> Make? {
    if let exact = makers[name] { return exact }
    guard let dot = name.lastIndex(of: ".") else { return nil }
    return makers[String(name[name.index(after: dot)...])]
  }
}

/// What becomes of a policy class that nobody registered.
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
  package var index: Int?
  /// How many of those stand before it in mapping order.
  package var position: Int
  package var make: PolicyRegistry.Make

  package init(
    mapping: EntityMapping, name: String, index: Int? = nil, position: Int, make: @escaping PolicyRegistry.Make
  ) {
    self.mapping = mapping
    self.name = name
    self.index = index
    self.position = position
    self.make = make
  }
}
