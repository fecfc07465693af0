import GodwitModel
import GodwitStore

extension SQLFunctions {
  func registerExternalData() throws {
    // godwit_carry(value, salt, site, source key): the value that refers to the carried file.
    try register("godwit_carry", arguments: 4) { functions, arguments in
      guard let mover = functions.mover else { return .argument(0) }
      let (value, site, key) = (arguments.bytes(0), Int(arguments.int64(2)), arguments.int64(3))
      guard !mover.isUnusable(value) else { return functions.fail(site, key: key, found: "reference") }
      let salt = arguments.kind(1) == .text ? String(decoding: arguments.bytes(1), as: UTF8.self) : nil
      guard
        let carried = try mover.carry(value, salt: salt, servesPolicy: functions.statement.inputs.servesPolicy)
      else { return try functions.missingFile(of: value, site, key: key) }
      return .value(.blob(carried))
    }
    // godwit_inline(value, site, source key, column, destination key): the bytes of the file.
    try register("godwit_inline", arguments: 5) { functions, arguments in
      let (value, site, key) = (arguments.bytes(0), Int(arguments.int64(1)), arguments.int64(2))
      guard let mover = functions.mover, case .external(let name)? = StoredBinary(value) else {
        return functions.fail(site, key: key, found: "reference")
      }
      let column = String(decoding: arguments.bytes(3), as: UTF8.self)
      let result = try mover.inline(
        name, column: column, key: arguments.int64(4), servesPolicy: functions.statement.inputs.servesPolicy)
      return try result ?? functions.missingFile(of: value, site, key: key)
    }
    // godwit_file(value): 1 for a value whose file is missing, 2 for one of no known form, 0 for any other. An error for a
    // file that cannot be opened.
    try register("godwit_file", arguments: 1) { functions, arguments in
      guard arguments.kind(0) == .blob else { return .value(.integer(0)) }
      switch StoredBinary(arguments.bytes(0)) {
      case nil: return .value(.integer(2))
      case .inline: return .value(.integer(0))
      case .external(let name):
        return .value(.integer(try functions.evaluation.support?.isMissing(name) == false ? 0 : 1))
      }
    }
  }

  /// The value in place of one whose bytes are needed and whose file is missing: nil, if the job goes on without it.
  private func missingFile(of value: [UInt8], _ site: Int, key: Int64) throws -> SQLFunctionResult {
    if mover?.missingFilesAreNil == true { return .value(.null) }
    guard let mover, case .external(let name)? = StoredBinary(value), let place = statement.site(site) else {
      return fail(site, key: key, found: "reference")
    }
    throw GodwitError.missingFile(
      mover.source.path(of: name), of: place.propertyName, entityName: place.entityName, key: key,
      action: place.action, schema: evaluation.schema)
  }
}
