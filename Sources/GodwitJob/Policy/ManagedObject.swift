public import GodwitModel
package import GodwitStore

/// An object of the source or of the destination as a migration policy sees it, Core Data's `NSManagedObject`.
///
/// It is a value: a change reaches no store until `PolicyContext.insert` or `save`. Relationships are set through the
/// manager. Objects of the source are read-only. Do not keep an object from one hook to the next: keep its `key`.
public struct ManagedObject: ReadableObject {
  /// The name of the object's own entity.
  public var entityName: String { content.kind.layout.entityName }
  /// The primary key.
  public var key: Int64 { content.key }
  /// Whether it belongs to the source.
  package var isSource: Bool { content.kind.isSource }
  package var layout: ObjectLayout { content.kind.layout }
  package var context: ObjectContext { content.kind.context }
  /// The number of its entity, and that of the entity whose table has it.
  package var entityNumber: Int { content.kind.number }
  package var rootNumber: Int { content.kind.layout.rootNumber }
  /// The call of a hook that made it; 0 for an object of a store.
  package var call: Int { content.call }
  /// Whether a hook has made it: it may be in no store yet.
  package var isDraft: Bool { content.call > 0 }
  var run: any PolicyHost { content.kind.run }
  /// Copied before it changes, where another copy of the object has it too.
  private var content: Content

  /// One reference in place of several, so that passing an object on costs little.
  private final class Content {
    let kind: ObjectKind
    let key: Int64
    let call: Int
    /// Its row, in the order of the table's columns; nil until something asks for it.
    @exclusivity(unchecked) var values: [SQLValue]?
    /// The first value that was set and does not fit.
    @exclusivity(unchecked) var problem: Problem?

    init(_ kind: ObjectKind, key: Int64, values: [SQLValue]?, call: Int) {
      (self.kind, self.key, self.values, self.call) = (kind, key, values, call)
    }

    func copy() -> Content {
      let copy = Content(kind, key: key, values: values, call: call)
      copy.problem = problem
      return copy
    }
  }

  private final class Problem {
    let error: GodwitError

    init(_ error: GodwitError) { self.error = error }
  }

  package init(_ stored: StoredObject, run: any PolicyHost) {
    self.init(ObjectKind(stored.layout, stored.context, run: run), key: stored.key, values: stored.values)
  }

  /// - Parameters:
  ///   - values: nil for an object of a store, whose row is read when something asks for it.
  ///   - call: The call that makes it, from 1; 0 for an object of a store.
  package init(_ kind: ObjectKind, key: Int64, values: [SQLValue]?, call: Int = 0) {
    content = Content(kind, key: key, values: values, call: call)
  }

  /// Its row.
  package func row() throws -> [SQLValue] {
    if let values = content.values { return values }
    if let stored = try context.object(entityName: entityName, key: key) { return stored.values }
    throw failure("the object is not in the store")
  }

  /// Throws what was set and does not fit.
  package func checkValues() throws { if let problem = content.problem { throw problem.error } }

  /// To be called before a change.
  private mutating func makeUnique() {
    if !isKnownUniquelyReferenced(&content) { content = content.copy() }
  }

  private var model: ManagedObjectModel { context.schema.model }

  /// The value of an attribute, as its type says.
  ///
  /// Reading an unknown attribute gives nil, and the hook fails when it returns. The hook also fails after setting a
  /// value that does not fit, or a value of a source object.
  public subscript(attribute: String) -> AttributeValue {
    get {
      do { return try attributeValue(attribute) } catch {
        run.note(error)
        return .null
      }
    }
    set {
      do { try set(attribute, newValue) } catch {
        makeUnique()
        content.problem = content.problem ?? (error as? GodwitError).map(Problem.init)
        run.note(error)
      }
    }
  }

  /// The value of an attribute, as its type says.
  ///
  /// - Throws: `.dataWrong` (65) when there is no such attribute, or the store holds something else than its type says.
  public func attributeValue(_ name: String) throws -> AttributeValue {
    guard let attribute = layout.attributes[name] else {
      let hint = Spelling.suggestion(for: name, among: model.attributes(of: entityName).map(\.name))
      throw failure("'\(entityName)' has no attribute '\(name)'\(hint)")
    }
    guard let place = attribute.place else { return .null }
    return try context.value(try row()[place], of: attribute, entityName: entityName, key: key)
  }

