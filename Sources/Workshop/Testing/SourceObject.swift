import GodwitModel
import Synchronization

/// An object of the source store of a test.
///
/// ```swift
/// let home = SourceObject("Home", ["street": "5 Elm St"])
/// let ada = SourceObject("Person", ["name": "Ada", "age": 36, "home": home])
/// ```
///
/// Naming one side of a relationship is enough. A property that is left out takes the model's default. `nil` writes no
/// value even where the model wants one, as an old store may have it.
///
/// It is a value with an identity: copies are the same object of the store, and the copy that was changed last counts.
/// A cycle therefore takes two steps, after which the changed object has to be given to the test:
///
/// ```swift
/// var first = SourceObject("Page", ["number": 1])
/// let second = SourceObject("Page", ["number": 2, "before": first])
/// first["after"] = second
/// let result = try migration.migrate(first, second)
/// ```
public struct SourceObject: SourceValue {
  /// The name of the object's entity.
  package let entityName: String
  /// Its primary key in the store; nil for the next one of its table, in the order in which the test gives the objects.
  package let key: Int64?
  let identity: UInt64
  /// Larger in a copy that was changed later.
  private(set) var revision: UInt64
  /// nil for an explicit nil.
  private(set) var contents: [String: SourceContent?]
  /// The place in the test where the object is made, for messages.
  let location: GodwitError.Location

  private static let counter = Mutex<UInt64>(0)

  private static func next() -> UInt64 {
    counter.withLock {
      $0 += 1
      return $0
    }
  }

  /// An object.
  ///
  /// `TestMigration.migrate`, which knows the model, checks the object.
  ///
  /// - Parameters:
  ///   - entityName: The name of a concrete entity of the source model.
  ///   - key: The primary key; nil for the next one.
  ///   - properties: Attributes and relationships by name.
  ///   - file: Where the object is made, for messages.
  ///   - line: As `file`.
  ///   - column: As `file`.
  public init(
    _ entityName: String, key: Int64? = nil, _ properties: [String: (any SourceValue)?] = [:], file: String = #filePath,
    line: Int = #line, column: Int = #column
  ) {
    self.entityName = entityName
    self.key = key
    identity = Self.next()
    revision = identity
    contents = properties.mapValues { $0?.sourceContent }
    location = GodwitError.Location(file: file, line: line, column: column)
  }

  /// Writes a property: an attribute or a relationship.
  ///
  /// - Parameter property: The name of the property.
  public subscript(property: String) -> (any SourceValue)? {
    get { contents[property].flatMap { $0 }.map(Written.init) }
    set {
      contents.updateValue(newValue?.sourceContent, forKey: property)
      revision = Self.next()
    }
  }

  /// The object as the target of a to-one.
  public var sourceContent: SourceContent { SourceContent(object: self) }

  /// The objects that it leads to, by the names of the relationships.
  var neighbours: [SourceObject] {
    contents.keys.sorted().flatMap { name -> [SourceObject] in
      switch contents[name].flatMap({ $0 })?.kind {
      case .object(let other)?: [other]
      case .objects(let others)?: others
      case .value?, nil: []
      }
    }
  }

  /// The content of a property.
  private struct Written: SourceValue {
    let sourceContent: SourceContent
  }
}
