import CSQLite
package import GodwitModel

/// State of the functions that are called once for every row, and so speak to SQLite without a layer between.
///
/// | function | result |
/// |---|---|
/// | `godwit_row(check, member, source key, result, value, …, key, …)` | the result, when every value passes; the keys are those of joined rows |
/// | `godwit_counterpart(set, source key, offset)` | key + offset; NULL for a key that the set lacks |
/// | `godwit_identity(merges nil, source key, value, …)` | NULL; `withIdentity(of:)` then has the values of `unique-by` as one key: each with its kind and length, so that no two lists meet. Without `merges nil`, a row with a nil has a key of its own |
/// | `godwit_merging(merges nil, source key, value, …)` | the same key, as a blob |
/// | `godwit_tally(key, flag, …)` | an aggregate: text that `RowTally` reads |
package final class RowFunctions {
  /// A value that did not pass.
  package struct Misfit: Sendable {
    package var site: Int
    package var key: Int64
    package var kind: StorageClass
    /// Whether it is a floating-point number without a fraction.
    package var isWholeReal: Bool
  }

  /// The checks of the statement in force, by number.
  @exclusivity(unchecked) package var checks: [RowCheck] = []
  /// Rows that passed, by member.
  @exclusivity(unchecked) package var memberRows: [Int64] = []
  /// The key sets by mapping.
  @exclusivity(unchecked) private var keySets: [KeySet?] = []
  /// The first value that did not pass.
  package var misfit: Misfit?

  /// The identity that was put together last, and of which row.
  @exclusivity(unchecked) private var identity: [UInt8] = []
  @exclusivity(unchecked) private var identified: Int64?

  package init() {}

  /// The keys of a mapping; a call of `godwit_counterpart` for a set that is not there fails.
  package func keySet(_ mapping: MappingID) -> KeySet? {
    keySets.indices.contains(mapping.number) ? keySets[mapping.number] : nil
  }

  package func setKeySet(_ set: KeySet?, for mapping: MappingID) {
    while keySets.count <= mapping.number { keySets.append(nil) }
    keySets[mapping.number] = set
  }

  fileprivate func check(_ context: OpaquePointer?, _ arguments: SQLFunctionArguments) {
    let number = Int(truncatingIfNeeded: arguments.int64(0))
    guard arguments.count >= 4, number >= 0, number < checks.count else {
      return sqlite3_result_error(context, "no such check", -1)
    }
    let keyCount = checks[number].keyCount
    let found = checks[number].fields.withUnsafeBufferPointer { fields -> Int? in
      guard arguments.count == fields.count + keyCount + 4 else { return 0 }
      for index in 0..<fields.count where !fields[index].passes(arguments, index + 4) { return index }
      return nil
    }
    if let found {
      let field = checks[number].fields[found]
      let kind = field.kind(arguments, found + 4)
      let key = field.keyPlace.map { 4 + checks[number].fields.count + $0 } ?? 2
      misfit = Misfit(
        site: field.site, key: arguments.int64(key), kind: kind,
        isWholeReal: kind == .real && !arguments.double(found + 4).hasFraction)
      return sqlite3_result_error(context, "a value does not fit", -1)
    }
    let member = Int(truncatingIfNeeded: arguments.int64(1))
    if member >= 0, member < memberRows.count { memberRows[member] += 1 }
    sqlite3_result_value(context, arguments.pointer(3))
  }

  fileprivate func counterpart(_ context: OpaquePointer?, _ arguments: SQLFunctionArguments) {
    guard let set = keySet(MappingID(Int(truncatingIfNeeded: arguments.int64(0)))) else {
      return sqlite3_result_error(context, "the keys of a mapping were not read", -1)
    }
    let key = arguments.int64(1)
    guard arguments.kind(1) == .integer, set.contains(key) else { return sqlite3_result_null(context) }
    sqlite3_result_int64(context, key &+ arguments.int64(2))
  }

  /// Passes the identity of a statement's current row to `body`.
  ///
  /// - Throws: `.internalBug` (70) when the statement did not call `godwit_identity` for that row last.
  package func withIdentity<T>(of key: Int64, _ body: (UnsafeRawBufferPointer) throws -> T) throws -> T {
    guard identified == key else {
      throw GodwitError(.internalBug, "cannot tell the values of unique-by of row \(key)")
    }
    return try identity.withUnsafeBytes(body)
  }

  fileprivate func giveIdentity(_ context: OpaquePointer?) {
    identity.withUnsafeBytes {
      let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
      sqlite3_result_blob64(context, $0.baseAddress, UInt64($0.count), transient)
    }
  }

  fileprivate func identify(_ arguments: SQLFunctionArguments) {
    identity.removeAll(keepingCapacity: true)
    identified = arguments.int64(1)
    func append(_ kind: UInt8, _ bytes: UnsafeRawBufferPointer) {
      identity.append(kind)
      withUnsafeBytes(of: UInt64(bytes.count).bigEndian) { identity.append(contentsOf: $0) }
      identity.append(contentsOf: bytes)
    }
    let values = 2..<max(2, arguments.count)
    guard arguments.int64(0) != 0 || !values.contains(where: { arguments.kind($0) == .null }) else {
      // No value begins with this kind.
      return withUnsafeBytes(of: arguments.int64(1).bigEndian) { append(5, $0) }
    }
    for index in values {
      switch arguments.kind(index) {
      case .null: append(0, UnsafeRawBufferPointer(start: nil, count: 0))
      case .integer: withUnsafeBytes(of: arguments.int64(index).bigEndian) { append(1, $0) }
      case .real:
        let value = arguments.double(index)
        // A whole number is the same value whether SQLite kept it as an integer or not.
        if let whole = Int64(exactly: value) {
          withUnsafeBytes(of: whole.bigEndian) { append(1, $0) }
        } else {
          withUnsafeBytes(of: value.bitPattern.bigEndian) { append(2, $0) }
        }
      case .text: arguments.withBytes(index) { append(3, $0) }
      case .blob: arguments.withBytes(index) { append(4, $0) }
      }
    }
  }
}

