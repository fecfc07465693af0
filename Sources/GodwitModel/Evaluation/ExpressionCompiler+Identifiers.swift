import Foundation

/// Parts of a digest in one row. Each is preceded by its length, so that no two lists of parts are one.
private struct DigestedParts {
  var bytes: [UInt8] = []

  mutating func add(_ part: some Collection<UInt8>) {
    withUnsafeBytes(of: Int64(part.count).littleEndian) { bytes.append(contentsOf: $0) }
    bytes.append(contentsOf: part)
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
    return SingleRoutine { [head, tail] frame in
      var parts = DigestedParts()
      parts.bytes.reserveCapacity(head.bytes.count + tail.bytes.count + 128)
      parts.bytes += head.bytes
      parts.add(try host?.storeIdentifier().utf8 ?? [])
      parts.add(frame.object.entityName.utf8)
      for key in try frame.object.lastingKeys { withUnsafeBytes(of: key.littleEndian) { parts.add($0) } }
      parts.bytes += tail.bytes
      if let value = try salt?.run(&frame), !value.isNull { parts.add(value.digested) }
      var bytes = SHA256.hash(data: parts.bytes)
      bytes[6] = bytes[6] & 0x0F | 0x40
      bytes[8] = bytes[8] & 0x3F | 0x80
      return UUID(bytes: bytes.prefix(16)).map { .uuid($0) } ?? .null
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
  /// The keys that an object is known by: its own, or for a pair that of each end.
  fileprivate var lastingKeys: [Int64] {
    get throws {
      guard PairEntity.isName(entityName) else { return [key] }
      return try PairEntity.End.allCases.map {
        guard case .object(let end?) = try value($0.toOne) else { return key }
        return end.key
      }
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
