import CSQLite

/// The arguments of a call of a registered SQL function; valid during the call only.
package struct SQLFunctionArguments {
  private let values: UnsafeMutablePointer<OpaquePointer?>?
  package let count: Int

  init(values: UnsafeMutablePointer<OpaquePointer?>?, count: Int) {
    self.values = values
    self.count = count
  }

  /// The first of them, protected; nil without any.
  var start: UnsafeMutablePointer<OpaquePointer?>? { values }

  func pointer(_ index: Int) -> OpaquePointer? {
    index >= 0 && index < count ? values?[index] : nil
  }

  package func kind(_ index: Int) -> StorageClass { StorageClass(sqlite3_value_type(pointer(index))) }

  package func int64(_ index: Int) -> Int64 { sqlite3_value_int64(pointer(index)) }
  package func double(_ index: Int) -> Double { sqlite3_value_double(pointer(index)) }

  /// The bytes of a text or blob, without a copy; empty for NULL.
  package func withBytes<T>(_ index: Int, _ body: (UnsafeRawBufferPointer) throws -> T) rethrows -> T {
    let value = pointer(index)
    let start: UnsafeRawPointer? =
      sqlite3_value_type(value) == SQLITE_BLOB
      ? sqlite3_value_blob(value) : UnsafeRawPointer(sqlite3_value_text(value))
    return try body(UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : Int(sqlite3_value_bytes(value))))
  }

  /// The length of a text or blob.
  package func byteCount(_ index: Int) -> Int { Int(sqlite3_value_bytes(pointer(index))) }

  package func bytes(_ index: Int) -> [UInt8] { withBytes(index) { Array($0) } }

  package func value(_ index: Int) -> SQLValue {
    switch kind(index) {
    case .null: .null
    case .integer: .integer(int64(index))
    case .real: .real(double(index))
    case .text: .text(bytes(index))
    case .blob: .blob(bytes(index))
    }
  }
}

/// The result of a registered SQL function.
package enum SQLFunctionResult: Sendable {
  case value(SQLValue)
  /// One of the arguments unchanged, without a copy.
  case argument(Int)
  /// Makes the statement fail; the caller of the statement finds the reason elsewhere.
  case failure(String)
}

extension StoreConnection {
  /// Makes a Swift closure callable from SQL on this connection.
  ///
  /// An error that the closure throws makes the statement fail with its description. Calls come from the thread that
  /// steps the statement. Cost per call: about 25 ns beyond the closure.
  package func register(
    function name: String, arguments count: Int, deterministic: Bool = true,
    _ body: @escaping (SQLFunctionArguments) throws -> SQLFunctionResult
  ) throws {
    final class Box {
      let body: (SQLFunctionArguments) throws -> SQLFunctionResult
      init(_ body: @escaping (SQLFunctionArguments) throws -> SQLFunctionResult) { self.body = body }
    }
    try createFunction(
      name, Int32(count), deterministic ? SQLITE_DETERMINISTIC : 0, state: Box(body),
      call: { context, count, values in
        guard let data = sqlite3_user_data(context) else { return }
        let box = Unmanaged<Box>.fromOpaque(data).takeUnretainedValue()
        let arguments = SQLFunctionArguments(values: values, count: Int(count))
        do {
          StoreConnection.finish(try box.body(arguments), arguments: arguments, context: context)
        } catch {
          sqlite3_result_error(context, "\(error)", -1)
        }
      })
  }

  typealias SQLCall = @convention(c) (OpaquePointer?, Int32, UnsafeMutablePointer<OpaquePointer?>?) -> Void

  /// Makes C functions callable from SQL on this connection.
  ///
  /// - Parameter state: The user data of the functions. SQLite keeps it as long as it keeps them.
  func createFunction(
    _ name: String, _ count: Int32, _ flags: Int32 = 0, state: AnyObject, call: SQLCall? = nil, step: SQLCall? = nil,
    finish: (@convention(c) (OpaquePointer?) -> Void)? = nil
  ) throws {
    let data = Unmanaged.passRetained(state).toOpaque()
    let code = withHandle { handle in
      sqlite3_create_function_v2(handle, name, count, SQLITE_UTF8 | flags, data, call, step, finish) { data in
        if let data { Unmanaged<AnyObject>.fromOpaque(data).release() }
      }
    }
    // On failure SQLite has called the destructor already.
    guard code == SQLITE_OK else { throw lastError(code, sql: name) }
  }

  /// Takes a function away that `register` made.
  func unregister(function name: String, arguments count: Int) {
    _ = withHandle { sqlite3_create_function_v2($0, name, Int32(count), SQLITE_UTF8, nil, nil, nil, nil, nil) }
  }

  private static func finish(
    _ result: SQLFunctionResult, arguments: SQLFunctionArguments, context: OpaquePointer?
  ) {
    switch result {
    case .value(let value): finish(value, context: context)
    case .argument(let index): sqlite3_result_value(context, arguments.pointer(index))
    case .failure(let message): sqlite3_result_error(context, message, -1)
    }
  }

  /// Hands a value to SQLite as the result of a function.
  static func finish(_ value: SQLValue, context: OpaquePointer?) {
    let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
    switch value {
    case .null: sqlite3_result_null(context)
    case .integer(let value): sqlite3_result_int64(context, value)
    case .real(let value): sqlite3_result_double(context, value)
    case .text(let bytes):
      // An empty array may have no address, which would give NULL.
      if bytes.isEmpty {
        sqlite3_result_text64(context, "", 0, transient, UInt8(SQLITE_UTF8))
      } else {
        bytes.withUnsafeBytes {
          sqlite3_result_text64(
            context, $0.baseAddress?.assumingMemoryBound(to: CChar.self), UInt64($0.count), transient,
            UInt8(SQLITE_UTF8))
        }
      }
    case .blob(let bytes):
      if bytes.isEmpty {
        sqlite3_result_zeroblob(context, 0)
      } else {
        bytes.withUnsafeBytes { sqlite3_result_blob64(context, $0.baseAddress, UInt64($0.count), transient) }
      }
    }
  }
}
