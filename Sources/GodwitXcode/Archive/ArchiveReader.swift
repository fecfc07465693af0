import GodwitModel

/// Reads the fields of archived objects, each checked for its kind.
///
/// An unknown key or class is an error that names both, because ignoring a key could lose data in a migration.
protocol ArchiveReader {
  var archive: KeyedArchive { get set }
  /// Expressions read so far, so that no archive keeps its reader busy for long.
  var expressionCount: Int { get set }

  /// The error that the file cannot be read, and why.
  func problem(_ text: String) -> GodwitError
}

extension ArchiveReader {
  /// - Throws: when the object is of another class or has a key that is not known.
  func check(_ object: KeyedArchive.Object, is className: String, keys: Set<String>, at place: String) throws {
    guard object.className == className else {
      throw problem("expected the class '\(className)' at \(place), found '\(object.className)'")
    }
    if let key = object.keys.first(where: { !keys.contains($0) }) {
      throw problem("unknown key '\(key)' of class '\(className)' at \(place)")
    }
  }

  mutating func text(_ key: String, of object: KeyedArchive.Object) throws -> String? {
    let value = try archive.value(key, of: object)
    if case .null = value { return nil }
    guard let text = try archive.text(value) else {
      throw problem("expected a string for key '\(key)' of class '\(object.className)'")
    }
    return text
  }

  mutating func nonEmpty(_ key: String, of object: KeyedArchive.Object) throws -> String? {
    let text = try text(key, of: object)
    return text?.isEmpty == true ? nil : text
  }

  mutating func required(_ key: String, of object: KeyedArchive.Object) throws -> String {
    guard let text = try nonEmpty(key, of: object) else {
      throw problem("expected a name for key '\(key)' of class '\(object.className)', found none")
    }
    return text
  }

  mutating func flag(_ key: String, of object: KeyedArchive.Object) throws -> Bool {
    switch try archive.value(key, of: object) {
    case .null: return false
    case .plain(.boolean(let flag)): return flag
    case .plain(.integer(let number)) where number == 0 || number == 1: return number == 1
    default: throw problem("expected true or false for key '\(key)' of class '\(object.className)'")
    }
  }

  mutating func integer(_ key: String, of object: KeyedArchive.Object) throws -> Int? {
    switch try archive.value(key, of: object) {
    case .null: return nil
    case .plain(.integer(let number)):
      if let number = Int(exactly: number) { return number }
    default: break
    }
    throw problem("expected a whole number for key '\(key)' of class '\(object.className)'")
  }

  mutating func object(_ key: String, of object: KeyedArchive.Object) throws -> KeyedArchive.Object? {
    switch try archive.value(key, of: object) {
    case .null: return nil
    case .object(let found): return found
    case .plain: throw problem("expected an object for key '\(key)' of class '\(object.className)'")
    }
  }

  /// The objects of an array or set; none if it is missing.
  mutating func objects(_ key: String, of object: KeyedArchive.Object) throws -> [KeyedArchive.Object] {
    guard let list = try self.object(key, of: object) else { return [] }
    return try archive.members(of: list).map { member in
      guard case .object(let member) = member else {
        throw problem("expected objects for key '\(key)' of class '\(object.className)'")
      }
      return member
    }
  }

  mutating func entries(
    _ key: String, of object: KeyedArchive.Object
  ) throws -> [(key: String, value: KeyedArchive.Value)] {
    guard let dictionary = try self.object(key, of: object) else { return [] }
    return try archive.entries(of: dictionary)
  }
}
