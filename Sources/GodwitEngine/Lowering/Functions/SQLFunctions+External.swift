import GodwitModel
import GodwitStore

extension SQLFunctions {
  func registerExternalData() throws {
    // godwit_carry(value, salt): the value that refers to the carried file.
    try register("godwit_carry", arguments: 2) { functions, arguments in
      guard let mover = functions.mover else { return .argument(0) }
      let salt = arguments.kind(1) == .text ? String(decoding: arguments.bytes(1), as: UTF8.self) : nil
      return .value(
        .blob(
          try mover.carry(
            arguments.bytes(0), salt: salt, servesPolicy: functions.statement.inputs.servesPolicy)))
    }
    // godwit_inline(value, site, source key, column, destination key): the bytes of the file.
    try register("godwit_inline", arguments: 5) { functions, arguments in
      let site = Int(arguments.int64(1))
      guard let mover = functions.mover, case .external(let name)? = StoredBinary(arguments.bytes(0)) else {
        return functions.fail(site, key: arguments.int64(2), found: "blob")
      }
      let column = String(decoding: arguments.bytes(3), as: UTF8.self)
      guard
        let result = try mover.inline(
          name, column: column, key: arguments.int64(4), servesPolicy: functions.statement.inputs.servesPolicy)
      else {
        throw GodwitError(
          .dataWrong,
          "cannot \(functions.place(site, key: arguments.int64(2))): its external file '\(mover.source.path(of: name))' is missing",
          remedy: "restore the file, or set the value to nil in a copy of the source; then run the same command"
        ).about(.externalFile)
      }
      return result
    }
  }
}