extension RowCheck.Field {
  /// The integer that SQLite would store for a real in a column of integers. The lowest integer stays a real.
  ///
  /// - Parameter takesLowest: Whether the lowest integer counts: the real is not a rounded sum that 64 bits do not hold.
  package static func whole(_ real: Double, takingLowest takesLowest: Bool = false) -> Int64? {
    Int64(exactly: real).flatMap { $0 == .min && !takesLowest ? nil : $0 }
  }

  /// The storage class of a value.
  fileprivate func kind(_ arguments: SQLFunctionArguments, _ index: Int) -> StorageClass {
    guard isTypeName else { return arguments.kind(index) }
    return switch arguments.withBytes(index, { $0.first }) {
    case UInt8(ascii: "i"): .integer
    case UInt8(ascii: "r"): .real
    case UInt8(ascii: "t"): .text
    case UInt8(ascii: "b"): .blob
    default: .null
    }
  }

  /// Whether a value fulfils the field's rules.
  fileprivate func passes(_ arguments: SQLFunctionArguments, _ index: Int) -> Bool {
    switch kind(arguments, index) {
    case .null: return kinds.contains(.null)
    case .integer: return kinds.contains(.integer) && range.contains(arguments.int64(index))
    case .real:
      guard kinds.contains(.real) else { return false }
      return !isWhole
        || Self.whole(arguments.double(index), takingLowest: takesLowest).map(range.contains) ?? false
    case .text:
      return kinds.contains(.text)
        || takesNaN && arguments.withBytes(index) { $0.elementsEqual("NaN".utf8) }
    case .blob:
      guard kinds.contains(.blob) else { return false }
      return byteCount.map { count in arguments.withBytes(index) { $0.count == count } } ?? true
    }
  }
}

