/// A failure: its message, place and cause, a remedy, and the state that is safe.
///
/// Every target reports errors with this one type, so that a caller has one type to catch and the command line one type
/// to print. The code decides the exit status (`Code.rawValue`). Messages are lower case and read *cannot <do> <what>:
/// expected <x>, found <y>*. A message never contains user data (attribute values) unless the caller asked for it.
public struct GodwitError: Error, Sendable, Equatable {
  /// The kind of failure; the raw value is the exit status of the command line (sysexits).
  public enum Code: Int32, Sendable {
    /// The command did its work and found something, such as a difference.
    case findings = 4
    /// The call or the command line is wrong.
    case usage = 64
    /// The source data is wrong: corrupt, not a Core Data store, invalid rows.
    case dataWrong = 65
    /// A store, model, mapping or manifest is missing or unreadable.
    case missingInput = 66
    /// No model fits the store, or no path between the versions.
    case noPath = 69
    /// A bug in Godwit.
    case internalBug = 70
    /// The destination cannot be created, or belongs to another job.
    case cannotCreate = 73
    /// I/O failed or the disk is full; the run can be resumed.
    case inputOutput = 74
    /// Stopped at a checkpoint; the run can be resumed.
    case stopped = 75
    /// A file may not be read or written.
    case permission = 77
    /// The manifest or a mapping file is wrong.
    case configuration = 78
    /// SIGINT ended the command.
    case interrupted = 130
    /// SIGTERM ended the command.
    case terminated = 143

    /// The kind in words, as JSON has it under `code`. It never changes.
    package var name: String {
      switch self {
      case .findings: "findings"
      case .usage: "usage"
      case .dataWrong: "data-wrong"
      case .missingInput: "missing-input"
      case .noPath: "no-path"
      case .internalBug: "internal-bug"
      case .cannotCreate: "cannot-create"
      case .inputOutput: "input-output"
      case .stopped: "stopped"
      case .permission: "permission"
      case .configuration: "configuration"
      case .interrupted: "interrupted"
      case .terminated: "terminated"
      }
    }
  }

  /// Why a command stopped at a checkpoint (75), for programs that decide whether to try again.
  package enum StopReason: String, Sendable, Hashable, CaseIterable {
    /// Another process works on the same job.
    case locked = "lock"
    /// The time box of `--max-duration` is used up.
    case timeLimit = "time-box"
    /// SIGINT or SIGTERM.
    case signal
    /// The task of the caller was cancelled.
    case cancelled
    /// The caller requested it.
    case requested
    /// Another process changed the source, or an external file of it.
    case sourceChanged = "source-changed"
    /// Another process has the store open.
    case inUse = "store-in-use"
  }

  /// A position in a text file; line and column count from 1, columns in UTF-8 bytes.
  package struct Location: Sendable, Hashable {
    /// The path of the file, as the caller gave it.
    package var file: String
    /// The line, from 1.
    package var line: Int
    /// The column, from 1, in UTF-8 bytes.
    package var column: Int

    package init(file: String, line: Int, column: Int) {
      self.file = file
      self.line = line
      self.column = column
    }

    /// `FILE:LINE:COLUMN`. The file alone without a line (0), as for an option of the command line.
    package var text: String { line > 0 ? "\(file):\(line):\(column)" : file }
  }

  /// The kind of failure.
  public var code: Code
  /// One sentence without a final full stop.
  public var message: String
  /// The place in a file that the error is about; nil for none.
  package var location: Location?
  /// Step, pass, stage, mapping, chunk; or the object concerned. Printed as `where`.
  package var context: String?
  /// Printed as `cause`. May span lines (an expression with a caret under the token).
  package var cause: String?
  /// The next action for the user. Printed as `try`.
  public var remedy: String?
  /// The data that is durable or untouched. Printed as `safe`.
  public var safe: String?
  /// Why a command stopped; nil for an error of another kind than `.stopped`. Printed as `reason`.
  package var stopReason: StopReason?
  /// The action that SQLite refused, for callers that handle it.
  package var refusal: DatabaseRefusal?
  /// The subject of the error, for callers that handle it.
  package var topic: ErrorTopic?

  /// An error that a policy throws.
  ///
  /// - Parameters:
  ///   - code: The kind of failure, which decides the exit status.
  ///   - message: The failure in one sentence, without a final full stop.
  public init(_ code: Code, _ message: String) { self.init(code, message, location: nil) }

  package init(
    _ code: Code, _ message: String, location: Location? = nil, context: String? = nil,
    cause: String? = nil, remedy: String? = nil, safe: String? = nil, stopReason: StopReason? = nil
  ) {
    self.code = code
    self.message = message
    self.location = location
    self.context = context
    self.cause = cause
    self.remedy = remedy
    self.safe = safe
    self.stopReason = stopReason
  }
}

extension GodwitError {
  /// The error with a topic.
  package func about(_ topic: ErrorTopic) -> GodwitError {
    var error = self
    error.topic = topic
    return error
  }

  /// The message after the place in its file: one line of a list of errors.
  package var line: String {
    if let location { return "\(location.text): \(message)".onOneLine }
    return (message + (context.map { " ('\($0)')" } ?? "")).onOneLine
  }
}

extension String {
  /// The text with line feeds as `\n`: a name that holds one must not make a line that looks like another part of a
  /// message.
  package var onOneLine: String {
    guard utf8.contains(0x0A) else { return self }
    var text = ""
    for scalar in unicodeScalars {
      text.unicodeScalars.append(contentsOf: scalar == "\n" ? "\\n".unicodeScalars : String(scalar).unicodeScalars)
    }
    return text
  }
}

extension Sequence where Element: StringProtocol {
  /// One line for each text, whatever names are in it.
  package var asLines: String { map { String($0).onOneLine }.joined(separator: "\n") }
}

extension GodwitError: CustomStringConvertible {
  /// The error as the user sees it, without the leading `godwit: `.
  public var description: String {
    var text = ""
    if let location { text += "\(location.text): " }
    text = (text + message).onOneLine
    let reason = stopReason?.rawValue
    for (label, value) in [
      ("where", context), ("cause", cause), ("reason", reason), ("try", remedy), ("safe", safe),
    ] {
      guard let value else { continue }
      // Only a cause may have several lines.
      let lines = (label == "cause" ? value : value.onOneLine).split(separator: "\n", omittingEmptySubsequences: false)
      for (index, line) in lines.enumerated() {
        let head =
          index == 0
          ? label + String(repeating: " ", count: 8 - label.count)
          : String(repeating: " ", count: 8)
        text += "\n  \(head)\(line)"
      }
    }
    return text
  }
}
