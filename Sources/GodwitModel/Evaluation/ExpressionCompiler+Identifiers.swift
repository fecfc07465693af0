import Foundation

/// Parts of a digest in one row. Each is preceded by its length, so that no two lists of parts are one.
private struct DigestedParts {
  var bytes: [UInt8] = []

  mutating func add(_ part: some Collection<UInt8>) {
    withUnsafeBytes(of: Int64(part.count).littleEndian) { bytes.append(contentsOf: $0) }
    bytes.append(contentsOf: part)
  }
}

/// The digest of `newUUID()`, made for one object after another. Not for two threads at once.
///
/// The parts that the objects of an entity have in common are digested once.
private final class ObjectDigest {
  private let head, tail: [UInt8]
  private var entityName: String?
  private(set) var isOfPairs = false
  private var common = SHA256()
  /// The parts of the current object.
  private var parts = DigestedParts()

  init(head: [UInt8], tail: [UInt8]) {
    (self.head, self.tail) = (head, tail)
    parts.bytes.reserveCapacity(tail.count + 64)
  }

  /// Begins the digest of an object.
  func begin(_ entityName: String, store: () throws -> [UInt8]) rethrows {
    parts.bytes.removeAll(keepingCapacity: true)
    guard entityName != self.entityName else { return }
    var first = DigestedParts(bytes: head)
    first.add(try store())
    first.add(entityName.utf8)
    common = SHA256()
    common.update(data: first.bytes)
    (self.entityName, isOfPairs) = (entityName, PairEntity.isName(entityName))
  }

  func add(_ key: Int64) { withUnsafeBytes(of: key.littleEndian) { parts.add($0) } }

  func add(_ part: [UInt8]) { parts.add(part) }

  func addTail() { parts.bytes += tail }

  /// The UUID of the parts, of version 4.
  func uuid() -> UUID {
    var sum = common
    sum.update(data: parts.bytes)
    return sum.finalize { bytes in
      var uuid: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
      withUnsafeMutableBytes(of: &uuid) { $0.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[..<16])) }
      uuid.6 = uuid.6 & 0x0F | 0x40
      uuid.8 = uuid.8 & 0x3F | 0x80
      return UUID(uuid: uuid)
    }
  }
}

/// New UUIDs, and values in place of nil.
extension ExpressionCompiler {
  /// `newUUID()`: a UUID of version 4 that every run makes alike. It follows from the source store, the object, the
  /// mapping and the property, so no clock, resumed run or order of rows changes it. A link is known by its two ends:
  /// the row that holds it may be that of another link tomorrow.
  ///
  /// - Parameter salt: A value that goes into it too, for copies of one store that must not share UUIDs.
  func newUUID(_ salt: ValueExpression?) -> SingleRoutine {
    let salt = salt.map { single($0) }
    let (host, mapping) = (evaluator.host, evaluator.mapping)
    var (head, tail) = (DigestedParts(), DigestedParts())
    head.add("Godwit newUUID 1".utf8)
    tail.add((mapping.entityMapping["name"]?.text ?? "").utf8)
    tail.add((mapping.propertyName ?? "").utf8)
    let digest = ObjectDigest(head: head.bytes, tail: tail.bytes)
    return SingleRoutine { frame in
      let object = frame.object
      try digest.begin(object.entityName) { try host?.storeIdentifier().utf8 ?? [] }
      if digest.isOfPairs, let ends = try object.endKeys {
        for key in ends { digest.add(key) }
      } else {
        digest.add(object.key)
      }
      digest.addTail()
      if let value = try salt?.run(&frame), !value.isNull { digest.add(value.digested) }
      return .uuid(digest.uuid())
    }
  }

  /// `$index`: the place of the object among those of its owner, from 0.
  func index(_ name: String?) -> ValueRoutine {
    let host = evaluator.host
    return ValueRoutine { frame in .value(try host?.index(of: frame.object, along: name).map { .integer($0) } ?? .null)
    }
  }

  /// `coalesce:(a, b, …)`: the first value that is not nil. The others after it are not evaluated.
  func coalesce(_ arguments: [ValueExpression]) -> SingleRoutine {
    let values = arguments.map { single($0) }
    return SingleRoutine { frame in
      for value in values {
        let found = try value.run(&frame)
        if !found.isNull { return found }
      }
      return .null
    }
  }

  /// `join:with:(list, separator)`: members in the order of the list or the relationship, else by the objects' keys.
  func join(_ list: ValueExpression, with separator: ValueExpression, _ range: Range<Int>) -> SingleRoutine {
    let (list, separator) = (value(of: list), single(separator))
    return SingleRoutine { frame in
      let (list, separator) = (try list.run(&frame), try separator.run(&frame))
      if list.isNull || separator.isNull { return .null }
      guard let separator = separator.text else { throw Calculation.misfit("join:with:", [separator], range) }
      return .string(try list.joined(by: separator, range))
    }
  }
}

extension EvaluatedObject {
  /// The keys of the ends of a pair; nil without one of them.
  fileprivate var endKeys: [Int64]? {
    get throws {
      var keys: [Int64] = []
      for end in PairEntity.End.allCases {
        guard case .object(let object?) = try value(end.toOne) else { return nil }
        keys.append(object.key)
      }
      return keys
    }
  }
}

extension AttributeValue {
  /// Bytes that differ for different values.
  fileprivate var digested: [UInt8] {
    switch self {
    case .null: []
    case .string(let text), .uri(let text): [1] + text.utf8
    case .data(let bytes): [2] + bytes
    case .uuid(let uuid): [3] + withUnsafeBytes(of: uuid.uuid) { Array($0) }
    case .date(let seconds): [4] + withUnsafeBytes(of: seconds.bitPattern.littleEndian) { Array($0) }
    case .boolean, .integer, .double, .decimal:
      // Equal numbers are one, whatever their type.
      switch number {
      case .integer(let number)?: [5] + withUnsafeBytes(of: number.littleEndian) { Array($0) }
      case .double(let number)?:
        if let whole = Int64(exactly: number) {
          [5] + withUnsafeBytes(of: whole.littleEndian) { Array($0) }
        } else {
          [6] + withUnsafeBytes(of: number.bitPattern.littleEndian) { Array($0) }
        }
      case nil: []
      }
    }
  }
}