/// How many of the rows of a query have each of some flags, alone and two at a time.
package struct RowTally: Sendable, Equatable {
  package struct Flag: Sendable, Equatable {
    package var rows: Int64
    package var minimumKey: Int64
    package var maximumKey: Int64

    package init(rows: Int64 = 0, minimumKey: Int64 = 0, maximumKey: Int64 = 0) {
      (self.rows, self.minimumKey, self.maximumKey) = (rows, minimumKey, maximumKey)
    }

    fileprivate mutating func add(_ key: Int64) {
      if rows == 0 { (minimumKey, maximumKey) = (key, key) }
      if key < minimumKey { minimumKey = key }
      if key > maximumKey { maximumKey = key }
      rows += 1
    }

    fileprivate mutating func add(_ other: Flag) {
      guard other.rows > 0 else { return }
      minimumKey = rows == 0 ? other.minimumKey : min(minimumKey, other.minimumKey)
      maximumKey = rows == 0 ? other.maximumKey : max(maximumKey, other.maximumKey)
      rows += other.rows
    }

    fileprivate var numbers: [Int64] { [rows, minimumKey, maximumKey] }
  }

  /// Every row.
  package var all = Flag()
  /// Rows with at least one flag.
  package var flagged: Int64 = 0
  package var flags: [Flag]
  /// Rows that have both of two flags, the lower one first.
  package var pairs: [[Int]: Int64] = [:]

  /// Adds the rows of another part of the table, with the same flags.
  package mutating func add(_ other: RowTally) {
    all.add(other.all)
    flagged += other.flagged
    for (index, flag) in other.flags.enumerated() where index < flags.count { flags[index].add(flag) }
    pairs.merge(other.pairs, uniquingKeysWith: +)
  }

  /// Adds a row that says how many there are between which keys, or a `godwit_tally` of them.
  package mutating func add(_ row: [SQLValue], flags count: Int) {
    if case .text(let bytes)? = row.first {
      add(RowTally(String(decoding: bytes, as: UTF8.self), flags: count))
    } else if row.count == 3,
      case (.integer(let rows), .integer(let low), .integer(let high)) = (row[0], row[1], row[2])
    {
      all.add(Flag(rows: rows, minimumKey: low, maximumKey: high))
    }
  }

  /// Makes an estimate of the tally of a sample. Rows may have any of the keys.
  package mutating func scale(by scaled: (Int64) -> Int64, keys: ClosedRange<Int64>) {
    func estimate(_ flag: Flag) -> Flag {
      flag.rows == 0
        ? flag : Flag(rows: scaled(flag.rows), minimumKey: keys.lowerBound, maximumKey: keys.upperBound)
    }
    (all, flags, flagged) = (estimate(all), flags.map(estimate), scaled(flagged))
    pairs = pairs.mapValues(scaled)
  }

  package init(flags count: Int) { flags = Array(repeating: Flag(), count: count) }

  fileprivate mutating func add(_ arguments: SQLFunctionArguments) {
    let key = arguments.int64(0)
    all.add(key)
    var first: Int?
    for flag in flags.indices where arguments.int64(flag + 1) != 0 {
      flags[flag].add(key)
      if let first {
        for other in first..<flag where arguments.int64(other + 1) != 0 { pairs[[other, flag], default: 0] += 1 }
      } else {
        first = flag
        flagged += 1
      }
    }
  }

  /// - Parameter text: The result of `godwit_tally`; nil without rows.
  package init(_ text: String?, flags count: Int) {
    self.init(flags: count)
    let numbers = (text ?? "").split(separator: " ").compactMap { Int64($0) }
    guard numbers.count >= 4 + count * 3 else { return }
    flagged = numbers[0]
    for index in -1..<count {
      let start = 4 + index * 3
      let flag = Flag(rows: numbers[start], minimumKey: numbers[start + 1], maximumKey: numbers[start + 2])
      if index < 0 { all = flag } else { flags[index] = flag }
    }
    for start in stride(from: 4 + count * 3, to: numbers.count - 2, by: 3) {
      pairs[[Int(numbers[start]), Int(numbers[start + 1])]] = numbers[start + 2]
    }
  }

  fileprivate var text: String {
    let numbers =
      [flagged] + all.numbers + flags.flatMap(\.numbers)
      + pairs.flatMap { [Int64($0.key[0]), Int64($0.key[1]), $0.value] }
    return numbers.map(String.init).joined(separator: " ")
  }
}

extension StoreConnection {
  /// Makes the functions callable on this connection, which keeps `functions`.
  package func register(_ functions: RowFunctions) throws {
    try createFunction("godwit_row", -1, state: functions) { context, count, values in
      guard let data = sqlite3_user_data(context) else { return }
      let functions = Unmanaged<RowFunctions>.fromOpaque(data).takeUnretainedValue()
      functions.check(context, SQLFunctionArguments(values: values, count: Int(count)))
    }
    try createFunction("godwit_counterpart", 3, state: functions) { context, count, values in
      guard let data = sqlite3_user_data(context) else { return }
      let functions = Unmanaged<RowFunctions>.fromOpaque(data).takeUnretainedValue()
      functions.counterpart(context, SQLFunctionArguments(values: values, count: Int(count)))
    }
    try createFunction("godwit_identity", -1, state: functions) { context, count, values in
      guard let data = sqlite3_user_data(context) else { return }
      let functions = Unmanaged<RowFunctions>.fromOpaque(data).takeUnretainedValue()
      functions.identify(SQLFunctionArguments(values: values, count: Int(count)))
    }
    try createFunction("godwit_merging", -1, state: functions) { context, count, values in
      guard let data = sqlite3_user_data(context) else { return }
      let functions = Unmanaged<RowFunctions>.fromOpaque(data).takeUnretainedValue()
      functions.identify(SQLFunctionArguments(values: values, count: Int(count)))
      functions.giveIdentity(context)
    }
    try register(
      aggregate: "godwit_tally", arguments: -1, start: { nil as RowTally? },
      step: { tally, arguments in
        if tally == nil { tally = RowTally(flags: max(0, arguments.count - 1)) }
        tally?.add(arguments)
      }, finish: { $0.map { .text(Array($0.text.utf8)) } ?? .null })
  }
}

extension Double {
  /// Whether it is between two whole numbers. False for infinity and NaN.
  package var hasFraction: Bool { isFinite && rounded(.towardZero) != self }
}