  /// The text of a string or URI attribute; nil for nil.
  ///
  /// Invalid UTF-8 becomes U+FFFD; ``attributeValue(_:)`` keeps the bytes.
  ///
  /// - Throws: As ``attributeValue(_:)``, and for an attribute of another type.
  public func string(_ attribute: String) throws -> String? {
    // Most policies read texts, so these are decoded without an intermediate value.
    if let known = layout.attributes[attribute], known.isText, let place = known.place {
      switch try content.values?[place] ?? row()[place] {
      case .text(let bytes): return String(decoding: bytes, as: UTF8.self)
      case .null: return nil
      case .integer, .real, .blob: break
      }
    }
    return try Self.text(attribute, of: self)
  }

  private static func text(_ attribute: String, of object: some ReadableObject) throws -> String? {
    try object.string(attribute)
  }

  private mutating func set(_ name: String, _ value: AttributeValue) throws {
    guard !isSource else { throw failure("cannot set '\(name)': objects of the source are read only") }
    guard let attribute = layout.attributes[name] else {
      let hint = Spelling.suggestion(for: name, among: model.attributes(of: entityName).map(\.name))
      throw failure("cannot set '\(name)': '\(entityName)' has no such attribute\(hint)")
    }
    let isDerived = attribute.isDerived
    guard !isDerived, let place = attribute.place else {
      throw failure("cannot set '\(name)': the attribute is \(isDerived ? "derived" : "not stored")")
    }
    do {
      let stored = try SQLValue(encoding: value, as: attribute)
      makeUnique()
      if content.values == nil { content.values = try row() }
      content.values?[place] = stored
    } catch let error as GodwitError { throw failure(error.message) }
  }

  // MARK: Related objects

  /// The objects that a relationship leads to: in its order if it is ordered, otherwise by key.
  ///
  /// In the destination, these are the objects that policies have set so far. From the relationship stage on, they
  /// include what mappings without a policy set.
  public func objects(_ relationship: String) throws -> [ManagedObject] {
    guard layout.relationships[relationship] != nil else {
      let hint = Spelling.suggestion(for: relationship, among: model.relationships(of: entityName).map(\.name))
      throw failure("'\(entityName)' has no relationship '\(relationship)'\(hint)")
    }
    guard isSource else { return try run.related(self, relationship) }
    let stored = StoredObject(context: context, layout: layout, key: key, values: try row())
    return try stored.value(relationship).storedObjects.map { ManagedObject($0, run: run) }
  }
}

/// The common properties of all objects of one entity in one store.
package final class ObjectKind {
  let layout: ObjectLayout
  let context: ObjectContext
  let run: any PolicyHost
  package let number: Int
  let isSource: Bool

  package init(_ layout: ObjectLayout, _ context: ObjectContext, run: any PolicyHost) {
    (self.layout, self.context, self.run) = (layout, context, run)
    (number, isSource) = (layout.number, context.isSource)
  }
}

extension ManagedObject: Equatable {
  /// Whether both are the same object of the same store, whatever values they carry.
  public static func == (a: ManagedObject, b: ManagedObject) -> Bool {
    a.content === b.content || a.key == b.key && a.isSource == b.isSource && a.entityName == b.entityName
  }
}

extension ManagedObject: EvaluatedObject {
  /// The value of an attribute, or what a relationship leads to.
  ///
  /// - Throws: As ``attributeValue(_:)`` and ``objects(_:)``.
  public func value(_ property: String) throws -> EvaluatedValue {
    guard let relationship = layout.relationships[property]?.description else {
      if model.composite(property, of: entityName) != nil { return .object(CompositePart(property, of: self)) }
      return .value(try attributeValue(property))
    }
    let found = try objects(property)
    return relationship.isToMany ? .objects(found, ordered: relationship.isOrdered) : .object(found.first)
  }
}

extension ManagedObject: CustomStringConvertible {
  /// Entity and key; no user data.
  public var description: String { "\(entityName) p\(key)" }
}

extension EvaluatedValue {
  /// The stored objects among what a relationship leads to.
  var storedObjects: [StoredObject] {
    switch self {
    case .object(let object): (object as? StoredObject).map { [$0] } ?? []
    case .objects(let objects, _): objects.compactMap { $0 as? StoredObject }
    case .value, .values: []
    }
  }
}
